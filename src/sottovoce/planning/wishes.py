"""Accuracy first: the least epsilon that is expected to reach what somebody wants, before data is read.

An accuracy is wanted beside the one that a model without privacy has, which no plan can know: it is told,
from last year's model or what was published of such records. A standard error is wanted of a declared column.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from sottovoce.errors import ParameterError, meant
from sottovoce.exports.forecast import coefficient_forecast
from sottovoce.methods.forecast import least
from sottovoce.planning.accuracy import AREA, EIGHT_OF_TEN, accuracy_lost

if TYPE_CHECKING:
    from sottovoce.accounting import Budget
    from sottovoce.data.schema import Schema
    from sottovoce.problem import Problem
    from sottovoce.results.inference.request import Inference

EPSILONS = (1e-3, 100.0)
_OFF = 1.25
"""How far standard errors are taken to be from their forecast, on either side."""


@final
@dataclass(frozen=True, kw_only=True)
class Wish:
    """What is wanted, the least epsilon that is expected to reach it, and its range.

    Of accuracies `epsilon` is for eight of ten tables like those the forecast was learned from, `low` for
    half of them, and `high` for the largest loss that the forecast allows for. Of standard errors it is
    for the one forecast, `low` and `high` for one a quarter smaller or larger. None: no epsilon up to 100."""

    wanted: str
    epsilon: float | None
    low: float | None
    high: float | None
    odds: str

    def to_dict(self) -> dict[str, Any]:
        named = ("wanted", "epsilon", "low", "high")
        return {name: getattr(self, name) for name in named}

    def __str__(self) -> str:
        if self.epsilon is None:
            return f"{self.wanted} is out of reach of any epsilon with so many records and weights"
        low = "" if self.low is None else f"{self.low:.2g}"
        high = "no epsilon is safe" if self.high is None else f"{self.high:.2g}"
        return (
            f"{self.wanted} is expected at epsilon = {self.epsilon:.2g} {self.odds}; "
            f"range {low} to {high if self.high is not None else 'none: ' + high}"
        )


def wish_for_accuracy(
    wanted: float, without: float | None, n: int, weights: int, budget: Budget, kept: float, *, area: bool
) -> Wish:
    """Of an accuracy, or of the area under the ROC curve, for two classes and the default method."""
    name = "auc" if area else "accuracy"
    if without is None:
        raise ParameterError(
            f"{name} is reached or not by what a model without privacy has, which no plan can know before "
            "data is read. Say it, from last year's model or what was published of such records: "
            f"without_privacy={min(0.99, wanted + 0.01):.3g}."
        )
    if not 0.5 <= wanted < without <= 1.0:
        raise ParameterError(
            f"{name} must be from 0.5 to below what a model without privacy has, which is at most 1.",
            argument=name,
        )
    scale = AREA if area else 1.0

    def epsilon(lost: Callable[[Budget], float]) -> float | None:
        return least(lambda one: scale * lost(replace(budget, epsilon=one)) <= without - wanted, *EPSILONS)

    def found(one: Budget) -> Any:
        return accuracy_lost(n, weights, one, kept)

    return Wish(
        wanted=f"{name} {wanted:g}, where {without:g} is had without privacy,",
        epsilon=epsilon(lambda one: EIGHT_OF_TEN * float(found(one).excess)),
        low=epsilon(lambda one: float(found(one).typical)),
        high=epsilon(lambda one: float(found(one).high)),
        odds="in eight of ten tables like those it was learned from",
    )


def wish_for_error(
    term: str,
    wanted: float,
    schema: Schema | None,
    loss: str,
    problem: Problem,
    budget: Budget,
    asked: Inference,
) -> Wish:
    """Of the standard error of a declared column's coefficient, in the unit that summaries show."""
    if schema is None or not asked.share:
        raise ParameterError(
            "a standard error is of a declared column and takes a part of the budget: pass schema and "
            "inference=0.3."
        )
    if not 0.0 < wanted < math.inf:
        raise ParameterError("standard_error must be a number above 0.", argument="standard_error")

    def error(epsilon: float) -> float:
        found = coefficient_forecast(schema, loss, problem, replace(budget, epsilon=epsilon), asked)
        if found is None:
            raise ParameterError("there are too many weights for a forecast of standard errors.")
        lines = {line.term: line for line in found.lines}
        if term not in lines:
            raise ParameterError(f"there is no coefficient {term!r}.{meant(term, lines)}")
        return lines[term].error

    low, epsilon, high = (
        least(lambda one, off=off: error(one) <= wanted * off, *EPSILONS)  # type: ignore[misc]
        for off in (_OFF, 1.0, 1.0 / _OFF)
    )
    return Wish(
        wanted=f"a standard error of {wanted:g} for {term}",
        epsilon=epsilon,
        low=low,
        high=high,
        odds="for records as declared",
    )
