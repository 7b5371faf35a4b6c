"""Nonconvex losses of the residual: even, close to t^2/2 near zero, with a slope that dies out beyond.

Targets mapped to [-1, 1] have residuals of unknown size sigma; the `usual` scales are those at which the loss
keeps 95 % of the efficiency of squares if sigma is a twentieth of the declared range, 0.1 in these units:
2.385, 3.787 and 2.985 sigma. At twice that sigma Cauchy still keeps 82 %, and a smaller scale has a smaller
slope, so less noise. At a scale of 1, half the range, hardly a residual is far off and none is discounted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.losses.base import LARGEST_ARGUMENT, Constants, round_up
from sottovoce.losses.residual import ROOT_CUT, Scaled

# A |u| past which e^{-u^2} is zero.
TAIL_CUT = 30.0


@final
@dataclass(frozen=True)
class Cauchy(Scaled):
    """(c^2/2) log(1+u^2): grows like a logarithm, the slope falls back past |u| = 1.

    phi' = t/(1+u^2); phi'' = (1-u^2)/(1+u^2)^2, least at u^2 = 3; c phi''' = 2u(u^2-3)/(1+u^2)^3, largest at
    u = sqrt2 - 1 (u^4 - 6u^2 + 1 = 0).
    """

    name: ClassVar[str] = "cauchy"
    usual: ClassVar[float] = 0.25
    unit: ClassVar[Constants] = Constants(
        slope=0.5,
        curvature_low=0.125,
        curvature_high=1.0,
        third=round_up(4.0 * (2.0 - math.sqrt(2.0)) / (4.0 - 2.0 * math.sqrt(2.0)) ** 3),
        steepest=1.0,
    )

    def _stage(self, t: Vector) -> tuple[Vector, ...]:
        ratio = self._ratio(t, ROOT_CUT)
        growth = np.square(ratio, out=np.empty_like(ratio))
        growth += 1.0
        return ratio, growth

    def _value(self, t: Vector, *stage: Vector) -> Vector:
        _, growth = stage
        # log(1+u^2) = 2 log(1 + |u| (|u|/(1 + sqrt(1+u^2)))): u^2 itself may pass the largest float.
        size = np.abs(t, out=np.empty_like(t))
        np.minimum(size, LARGEST_ARGUMENT, out=size)
        size /= self.scale
        value = np.sqrt(growth, out=np.empty_like(growth))
        value += 1.0
        np.divide(size, value, out=value)
        np.minimum(value, 1.0, out=value)
        value *= size
        np.log1p(value, out=value)
        return np.multiply(value, self.scale**2, out=value)

    def _first(self, t: Vector, *stage: Vector) -> Vector:
        ratio, growth = stage
        first = np.divide(ratio, growth, out=np.empty_like(ratio))
        return np.multiply(first, self.scale, out=first)

    def _second(self, t: Vector, *stage: Vector) -> Vector:
        _, growth = stage
        inverse = np.divide(1.0, growth, out=np.empty_like(growth))
        second = np.multiply(inverse, 2.0, out=np.empty_like(growth))
        second -= 1.0
        return np.multiply(second, inverse, out=second)


@final
@dataclass(frozen=True)
class GemanMcClure(Scaled):
    """(t^2/2)/(1+u^2): levels off at c^2/2, so gross outliers stop pulling.

    phi' = t/(1+u^2)^2, largest at u^2 = 1/3; phi'' = (1-3u^2)/(1+u^2)^3, least at u^2 = 1;
    c phi''' = 12u(u^2-1)/(1+u^2)^4, largest at u^2 = 1 - 2/sqrt5 (5u^4 - 10u^2 + 1 = 0).
    """

    name: ClassVar[str] = "geman-mcclure"
    usual: ClassVar[float] = 0.4
    unit: ClassVar[Constants] = Constants(
        slope=round_up(3.0 * math.sqrt(3.0) / 16.0),
        curvature_low=0.25,
        curvature_high=1.0,
        third=round_up(
            24.0 / math.sqrt(5.0) * math.sqrt(1.0 - 2.0 / math.sqrt(5.0)) / (2.0 - 2.0 / math.sqrt(5.0)) ** 4
        ),
        ceiling=0.5,
        steepest=1.0 / math.sqrt(3.0),
    )

    def _stage(self, t: Vector) -> tuple[Vector, ...]:
        ratio = self._ratio(t, ROOT_CUT)
        inverse = np.square(ratio, out=np.empty_like(ratio))
        inverse += 1.0
        return ratio, np.divide(1.0, inverse, out=inverse)

    def _value(self, t: Vector, *stage: Vector) -> Vector:
        ratio, inverse = stage
        value = np.square(ratio, out=np.empty_like(ratio))
        value *= inverse
        return np.multiply(value, 0.5 * self.scale**2, out=value)

    def _first(self, t: Vector, *stage: Vector) -> Vector:
        ratio, inverse = stage
        first = np.square(inverse, out=np.empty_like(inverse))
        first *= ratio
        return np.multiply(first, self.scale, out=first)

    def _second(self, t: Vector, *stage: Vector) -> Vector:
        _, inverse = stage
        second = np.multiply(inverse, 4.0, out=np.empty_like(inverse))
        second -= 3.0
        second *= inverse
        return np.multiply(second, inverse, out=second)


@final
@dataclass(frozen=True)
class Welsch(Scaled):
    """(c^2/2) (1 - e^{-u^2}): levels off at c^2/2 faster than any power.

    phi' = t e^{-u^2}, largest at u^2 = 1/2; phi'' = (1-2u^2) e^{-u^2}, least at u^2 = 3/2;
    c phi''' = (4u^3-6u) e^{-u^2}, largest at u^2 = (3-sqrt6)/2, where |4u^2 - 6| = 2 sqrt6.
    """

    name: ClassVar[str] = "welsch"
    usual: ClassVar[float] = 0.3
    unit: ClassVar[Constants] = Constants(
        slope=round_up(math.sqrt(0.5) * math.exp(-0.5)),
        curvature_low=round_up(2.0 * math.exp(-1.5)),
        curvature_high=1.0,
        third=round_up(
            math.sqrt(24.0) * math.sqrt((3.0 - math.sqrt(6.0)) / 2.0) * math.exp((math.sqrt(6.0) - 3.0) / 2.0)
        ),
        ceiling=0.5,
        steepest=math.sqrt(0.5),
    )

    def _stage(self, t: Vector) -> tuple[Vector, ...]:
        ratio = self._ratio(t, TAIL_CUT)
        fall = np.multiply(ratio, ratio, out=np.empty_like(ratio))
        np.negative(fall, out=fall)
        return ratio, np.expm1(fall, out=fall)

    def _value(self, t: Vector, *stage: Vector) -> Vector:
        _, fall = stage
        return np.multiply(fall, -0.5 * self.scale**2, out=np.empty_like(fall))

    def _first(self, t: Vector, *stage: Vector) -> Vector:
        ratio, fall = stage
        first = np.add(fall, 1.0, out=np.empty_like(fall))
        first *= ratio
        return np.multiply(first, self.scale, out=first)

    def _second(self, t: Vector, *stage: Vector) -> Vector:
        ratio, fall = stage
        second = np.square(ratio, out=np.empty_like(ratio))
        second *= -2.0
        second += 1.0
        second *= fall + 1.0
        return second
