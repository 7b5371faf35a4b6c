"""From a file and its schema to a private model."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from sottovoce import losses, regularizers
from sottovoce._version import VERSION
from sottovoce.accounting import Budget, Ledger
from sottovoce.accounting.budget import declared_delta
from sottovoce.accounting.relations import Relation
from sottovoce.accounting.resume import Resume
from sottovoce.data import files as tables
from sottovoce.data import training_records
from sottovoce.data.contrasts import asked_in
from sottovoce.data.encoding import feature_names
from sottovoce.data.filesets import called, files_of, is_files, is_parquet, state_of
from sottovoce.data.layout import RowLayout
from sottovoce.data.options import AS_WRITTEN, ReadOptions, checked_reading
from sottovoce.data.persons import require_declared
from sottovoce.data.records import Records
from sottovoce.data.schema import Schema
from sottovoce.data.sources import rereadable
from sottovoce.data.tables import Table
from sottovoce.errors import (
    AccuracyWarning,
    ApprovalNeeded,
    ParameterError,
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
from sottovoce.report.about import About
from sottovoce.report.progress import waiting
from sottovoce.results.inference.request import Inference
from sottovoce.training import minimize

if TYPE_CHECKING:
    from sottovoce.data.columns import Target
    from sottovoce.methods.base import Method
    from sottovoce.results.result import Tolerance

LOGISTIC = "logistic"
ROBUST = "pseudo-huber"
POISSON = "poisson"
CLOGLOG = "cloglog"
NOTHING_SAID = About()


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
    persons: int | None = None,
    loss: str | None = None,
    model: str = "linear",
    regularizer: str = "l2",
    strength: float = 1e-6,
    method: str | Method = "auto",
    tolerance: Tolerance | None = None,
    inference: float | Inference = 0.0,
    evaluate: float = 0.0,
    confidence: float = 0.99,
    reading: ReadOptions = AS_WRITTEN,
    about: About = NOTHING_SAID,
    ledger: Ledger | None = None,
    resume: str | Resume | None = None,
    simulate: int | None = None,
    progress: bool = False,
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
            becomes a row for each declared interval at risk. `Schema.amended` changes persons and weights.
        budget: The promise. Or say it by the next three.
        epsilon: As in `Budget`.
        delta: As in `Budget`, or "1/n" or "1/n^p" of the number of records.
        relation: As in `Budget`: "replace-one" unless said otherwise, or "zero-out".
        persons: How many people there are, as zero-out demands.
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
        inference: The part of the budget kept for standard errors, tests and intervals, or an `Inference`. A
            run of which no coefficient is expected to be determined is refused.
        evaluate: A share of rows, or persons, to hold out, and of the budget to measure the model on them.
        confidence: As for `minimize`.
        reading: How the table is read: marks of a CSV file, what becomes of unusable rows, Dask.
        about: The names and purposes that model, report and ledger tell.
        ledger: As for `minimize`.
        resume: Goes on with a run on the same table under the same declarations.
        simulate: As for `minimize`.
        progress: Whether a bar shows how far reading and training are.
        clock: Says what day goes into the model file.
    """
    promise = promised(budget, epsilon, delta, relation)
    how, asked = checked_reading(reading), Inference.of(inference)
    if not isinstance(about, About):
        raise ParameterError('about must be About, for example About(purpose="a test").', argument="about")
    if not isinstance(schema, Schema):
        schema = Schema.load(schema)
    aim = schema.target
    if aim is None:
        raise ParameterError("the schema declares no target. Add a [target] section with what to predict.")
    tables.warn_of_persons(table, schema, how)
    if schema.person is not None:
        asked_of = Relation.of(relation or "replace-one") if budget is None else budget.relation
        require_declared(persons, lenient=how.lenient, relation=asked_of)
    named, chosen = chosen_loss(loss, aim), loss_for(loss, aim)
    penalty = regularizers.by_name(regularizer, strength)
    share = checked_share(evaluate)
    if share and resume is not None:
        raise ParameterError(
            "a run that held rows out cannot go on: who was held out is drawn and kept nowhere. Fit without "
            "evaluate what is to be resumed, and evaluate it on other rows."
        )
    if share and how.scheduler is not None:
        raise ParameterError("rows are held out of tables in memory. Evaluate on another, without Dask.")
    if aim.survival is not None:
        model = timed(model, evaluated=bool(share), dask=how.scheduler is not None)
    require_projectable(schema, asked.share)
    bent = may_bend(model, schema, chosen, inference=asked.share > 0.0)
    with ExitStack() as stack:
        require_addresses()
        warm(_entries_about(table, schema) if how.scheduler is None else 0, RowLayout.of(schema))
        reader = _Reader(
            rereadable(table, how) if bent else table, aim, persons, how, share, simulate, progress
        )
        if how.scheduler is not None:
            reader.client = stack.enter_context(training_records.connected(how.scheduler, how.workers))

        def risk_over(declared: Schema) -> Risk | SoftmaxRisk:
            return _risk(reader.records(declared), chosen, penalty)

        if bent and (apart := left_out(schema)) is not None:
            reader.records(apart)
        risk = risk_over(coded(schema) if bent else schema)
        held = reader.parting if share else None
        n = risk.n if held is None else held.n
        whole = promise(n)
        training, kept = parts(whole, share) if share else (whole, whole)
        unit = "record" if schema.person is None else "person"
        if share and ledger is not None and ledger.waits(whole):
            raise ApprovalNeeded(
                "runs of this size need approval in this account, and one that holds rows out cannot wait: "
                "who was held out is drawn and kept nowhere. Nothing was charged. Fit without evaluate, and "
                "evaluate on other rows."
            )
        account = Ledger(whole, unit=unit) if share and ledger is None else ledger
        if held is not None:
            out = round(share * held.n)
            if few := too_few(kept, out, unit, len(aim.classes or ())):
                warnings.warn(few, AccuracyWarning, stacklevel=2)
        staged = None
        if bent:
            chooses = model == "auto" and bent != declared_curves(schema)
            terms: dict[str, Any] = {"names": bent, "chooses": chooses, "narrows": not asked.share}
            if chooses or model == "smooth":
                terms["pairs"] = may_pair(model, schema, n)
            staged = Additive(schema, risk, risk_over, training, **terms)
        elif not asked.anyway:
            require_determined(coefficient_forecast(schema, named, risk.problem, training, asked))
        oracle = None
        if share:
            entries = planned_entries(aim.classes)
            oracle = stack.enter_context(
                CountOracle.open(kept, "evaluation", account, simulate, unit=unit, entries=entries)
            )
        result = minimize(
            staged or risk,
            budget=training,
            method=method,
            tolerance=tolerance,
            inference=replace(asked, design=asked_in(staged.schema if staged else schema)),
            purpose=about.purpose,
            ledger=account,
            simulate=simulate,
            confidence=confidence,
            progress=progress,
            resume=resume,
            declared={
                "schema": schema.digest,
                "loss": named,
                "model": model,
                "invalid": how.invalid,
                "table": state_of(table),
            },
        )
        settled, marginals = (staged.schema, staged.marginals) if staged else (schema, ())
        result = projected(result, settled, marginals)
        if ledger is None:  # an account of training and figures alone counts nothing else that is released
            result = replace(result, ledger="")
        trained = Model(
            result=result,
            schema=settled,
            marginals=marginals,
            loss=named,
            created=clock().date().isoformat(),
            versions=versions(),
            **asdict(about),
        )
        if oracle is None or held is None:
            return trained
        test = reader.test(settled)
        people: dict[str, Any] = {"groups": test.keys, "persons": held.measured, "reading": how}
        measured = figures(trained, test.features, test.target, budget=kept, oracle=oracle, **people)
        said = () if result.simulated else (together(whole, training, kept, measured[0].n, unit),)
        return replace(trained, result=replace(result, caveats=(*result.caveats, *said)), figures=measured)


