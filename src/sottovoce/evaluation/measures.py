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

import math
from typing import Any, Required, TypedDict, Unpack

from sottovoce.accounting import Budget, Ledger, Relation
from sottovoce.data.files import read
from sottovoce.data.persons import Persons
from sottovoce.errors import ParameterError
from sottovoce.evaluation.area import area
from sottovoce.evaluation.figures import CalibrationCurve, Confusion, Estimate, Evaluation
from sottovoce.evaluation.private_evaluation import PrivateEvaluation
from sottovoce.evaluation.rows import labelled, readable
from sottovoce.privacy.oracle import CountOracle


class HowTested(TypedDict, total=False):
    """Who pays for a figure, how sure its interval is, and how records are read; only `budget` is needed."""

    budget: Required[Budget]
    ledger: Ledger | None
    simulate: int | None
    confidence: float
    invalid: str
    groups: Any
    persons: int | None


def accuracy(model: Any, X: Any, y: Any = None, **how: Unpack[HowTested]) -> Estimate:
    """Share of records whose class is predicted. The count moves by at most 1."""
    test = _test(model, X, y, **how)
    return test.accuracy(test.oracle.run.units_left)


def log_loss(
    model: Any, X: Any, y: Any = None, *, ceiling: float = math.log(1000.0), **how: Unpack[HowTested]
) -> Estimate:
    """Mean of min(-log p, ceiling), p the probability the model gave to the true class.

    Without the ceiling one record could move it without bound."""
    test = _test(model, X, y, **how)
    return test.log_loss(ceiling, test.oracle.run.units_left)


def absolute_error(
    model: Any, X: Any, y: Any = None, *, target: tuple[float, float], **how: Unpack[HowTested]
) -> Estimate:
    """Mean absolute error of a regressor, predictions and targets clipped to the declared range."""
    test = _test(model, X, y, **how)
    return test.absolute_error(target, test.oracle.run.units_left)


def deviance(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    target: tuple[float, float],
    ceiling: float = 2.0 * math.log(1000.0),
    **how: Unpack[HowTested],
) -> Estimate:
    """Mean Poisson deviance 2 (y log(y/m) - y + m) of expected counts m, each at most the ceiling.

    Counts and predictions are clipped to the declared target=(0, high)."""
    test = _test(model, X, y, **how)
    return test.deviance(target, ceiling, test.oracle.run.units_left)


def majority_rate(model: Any, X: Any, y: Any = None, **how: Unpack[HowTested]) -> Estimate:
    """Share of the commonest class, to compare the accuracy with. The counts move by at most sqrt2."""
    test = _test(model, X, y, **how)
    return test.majority(test.oracle.run.units_left)


def confusion_matrix(model: Any, X: Any, y: Any = None, **how: Unpack[HowTested]) -> Confusion:
    """Records by true and predicted class. The counts move by at most sqrt2 in l2; by 1 under zero-out."""
    test = _test(model, X, y, **how)
    return test.confusion(test.oracle.run.units_left)


def calibration(
    model: Any, X: Any, y: Any = None, *, bins: int = 10, **how: Unpack[HowTested]
) -> CalibrationCurve:
    """Frequencies by predicted probability, in bins of equal width. The counts move by at most sqrt2."""
    test = _test(model, X, y, **how)
    return test.calibration(bins, test.oracle.run.units_left)


def evaluate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    ceiling: float = math.log(1000.0),
    bins: int = 10,
    **how: Unpack[HowTested],
) -> Evaluation:
    """All figures of a classifier with probabilities, under one budget."""
    test = _test(model, X, y, **how)
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
    test = _test(model, X, y, **how)
    return area(test, test.oracle.run.units_left)


def _test(
    model: Any,
    X: Any,
    y: Any,
    *,
    budget: Budget,
    ledger: Ledger | None = None,
    simulate: int | None = None,
    confidence: float = 0.95,
    invalid: str = "raise",
    groups: Any = None,
    persons: int | None = None,
) -> PrivateEvaluation:
    """Refuse what can be refused, and open the run that pays."""
    if not (isinstance(confidence, float) and 0.0 < confidence < 1.0):
        raise ParameterError("confidence must be a number strictly between 0 and 1, for example 0.95.")
    if y is None and hasattr(model, "schema"):
        table = read(X, model.schema, invalid=invalid)
        X, y = table.features, table.target
        groups = table.keys if groups is None else groups
    labels = labelled(X, y)
    rows = readable(X, invalid)
    people = Persons.given(groups, len(labels), persons, lenient=invalid == "zero")
    if people is not None and not people.declared and budget.relation is Relation.ZERO_OUT:
        raise ParameterError("under zero-out declare how many persons there are: persons=20_000.")
    unit = "record" if people is None else "person"
    oracle = CountOracle.open(budget, "evaluation", ledger, simulate, unit=unit)
    return PrivateEvaluation(model, rows, labels, oracle, confidence, invalid, people)
