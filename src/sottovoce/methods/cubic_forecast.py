"""Forecast of `cubic`: its own shares of the budget along an expected path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.methods import expected
from sottovoce.methods.budget_schedule import Growing, Tracking
from sottovoce.methods.cubic import CubicReserve
from sottovoce.methods.forecast import Costs
from sottovoce.methods.measurement import curvature_in_doubt
from sottovoce.questions import Hessian

if TYPE_CHECKING:
    from sottovoce.methods.cubic import Cubic
    from sottovoce.planning.quotes import Quotes


@final
@dataclass(frozen=True)
class CubicForecaster(expected.FollowedForecaster):
    """A gradient, a Hessian and one release of trials at each bold step; then a gradient a step."""

    method: Cubic

    def curvature(self, quotes: Quotes) -> float:
        levels = self.method.levels(quotes.problem, quotes.goal)
        return expected.shown(quotes.noise(Hessian, self._aside(quotes).hessian), quotes, levels)

    def costs(self, quotes: Quotes) -> Costs:
        method, aside = self.method, self._aside(quotes)
        levels, visits = (
            method.levels(quotes.problem, quotes.goal),
            method.visits(quotes.problem, quotes.goal),
        )
        if quotes.goal.tolerance is not None:
            units, end = self.path(quotes).units, []
        else:
            kept = int(quotes.units * method.measure_share)
            curvature = kept if curvature_in_doubt(quotes.problem, None) else 0
            left = self._left(quotes) - kept - curvature
            units = expected.planned(quotes, method.shares or Growing(), levels, left, visits)
            end = expected.measurements(quotes, levels, kept, curvature)
        bold = min(len(units), self._steps(quotes))
        noise = (
            expected.gradients(quotes, units),
            quotes.noise(Hessian, aside.hessian, bold),
            quotes.noise(quotes.trials(len(method.ladder)), aside.trials, bold),
            *end,
        )
        return Costs(steps=visits, noise=noise)

    def path(self, quotes: Quotes) -> expected.Path:
        assert quotes.goal.tolerance is not None
        shares = self.method.shares or Tracking(quotes.goal.tolerance.gradient, most=2.0)
        levels = self.method.levels(quotes.problem, quotes.goal)
        visits = self.method.visits(quotes.problem, quotes.goal)
        return expected.expected_path(quotes, shares, levels, self._left(quotes), visits)

    def _left(self, quotes: Quotes) -> int:
        aside = self._aside(quotes)
        return quotes.units - self._steps(quotes) * (aside.hessian + aside.trials)

    def _steps(self, quotes: Quotes) -> int:
        return self.method.free_steps if quotes.goal.tolerance is None else self.method.steps

    def _aside(self, quotes: Quotes) -> CubicReserve:
        return CubicReserve.of(self.method, quotes.units, self._steps(quotes))
