"""Forecast of `spider` and `drift`: queries on the way, and what the last measurement can certify."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.methods.expected import bound_at_the_end, measurements, shown
from sottovoce.methods.forecast import Costs, MeasuredForecaster
from sottovoce.methods.majorizers import MajorizerShape
from sottovoce.queries import Gram, GramDiagonal, Hessian

if TYPE_CHECKING:
    from sottovoce.methods.designs import Design
    from sottovoce.methods.forecast import QueryNoise
    from sottovoce.methods.settling import SettlingMethod, SettlingReserve
    from sottovoce.planning.dry_run import DryRun

_FEATURES = {MajorizerShape.DENSE: Gram, MajorizerShape.DIAGONAL: GramDiagonal}


@final
@dataclass(frozen=True)
class SettlingForecaster(MeasuredForecaster):
    """The majorizer, the steps, and a measurement of the last point."""

    method: SettlingMethod

    def curvature(self, dry_run: DryRun) -> float:
        aside = self._aside(dry_run)
        if not aside.curvature:
            return -dry_run.problem.curvature_floor
        levels = self.method.levels(dry_run.problem, dry_run.goal)
        return shown(dry_run.noise(Hessian, aside.curvature), dry_run, levels)

    def costs(self, dry_run: DryRun) -> Costs:
        design = self._design(dry_run)
        features = _FEATURES.get(design.shape)
        asked = [] if features is None else [dry_run.noise(lambda _: features(), self._aside(dry_run).gram)]
        noise = (*self._steps(dry_run), *asked, *self._measured(dry_run))
        return Costs(steps=self.method.steps, noise=noise, majorizer=design.shape.value)

    def bound(self, dry_run: DryRun) -> float:
        level = self.method.levels(dry_run.problem, dry_run.goal).at_the_end().gradient
        length = self.method.left * self._steps(dry_run)[0].norm
        return bound_at_the_end(dry_run, level, self._measured(dry_run), length)

    def _steps(self, dry_run: DryRun) -> list[QueryNoise]:
        aside = self._aside(dry_run)
        features = aside.gram if self._design(dry_run).shape in _FEATURES else 0
        units = dry_run.units - features - aside.curvature - aside.gradient
        return [
            dry_run.noise(kind.asked, kind.units, kind.times, first=kind.first)
            for kind in self.method.planned(dry_run.problem, units)
        ]

    def _measured(self, dry_run: DryRun) -> list[QueryNoise]:
        aside, levels = self._aside(dry_run), self.method.levels(dry_run.problem, dry_run.goal)
        return measurements(dry_run, levels, aside.gradient, aside.curvature)

    def _design(self, dry_run: DryRun) -> Design:
        mu = math.sqrt(dry_run.prices.mu_squared(dry_run.units))
        return self.method.design(dry_run.problem, mu)

    def _aside(self, dry_run: DryRun) -> SettlingReserve:
        return self.method.aside(dry_run.problem, dry_run.units, dry_run.goal)
