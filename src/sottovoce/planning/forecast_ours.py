"""Forecasts of `majorize` and `cubic`: their own shares of the budget along an expected path."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from sottovoce.certificate import norm_bound, scalar_margin, spectral_margin
from sottovoce.methods.cubic import CubicReserve
from sottovoce.methods.majorize import MajorizeReserve
from sottovoce.methods.majorizers import MajorizerShape, shape_for
from sottovoce.methods.measurement import curvature_in_doubt, scalar_pays
from sottovoce.methods.shares import Growing, Tracking
from sottovoce.planning.forecast import Costs, Prospect
from sottovoce.questions import Gradient, GradientNorm, Gram, GramDiagonal, Hessian, SmallestEigenvalue

if TYPE_CHECKING:
    from sottovoce.certificate import Levels
    from sottovoce.methods.cubic import Cubic
    from sottovoce.methods.majorize import Majorize
    from sottovoce.methods.shares import Shares
    from sottovoce.planning.outline import QueryNoise
    from sottovoce.planning.quotes import Quotes

_CONTRACTION = 0.5
"""What a step leaves of the gradient, as long as that is more than its noise."""


@final
@dataclass(frozen=True)
class Path:
    """Units of each gradient, and whether the last of them certifies."""

    units: tuple[int, ...]
    certified: bool


def expected_path(quotes: Quotes, shares: Shares, levels: Levels, left: int, visits: int) -> Path:
    """The visits as the shares would price them if each step halved the gradient down to its own noise.

    The first gradient is half as long as any can be; a step leaves behind the noise of its answer."""
    assert quotes.goal.tolerance is not None
    walk, dim = quotes.walk(levels), quotes.problem.dim
    wanted, paid = quotes.goal.tolerance.gradient, list[int]()
    length = quotes.problem.gradient_ceiling(quotes.start) / 2.0
    for visit in range(visits):
        units = shares.units(walk, left, visit, visits)
        if units < 1:
            return Path(tuple(paid), certified=False)
        left -= units
        paid.append(units)
        scale = quotes.gradient_scale(units)
        noise = scale * math.sqrt(dim)
        seen = math.hypot(length, noise)
        if length < wanted and norm_bound(seen, scale, dim, levels.gradient)[0] <= wanted:
            return Path(tuple(paid), certified=True)
        walk.evidence = quotes.seen(walk.w, seen, scale)
        length = max(_CONTRACTION * length, noise)
    return Path(tuple(paid), certified=False)


def planned(quotes: Quotes, shares: Shares, levels: Levels, left: int, visits: int) -> tuple[int, ...]:
    """Units of each gradient of a run that takes all its steps."""
    walk, paid = quotes.walk(levels), []
    for visit in range(visits):
        paid.append(shares.units(walk, left, visit, visits))
        left -= paid[-1]
    return tuple(paid)


def gradients(quotes: Quotes, units: tuple[int, ...]) -> QueryNoise:
    """The most precise of them, and the first."""
    return quotes.noise(Gradient, max(units), len(units), first=units[0])


def shown(hessian: QueryNoise, quotes: Quotes, levels: Levels) -> float:
    """The curvature that a noisy Hessian of a flat risk shows, or the structural floor: noise and margin."""
    margin = spectral_margin(hessian.scale, quotes.problem.dim, levels.curvature(1))
    return min(-quotes.problem.curvature_floor, hessian.norm + margin)


def measurements(quotes: Quotes, levels: Levels, left: int, curvature: int) -> list[QueryNoise]:
    """The questions at the end of a run without a tolerance."""
    scalar = left // 2 if scalar_pays(quotes.problem.dim, levels.at_the_end().gradient) else 0
    asked = [quotes.noise(Gradient, left - scalar)]
    if scalar:
        asked.append(quotes.noise(GradientNorm, scalar))
    if curvature:
        asked.append(quotes.noise(SmallestEigenvalue, curvature))
    return asked


def bound_at_the_end(quotes: Quotes, levels: Levels, asked: list[QueryNoise], length: float) -> float:
    """What these questions certify of a gradient of this length."""
    level, (gradient, *others) = levels.at_the_end().gradient, asked
    for other in others:
        if other.query == GradientNorm.kind:
            return length + scalar_margin(other.scale, level)
    return norm_bound(math.hypot(length, gradient.norm), gradient.scale, quotes.problem.dim, level)[0]


@final
@dataclass(frozen=True)
class MajorizeProspect(Prospect):
    """One question about the features, then a gradient a step."""

    method: Majorize
    free: ClassVar[bool] = True

    def reaches(self, quotes: Quotes) -> bool:
        tolerance = quotes.goal.tolerance
        assert tolerance is not None
        assert tolerance.curvature is not None
        return self.curvature(quotes) <= tolerance.curvature and self._path(quotes).certified

    def curvature(self, quotes: Quotes) -> float:
        if not curvature_in_doubt(quotes.problem, quotes.goal.tolerance):
            return -quotes.problem.curvature_floor
        aside, levels = self._aside(quotes), self.method.levels(quotes.problem, quotes.goal)
        return shown(quotes.noise(Hessian, aside.curvature), quotes, levels)

    def costs(self, quotes: Quotes) -> Costs:
        aside, shape = self._aside(quotes), self._shape(quotes)
        noise = []
        match shape:
            case MajorizerShape.DENSE:
                noise.append(quotes.noise(lambda _: Gram(), aside.gram))
            case MajorizerShape.DIAGONAL:
                noise.append(quotes.noise(lambda _: GramDiagonal(), aside.gram))
        if quotes.goal.tolerance is not None:
            noise.insert(0, gradients(quotes, self._path(quotes).units))
            if aside.curvature:
                noise.append(quotes.noise(Hessian, aside.curvature))
        else:
            levels, steps = self.method.levels(quotes.problem, quotes.goal), self.method.steps
            left = self._left(quotes) - aside.measured
            units = planned(quotes, self.method.shares or Growing(), levels, left, steps)
            noise.insert(0, gradients(quotes, units))
            noise += measurements(quotes, levels, aside.measured, aside.curvature)
        return Costs(steps=self.method.steps, noise=tuple(noise), majorizer=shape.value)

    def _path(self, quotes: Quotes) -> Path:
        assert quotes.goal.tolerance is not None
        shares = self.method.shares or Tracking(quotes.goal.tolerance.gradient)
        levels = self.method.levels(quotes.problem, quotes.goal)
        return expected_path(quotes, shares, levels, self._left(quotes), self.method.steps + 1)

    def _left(self, quotes: Quotes) -> int:
        """What is left for gradients."""
        aside = self._aside(quotes)
        asked = aside.gram if self._shape(quotes) is not MajorizerShape.SCALAR else 0
        return quotes.units - asked - aside.curvature

    def _shape(self, quotes: Quotes) -> MajorizerShape:
        return shape_for(quotes.problem, math.sqrt(quotes.prices.mu_squared(self._aside(quotes).gram)))

    def _aside(self, quotes: Quotes) -> MajorizeReserve:
        in_doubt = curvature_in_doubt(quotes.problem, quotes.goal.tolerance)
        return MajorizeReserve.of(self.method, quotes.units, in_doubt)


@final
@dataclass(frozen=True)
class CubicProspect(Prospect):
    """A gradient, a Hessian and one release of trials at each bold step; then a gradient a step."""

    method: Cubic
    free: ClassVar[bool] = True

    def reaches(self, quotes: Quotes) -> bool:
        tolerance = quotes.goal.tolerance
        assert tolerance is not None
        assert tolerance.curvature is not None
        return self.curvature(quotes) <= tolerance.curvature and self._path(quotes).certified

    def curvature(self, quotes: Quotes) -> float:
        levels = self.method.levels(quotes.problem, quotes.goal)
        return shown(quotes.noise(Hessian, self._aside(quotes).hessian), quotes, levels)

    def costs(self, quotes: Quotes) -> Costs:
        method, aside = self.method, self._aside(quotes)
        levels, visits = (
            method.levels(quotes.problem, quotes.goal),
            method.visits(quotes.problem, quotes.goal),
        )
        if quotes.goal.tolerance is not None:
            units, end = self._path(quotes).units, []
        else:
            kept = int(quotes.units * method.measure_share)
            curvature = kept if curvature_in_doubt(quotes.problem, None) else 0
            left = self._left(quotes) - kept - curvature
            units = planned(quotes, method.shares or Growing(), levels, left, visits)
            end = measurements(quotes, levels, kept, curvature)
        bold = min(len(units), self._steps(quotes))
        noise = (
            gradients(quotes, units),
            quotes.noise(Hessian, aside.hessian, bold),
            quotes.noise(quotes.trials(len(method.ladder)), aside.trials, bold),
            *end,
        )
        return Costs(steps=visits, noise=noise)

    def _path(self, quotes: Quotes) -> Path:
        assert quotes.goal.tolerance is not None
        shares = self.method.shares or Tracking(quotes.goal.tolerance.gradient, most=2.0)
        levels = self.method.levels(quotes.problem, quotes.goal)
        visits = self.method.visits(quotes.problem, quotes.goal)
        return expected_path(quotes, shares, levels, self._left(quotes), visits)

    def _left(self, quotes: Quotes) -> int:
        aside = self._aside(quotes)
        return quotes.units - self._steps(quotes) * (aside.hessian + aside.trials)

    def _steps(self, quotes: Quotes) -> int:
        return self.method.free_steps if quotes.goal.tolerance is None else self.method.steps

    def _aside(self, quotes: Quotes) -> CubicReserve:
        return CubicReserve.of(self.method, quotes.units, self._steps(quotes))
