"""Convex losses of the residual t = <x, w> - y: even, close to t^2/2 near zero, linear far from it."""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, final

from sottovoce.losses.base import Constants, Kind, Loss, at_least, checked_scale, round_up
from sottovoce.trusted.laws import Scalar
from sottovoce.trusted.vocabulary import decay, fading, log_sum

SQUARED = 1e150
"""A |u| whose square is a float, and past which 1 + u^2 = u^2 to the last digit."""

LARGEST = 1e300
"""A larger |t| counts as this one: over any scale it is still a float."""

_LOG2 = math.log(2.0)


def pseudo_huber(t: float, y: float, c: float) -> tuple[float, float, float]:
    """t^2/(1 + root) avoids the cancellation; the cut-off root leaves a factor that must not pass c."""
    u = min(max(t / c, -SQUARED), SQUARED)
    root = math.sqrt(1.0 + u * u)
    size = min(abs(t), LARGEST)
    inverse = 1.0 / root
    return min(size / (1.0 + root), c) * size, t / root, inverse * inverse * inverse


def log_cosh(t: float, y: float) -> tuple[float, float, float]:
    """With e = e^{-2|t|}: log cosh t = log(1 + (1 - e)^2 / 4e)/2, and |t| - log 2 where e was cut off."""
    e = decay(2.0 * t)
    fall = fading(2.0 * t)
    share = 1.0 / (1.0 + e)
    value = max(0.5 * log_sum(0.25 * fall * (fall / e)), abs(t) - _LOG2)
    return value, fall * share if t >= 0.0 else -fall * share, 4.0 * e * share * share


@dataclass(frozen=True)
class Scaled(Loss, ABC):
    """c^2 phi(t/c) for a scale c: slope grows by c, phi'' keeps its range, phi''' shrinks by c.

    u = t/c in the formulas of the subclasses, whose constants are those of c = 1. `usual` is the scale that
    suits targets mapped to [-1, 1].
    """

    scale: float = 1.0

    usual: ClassVar[float] = 1.0

    kind: ClassVar[Kind] = Kind.RESIDUAL

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_scale("scale", self.scale))

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.scale,)

    @cached_property
    def constants(self) -> Constants:
        scale, unit = Fraction(self.scale), self.unit
        bounded = unit.ceiling < math.inf
        peaked = unit.steepest < math.inf
        return Constants(
            slope=at_least(Fraction(unit.slope) * scale),
            curvature_low=unit.curvature_low,
            curvature_high=unit.curvature_high,
            third=at_least(Fraction(unit.third) / scale),
            ceiling=at_least(Fraction(unit.ceiling) * scale**2) if bounded else math.inf,
            steepest=at_least(Fraction(unit.steepest) * scale) if peaked else math.inf,
            bend=at_least(Fraction(unit.bend) / scale) if unit.bend < math.inf else math.inf,
        )


@final
@dataclass(frozen=True)
class PseudoHuber(Scaled):
    """c^2 (sqrt(1+u^2) - 1): quadratic, then linear with slope c; convex.

    phi' = t (1+u^2)^-1/2, phi'' = (1+u^2)^-3/2, c phi''' = -3u (1+u^2)^-5/2, largest at u = 1/2,
    and c |phi'''|/phi'' = 3|u|/(1+u^2) <= 3/2.
    """

    name: ClassVar[str] = "pseudo-huber"
    scalar: ClassVar[Scalar] = staticmethod(pseudo_huber)
    unit: ClassVar[Constants] = Constants(
        slope=1.0, curvature_low=0.0, curvature_high=1.0, third=round_up(1.5 * 1.25**-2.5), bend=1.5
    )


@final
@dataclass(frozen=True)
class LeastSquares(Scaled):
    """t^2/2 as far as slopes stay bounded: the pseudo-Huber loss of a scale 16 times the largest |y|.

    What is estimated is the mean of y given x. For targets in [-1, 1] the scale is 16, and as long as
    predictions stay in that range too, |t| <= 2 and phi' = t (1 - d) with 0 <= d < 0.008, phi'' > 0.976: of
    phi' = t(1 + t^2/c^2)^-1/2 and phi'' = (1 + t^2/c^2)^-3/2 at t/c = 1/8. In another unit the scale is 16
    of that unit's largest |y|.

    A slope is charged for as far as |t| can reach at the weights asked about, R||w|| + 1, as it would be for
    squares; `adapt` limits slopes to the size of the residuals it counts, which leaves the mean where errors
    are symmetric and draws it towards the median where they are skewed."""

    scale: float = 16.0

    name: ClassVar[str] = "least-squares"
    usual: ClassVar[float] = 16.0
    scalar: ClassVar[Scalar] = staticmethod(pseudo_huber)
    unit: ClassVar[Constants] = PseudoHuber.unit


@final
@dataclass(frozen=True)
class LogCosh(Loss):
    """log cosh t: quadratic, then linear with slope 1; convex.

    phi' = tanh t = x, phi'' = 1 - x^2, phi''' = -2x(1-x^2), largest at x = 1/sqrt3; the ratio is
    at most 2. Computed from
    s = e^{2|t|} - 1, which loses no digits at either end: tanh|t| = s/(s+2), sinh^2 t = (s/4) s/(s+1).
    """

    name: ClassVar[str] = "log-cosh"
    scalar: ClassVar[Scalar] = staticmethod(log_cosh)
    kind: ClassVar[Kind] = Kind.RESIDUAL
    unit: ClassVar[Constants] = Constants(
        slope=1.0,
        curvature_low=0.0,
        curvature_high=1.0,
        third=round_up(4.0 / (3.0 * math.sqrt(3.0))),
        bend=2.0,
    )
