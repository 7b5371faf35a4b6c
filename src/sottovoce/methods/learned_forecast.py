"""Forecast of methods that learn coordinates: queries, and what the last measurement can certify."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.methods.adapt.coordinates import sharing
from sottovoce.methods.adapt.descent import share
from sottovoce.methods.expected import bound_at_the_end, gradients, measurements, shown
from sottovoce.methods.forecast import Costs, MeasuredForecaster
from sottovoce.methods.measurement import curvature_in_doubt
from sottovoce.queries import ColumnMoments, Gram, Hessian

if TYPE_CHECKING:
    from sottovoce.methods.forecast import QueryNoise
    from sottovoce.methods.measurement import LearnedMethod
    from sottovoce.planning.dry_run import DryRun

_LEFT = 0.5
"""Gradient left at the end, in units of the noise of the most precise step."""


@final
@dataclass(frozen=True)
class LearnedForecaster(MeasuredForecaster):
    """Moments, second moments, a gradient a step, and a measurement in the user's coordinates.

    Steps are priced as if asked in the user's coordinates: those they are asked in are not known before the
    moments are."""

    method: LearnedMethod

    def curvature(self, dry_run: DryRun) -> float:
        if not curvature_in_doubt(dry_run.problem, dry_run.goal.tolerance):
            return -dry_run.problem.curvature_floor
        levels = self.method.levels(dry_run.problem, dry_run.goal)
        return shown(dry_run.noise(Hessian, self._curvature_units(dry_run)), dry_run, levels)

    def costs(self, dry_run: DryRun) -> Costs:
        method = self.method
        shared = sharing(dry_run.problem, math.sqrt(dry_run.prices.mu_squared(dry_run.units)))
        noise = [
            gradients(dry_run, self._steps(dry_run)),
            dry_run.noise(lambda _: ColumnMoments(groups=shared), int(dry_run.units * method.moments_share)),
        ]
        if method.forms_gram(dry_run.problem):
            noise.append(dry_run.noise(lambda _: Gram(), int(dry_run.units * method.gram_share)))
        noise += method.beside(dry_run)
        noise += self._measured(dry_run)
        return Costs(steps=method.taken(dry_run.problem), noise=tuple(noise))

    def bound(self, dry_run: DryRun) -> float:
        """What the measurement certifies where half the noise of the best step is left."""
        level = self.method.levels(dry_run.problem, dry_run.goal).gradient
        length = _LEFT * gradients(dry_run, self._steps(dry_run)).norm
        return bound_at_the_end(dry_run, level, self._measured(dry_run), length)

    def _measured(self, dry_run: DryRun) -> list[QueryNoise]:
        levels = self.method.levels(dry_run.problem, dry_run.goal)
        left = int(dry_run.units * self.method.measure_share)
        return measurements(dry_run, levels, left, self._curvature_units(dry_run))

    def _steps(self, dry_run: DryRun) -> tuple[int, ...]:
        method = self.method
        aside = method.moments_share + method.measure_share
        aside += method.gram_share if method.forms_gram(dry_run.problem) else 0.0
        aside += math.fsum(query.times * query.share for query in method.beside(dry_run))
        left = int(dry_run.units * (1.0 - aside)) - self._curvature_units(dry_run)
        paid: list[int] = []
        steps = method.taken(dry_run.problem)
        for step in range(steps):
            paid.append(int((left - sum(paid)) * share(step, steps)))
        return tuple(paid)

    def _curvature_units(self, dry_run: DryRun) -> int:
        in_doubt = curvature_in_doubt(dry_run.problem, dry_run.goal.tolerance)
        return int(dry_run.units * self.method.curvature_share) if in_doubt else 0
