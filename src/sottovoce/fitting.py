"""From a file and its schema to a private model."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce import losses, regularizers
from sottovoce._version import VERSION
from sottovoce.accounting import Budget, Ledger
from sottovoce.accounting.budget import declared_delta
from sottovoce.accounting.checks import writable
from sottovoce.accounting.resume import Resume
from sottovoce.data import files as tables
from sottovoce.data import training_records
from sottovoce.data.contrasts import asked_in
from sottovoce.data.encoding import feature_names
from sottovoce.data.filesets import called, files_of, is_files, is_parquet, state_of
from sottovoce.data.headers import persons_unnamed
from sottovoce.data.layout import RowLayout
from sottovoce.data.records import Records
from sottovoce.data.schema import Schema
from sottovoce.data.sources import column_names, rereadable
from sottovoce.data.tables import Table
from sottovoce.errors import (
    AccuracyWarning,
    ApprovalNeeded,
    ParameterError,
    PrivacyWarning,
    SottovoceError,
)
from sottovoce.evaluation.holdout import Parting, checked_share, figures, parts, together, too_few
from sottovoce.evaluation.measures import planned_entries
from sottovoce.exports.forecast import coefficient_forecast, require_determined
from sottovoce.features.additive import Additive
from sottovoce.features.curves import declared_curves, may_bend
from sottovoce.features.marginals import coded, left_out
from sottovoce.features.monotone import projected, require_projectable
from sottovoce.features.pairs import may_pair
from sottovoce.machine import require_addresses
from sottovoce.model import Model
from sottovoce.models.linear import Risk
from sottovoce.models.softmax import SoftmaxRisk
from sottovoce.models.warming import warm
from sottovoce.privacy.counting import CountOracle
from sottovoce.report.progress import waiting
from sottovoce.results.inference.request import Inference
from sottovoce.training import minimize

if TYPE_CHECKING:
    from sottovoce.data.cell import Label
    from sottovoce.data.columns import Target
    from sottovoce.methods.base import Method
    from sottovoce.results.result import Tolerance

LOGISTIC = "logistic"
ROBUST = "pseudo-huber"
POISSON = "poisson"
CLOGLOG = "cloglog"


def now() -> datetime:
    return datetime.now(UTC)


def fit(
    table: Any,
    schema: Schema | str | os.PathLike[str],
    *,
    budget: Budget | None = None,
    epsilon: float | None = None,
    delta: float | str | None = None,
    relation: str | None = None,
    person: str | None = None,
    persons: int | None = None,
    weight: str | None = None,
    weight_cap: float | None = None,
    class_weight: Mapping[Label, float] | None = None,
    dataset: str = "",
    loss: str | None = None,
    model: str = "linear",
    regularizer: str = "l2",
    strength: float = 1e-6,
    method: str | Method = "auto",
    tolerance: Tolerance | None = None,
    inference: float = 0.0,
    robust: bool = False,
    anyway: bool = False,
    evaluate: float = 0.0,
    purpose: str = "",
    contact: str = "",
    ledger: Ledger | None = None,
    simulate: int | None = None,
    confidence: float = 0.99,
    invalid: str = "raise",
    delimiter: str = ",",
    decimal: str = ".",
    dask: str | None = None,
    workers: int | None = None,
    spool: bool | str | os.PathLike[str] = True,
    progress: bool = False,
    resume: str | Resume | None = None,
    clock: Callable[[], datetime] = now,
) -> Model:
    """Train on a table with (epsilon, delta)-differential privacy.

    The model holds what was released and what was declared, nothing else. Whatever public facts can refuse is
    refused before the first charge.

    Args:
        table: The path of a CSV or Parquet file, a folder of them, a pattern or a list of files, a pandas,
            polars or pyarrow table, or an Arrow stream. Parquet files need not fit into memory.
        schema: A `Schema` or its path. It declares a target: classes, of which more than two train a softmax
            under one budget; a range, mapped to [-1, 1]; counts; or a time to event, of which each record
            becomes a row for each declared interval at risk.
        budget: The promise. Or say it by the next three.
        epsilon: As in `Budget`.
        delta: As in `Budget`, or "1/n" or "1/n^p" of the number of records.
        relation: As in `Budget`: "replace-one" unless said otherwise, or "zero-out".
        person: The column of people's keys, if the schema does not name it.
        persons: How many people there are, as zero-out demands.
        weight: The column of what rows count, in place of the schema's.
        weight_cap: The most that a row counts.
        class_weight: What the rows of a class count, in place of what the schema says.
        dataset: The name of the table in model and report.
        loss: "logistic" for classes, "pseudo-huber" for a range, "poisson" for counts unless named; with a
            parameter as in "cauchy:0.2".
        model: "linear"; "additive", where every number is a curve over its declared range; "smooth", with
            surfaces of pairs of numbers that act together besides; or "auto", with those curves and surfaces
            that are worth it. A small part of the budget then asks how records spread over each column, which
            the model holds as `marginals`, and which columns bend or act together; with `inference`, "auto"
            bends those declared alone.
        regularizer: "l2" or "tukey".
        strength: Of the regularizer.
        method: As for `minimize`.
        tolerance: As for `minimize`.
        inference: The part of the budget kept for standard errors, tests and intervals. A run of which no
            coefficient is expected to be determined is refused.
        robust: Whether they are to hold where the model does not.
        anyway: Run even where no coefficient is expected to be determined.
        evaluate: A share of rows, or persons, to hold out, and of the budget to measure the model on them.
        purpose: What the model is for; goes into its file, its report and the ledger.
        contact: Whom to ask; goes into the model file and its report.
        ledger: As for `minimize`.
        simulate: As for `minimize`.
        confidence: As for `minimize`.
        invalid: "raise" refuses a table with unusable rows; "zero" blanks them, and takes unusable fields for
            missing.
        delimiter: The mark between fields of a CSV file: none of its records decides it.
        decimal: The decimal mark of a CSV file, likewise.
        dask: The address of a scheduler whose workers read a Parquet file and keep its rows.
        workers: So many worker processes are started here.
        spool: As for `Records.from_parquet`.
        progress: Whether a bar shows how far reading and training are.
        resume: Goes on with a run on the same table under the same declarations.
        clock: Says what day goes into the model file.
    """
    promise = promised(budget, epsilon, delta, relation)
    for name, text in (("purpose", purpose), ("contact", contact), ("dataset", dataset)):
        writable(name, text)
    if not isinstance(schema, Schema):
        schema = Schema.load(schema)
    if person is not None:
        schema = replace(schema, person=person)
    if weight is not None or weight_cap is not None:
        schema = replace(schema, weight=weight or schema.weight, weight_cap=weight_cap or schema.weight_cap)
    aim = schema.target
    if aim is None:
        raise ParameterError("the schema declares no target. Add a [target] section with what to predict.")
    if class_weight is not None:
        aim = replace(aim, class_weight=class_weight)
        schema = replace(schema, target=aim)
    if unnamed := persons_unnamed(schema, _names_of(table, delimiter, decimal)):
        warnings.warn(unnamed, PrivacyWarning, stacklevel=2)
    chosen = loss_for(loss, aim)
    penalty = regularizers.by_name(regularizer, strength)
    share = checked_share(evaluate)
    if share and resume is not None:
        raise ParameterError(
            "a run that held rows out cannot go on: who was held out is drawn and kept nowhere. Fit without "
            "evaluate what is to be resumed, and evaluate it on other rows."
        )
    if workers is not None:
        if dask not in (None, "local") or isinstance(workers, bool) or not 1 <= workers <= 1024:
            raise ParameterError("workers must be from 1 to 1024, started here: name no scheduler.")
        dask = "local"
    if share and dask is not None:
        raise ParameterError("rows are held out of tables in memory. Evaluate on another, without Dask.")
    if aim.survival is not None:
        model = timed(model, evaluated=bool(share), dask=dask is not None)
    require_projectable(schema, inference)
    bent = may_bend(model, schema, chosen, inference=inference > 0.0)
    test: Table | None = None
    parting: Parting | None = None
    with ExitStack() as stack:
        require_addresses()
        warm(_entries_about(table, schema) if dask is None else 0, RowLayout.of(schema))
        client = None if dask is None else stack.enter_context(training_records.connected(dask, workers))
        if bent:
            table = rereadable(table, delimiter=delimiter, decimal=decimal)

        def read(declared: Schema) -> Records:
            nonlocal parting, test
            plain = not share and aim.survival is None and decimal == "."
            if client is None and plain and _is_parquet_file(table):
                return training_records.of_parquet(table, declared, aim, persons, invalid, spool, progress)
            with waiting(progress, f"reading {called(table)}"):
                if client is not None:
                    return training_records.on_workers(client, table, declared, aim, persons, invalid)
                marks = {"delimiter": delimiter, "decimal": decimal}
                held = tables.read_compact(table, declared, invalid=invalid, **marks)
                parting = parting or Parting.of(held, share, persons, invalid, simulate)
                if share:
                    held, test = held.split(parting.test)
                return tables.training(held, aim, parting.trained, invalid)

        def risk_over(declared: Schema) -> Risk | SoftmaxRisk:
            return _risk(read(declared), chosen, penalty)

        if bent and (apart := left_out(schema)) is not None:
            read(apart)
        risk = risk_over(coded(schema) if bent else schema)
        n = parting.n if parting is not None and share else risk.n
        whole = promise(n)
        training, kept = parts(whole, share) if share else (whole, whole)
        unit = "record" if schema.person is None else "person"
        if share and ledger is not None and ledger.waits(whole):
            raise ApprovalNeeded(
                "runs of this size need approval in this account, and one that holds rows out cannot wait: "
                "who was held out is drawn and kept nowhere. Nothing was charged. Fit without evaluate, and "
                "evaluate on other rows."
            )
        ledger = Ledger(whole, unit=unit) if share and ledger is None else ledger
        if share and parting is not None:
            out = round(share * parting.n)
            if few := too_few(kept, out, unit, len(aim.classes or ())):
                warnings.warn(few, AccuracyWarning, stacklevel=2)
        chooses = model == "auto" and bent != declared_curves(schema)
        staged = (
            Additive(
                schema,
                risk,
                risk_over,
                training,
                names=bent,
                chooses=chooses,
                pairs=may_pair(model, schema, n) if chooses or model == "smooth" else (),
                narrows=not inference,
            )
            if bent
            else None
        )
        asked = Inference(inference, robust, asked_in(staged.schema if staged else schema))
        if not anyway and not staged:
            named = chosen_loss(loss, aim)
            require_determined(
                coefficient_forecast(schema, named, risk.problem, training, asked.share, robust=robust)
            )
        oracle = None
        if share:
            entries = planned_entries(aim.classes)
            oracle = stack.enter_context(
                CountOracle.open(kept, "evaluation", ledger, simulate, unit=unit, entries=entries)
            )
        result = minimize(
            staged or risk,
            budget=training,
            method=method,
            tolerance=tolerance,
            inference=asked,
            purpose=purpose,
            ledger=ledger,
            simulate=simulate,
            confidence=confidence,
            progress=progress,
            resume=resume,
            declared={
                "schema": schema.digest,
                "loss": chosen_loss(loss, aim),
                "model": model,
                "invalid": invalid,
                "table": state_of(table),
            },
        )
        settled, marginals = (staged.schema, staged.marginals) if staged else (schema, ())
        result = projected(result, settled, marginals)
        trained = Model(
            result=result,
            schema=settled,
            marginals=marginals,
            loss=chosen_loss(loss, aim),
            dataset=dataset,
            created=clock().date().isoformat(),
            versions=versions(),
            purpose=purpose,
            contact=contact,
        )
        if oracle is None or test is None or parting is None:
            return trained
        people: dict[str, Any] = {"groups": test.keys, "persons": parting.measured}
        measured = figures(trained, test.features, test.target, budget=kept, oracle=oracle, **people)
        said = () if result.simulated else (together(whole, training, kept, measured[0].n, unit),)
        return replace(trained, result=replace(result, caveats=(*result.caveats, *said)), figures=measured)


def promised(
    budget: Budget | None, epsilon: float | None, delta: float | str | None, relation: str | None
) -> Callable[[int], Budget]:
    """The budget for n records or persons: given whole or by its numbers, and not both ways."""
    if budget is not None:
        if not isinstance(budget, Budget) or (epsilon, delta, relation) != (None, None, None):
            raise ParameterError("budget is a Budget and holds epsilon, delta and relation: give no other.")
        return lambda n: budget
    if epsilon is None or delta is None:
        raise ParameterError("say budget=sv.Budget(epsilon=1.0, delta=1e-6), or epsilon= and delta=.")
    return lambda n: Budget(epsilon, declared_delta(delta, n), relation or "replace-one")


def timed(model: str, *, evaluated: bool, dask: bool) -> str:
    """The kind of model of a time to event; what is not offered for it is refused before the first charge."""
    if evaluated:
        raise ParameterError(
            "evaluate measures predictions of one row a record, and a time to event has several. Leave it "
            "out; survival curves come with intervals."
        )
    if dask:
        raise ParameterError("the rows of a time to event are made here: read the table without Dask.")
    if model not in ("linear", "auto"):
        raise ParameterError('a time to event has model="linear"; declare splines for curves of a number.')
    return "linear"


def _names_of(table: Any, delimiter: str, decimal: str) -> tuple[Any, ...]:
    """Names of a table's columns where they can be had without reading from it; a stream is read once."""
    if is_files(table):
        with suppress(SottovoceError):
            return column_names(table, delimiter=delimiter, decimal=decimal)
        return ()
    if not hasattr(table, "shape") or isinstance(table, np.ndarray):
        return ()
    return tuple(getattr(table, "column_names", getattr(table, "columns", ())))


