"""Forecast of `dp-gd`: fixed shares for its steps and for the choice among its iterates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.methods.forecast import Costs, Forecaster, just_tested
from sottovoce.methods.paper.constants import Curve, NoiseShare
from sottovoce.methods.paper.phases import optimistic
from sottovoce.queries import Gradient, SmallestEigenvalue
from sottovoce.results.certificate import norm_bound, scalar_margin
from sottovoce.results.result import Tolerance

if TYPE_CHECKING:
    from sottovoce.methods.forecast import QueryNoise
    from sottovoce.methods.gradient_descent import GradientDescent
    from sottovoce.planning.dry_run import DryRun

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

    def reaches(self, dry_run: DryRun) -> bool:
        tolerance = dry_run.goal.tolerance
        assert tolerance is not None
        assert tolerance.curvature is not None
        if self.curvature(dry_run) > tolerance.curvature or not self._arrives(dry_run, tolerance.gradient):
            return False
        step, look, _ = self._noise(dry_run)
        level = self.method.levels(dry_run.problem, dry_run.goal).gradient
        seen = math.hypot(step.scale, look.norm)
        return norm_bound(seen, look.scale, dry_run.problem.dim, level)[0] <= tolerance.gradient

    def curvature(self, dry_run: DryRun) -> float:
        if dry_run.goal.tolerance is None:
            return self.curvature(dry_run.aiming(just_tested(dry_run.problem)))
        floor = -dry_run.problem.curvature_floor
        levels = self.method.levels(dry_run.problem, dry_run.goal)
        if not levels.curvature_tested:
            return floor
        eigenvalue = self._noise(dry_run)[2]
        assert eigenvalue is not None
        return min(floor, scalar_margin(eigenvalue.scale, levels.curvature(1)))

    def costs(self, dry_run: DryRun) -> Costs:
        noise = tuple(query for query in self._noise(dry_run) if query is not None)
        return Costs(steps=self.method.steps, noise=noise)

    def _noise(self, dry_run: DryRun) -> tuple[QueryNoise, QueryNoise, QueryNoise | None]:
        method, tested = self.method, self.method.levels(dry_run.problem, dry_run.goal).curvature_tested
        step = method.step_units(dry_run.units)
        gradient, curvature = method.selection_units(
            dry_run.units - method.steps * step, min(method.candidates, method.steps), tested
        )
        return (
            dry_run.noise(Gradient, step, method.steps),
            dry_run.noise(Gradient, gradient, 1),
            dry_run.noise(SmallestEigenvalue, curvature) if curvature else None,
        )

    def _arrives(self, dry_run: DryRun, gradient: float) -> bool:
        least = NoiseShare().short_decrease(
            Curve.of(dry_run.problem), Tolerance(gradient=gradient, curvature=_ANY)
        )
        return 2 * optimistic(math.ceil(dry_run.problem.gap(dry_run.start) / least)) <= self.method.steps
