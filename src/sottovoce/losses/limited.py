"""A convex loss whose slope is cut off at a limit: linear where it would be steeper."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.errors import ParameterError
from sottovoce.losses.base import Constants, Kind, Loss, checked_number
from sottovoce.trusted.bands import Band
from sottovoce.trusted.laws import Law

JUMP = 1e300
"""phi'' jumps where the limit is reached; a bound this large refuses whatever needs a Lipschitz phi''."""


@final
@dataclass(frozen=True)
class Limited(Loss):
    """phi with |phi'| cut off at `limit`: phi(t) up to the point m where |phi'| = limit, its tangent beyond.

    It stays convex, and phi'' is that of phi or 0: every bound of phi holds, with a smaller slope. Records
    that are far on the wrong side pull with the limit instead of with sup|phi'|."""

    name: ClassVar[str] = "limited"
    base: Loss
    limit: float

    def __post_init__(self) -> None:
        if not self.base.is_limitable:
            raise ParameterError(
                "slopes are limited of convex losses of margins or residuals without class weights only; "
                f"{self.base.name!r} is none."
            )
        way_out = "It cuts slopes off, so it cannot exceed the loss's own."
        limit = checked_number("limit", self.limit, 1e-6 * self.base.slope, self.base.slope, way_out)
        object.__setattr__(self, "limit", limit)

    @property
    def kind(self) -> Kind:  # type: ignore[override]  # that of the loss it is made of
        return self.base.kind

    @cached_property
    def constants(self) -> Constants:
        return replace(self.base.constants, slope=self.limit, third=JUMP)

    @cached_property
    def corner(self) -> float:
        """The largest t with phi'(t) <= -limit, found by halving; -infinity where phi is never steeper."""
        low, high = -1e6, 1e6
        if abs(float(self.base.first(np.array([low]))[0])) <= self.limit:
            return -math.inf
        for _ in range(200):
            middle = 0.5 * (low + high)
            steeper = float(self.base.first(np.array([middle]))[0]) <= -self.limit
            low, high = (middle, high) if steeper else (low, middle)
        return low

    @property
    def landmarks(self) -> tuple[float, ...]:  # type: ignore[override]  # those of the loss it is made of
        return self.base.landmarks

    @property
    def law(self) -> Law:
        return self.base.law

    def slope_band(self, first: float, last: float) -> Band:
        whole, limit = self.base.slope_band(first, last), self.limit
        return Band(first, last, np.clip(whole.lo, -limit, limit), np.clip(whole.hi, -limit, limit))

    def _values(self, t: Vector) -> Vector:
        corner = self.corner
        if corner == -math.inf:
            return self.base.value(t)
        past = corner - (t if self.base.kind is Kind.MARGIN else -np.abs(t))
        here = self.base.value(np.where(past > 0.0, corner, t))
        return np.asarray(here + self.limit * np.maximum(past, 0.0))

    def _curvatures(self, t: Vector) -> Vector:
        return np.where(np.abs(self.base.first(t)) < self.limit, self.base.second(t), 0.0)
