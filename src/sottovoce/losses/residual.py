"""Convex losses of the residual t = <x, w> - y: even, close to t^2/2 near zero, linear far from it."""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.losses.base import (
    LARGEST_ARGUMENT,
    Constants,
    Kind,
    Loss,
    at_least,
    checked_scale,
    round_up,
)

# A |u| whose square is a float, and past which sqrt(1+u^2) = |u| to the last digit.
ROOT_CUT = 1e150


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

    def _ratio(self, t: Vector, cut: float) -> Vector:
        """u = t/c, cut off on both sides."""
        ratio = np.clip(t, -cut * self.scale, cut * self.scale, out=np.empty_like(t))
        return np.divide(ratio, self.scale, out=ratio)


@final
@dataclass(frozen=True)
class PseudoHuber(Scaled):
    """c^2 (sqrt(1+u^2) - 1): quadratic, then linear with slope c; convex.

    phi' = t (1+u^2)^-1/2, phi'' = (1+u^2)^-3/2, c phi''' = -3u (1+u^2)^-5/2, largest at u = 1/2,
    and c |phi'''|/phi'' = 3|u|/(1+u^2) <= 3/2.
    """

    name: ClassVar[str] = "pseudo-huber"
    unit: ClassVar[Constants] = Constants(
        slope=1.0, curvature_low=0.0, curvature_high=1.0, third=round_up(1.5 * 1.25**-2.5), bend=1.5
    )

    def _stage(self, t: Vector) -> tuple[Vector, ...]:
        root = self._ratio(t, ROOT_CUT)
        np.square(root, out=root)
        root += 1.0
        return (np.sqrt(root, out=root),)

    def _value(self, t: Vector, *stage: Vector) -> Vector:
        (root,) = stage
        # t^2/(1 + root) avoids the cancellation; the cut-off root leaves a factor that must not pass c.
        size = np.abs(t, out=np.empty_like(t))
        np.minimum(size, LARGEST_ARGUMENT, out=size)
        value = np.add(root, 1.0, out=np.empty_like(root))
        np.divide(size, value, out=value)
        np.minimum(value, self.scale, out=value)
        return np.multiply(value, size, out=value)

    def _first(self, t: Vector, *stage: Vector) -> Vector:
        (root,) = stage
        # Where the root was cut off this passes c, and the clamp is the exact limit.
        return np.divide(t, root, out=np.empty_like(t))

    def _second(self, t: Vector, *stage: Vector) -> Vector:
        (root,) = stage
        inverse = np.divide(1.0, root, out=np.empty_like(root))
        second = np.square(inverse, out=np.empty_like(root))
        return np.multiply(second, inverse, out=second)


@final
@dataclass(frozen=True)
class LogCosh(Loss):
    """log cosh t: quadratic, then linear with slope 1; convex.

    phi' = tanh t = x, phi'' = 1 - x^2, phi''' = -2x(1-x^2), largest at x = 1/sqrt3; the ratio is
    at most 2. Computed from
    s = e^{2|t|} - 1, which loses no digits at either end: tanh|t| = s/(s+2), sinh^2 t = (s/4) s/(s+1).
    """

    name: ClassVar[str] = "log-cosh"
    kind: ClassVar[Kind] = Kind.RESIDUAL
    unit: ClassVar[Constants] = Constants(
        slope=1.0,
        curvature_low=0.0,
        curvature_high=1.0,
        third=round_up(4.0 / (3.0 * math.sqrt(3.0))),
        bend=2.0,
    )

    def _stage(self, t: Vector) -> tuple[Vector, ...]:
        growth = np.abs(t, out=np.empty_like(t))
        np.minimum(growth, 350.0, out=growth)
        growth *= 2.0
        return (np.expm1(growth, out=growth),)

    def _value(self, t: Vector, *stage: Vector) -> Vector:
        (growth,) = stage
        value = np.add(growth, 1.0, out=np.empty_like(growth))
        np.divide(growth, value, out=value)
        value *= growth
        value *= 0.25
        np.log1p(value, out=value)
        value *= 0.5
        # log cosh t >= |t| - log 2, and equals it where the exponential was cut off.
        limit = np.abs(t, out=np.empty_like(t))
        limit -= math.log(2.0)
        return np.maximum(value, limit, out=value)

    def _first(self, t: Vector, *stage: Vector) -> Vector:
        (growth,) = stage
        first = np.add(growth, 2.0, out=np.empty_like(growth))
        np.divide(growth, first, out=first)
        return np.copysign(first, t, out=first)

    def _second(self, t: Vector, *stage: Vector) -> Vector:
        (growth,) = stage
        half = np.add(growth, 2.0, out=np.empty_like(growth))
        np.divide(2.0, half, out=half)
        second = np.add(growth, 1.0, out=np.empty_like(growth))
        second *= half
        return np.multiply(second, half, out=second)
