"""What forecasts of several methods expect: a path that halves the gradient, and the queries at its end."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from sottovoce.methods.forecast import Forecaster
from sottovoce.methods.measurement import scalar_pays
from sottovoce.queries import Gradient, GradientNorm, SmallestEigenvalue
from sottovoce.results.certificate import norm_bound, scalar_margin, spectral_margin

if TYPE_CHECKING:
    from sottovoce.methods.budget_schedule import BudgetSchedule
    from sottovoce.methods.forecast import QueryNoise
    from sottovoce.planning.dry_run import DryRun
    from sottovoce.results.certificate import Levels

_CONTRACTION = 0.5
"""What a step leaves of the gradient, as long as that is more than its noise."""


@final
@dataclass(frozen=True)
class Path:
    """Units of each gradient, and whether the last of them certifies."""

    units: tuple[int, ...]
    certified: bool


class FollowedForecaster(Forecaster):
    """The forecast of a method that certifies where its expected path ends; a tolerance is optional."""

    free: ClassVar[bool] = True

    @abstractmethod
    def path(self, dry_run: DryRun) -> Path:
        """What its gradients cost on the way to the tolerance of the goal."""

    def reaches(self, dry_run: DryRun) -> bool:
        tolerance = dry_run.goal.tolerance
        assert tolerance is not None
        assert tolerance.curvature is not None
        return self.curvature(dry_run) <= tolerance.curvature and self.path(dry_run).certified


def expected_path(dry_run: DryRun, shares: BudgetSchedule, levels: Levels, left: int, visits: int) -> Path:
    """The visits as the shares would price them if each step halved the gradient down to its own noise.

    The first gradient is half as long as any can be; a step leaves behind the noise of its answer."""
    assert dry_run.goal.tolerance is not None
    state, dim = dry_run.state(levels), dry_run.problem.dim
    wanted, paid = dry_run.goal.tolerance.gradient, list[int]()
    length = dry_run.problem.gradient_ceiling(dry_run.start) / 2.0
    for visit in range(visits):
        units = shares.units(state, left, visit, visits)
        if units < 1:
            return Path(tuple(paid), certified=False)
        left -= units
        paid.append(units)
        scale = dry_run.gradient_scale(units)
        noise = scale * math.sqrt(dim)
        seen = math.hypot(length, noise)
        if length < wanted and norm_bound(seen, scale, dim, levels.gradient)[0] <= wanted:
            return Path(tuple(paid), certified=True)
        state.evidence = dry_run.seen(state.w, seen, scale)
        length = max(_CONTRACTION * length, noise)
    return Path(tuple(paid), certified=False)


def planned(
    dry_run: DryRun, shares: BudgetSchedule, levels: Levels, left: int, visits: int
) -> tuple[int, ...]:
    """Units of each gradient of a run that takes all its steps."""
    state, paid = dry_run.state(levels), []
    for visit in range(visits):
        paid.append(shares.units(state, left, visit, visits))
        left -= paid[-1]
    return tuple(paid)


def gradients(dry_run: DryRun, units: tuple[int, ...]) -> QueryNoise:
    """The most precise of them, and the first."""
    return dry_run.noise(Gradient, max(units), len(units), first=units[0])


def shown(hessian: QueryNoise, dry_run: DryRun, levels: Levels) -> float:
    """The curvature that a noisy Hessian of a flat risk shows, or the structural floor: noise and margin."""
    margin = spectral_margin(hessian.scale, dry_run.problem.dim, levels.curvature(1))
    return min(-dry_run.problem.curvature_floor, hessian.norm + margin)


def measurements(dry_run: DryRun, levels: Levels, left: int, curvature: int) -> list[QueryNoise]:
    """The queries at the end of a run without a tolerance."""
    scalar = left // 2 if scalar_pays(dry_run.problem.dim, levels.at_the_end().gradient) else 0
    asked = [dry_run.noise(Gradient, left - scalar)]
    if scalar:
        asked.append(dry_run.noise(GradientNorm, scalar))
    if curvature:
        asked.append(dry_run.noise(SmallestEigenvalue, curvature))
    return asked


def bound_at_the_end(dry_run: DryRun, level: float, asked: list[QueryNoise], length: float) -> float:
    """What these queries certify, at that level, of a gradient of this length."""
    gradient, *others = asked
    for other in others:
        if other.query == GradientNorm.kind:
            return length + scalar_margin(other.scale, level)
    return norm_bound(math.hypot(length, gradient.norm), gradient.scale, dry_run.problem.dim, level)[0]
