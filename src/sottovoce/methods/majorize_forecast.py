"""Forecast of `majorize`: its own shares of the budget along an expected path."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.methods import expected
from sottovoce.methods.budget_schedule import Growing, Tracking
from sottovoce.methods.forecast import Costs
from sottovoce.methods.majorize import MajorizeReserve
from sottovoce.methods.majorizers import MajorizerShape
from sottovoce.methods.measurement import curvature_in_doubt
from sottovoce.questions import Gradient, Gram, GramDiagonal, Hessian

if TYPE_CHECKING:
    from sottovoce.methods.designs import Design
    from sottovoce.methods.majorize import Majorize
    from sottovoce.planning.quotes import Quotes


@final
@dataclass(frozen=True)
class MajorizeForecaster(expected.FollowedForecaster):
    """One question about the features, then a gradient a step."""

    method: Majorize

    def curvature(self, quotes: Quotes) -> float:
        if not curvature_in_doubt(quotes.problem, quotes.goal.tolerance):
            return -quotes.problem.curvature_floor
        aside, levels = self._aside(quotes), self.method.levels(quotes.problem, quotes.goal)
        return expected.shown(quotes.noise(Hessian, aside.curvature), quotes, levels)

    def costs(self, quotes: Quotes) -> Costs:
        aside, design = self._aside(quotes), self._design(quotes)
        noise = []
        match design.shape:
            case MajorizerShape.DENSE:
                noise.append(quotes.noise(lambda _: Gram(), aside.gram))
            case MajorizerShape.DIAGONAL:
                noise.append(quotes.noise(lambda _: GramDiagonal(), aside.gram))
        if quotes.goal.tolerance is not None:
            noise.insert(0, expected.gradients(quotes, self.path(quotes).units))
            if aside.curvature:
                noise.append(quotes.noise(Hessian, aside.curvature))
        else:
            levels = self.method.levels(quotes.problem, quotes.goal)
            left = self._left(quotes) - aside.measured - aside.look
            units = expected.planned(quotes, self.method.shares or Growing(), levels, left, design.steps)
            noise.insert(0, expected.gradients(quotes, units))
            if aside.look:
                noise.append(quotes.noise(Gradient, aside.look))
            noise += expected.measurements(quotes, levels, aside.measured, aside.curvature)
        return Costs(steps=design.steps, noise=tuple(noise), majorizer=design.shape.value)

    def path(self, quotes: Quotes) -> expected.Path:
        assert quotes.goal.tolerance is not None
        shares = self.method.shares or Tracking(quotes.goal.tolerance.gradient)
        levels = self.method.levels(quotes.problem, quotes.goal)
        return expected.expected_path(quotes, shares, levels, self._left(quotes), self.method.steps + 1)

    def _left(self, quotes: Quotes) -> int:
        """What is left for expected.gradients."""
        aside = self._aside(quotes)
        asked = aside.gram if self._design(quotes).shape is not MajorizerShape.SCALAR else 0
        return quotes.units - asked - aside.curvature

    def _design(self, quotes: Quotes) -> Design:
        mu = math.sqrt(quotes.prices.mu_squared(quotes.units))
        return self.method.design(quotes.problem, mu, quotes.goal)

    def _aside(self, quotes: Quotes) -> MajorizeReserve:
        in_doubt = curvature_in_doubt(quotes.problem, quotes.goal.tolerance)
        return MajorizeReserve.of(self.method, quotes.units, in_doubt)
