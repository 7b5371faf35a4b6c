"""Forecast of methods that learn coordinates: questions, and what the last measurement can certify."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from sottovoce.certificate import norm_bound, scalar_margin
from sottovoce.methods.adapt.grouping import sharing
from sottovoce.methods.adapt.length import ROUNDS
from sottovoce.methods.adapt.schedule import share
from sottovoce.methods.expected import gradients, measurements, shown
from sottovoce.methods.forecast import Costs, Forecast, Forecaster
from sottovoce.methods.measurement import curvature_in_doubt
from sottovoce.questions import ColumnMoments, Gradient, GradientNorm, Gram, Hessian

if TYPE_CHECKING:
    from sottovoce.methods.forecast import QueryNoise
    from sottovoce.methods.measurement import LearnedMethod
    from sottovoce.planning.quotes import Quotes

_LEFT = 0.5
"""Gradient left at the end, in units of the noise of the most precise step."""


@final
@dataclass(frozen=True)
class LearnedForecaster(Forecaster):
    """Moments, second moments, a gradient a step, and a measurement in the user's coordinates.

    Steps are priced as if asked in the user's coordinates: those they are asked in are not known before the
    moments are."""

    method: LearnedMethod
    free: ClassVar[bool] = True

    def forecast(self, quotes: Quotes) -> Forecast:
        self.method.insist_possible(quotes.problem, quotes.goal)
        return super().forecast(quotes)

    def reaches(self, quotes: Quotes) -> bool:
        tolerance = quotes.goal.tolerance
        assert tolerance is not None
        assert tolerance.curvature is not None
        return self.curvature(quotes) <= tolerance.curvature and self._bound(quotes) <= tolerance.gradient

    def curvature(self, quotes: Quotes) -> float:
        if not curvature_in_doubt(quotes.problem, quotes.goal.tolerance):
            return -quotes.problem.curvature_floor
        levels = self.method.levels(quotes.problem, quotes.goal)
        return shown(quotes.noise(Hessian, self._curvature_units(quotes)), quotes, levels)

    def costs(self, quotes: Quotes) -> Costs:
        method = self.method
        shared = sharing(quotes.problem, math.sqrt(quotes.prices.mu_squared(quotes.units)))
        noise = [
            gradients(quotes, self._steps(quotes)),
            quotes.noise(lambda _: ColumnMoments(groups=shared), int(quotes.units * method.moments_share)),
        ]
        if method.forms_gram(quotes.problem):
            noise.append(quotes.noise(lambda _: Gram(), int(quotes.units * method.gram_share)))
        last = self._last_units(quotes)
        if last:
            noise.append(quotes.noise(Gradient, last // ROUNDS, ROUNDS))
        noise += method.beside(quotes)
        noise += self._measured(quotes)
        return Costs(steps=method.taken(quotes.problem), noise=tuple(noise))

    def _bound(self, quotes: Quotes) -> float:
        """What the measurement certifies where half the noise of the best step is left."""
        level = self.method.levels(quotes.problem, quotes.goal).gradient
        gradient, *others = self._measured(quotes)
        length = _LEFT * gradients(quotes, self._steps(quotes)).norm
        for other in others:
            if other.query == GradientNorm.kind:
                return length + scalar_margin(other.scale, level)
        return norm_bound(math.hypot(length, gradient.norm), gradient.scale, quotes.problem.dim, level)[0]

    def _measured(self, quotes: Quotes) -> list[QueryNoise]:
        levels = self.method.levels(quotes.problem, quotes.goal)
        left = int(quotes.units * self.method.measure_share)
        return measurements(quotes, levels, left, self._curvature_units(quotes))

    def _steps(self, quotes: Quotes) -> tuple[int, ...]:
        method = self.method
        aside = method.moments_share + method.measure_share
        aside += method.gram_share if method.forms_gram(quotes.problem) else 0.0
        aside += math.fsum(query.times * query.share for query in method.beside(quotes))
        left = int(quotes.units * (1.0 - aside)) - self._curvature_units(quotes) - self._last_units(quotes)
        paid: list[int] = []
        steps = method.taken(quotes.problem)
        for step in range(steps):
            paid.append(int((left - sum(paid)) * share(step, steps)))
        return tuple(paid)

    def _last_units(self, quotes: Quotes) -> int:
        mu = math.sqrt(quotes.prices.mu_squared(quotes.units))
        return int(quotes.units * self.method.last_share(quotes.problem, mu))

    def _curvature_units(self, quotes: Quotes) -> int:
        in_doubt = curvature_in_doubt(quotes.problem, quotes.goal.tolerance)
        return int(quotes.units * self.method.curvature_share) if in_doubt else 0
