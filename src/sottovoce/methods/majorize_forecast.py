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
from sottovoce.queries import Gradient, Gram, GramDiagonal, Hessian

if TYPE_CHECKING:
    from sottovoce.methods.designs import Design
    from sottovoce.methods.majorize import Majorize
    from sottovoce.planning.dry_run import DryRun


@final
@dataclass(frozen=True)
class MajorizeForecaster(expected.FollowedForecaster):
    """One query about the features, then a gradient a step."""

    method: Majorize

    def curvature(self, dry_run: DryRun) -> float:
        if not curvature_in_doubt(dry_run.problem, dry_run.goal.tolerance):
            return -dry_run.problem.curvature_floor
        aside, levels = self._aside(dry_run), self.method.levels(dry_run.problem, dry_run.goal)
        return expected.shown(dry_run.noise(Hessian, aside.curvature), dry_run, levels)

    def costs(self, dry_run: DryRun) -> Costs:
        aside, design = self._aside(dry_run), self._design(dry_run)
        noise = []
        match design.shape:
            case MajorizerShape.DENSE:
                noise.append(dry_run.noise(lambda _: Gram(), aside.gram))
            case MajorizerShape.DIAGONAL:
                noise.append(dry_run.noise(lambda _: GramDiagonal(), aside.gram))
        if dry_run.goal.tolerance is not None:
            noise.insert(0, expected.gradients(dry_run, self.path(dry_run).units))
            if aside.curvature:
                noise.append(dry_run.noise(Hessian, aside.curvature))
        else:
            levels = self.method.levels(dry_run.problem, dry_run.goal)
            left = self._left(dry_run) - aside.measured - aside.look
            units = expected.planned(dry_run, self.method.shares or Growing(), levels, left, design.steps)
            noise.insert(0, expected.gradients(dry_run, units))
            if aside.look:
                noise.append(dry_run.noise(Gradient, aside.look))
            noise += expected.measurements(dry_run, levels, aside.measured, aside.curvature)
        return Costs(steps=design.steps, noise=tuple(noise), majorizer=design.shape.value)

    def path(self, dry_run: DryRun) -> expected.Path:
        assert dry_run.goal.tolerance is not None
        shares = self.method.shares or Tracking(dry_run.goal.tolerance.gradient)
        levels = self.method.levels(dry_run.problem, dry_run.goal)
        return expected.expected_path(dry_run, shares, levels, self._left(dry_run), self.method.steps + 1)

    def _left(self, dry_run: DryRun) -> int:
        """What is left for expected.gradients."""
        aside = self._aside(dry_run)
        asked = aside.gram if self._design(dry_run).shape is not MajorizerShape.SCALAR else 0
        return dry_run.units - asked - aside.curvature

    def _design(self, dry_run: DryRun) -> Design:
        mu = math.sqrt(dry_run.prices.mu_squared(dry_run.units))
        return self.method.design(dry_run.problem, mu, dry_run.goal)

    def _aside(self, dry_run: DryRun) -> MajorizeReserve:
        in_doubt = curvature_in_doubt(dry_run.problem, dry_run.goal.tolerance)
        return MajorizeReserve.of(self.method, dry_run.units, in_doubt)
