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
