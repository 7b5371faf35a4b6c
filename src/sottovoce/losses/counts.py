"""Losses of counts with a declared bound: the logarithm of the expected count is linear."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

from sottovoce.losses.base import Constants, Kind, Loss, checked_scale
from sottovoce.losses.residual import LARGEST
from sottovoce.trusted.laws import Scalar
from sottovoce.trusted.vocabulary import decay, fading


def poisson(t: float, y: float) -> tuple[float, float, float]:
    """g - y t, g' - y and g'', with e^t before 0 and e^{-2t} behind it."""
    s = min(t, LARGEST)
    e = decay(2.0 * s if s > 0.0 else s)
    fall = fading(2.0 * s if s > 0.0 else s)
    value = e if s <= 0.0 else 1.0 + 1.5 * s - 0.25 * fall
    slope = e if s <= 0.0 else 1.0 + 0.5 * fall
    return value - y * t, slope - y, e


@final
@dataclass(frozen=True)
class Poisson(Loss):
    """g(t) - y t of t = <x, w> - log `high`, y = count/high in [0, 1]: the Poisson likelihood over `high`.

    `high` bounds the counts, so the expected count high e^t is at most `high`, and t at most 0. There
    g = e^t; beyond, g'' = e^{-2t} instead, so that slopes stay bounded: g' = 1 + (1 - e^{-2t})/2 and
    g = 1 + 3t/2 - (1 - e^{-2t})/4. Convex, with g, g' and g'' continuous.

    g' lies in (0, 3/2) and y in [0, 1], so |g' - y| < 3/2. g'' lies in (0, 1]; |g'''| <= 2 g'' <= 2. For
    y in [0, 1] the least of g(t) - y t is at t = log y <= 0, where it is y - y log y >= 0."""

    high: float

    name: ClassVar[str] = "poisson"
    scalar: ClassVar[Scalar] = staticmethod(poisson)
    kind: ClassVar[Kind] = Kind.COUNT
    unit: ClassVar[Constants] = Constants(
        slope=1.5, curvature_low=0.0, curvature_high=1.0, third=2.0, bend=2.0
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "high", checked_scale("high", self.high))

    @property
    def shift(self) -> float:
        return math.log(self.high)


def cloglog(t: float, y: float) -> tuple[float, float, float]:
    """(1 - y) g - y log(1 - e^{-u}), u = e^t, its slope and curvature; g is Poisson's, linear in the end."""
    s = min(max(t, -LARGEST), LARGEST)
    e = decay(2.0 * s if s > 0.0 else s)
    fall = fading(2.0 * s if s > 0.0 else s)
    rest = e if s <= 0.0 else 1.0 + 1.5 * s - 0.25 * fall
    slope = e if s <= 0.0 else 1.0 + 0.5 * fall
    u = math.exp(min(max(t, -300.0), 5.0))
    grown = math.expm1(u)
    happened = -math.log(-math.expm1(-u)) if t > -300.0 else -t
    second = u * (0.5 - u / 6.0) if u < 3e-3 else u * (u * (grown + 1.0) - grown) / (grown * grown)
    return (
        (1.0 - y) * rest + y * happened,
        (1.0 - y) * slope - y * u / grown,
        (1.0 - y) * e + y * second,
    )


@final
@dataclass(frozen=True)
class Cloglog(Loss):
    """Whether an event happened, y in {0, 1}, with chance 1 - exp(-e^t): the complementary log-log link.

    y = 0 has e^t, taken on linearly past t = 0, a chance of 63 %, as `Poisson` is: slopes in (0, 3/2), phi''
    in (0, 1], a third derivative of at most 2. y = 1 has -log(1 - e^{-u}), u = e^t: its slope -u/(e^u - 1)
    lies in (-1, 0), its curvature u (u e^u - e^u + 1)/(e^u - 1)^2 in (0, 1/3), about u/2 for small u.
    |third| / phi'' is at most 2 while u <= 4, a chance of 98 %; what y = 1 has past it plans leave out."""

    name: ClassVar[str] = "cloglog"
    scalar: ClassVar[Scalar] = staticmethod(cloglog)
    kind: ClassVar[Kind] = Kind.COUNT
    unit: ClassVar[Constants] = Constants(
        slope=1.5, curvature_low=0.0, curvature_high=1.0, third=2.0, bend=2.0
    )
