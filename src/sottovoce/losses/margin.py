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

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.losses.base import LARGEST_ARGUMENT, Constants, Kind, Loss, at_least, checked_scale, round_up
from sottovoce.losses.unbiased import LEAST_LIMIT, UnbiasedLimited

# Past this exponent e^s nears the largest float while 1 + e^s = e^s has long been exact.
LARGEST_EXPONENT = 709.0


def _exponential(s: Vector) -> Vector:
    """e^s in place, finite."""
    np.minimum(s, LARGEST_EXPONENT, out=s)
    return np.exp(s, out=s)


def _share(odds: Vector) -> Vector:
    """1/(1 + odds)."""
    share = np.add(odds, 1.0, out=np.empty_like(odds))
    return np.divide(1.0, share, out=share)


def _minus_share(odds: Vector) -> Vector:
    """-odds/(1 + odds)."""
    share = np.subtract(-1.0, odds, out=np.empty_like(odds))
    return np.divide(odds, share, out=share)


@final
@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + e^-t).

    phi' = -p, phi'' = p(1-p) <= 1/4 at p = 1/2, phi''' = -p(1-p)(1-2p), at most 1/(6 sqrt3) where
    6p^2 - 6p + 1 = 0, and |phi'''|/phi'' = |1-2p| <= 1.
    """

    name: ClassVar[str] = "logistic"
    kind: ClassVar[Kind] = Kind.MARGIN
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

    def _stage(self, t: Vector) -> tuple[Vector, ...]:
        return (_exponential(np.negative(t, out=np.empty_like(t))),)

    def _value(self, t: Vector, *stage: Vector) -> Vector:
        (odds,) = stage
        value = np.log1p(odds, out=np.empty_like(odds))
        # log(1 + e^-t) >= -t, and equals it where the exponential was cut off.
        return np.maximum(value, -t, out=value)

    def _first(self, t: Vector, *stage: Vector) -> Vector:
        (odds,) = stage
        return _minus_share(odds)

    def _second(self, t: Vector, *stage: Vector) -> Vector:
        (odds,) = stage
        share = _share(odds)
        second = np.multiply(odds, share, out=np.empty_like(odds))
        return np.multiply(second, share, out=second)


@final
@dataclass(frozen=True)
class SoftplusHinge(Loss):
    """(1/k) log(1 + e^{k(1-t)}): a hinge max(0, 1-t) rounded at its corner over a width of about 1/k.

    It is the logistic loss of k(t-1), divided by k: phi'' and phi''' grow by k and k^2.
    """

    sharpness: float = 4.0

    name: ClassVar[str] = "softplus-hinge"
    kind: ClassVar[Kind] = Kind.MARGIN
    unit: ClassVar[Constants] = Logistic.unit

    def __post_init__(self) -> None:
        object.__setattr__(self, "sharpness", checked_scale("sharpness", self.sharpness))

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

    def _stage(self, t: Vector) -> tuple[Vector, ...]:
        odds = np.subtract(1.0, t, out=np.empty_like(t))
        np.clip(odds, -LARGEST_ARGUMENT, LARGEST_EXPONENT / self.sharpness, out=odds)
        odds *= self.sharpness
        return (np.exp(odds, out=odds),)

    def _value(self, t: Vector, *stage: Vector) -> Vector:
        (odds,) = stage
        value = np.log1p(odds, out=np.empty_like(odds))
        value /= self.sharpness
        return np.maximum(value, 1.0 - t, out=value)

    def _first(self, t: Vector, *stage: Vector) -> Vector:
        (odds,) = stage
        return _minus_share(odds)

    def _second(self, t: Vector, *stage: Vector) -> Vector:
        (odds,) = stage
        share = _share(odds)
        second = np.multiply(odds, share, out=np.empty_like(odds))
        second *= share
        second *= self.sharpness
        return second


@final
@dataclass(frozen=True)
class Sigmoid(Loss):
    """1/(1 + e^t): a smooth count of errors, nonconvex.

    phi' = -p(1-p), phi'' = p(1-p)(1-2p), at most 1/(6 sqrt3) either way; phi''' = -q(1-6q) with
    q = p(1-p) in (0, 1/4], largest at q = 1/4 (1/8; the other root q = 1/12 gives 1/24).
    """

    name: ClassVar[str] = "sigmoid"
    kind: ClassVar[Kind] = Kind.MARGIN
    unit: ClassVar[Constants] = Constants(
        slope=0.25,
        curvature_low=Logistic.unit.third,
        curvature_high=Logistic.unit.third,
        third=0.125,
        ceiling=1.0,
        steepest=0.0,
    )

    def _stage(self, t: Vector) -> tuple[Vector, ...]:
        odds = _exponential(t.copy())
        return odds, _share(odds)

    def _value(self, t: Vector, *stage: Vector) -> Vector:
        _, share = stage
        return share

    def _first(self, t: Vector, *stage: Vector) -> Vector:
        odds, share = stage
        first = np.multiply(odds, share, out=np.empty_like(odds))
        first *= share
        return np.negative(first, out=first)

    def _second(self, t: Vector, *stage: Vector) -> Vector:
        odds, share = stage
        second = np.multiply(odds, share, out=np.empty_like(odds))
        tilt = np.subtract(second, share, out=np.empty_like(odds))
        second *= share
        second *= tilt
        return second


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
    unit: ClassVar[Constants] = Constants(
        slope=at_least(Fraction(8, 27)),
        curvature_low=round_up(-_savage_second((15.0 + math.sqrt(33.0)) / 24.0)),
        curvature_high=round_up(_savage_second((15.0 - math.sqrt(33.0)) / 24.0)),
        third=round_up(_savage_third()),
        ceiling=1.0,
        steepest=math.log(2.0),
    )

    def _stage(self, t: Vector) -> tuple[Vector, ...]:
        odds = _exponential(t.copy())
        return odds, _share(odds)

    def _value(self, t: Vector, *stage: Vector) -> Vector:
        _, share = stage
        return np.square(share, out=np.empty_like(share))

    def _first(self, t: Vector, *stage: Vector) -> Vector:
        odds, share = stage
        first = np.multiply(odds, share, out=np.empty_like(odds))
        first *= share
        first *= share
        first *= -2.0
        return first

    def _second(self, t: Vector, *stage: Vector) -> Vector:
        odds, share = stage
        second = np.multiply(odds, share, out=np.empty_like(odds))
        second *= share
        second *= share
        second *= np.multiply(share, -6.0) + 4.0
        return second
