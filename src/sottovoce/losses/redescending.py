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

from sottovoce.losses.base import Constants, round_up
from sottovoce.losses.residual import LARGEST, SQUARED, Scaled
from sottovoce.trusted.laws import Scalar
from sottovoce.trusted.vocabulary import decay, fading, log_sum

TAIL = 30.0
"""A |u| past which e^{-u^2} is zero."""


def cauchy(t: float, y: float, c: float) -> tuple[float, float, float]:
    """log(1 + u^2) = 2 log(1 + |u| (|u|/(1 + sqrt(1 + u^2)))): the square may pass the largest float."""
    size = min(abs(t), LARGEST) / c
    u = min(max(t / c, -SQUARED), SQUARED)
    growth = 1.0 + u * u
    inverse = 1.0 / growth
    value = c * c * log_sum(min(size / (1.0 + math.sqrt(growth)), 1.0) * size)
    return value, c * (u / growth), (2.0 * inverse - 1.0) * inverse


def geman_mcclure(t: float, y: float, c: float) -> tuple[float, float, float]:
    u = min(max(t / c, -SQUARED), SQUARED)
    inverse = 1.0 / (1.0 + u * u)
    value = 0.5 * c * c * min(u * u * inverse, 1.0)
    return value, c * (u * inverse * inverse), (4.0 * inverse - 3.0) * inverse * inverse


def welsch(t: float, y: float, c: float) -> tuple[float, float, float]:
    u = min(max(t / c, -TAIL), TAIL)
    e = decay(u * u)
    return 0.5 * c * c * fading(u * u), c * (u * e), (1.0 - 2.0 * u * u) * e


@final
@dataclass(frozen=True)
class Cauchy(Scaled):
    """(c^2/2) log(1+u^2): grows like a logarithm, the slope falls back past |u| = 1.

    phi' = t/(1+u^2); phi'' = (1-u^2)/(1+u^2)^2, least at u^2 = 3; c phi''' = 2u(u^2-3)/(1+u^2)^3, largest at
    u = sqrt2 - 1 (u^4 - 6u^2 + 1 = 0).
    """

    name: ClassVar[str] = "cauchy"
    scalar: ClassVar[Scalar] = staticmethod(cauchy)
    usual: ClassVar[float] = 0.25
    unit: ClassVar[Constants] = Constants(
        slope=0.5,
        curvature_low=0.125,
        curvature_high=1.0,
        third=round_up(4.0 * (2.0 - math.sqrt(2.0)) / (4.0 - 2.0 * math.sqrt(2.0)) ** 3),
        steepest=1.0,
    )


@final
@dataclass(frozen=True)
class GemanMcClure(Scaled):
    """(t^2/2)/(1+u^2): levels off at c^2/2, so gross outliers stop pulling.

    phi' = t/(1+u^2)^2, largest at u^2 = 1/3; phi'' = (1-3u^2)/(1+u^2)^3, least at u^2 = 1;
    c phi''' = 12u(u^2-1)/(1+u^2)^4, largest at u^2 = 1 - 2/sqrt5 (5u^4 - 10u^2 + 1 = 0).
    """

    name: ClassVar[str] = "geman-mcclure"
    scalar: ClassVar[Scalar] = staticmethod(geman_mcclure)
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


@final
@dataclass(frozen=True)
class Welsch(Scaled):
    """(c^2/2) (1 - e^{-u^2}): levels off at c^2/2 faster than any power.

    phi' = t e^{-u^2}, largest at u^2 = 1/2; phi'' = (1-2u^2) e^{-u^2}, least at u^2 = 3/2;
    c phi''' = (4u^3-6u) e^{-u^2}, largest at u^2 = (3-sqrt6)/2, where |4u^2 - 6| = 2 sqrt6.
    """

    name: ClassVar[str] = "welsch"
    scalar: ClassVar[Scalar] = staticmethod(welsch)
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
