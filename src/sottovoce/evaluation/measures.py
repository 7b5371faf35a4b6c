"""Private evaluation on a test set: every figure is a charged query and comes with a confidence interval.

The guarantee covers the test set's records. It needs a budget of its own: a ledger of the test set, or the
training data's where the same people are in both. The model is public by then. A Model of `fit` also takes
one table in place of X and y: its schema says which column is the target and, where it names persons, whose
rows they are. With `groups`, or such a schema, the guarantee covers persons, each counting once.

A row with NaN or infinity, or a label that is none of the classes, is refused before anything is charged;
whether that happens is outside the guarantee. With `invalid="zero"` the row counts as zeros and the label as
the first class, in every figure, and nothing is said of it: for automated pipelines.
"""

from __future__ import annotations

import hashlib
import math
import pickle
import uuid
from collections.abc import Iterator, Mapping, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Required, TypedDict, Unpack, final

from sottovoce._version import VERSION
from sottovoce.accounting import Budget, Ledger
from sottovoce.accounting.resume import Resume
from sottovoce.data.files import read, warn_of_persons
from sottovoce.data.filesets import state_of
from sottovoce.data.options import AS_WRITTEN, ReadOptions, checked_reading
from sottovoce.data.persons import Persons, require_declared
from sottovoce.errors import ParameterError
from sottovoce.evaluation.area import area
from sottovoce.evaluation.figures import CalibrationCurve, Confusion, Estimate, Evaluation
from sottovoce.evaluation.private_evaluation import PrivateEvaluation
from sottovoce.evaluation.rows import labelled, readable
from sottovoce.privacy.counting import CountOracle

MOST_LOG_LOSS, MOST_DEVIANCE = math.log(1000.0), 2.0 * math.log(1000.0)
"""What one record counts at most, unless told otherwise."""


class HowTested(TypedDict, total=False):
    """Who pays for a figure, how sure its interval is, and how records are read; only `budget` is needed.

    The budget is set aside in the ledger until the figure is there. With a ledger file, `resume` goes on with
    an evaluation that was interrupted, by its identity, under the same arguments and what `declared` adds to
    them: nothing is paid or drawn twice."""

    budget: Required[Budget]
    ledger: Ledger | None
    simulate: int | None
    confidence: float
    reading: ReadOptions
    groups: Any
    persons: int | None
    resume: str | Resume | None
    declared: Mapping[str, str] | None


def accuracy(model: Any, X: Any, y: Any = None, **how: Unpack[HowTested]) -> Estimate:
    """Share of records whose class is predicted. The count moves by at most 1."""
    with opened_test(Asked("accuracy"), model, X, y, **how) as test:
        return test.accuracy(test.oracle.run.units_left)


def log_loss(
    model: Any, X: Any, y: Any = None, *, ceiling: float = MOST_LOG_LOSS, **how: Unpack[HowTested]
) -> Estimate:
    """Mean of min(-log p, ceiling), p the probability the model gave to the true class.

    Without the ceiling one record could move it without bound."""
    with opened_test(Asked(f"log_loss {ceiling!r}"), model, X, y, **how) as test:
        return test.log_loss(ceiling, test.oracle.run.units_left)


def absolute_error(
    model: Any, X: Any, y: Any = None, *, target: tuple[float, float], **how: Unpack[HowTested]
) -> Estimate:
    """Mean absolute error of a regressor, predictions and targets clipped to the declared range."""
    with opened_test(Asked(f"absolute_error {target!r}"), model, X, y, **how) as test:
        return test.absolute_error(target, test.oracle.run.units_left)


def deviance(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    target: tuple[float, float],
    ceiling: float = MOST_DEVIANCE,
    **how: Unpack[HowTested],
) -> Estimate:
    """Mean Poisson deviance 2 (y log(y/m) - y + m) of expected counts m, each at most the ceiling.

    Counts and predictions are clipped to the declared target=(0, high)."""
    with opened_test(Asked(f"deviance {(target, ceiling)!r}"), model, X, y, **how) as test:
        return test.deviance(target, ceiling, test.oracle.run.units_left)


def majority_rate(model: Any, X: Any, y: Any = None, **how: Unpack[HowTested]) -> Estimate:
    """Share of the commonest class, to compare the accuracy with. The counts move by at most sqrt2."""
    with opened_test(Asked("majority_rate"), model, X, y, **how) as test:
        return test.majority(test.oracle.run.units_left)


def confusion_matrix(model: Any, X: Any, y: Any = None, **how: Unpack[HowTested]) -> Confusion:
    """Records by true and predicted class. The counts move by at most sqrt2 in l2; by 1 under zero-out."""
    with opened_test(Asked("confusion_matrix"), model, X, y, **how) as test:
        return test.confusion(test.oracle.run.units_left)


