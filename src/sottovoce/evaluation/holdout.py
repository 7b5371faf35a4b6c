"""Rows held out of training and the part of a budget kept for them, so that one fit also says how good it is.

Which rows are held out is drawn before any is read into a sum, from the operating system's entropy, and
depends on their number alone. Both parts of the budget are worth mu^2 in proportion to their share, so that
together they are worth the whole: sqrt(1 - share) mu to train and sqrt(share) mu to evaluate."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.accounting import Budget
from sottovoce.accounting.gdp import epsilon_of, mu_of
from sottovoce.accounting.wording import stated
from sottovoce.data.options import ReadOptions
from sottovoce.data.persons import Persons
from sottovoce.errors import DataError, ParameterError
from sottovoce.evaluation import measures
from sottovoce.evaluation.area import area
from sottovoce.evaluation.figures import ACCURACY, AREA, TOO_WIDE, expected_width

if TYPE_CHECKING:
    from sottovoce.data.tables import Table
    from sottovoce.evaluation.figures import Estimate

_ROUNDING = 1.0 - 1e-9
"""Both parts are made smaller by this, so that their rounded prices fit into the whole."""


def checked_share(share: float) -> float:
    """A share of the rows and of the budget, below half; 0 for none."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 <= share < 0.5:
        raise ParameterError(
            "evaluate must be a share of rows and budget, at least 0 and below 0.5: 0.1.", argument="evaluate"
        )
    return float(share)


def parts(budget: Budget, share: float) -> tuple[Budget, Budget]:
    """The budget to train with, and the one to evaluate with."""
    mu = mu_of(budget.epsilon, budget.delta)
    found = [
        Budget(_ROUNDING * epsilon_of(math.sqrt(kept) * mu, budget.delta), budget.delta, budget.relation)
        for kept in (1.0 - share, share)
    ]
    return found[0], found[1]


def together(whole: Budget, trained: Budget, kept: Budget, n: int, unit: str) -> str:
    """What training and the figures of n records or persons held out promise together, in words.

    Who is held out is drawn without looking, and nobody is in both parts. Say the one that differs is in
    training: the figures are computed from the model and from rows that are the same, so they are
    post-processing. Say it is held out: the model is the same. Either way one part alone speaks of it, and
    over the draw the larger promise of the two holds."""
    most = max(trained.epsilon, kept.epsilon)
    return (
        f"the guarantee is that of training; the figures were measured on {n:,} other {unit}s within "
        f"{stated(kept.epsilon, kept.delta)}. No {unit} is in both parts, so the model together with its "
        f"figures keeps {stated(most, whole.delta)} for every {unit}; both parts were charged, together "
        f"{stated(whole.epsilon, whole.delta)}"
    )


def too_few(kept: Budget, n: int, unit: str, classes: int, part: float | None = None) -> str:
    """What to say, before anything is charged, where the area under the ROC curve of n records or persons,
    or the accuracy, will be known to a fifth and no better; empty where there is nothing to say.

    From public numbers alone: how many are measured, and what `part` of the budget that figure gets, by
    default the one of `figures`."""
    if not classes:
        return ""
    mu = mu_of(kept.epsilon, kept.delta)
    part = part or (0.45 if classes == 2 else 0.72)
    width = expected_width(n, math.sqrt(part) * mu, 0.2 if classes == 2 else 0.5)
    if width <= TOO_WIDE:
        return ""
    figure = AREA if classes == 2 else ACCURACY
    return (
        f"{n:,} {unit}s held out are too few at this budget: an interval for the {figure} will be about "
        f"{min(width, 1.0):.2g} wide. Hold out a larger share, or take a larger epsilon."
    )


def held_out(n: int, share: float, simulate: int | None) -> NDArray[np.bool_]:
    """Which of n rows, or persons, are not trained on: a fixed number, drawn without looking."""
    count = round(share * n)
    if not 1 <= count < n:
        raise ParameterError("there are too few rows to hold some out. Leave the evaluation away.")
    draw = random.SystemRandom() if simulate is None else random.Random(simulate)
    chosen = np.zeros(n, dtype=bool)
    chosen[draw.sample(range(n), count)] = True
    return chosen


@final
@dataclass(frozen=True, repr=False)
class Parting:
    """Which rows of a table are held out, of n records or persons in all; none where nothing is measured.

    Persons are held out whole, a fixed number of all that there are or were declared to be; `trained` and
    `measured` say how many on either side, where that may not be counted."""

    test: NDArray[np.bool_]
    n: int
    trained: int | None = None
    measured: int | None = None

    @classmethod
    def of(
        cls, table: Table, share: float, persons: int | None, how: ReadOptions, simulate: int | None
    ) -> Parting:
        rows = int(table.features.shape[0])
        if not share:
            return cls(np.zeros(rows, dtype=bool), rows, persons)
        people = Persons.given(table.keys, rows, persons, lenient=how.lenient)
        if people is None:
            return cls(held_out(rows, share, simulate), rows)
        chosen = held_out(people.n, share, simulate)
        test = np.zeros(rows, dtype=bool)
        test[people.rows_of(np.flatnonzero(chosen))] = True
        if not (how.lenient or 0 < int(test.sum()) < rows):
            raise DataError("the persons cannot be divided into those to train on and those to measure with.")
        out = int(chosen.sum())
        return cls(test, people.n, people.n - out, out) if people.declared else cls(test, people.n)


def figures(model: Any, rows: Any, target: Any, *, budget: Budget, **how: Any) -> tuple[Estimate, ...]:
    """Accuracy, the majority rate beside it and, where the model gives probabilities, log loss and the area
    under the ROC curve of two classes; of numbers the absolute error, of counts the deviance too. One run
    pays."""
    asked = measures.Asked("figures")
    with measures.opened_test(asked, model, rows, target, budget=budget, **how) as test:
        whole = test.oracle.run.units_left
        if not model.is_classifier:
            bounds = model.schema.target.range
            if not model.is_count:
                return (test.absolute_error(bounds, whole),)
            half = whole // 2
            return test.absolute_error(bounds, half), test.deviance(bounds, measures.MOST_DEVIANCE, half)
        test.require_predictions()
        chances = hasattr(model, "predict_proba")
        if chances:
            test.require_log_loss(measures.MOST_LOG_LOSS)
        small = whole // 10
        rest = whole - small
        majority = test.majority(small)
        if not chances:
            return test.accuracy(rest), majority
        if len(model.classes_) > 2:
            fifth = rest // 5
            return test.accuracy(4 * fifth), majority, test.log_loss(measures.MOST_LOG_LOSS, fifth)
        quarter = rest // 4
        return (
            test.accuracy(quarter),
            majority,
            area(test, 2 * quarter),
            test.log_loss(measures.MOST_LOG_LOSS, quarter),
        )
