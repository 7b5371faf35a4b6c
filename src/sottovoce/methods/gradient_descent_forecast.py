"""Forecast of `dp-gd`: fixed shares for its steps and for the choice among its iterates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.certificate import norm_bound, scalar_margin
from sottovoce.methods.forecast import Costs, Forecaster, just_tested
from sottovoce.methods.paper.constants import Curve, NoiseShare
from sottovoce.methods.paper.phases import optimistic
from sottovoce.questions import Gradient, SmallestEigenvalue
from sottovoce.result import Tolerance

if TYPE_CHECKING:
    from sottovoce.methods.forecast import QueryNoise
    from sottovoce.methods.gradient_descent import GradientDescent
    from sottovoce.planning.quotes import Quotes

_ANY = 1e6
"""A curvature tolerance that asks for nothing."""


@final
@dataclass(frozen=True)
class DescentForecaster(Forecaster):
    """Short steps on one share of the budget, then fresh looks at the best iterates.

    A step 1/G along noise of sd s leaves a gradient of norm at most s behind in the long run: the data's
    Hessian has trace at most G. The steps must also be enough to get there: twice ceil(sqrt(T)), because
    unlike other methods this one takes no further steps where they were too few."""

    method: GradientDescent

    def reaches(self, quotes: Quotes) -> bool:
        tolerance = quotes.goal.tolerance
        assert tolerance is not None
        assert tolerance.curvature is not None
        if self.curvature(quotes) > tolerance.curvature or not self._arrives(quotes, tolerance.gradient):
            return False
        step, look, _ = self._noise(quotes)
        level = self.method.levels(quotes.problem, quotes.goal).gradient
        seen = math.hypot(step.scale, look.norm)
        return norm_bound(seen, look.scale, quotes.problem.dim, level)[0] <= tolerance.gradient

    def curvature(self, quotes: Quotes) -> float:
        if quotes.goal.tolerance is None:
            return self.curvature(quotes.aiming(just_tested(quotes.problem)))
        floor = -quotes.problem.curvature_floor
        levels = self.method.levels(quotes.problem, quotes.goal)
        if not levels.curvature_tested:
            return floor
        eigenvalue = self._noise(quotes)[2]
        assert eigenvalue is not None
        return min(floor, scalar_margin(eigenvalue.scale, levels.curvature(1)))

    def costs(self, quotes: Quotes) -> Costs:
        noise = tuple(query for query in self._noise(quotes) if query is not None)
        return Costs(steps=self.method.steps, noise=noise)

    def _noise(self, quotes: Quotes) -> tuple[QueryNoise, QueryNoise, QueryNoise | None]:
        method, tested = self.method, self.method.levels(quotes.problem, quotes.goal).curvature_tested
        step = method.step_units(quotes.units)
        gradient, curvature = method.selection_units(
            quotes.units - method.steps * step, min(method.candidates, method.steps), tested
        )
        return (
            quotes.noise(Gradient, step, method.steps),
            quotes.noise(Gradient, gradient, 1),
            quotes.noise(SmallestEigenvalue, curvature) if curvature else None,
        )

    def _arrives(self, quotes: Quotes, gradient: float) -> bool:
        least = NoiseShare().short_decrease(
            Curve.of(quotes.problem), Tolerance(gradient=gradient, curvature=_ANY)
        )
        return 2 * optimistic(math.ceil(quotes.problem.gap(quotes.start) / least)) <= self.method.steps