def calibration(
    model: Any, X: Any, y: Any = None, *, bins: int = 10, **how: Unpack[HowTested]
) -> CalibrationCurve:
    """Frequencies by predicted probability, in bins of equal width. The counts move by at most sqrt2."""
    with opened_test(Asked(f"calibration {bins!r}", bins), model, X, y, **how) as test:
        return test.calibration(bins, test.oracle.run.units_left)


def evaluate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    ceiling: float = MOST_LOG_LOSS,
    bins: int = 10,
    **how: Unpack[HowTested],
) -> Evaluation:
    """All figures of a classifier with probabilities, under one budget."""
    with opened_test(Asked(f"evaluate {(ceiling, bins)!r}", bins), model, X, y, **how) as test:
        test.require_predictions()
        test.require_log_loss(ceiling)
        test.require_calibration(bins)
        two = len(test.classes) == 2
        share = test.oracle.run.share(6 if two else 5)
        return Evaluation(
            accuracy=test.accuracy(share),
            majority=test.majority(share),
            log_loss=test.log_loss(ceiling, share),
            calibration=test.calibration(bins, share),
            confusion=test.confusion(share),
            area=area(test, share) if two else None,
        )


def auc(model: Any, X: Any, y: Any = None, **how: Unpack[HowTested]) -> Estimate:
    """The area under the ROC curve of two classes, with bounds. What is released moves by at most sqrt2."""
    with opened_test(Asked("auc"), model, X, y, **how) as test:
        return area(test, test.oracle.run.units_left)


@final
@dataclass(frozen=True)
class Asked:
    """What is asked of a test set, with the numbers that decide it, and how many bins it has."""

    name: str
    bins: int = 10


@contextmanager
def opened_test(
    asked: Asked,
    model: Any,
    X: Any,
    y: Any,
    *,
    budget: Budget,
    ledger: Ledger | None = None,
    simulate: int | None = None,
    confidence: float = 0.95,
    reading: ReadOptions = AS_WRITTEN,
    groups: Any = None,
    persons: int | None = None,
    resume: str | Resume | None = None,
    declared: Mapping[str, str] | None = None,
    oracle: CountOracle | None = None,
) -> Iterator[PrivateEvaluation]:
    """Refuse what can be refused, and open the run that pays, unless one that was opened before is given."""
    if not (isinstance(confidence, float) and 0.0 < confidence < 1.0):
        raise ParameterError(
            "confidence must be a number strictly between 0 and 1, for example 0.95.", argument="confidence"
        )
    reading = checked_reading(reading)
    going_on = Resume.of(resume)
    if going_on is not None and not going_on.further:
        raise ParameterError("an evaluation goes on to its end: resume it without further=False.")
    facts = {"asked": asked.name, "invalid": reading.invalid, "table": state_of(X), "version": VERSION}
    if y is None and hasattr(model, "schema"):
        if groups is None:
            warn_of_persons(X, model.schema, reading)
        table = read(X, model.schema, reading)
        X, y = table.features, table.target
        groups = table.keys if groups is None else groups
    labels = labelled(X, y)
    rows = readable(X, lenient=reading.lenient)
    if groups is not None:
        require_declared(persons, lenient=reading.lenient, relation=budget.relation)
    people = Persons.given(groups, len(labels), persons, lenient=reading.lenient)
    test = partial(PrivateEvaluation, model, rows, labels)
    if oracle is not None:
        yield test(oracle, confidence, reading.lenient, people)
        return
    if isinstance(ledger, Ledger) and ledger.persistent:
        facts["model"] = identity_of(model)
        facts["n"] = str(len(labels) if people is None else people.n)
    with CountOracle.open(
        budget,
        "evaluation",
        ledger,
        simulate,
        unit="record" if people is None else "person",
        entries=planned_entries(getattr(model, "classes_", None), asked.bins),
        declared={**facts, **(declared or {})},
        resume=going_on,
    ) as oracle:
        yield test(oracle, confidence, reading.lenient, people)


def planned_entries(classes: Sized | None, bins: int = 10) -> int:
    """Numbers that the figures of a model of these classes draw noise for, at most."""
    count = 0 if classes is None else len(classes)
    return 8 + count + count * count + (2 * bins if isinstance(bins, int) else 0)


def identity_of(model: Any) -> str:
    """Tells a model from others, so that an evaluation goes on with the same one."""
    if hasattr(model, "to_file"):
        return hashlib.sha256(model.to_file().encode()).hexdigest()
    with suppress(Exception):
        return hashlib.sha256(pickle.dumps(model)).hexdigest()
    return f"not known {uuid.uuid4().hex}"
