"""Losses of counts with a declared bound: the logarithm of the expected count is linear."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.losses.base import LARGEST_ARGUMENT, Constants, Kind, Loss, checked_scale

FADING = 2.0
"""How fast the curvature dies out past the declared bound."""

# A t past which e^{-2t} is zero next to 1.
_FAR = 400.0


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
    kind: ClassVar[Kind] = Kind.COUNT
    unit: ClassVar[Constants] = Constants(
        slope=1.5, curvature_low=0.0, curvature_high=1.0, third=2.0, bend=2.0
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "high", checked_scale("high", self.high))

    @property
    def shift(self) -> float:
        return math.log(self.high)

    def _stage(self, t: Vector) -> tuple[Vector, ...]:
        """e^t before 0, e^{-2t} - 1 behind it."""
        return np.exp(np.clip(t, -LARGEST_ARGUMENT, 0.0)), np.expm1(-FADING * np.clip(t, 0.0, _FAR))

    def _value(self, t: Vector, *stage: Vector) -> Vector:
        rate, fall = stage
        return np.asarray(rate + np.maximum(t, 0.0) * (1.0 + 1.0 / FADING) + fall / FADING**2)

    def _first(self, t: Vector, *stage: Vector) -> Vector:
        rate, fall = stage
        return np.asarray(rate - fall / FADING)

    def _second(self, t: Vector, *stage: Vector) -> Vector:
        rate, _ = stage
        return np.asarray(np.where(t > 0.0, np.exp(-FADING * np.clip(t, 0.0, _FAR)), rate))