def _is_parquet_file(table: Any) -> bool:
    return is_files(table) and all(is_parquet(file) and file.is_file() for file in files_of(table))


def _entries_about(table: Any, schema: Schema) -> int:
    """Entries of the encoded table, guessed at four bytes a field of its file; 0 for what is no file.

    It decides when kernels are compiled, and nothing else."""
    files = files_of(table) if is_files(table) else ()
    size = sum(file.stat().st_size for file in files if file.is_file())
    return size * len(feature_names(schema)) // (4 * (len(schema.names) + 1))


def versions() -> dict[str, str]:
    """What made a model: the packages whose arithmetic and noise it rests on."""
    found = {"sottovoce": VERSION, "python": platform.python_version()}
    for name in ("numpy", "scipy", "opendp"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def chosen_loss(text: str | None, aim: Target) -> str:
    """The loss as named, or the default for what is predicted; one that does not fit it is refused."""
    return _named_loss(text, aim)[0]


def loss_for(text: str | None, aim: Target) -> losses.Loss:
    """The loss itself, see `losses.by_text`; that of counts has their declared bound."""
    return _named_loss(text, aim)[1]


def _named_loss(text: str | None, aim: Target) -> tuple[str, losses.Loss]:
    if aim.count:
        if text not in (None, POISSON) or aim.high is None:
            raise ParameterError(
                f"loss {text!r} does not fit counts, which have {POISSON!r}. For another one declare low and "
                "high of a number, and no count."
            )
        return POISSON, losses.Poisson(aim.high)
    if aim.survival is not None:
        named = LOGISTIC if aim.survival.link == "logit" else CLOGLOG
        if text not in (None, named):
            raise ParameterError(
                f"loss {text!r} does not fit a time to event, whose link says it: {named!r}."
            )
        return named, losses.by_name(named)
    name = text or (LOGISTIC if aim.classes is not None else ROBUST)
    loss = losses.by_text(name)
    wanted = losses.Kind.MARGIN if aim.classes is not None else losses.Kind.RESIDUAL
    if loss.kind is not wanted:
        declared = "classes" if aim.classes is not None else "a range"
        raise ParameterError(
            f"loss {name!r} does not fit a target with {declared}. Take {LOGISTIC!r} or another margin loss "
            f"for classes, {ROBUST!r} or another residual loss for a range, {POISSON!r} for a count."
        )
    if aim.classes is not None and len(aim.classes) > 2 and name != LOGISTIC:
        raise ParameterError(f"with more than two classes the loss must be {LOGISTIC!r} (softmax).")
    return name, loss


def _risk(records: Records, loss: losses.Loss, penalty: regularizers.Regularizer) -> Risk | SoftmaxRisk:
    if records.labels is not None and len(records.labels) > 2:
        return SoftmaxRisk(records, penalty)
    return Risk(records, loss, penalty)
