"""Forecast of `descent-b`: equal prices for many small batches, then a measured end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from sottovoce.certificate import Levels, scalar_margin
from sottovoce.methods.expected import bound_at_the_end, measurements
from sottovoce.methods.forecast import Costs, Forecaster
from sottovoce.questions import Gradient, Hessian, SmallestEigenvalue

if TYPE_CHECKING:
    from sottovoce.methods.batch_descent import BatchDescent
    from sottovoce.methods.forecast import QueryNoise
    from sottovoce.planning.quotes import Quotes


@final
@dataclass(frozen=True)
class BatchForecaster(Forecaster):
    """Steps fade to nothing, so what they leave behind is the noise of a batch averaged over the momentum."""

    method: BatchDescent
    free: ClassVar[bool] = True

    def reaches(self, quotes: Quotes) -> bool:
        tolerance = quotes.goal.tolerance
        assert tolerance is not None
        assert tolerance.curvature is not None
        (step, *_), end = self._noise(quotes)
        batch = quotes.prices.batched(self._size(quotes))
        noise = math.hypot(step.norm, batch.sampling(Gradient(quotes.far)))
        left = noise * math.sqrt(1.0 - self.method.momentum)
        found = bound_at_the_end(quotes, self._levels(quotes), end, left)
        return self.curvature(quotes) <= tolerance.curvature and found <= tolerance.gradient

    def curvature(self, quotes: Quotes) -> float:
        if not quotes.problem.forms_matrices:
            return -quotes.problem.curvature_floor
        kept = self.method.prices(quotes.units, self._steps(quotes))[2]
        margin = scalar_margin(
            quotes.noise(SmallestEigenvalue, kept).scale, self._levels(quotes).curvature(self.method.looks)
        )
        return min(-quotes.problem.curvature_floor, margin)

    def costs(self, quotes: Quotes) -> Costs:
        on_the_way, end = self._noise(quotes)
        return Costs(steps=self._steps(quotes), noise=(*on_the_way, *end))

    def _noise(self, quotes: Quotes) -> tuple[list[QueryNoise], list[QueryNoise]]:
        """The noise of steps and looks, and that of the measurement at the end."""
        method, size, steps = self.method.fitted(quotes.problem), self._size(quotes), self._steps(quotes)
        units, look, kept = method.prices(quotes.units, steps)
        asked = [quotes.noise(Gradient, units, steps + method.looks - 1, size=size)]
        if method.looks > 1:
            looked = min(quotes.problem.n, method.look_batch * size)
            asked.append(quotes.noise(Hessian, look, method.looks - 1, size=looked))
        curvature = kept if quotes.problem.forms_matrices else 0
        return asked, measurements(quotes, self._levels(quotes), kept, curvature)

    def _size(self, quotes: Quotes) -> int:
        return self.method.batch(quotes.problem.n)

    def _steps(self, quotes: Quotes) -> int:
        return self.method.planned(quotes.problem.n)

    def _levels(self, quotes: Quotes) -> Levels:
        return Levels(confidence=quotes.goal.confidence, gradient_tests=2, curvature_tested=True)