@dataclass
class _Reader:
    """A table as records under one schema or another; who is held out is drawn once."""

    table: Any
    aim: Target
    persons: int | None
    how: ReadOptions
    share: float
    simulate: int | None
    progress: bool
    client: Any = None
    parting: Parting | None = None
    held_out: tuple[Schema, Table] | None = None

    def test(self, declared: Schema) -> Table:
        """The rows held out, by the schema that the model ended with: others were read on the way to it."""
        if self.held_out is None or self.held_out[0] != declared:
            self.records(declared)
        assert self.held_out is not None
        return self.held_out[1]

    def records(self, declared: Schema) -> Records:
        table, aim, persons, how = self.table, self.aim, self.persons, self.how
        plain = not self.share and aim.survival is None and how.decimal == "."
        if self.client is None and plain and _is_parquet_file(table):
            return training_records.of_parquet(table, declared, aim, persons, how, self.progress)
        with waiting(self.progress, f"reading {called(table)}"):
            if self.client is not None:
                return training_records.on_workers(self.client, table, declared, aim, persons, how)
            held = tables.read_compact(table, declared, how)
            self.parting = self.parting or Parting.of(held, self.share, persons, how, self.simulate)
            if self.share:
                held, test = held.split(self.parting.test)
                self.held_out = declared, test
            return tables.training(held, aim, self.parting.trained, how)


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
