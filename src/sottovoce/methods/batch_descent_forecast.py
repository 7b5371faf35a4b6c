"""Forecast of `descent-b`: equal prices for many small batches, then a measured end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from sottovoce.methods.expected import bound_at_the_end, measurements
from sottovoce.methods.forecast import Costs, Forecaster
from sottovoce.queries import Gradient, Hessian, SmallestEigenvalue
from sottovoce.results.certificate import Levels, scalar_margin

if TYPE_CHECKING:
    from sottovoce.methods.batch_descent import BatchDescent
    from sottovoce.methods.forecast import QueryNoise
    from sottovoce.planning.dry_run import DryRun


@final
@dataclass(frozen=True)
class BatchForecaster(Forecaster):
    """Steps fade to nothing, so what they leave behind is the noise of a batch averaged over the momentum."""

    method: BatchDescent
    free: ClassVar[bool] = True

    def reaches(self, dry_run: DryRun) -> bool:
        tolerance = dry_run.goal.tolerance
        assert tolerance is not None
        assert tolerance.curvature is not None
        (step, *_), end = self._noise(dry_run)
        batch = dry_run.prices.batched(self._size(dry_run))
        noise = math.hypot(step.norm, batch.sampling(Gradient(dry_run.far)))
        left = noise * math.sqrt(1.0 - self.method.momentum)
        found = bound_at_the_end(dry_run, self._levels(dry_run).at_the_end().gradient, end, left)
        return self.curvature(dry_run) <= tolerance.curvature and found <= tolerance.gradient

    def curvature(self, dry_run: DryRun) -> float:
        if not dry_run.problem.forms_matrices:
            return -dry_run.problem.curvature_floor
        kept = self.method.prices(dry_run.units, self._steps(dry_run))[2]
        margin = scalar_margin(
            dry_run.noise(SmallestEigenvalue, kept).scale, self._levels(dry_run).curvature(self.method.looks)
        )
        return min(-dry_run.problem.curvature_floor, margin)

    def costs(self, dry_run: DryRun) -> Costs:
        on_the_way, end = self._noise(dry_run)
        return Costs(steps=self._steps(dry_run), noise=(*on_the_way, *end))

    def _noise(self, dry_run: DryRun) -> tuple[list[QueryNoise], list[QueryNoise]]:
        """The noise of steps and looks, and that of the measurement at the end."""
        method, size, steps = self.method.fitted(dry_run.problem), self._size(dry_run), self._steps(dry_run)
        units, look, kept = method.prices(dry_run.units, steps)
        asked = [dry_run.noise(Gradient, units, steps + method.looks - 1, size=size)]
        if method.looks > 1:
            looked = min(dry_run.problem.n, method.look_batch * size)
            asked.append(dry_run.noise(Hessian, look, method.looks - 1, size=looked))
        curvature = kept if dry_run.problem.forms_matrices else 0
        return asked, measurements(dry_run, self._levels(dry_run), kept, curvature)

    def _size(self, dry_run: DryRun) -> int:
        return self.method.batch(dry_run.problem.n)

    def _steps(self, dry_run: DryRun) -> int:
        return self.method.planned(dry_run.problem.n)

    def _levels(self, dry_run: DryRun) -> Levels:
        return Levels(confidence=dry_run.goal.confidence, gradient_tests=2, curvature_tested=True)
