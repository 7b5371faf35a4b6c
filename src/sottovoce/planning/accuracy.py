"""What privacy costs in accuracy, expected from public numbers and a stated prior.

Noise moves d weights by an amount in proportion to t = d / (n mu): what one record may move, over what n of
them say, for each weight. The excess loss follows a t^q until there is nothing left to lose, and accuracy
falls with it. Constants are those of fits on made-up tables (`python -m benchmarks.plan_accuracy`), so they
are no promise: tables unlike them, with few records of one class or columns that use a sliver of their
declared range, lose more."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

from sottovoce.accounting import Budget
from sottovoce.accounting.gdp import mu_of

PRIOR = (
    "two classes; 3 to 15 columns, categories and numbers that use a tenth to all of their range; log odds "
    "of standard deviation 1 to 3, linear in half of the tables"
)
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_STEPS = 40
_SLOPE, _POWER, _MOST = 4.1, 1.45, 0.187
_TYPICAL, _LARGEST = 0.58, 2.5
EIGHT_OF_TEN = 1.1
"""Accuracy lost, over the expected excess loss, that eight of ten fits on made-up tables stayed below (31
tables, 124 fits)."""
AREA = 1.1
"""The same of the area under the ROC curve, over that of accuracy."""
# Accuracy is not what training minimizes: where little is lost, it may as well be gained.
_SLACK = 1.5e-3
# Two models differ on about half the root of the excess loss of all rows; a test set a quarter as large as
# the training set shows that difference with this variance, times the root of the excess and over n.
_CHANCE = 2.0


@final
@dataclass(frozen=True, kw_only=True)
class AccuracyLost:
    """Excess of the mean log loss, and the accuracy lost, as a part of all rows: typical and a range.

    `low` is below zero: a private model may by chance be the more accurate one."""

    epsilon: float
    excess: float
    typical: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"{100 * self.typical:.2g} points of accuracy lost to privacy, at most {100 * self.high:.2g}; "
            f"excess log loss {self.excess:.2g}"
        )


def accuracy_lost(n: int, weights: int, budget: Budget, kept: float = 0.0) -> AccuracyLost:
    """What a fit on n records with so many weights loses to the best model, a part of the budget kept back.

    excess = 1 / (1 / (a t^q) + 1 / s), t = weights / (n mu sqrt(1 - kept)). The range is the narrowest of a
    grid that held in 97 of 100 fits on the made-up tables, and two standard deviations of what a test set
    shows by chance on either side."""
    mu = mu_of(budget.epsilon, budget.delta) * math.sqrt(1.0 - kept)
    steep = _SLOPE * (weights / (n * mu)) ** _POWER
    excess = 1.0 / (1.0 / steep + 1.0 / _MOST)
    slack = _SLACK + 2.0 * math.sqrt(_CHANCE * math.sqrt(excess) / n)
    return AccuracyLost(
        epsilon=budget.epsilon,
        excess=excess,
        typical=_TYPICAL * excess,
        low=-slack,
        high=min(0.5, _LARGEST * excess + slack),
    )


@final
@dataclass(frozen=True, kw_only=True)
class AccuracyForecast:
    """The accuracy a plan may lose, what standard errors and evaluation would take, and other epsilons."""

    here: AccuracyLost
    with_inference: AccuracyLost
    with_evaluation: AccuracyLost
    over_epsilon: tuple[AccuracyLost, ...]
    fine: tuple[AccuracyLost, ...] = ()
    """At many epsilons, for a page on which one is moved."""

    @classmethod
    def of(cls, n: int, weights: int, budget: Budget, kept: float = 0.0) -> AccuracyForecast:
        """`kept` is the part of the budget that is kept for standard errors already."""
        budgets = [replace(budget, epsilon=epsilon) for epsilon in EPSILONS]
        return cls(
            here=accuracy_lost(n, weights, budget, kept),
            with_inference=accuracy_lost(n, weights, budget, 0.3),
            with_evaluation=accuracy_lost(round(0.9 * n) or 1, weights, budget, 1.0 - 0.9 * (1.0 - kept)),
            over_epsilon=tuple(accuracy_lost(n, weights, other, kept) for other in budgets),
            fine=tuple(
                accuracy_lost(n, weights, replace(budget, epsilon=0.1 * 100.0 ** (step / _STEPS)), kept)
                for step in range(_STEPS + 1)
            ),
        )

    def __str__(self) -> str:
        parts = (
            f"--inference 0.3: {100 * self.with_inference.typical:.2g}",
            f"--evaluate 0.1: {100 * self.with_evaluation.typical:.2g}",
        )
        return (
            f"can expect {self.here}\n  with a part of the budget kept: {', '.join(parts)} points\n"
            f"  if the table is like those it was learned from: {PRIOR}"
        )

    def drawn(self, width: int = 40) -> str:
        """The range over epsilon as text: a dot where it is typical, on a logarithmic scale of points."""
        tops = [100 * found.high for found in self.over_epsilon]
        low, high = math.log10(0.01), math.log10(max(tops))
        lines = ["epsilon  points of accuracy lost, typical and at most"]
        for found in self.over_epsilon:
            least, typical, most = (
                round(
                    (width - 1)
                    * min(1.0, max(0.0, (math.log10(max(100 * value, 0.01)) - low) / (high - low)))
                )
                for value in (found.low, found.typical, found.high)
            )
            bar = "".join(
                "\u25cf" if at == typical else "\u2500" if least <= at <= most else " " for at in range(width)
            )
            lines.append(
                f"{found.epsilon:7g}  {100 * found.typical:6.2g}  {bar}  up to {100 * found.high:.2g}"
            )
        return "\n".join(lines)
