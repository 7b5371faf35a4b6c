"""Forecast of `cubic`: its own shares of the budget along an expected path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.methods import expected
from sottovoce.methods.budget_schedule import Growing, Tracking
from sottovoce.methods.cubic import CubicReserve
from sottovoce.methods.forecast import Costs
from sottovoce.methods.measurement import curvature_in_doubt
from sottovoce.queries import Hessian

if TYPE_CHECKING:
    from sottovoce.methods.cubic import Cubic
    from sottovoce.planning.dry_run import DryRun


@final
@dataclass(frozen=True)
class CubicForecaster(expected.FollowedForecaster):
    """A gradient, a Hessian and one release of trials at each bold step; then a gradient a step."""

    method: Cubic

    def curvature(self, dry_run: DryRun) -> float:
        levels = self.method.levels(dry_run.problem, dry_run.goal)
        return expected.shown(dry_run.noise(Hessian, self._aside(dry_run).hessian), dry_run, levels)

    def costs(self, dry_run: DryRun) -> Costs:
        method, aside = self.method, self._aside(dry_run)
        levels, visits = (
            method.levels(dry_run.problem, dry_run.goal),
            method.visits(dry_run.problem, dry_run.goal),
        )
        if dry_run.goal.tolerance is not None:
            units, end = self.path(dry_run).units, []
        else:
            kept = int(dry_run.units * method.measure_share)
            curvature = kept if curvature_in_doubt(dry_run.problem, None) else 0
            left = self._left(dry_run) - kept - curvature
            units = expected.planned(dry_run, method.shares or Growing(), levels, left, visits)
            end = expected.measurements(dry_run, levels, kept, curvature)
        bold = min(len(units), self._steps(dry_run))
        noise = (
            expected.gradients(dry_run, units),
            dry_run.noise(Hessian, aside.hessian, bold),
            dry_run.noise(dry_run.trials(len(method.ladder)), aside.trials, bold),
            *end,
        )
        return Costs(steps=visits, noise=noise)

    def path(self, dry_run: DryRun) -> expected.Path:
        assert dry_run.goal.tolerance is not None
        shares = self.method.shares or Tracking(dry_run.goal.tolerance.gradient, most=2.0)
        levels = self.method.levels(dry_run.problem, dry_run.goal)
        visits = self.method.visits(dry_run.problem, dry_run.goal)
        return expected.expected_path(dry_run, shares, levels, self._left(dry_run), visits)

    def _left(self, dry_run: DryRun) -> int:
        aside = self._aside(dry_run)
        return dry_run.units - self._steps(dry_run) * (aside.hessian + aside.trials)

    def _steps(self, dry_run: DryRun) -> int:
        return self.method.free_steps if dry_run.goal.tolerance is None else self.method.steps

    def _aside(self, dry_run: DryRun) -> CubicReserve:
        return CubicReserve.of(self.method, dry_run.units, self._steps(dry_run))
