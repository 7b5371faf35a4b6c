"""Losses of the margin t = y <x, w>: they fall as the margin grows.

With p = 1/(1 + e^t), dp/dt = -p(1-p), so every derivative is a polynomial in p on [0, 1], largest at a root
of the next one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, final

from sottovoce.losses.base import Constants, Kind, Loss, at_least, checked_scale, round_up
from sottovoce.losses.unbiased import LEAST_LIMIT, UnbiasedLimited
from sottovoce.trusted.laws import Scalar
from sottovoce.trusted.vocabulary import decay, log_unit


def logistic(t: float, y: float) -> tuple[float, float, float]:
    """With e = exp(-|t|) in (0, 1] nothing overflows or cancels: 1/(1 + e^t) is e/(1 + e) or 1/(1 + e), and
    log(1 + e^-t) = max(-t, 0) + log(1 + e)."""
    e = decay(t)
    share = 1.0 / (1.0 + e)
    p = e * share if t >= 0.0 else share
    return max(-t, 0.0) + log_unit(e), -p, e * share * share


def softplus_hinge(t: float, y: float, sharpness: float) -> tuple[float, float, float]:
    s = sharpness * (t - 1.0)
    e = decay(s)
    share = 1.0 / (1.0 + e)
    p = e * share if s >= 0.0 else share
    return max(1.0 - t, 0.0) + log_unit(e) / sharpness, -p, sharpness * e * share * share


def sigmoid(t: float, y: float) -> tuple[float, float, float]:
    e = decay(t)
    share = 1.0 / (1.0 + e)
    p = e * share if t >= 0.0 else share
    bend = e * share * share * (1.0 - e) * share
    return min(p, 1.0), -e * share * share, bend if t >= 0.0 else -bend


def savage(t: float, y: float) -> tuple[float, float, float]:
    e = decay(t)
    share = 1.0 / (1.0 + e)
    p = e * share if t >= 0.0 else share
    return p * p, -2.0 * p * e * share * share, 2.0 * p * e * share * share * (2.0 - 3.0 * p)


@final
@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + e^-t).

    phi' = -p, phi'' = p(1-p) <= 1/4 at p = 1/2, phi''' = -p(1-p)(1-2p), at most 1/(6 sqrt3) where
    6p^2 - 6p + 1 = 0, and |phi'''|/phi'' = |1-2p| <= 1.
    """

    name: ClassVar[str] = "logistic"
    kind: ClassVar[Kind] = Kind.MARGIN
    scalar: ClassVar[Scalar] = staticmethod(logistic)
    unit: ClassVar[Constants] = Constants(
        slope=1.0,
        curvature_low=0.0,
        curvature_high=0.25,
        third=round_up(1.0 / (6.0 * math.sqrt(3.0))),
        bend=1.0,
    )

    @property
    def is_likelihood(self) -> bool:
        return True

    def limited(self, limit: float) -> Loss:
        """Records weighed by their predictions, which moves no minimizer; cut off where that cannot be."""
        return UnbiasedLimited(limit) if limit >= LEAST_LIMIT else super().limited(limit)


@final
@dataclass(frozen=True)
class SoftplusHinge(Loss):
    """(1/k) log(1 + e^{k(1-t)}): a hinge max(0, 1-t) rounded at its corner over a width of about 1/k.

    It is the logistic loss of k(t-1), divided by k: phi'' and phi''' grow by k and k^2.
    """

    sharpness: float = 4.0

    name: ClassVar[str] = "softplus-hinge"
    kind: ClassVar[Kind] = Kind.MARGIN
    scalar: ClassVar[Scalar] = staticmethod(softplus_hinge)
    landmarks: ClassVar[tuple[float, ...]] = (0.0, 1.0)
    unit: ClassVar[Constants] = Logistic.unit

    def __post_init__(self) -> None:
        object.__setattr__(self, "sharpness", checked_scale("sharpness", self.sharpness))

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.sharpness,)

    @cached_property
    def constants(self) -> Constants:
        sharpness = Fraction(self.sharpness)
        return Constants(
            slope=1.0,
            curvature_low=0.0,
            curvature_high=at_least(sharpness / 4),
            third=at_least(sharpness**2 * Fraction(self.unit.third)),
            bend=at_least(sharpness),
        )


@final
@dataclass(frozen=True)
class Sigmoid(Loss):
    """1/(1 + e^t): a smooth count of errors, nonconvex.

    phi' = -p(1-p), phi'' = p(1-p)(1-2p), at most 1/(6 sqrt3) either way; phi''' = -q(1-6q) with
    q = p(1-p) in (0, 1/4], largest at q = 1/4 (1/8; the other root q = 1/12 gives 1/24).
    """

    name: ClassVar[str] = "sigmoid"
    kind: ClassVar[Kind] = Kind.MARGIN
    scalar: ClassVar[Scalar] = staticmethod(sigmoid)
    unit: ClassVar[Constants] = Constants(
        slope=0.25,
        curvature_low=Logistic.unit.third,
        curvature_high=Logistic.unit.third,
        third=0.125,
        ceiling=1.0,
        steepest=0.0,
    )


def _savage_second(p: float) -> float:
    return 2.0 * p * p * (2.0 - 3.0 * p) * (1.0 - p)


def _savage_third() -> float:
    """sup of 2 p^2 (1-p) |12 (p - 5/8)^2 - 11/16| on [0, 1].

    Stationary where 60 p^3 - 108 p^2 + 57 p - 8 = 0, that is x^3 - 13x/100 + 7/1500 = 0 with p = x + 3/5. Its
    three real roots, by cosines, give 0.0534, 0.2020 and 0.0967.
    """
    radius = 2.0 * math.sqrt(0.13 / 3.0)
    angle = math.acos(-0.014 / (0.13 * radius))
    roots = (0.6 + radius * math.cos((angle - 2.0 * math.pi * turn) / 3.0) for turn in range(3))
    return max(2.0 * p * p * (1.0 - p) * abs(12.0 * (p - 0.625) ** 2 - 0.6875) for p in roots)


@final
@dataclass(frozen=True)
class Savage(Loss):
    """1/(1 + e^t)^2: like the sigmoid, but flatter for points far on the wrong side.

    phi' = -2p^2(1-p), largest at p = 2/3, t = -log 2; phi'' = 2p^2(2-3p)(1-p), stationary at
    p = (15 -+ sqrt33)/24; phi''' = -2p^2(1-p)(4-15p+12p^2).
    """

    name: ClassVar[str] = "savage"
    kind: ClassVar[Kind] = Kind.MARGIN
    scalar: ClassVar[Scalar] = staticmethod(savage)
    unit: ClassVar[Constants] = Constants(
        slope=at_least(Fraction(8, 27)),
        curvature_low=round_up(-_savage_second((15.0 + math.sqrt(33.0)) / 24.0)),
        curvature_high=round_up(_savage_second((15.0 - math.sqrt(33.0)) / 24.0)),
        third=round_up(_savage_third()),
        ceiling=1.0,
        steepest=math.log(2.0),
    )
