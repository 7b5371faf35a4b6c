"""What a schedule of runs costs whoever is in all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

from sottovoce.accounting import Budget, Ledger
from sottovoce.accounting.lineage import Preset, composed_under
from sottovoce.accounting.wording import affordable
from sottovoce.errors import ParameterError

DAYS = {"day": 1.0, "week": 7.0, "month": 365.0 / 12.0, "quarter": 365.0 / 4.0, "year": 365.0}
MOST = 10_000
"""Runs that a schedule may have."""


@final
@dataclass(frozen=True)
class Schedule:
    """So many runs of one budget, one every `every` for `span`.

    `together` is what all of them keep for whoever is in every one of them, by composition of Gaussian
    mechanisms; `each` the epsilon of a run at which all together keep the budget of one."""

    every: str
    span: str
    runs: int
    budget: Budget
    together: tuple[float, float]
    each: float

    def __str__(self) -> str:
        one, (epsilon, delta) = self.budget, self.together
        possible = (
            f"To keep epsilon={one.epsilon:g} over it all, give each run epsilon={self.each:g} at this delta."
            if self.each
            else f"No run of this delta is small enough to keep epsilon={one.epsilon:g} over it all."
        )
        return (
            f"One run every {self.every} for {_said(self.span)} is {self.runs:,} runs. Whoever is in all "
            f"of them has epsilon={epsilon:g}, delta={delta:.3g} over the whole time ({one.relation.value}), "
            f"not epsilon={one.epsilon:g}; whoever is in one of them alone has that run's. {possible}"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "every": self.every,
            "for": self.span,
            "runs": self.runs,
            "epsilon": self.together[0],
            "delta": self.together[1],
            "epsilon_each": self.each,
        }


def schedule(every: str, span: str, budget: Budget, unit: str = "record") -> Schedule:
    """`every` and `span` are a day, week, month, quarter or year, or several: "2 weeks"."""
    runs = math.floor(_days("for", span) / _days("every", every) + 1e-9)
    if not 1 <= runs <= MOST:
        raise ParameterError(f"a schedule has from 1 to {MOST:,} runs: every day for a year, for example.")
    currency = Ledger(budget).currency
    presets = tuple(
        Preset(
            run=str(place),
            epsilon=budget.epsilon,
            delta=budget.delta,
            relation=budget.relation,
            currency=currency.name,
            unit=unit,
        )
        for place in range(runs)
    )
    found = composed_under(presets, budget.relation)
    assert found is not None
    each = affordable(currency.cap(budget), budget, currency, runs)
    return Schedule(every, span, runs, budget, found, each)


def _days(name: str, text: str) -> float:
    number, _, word = text.strip().rpartition(" ")
    try:
        count = float(number) if number else 1.0
    except ValueError:
        count = 0.0
    found = DAYS.get(word.removesuffix("s"))
    if found is None or not 0.0 < count <= 1e6:
        raise ParameterError(f"--{name} must be a {', '.join(DAYS)}, or several: '2 weeks'.")
    return count * found


def _said(span: str) -> str:
    return span if " " in span.strip() else f"a {span}"
