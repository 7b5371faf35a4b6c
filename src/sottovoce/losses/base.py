"""What every scalar loss promises: values, two derivatives, and the constants that bound them."""

from __future__ import annotations

import enum
import math
import numbers
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.errors import ParameterError

SMALLEST_SCALE = 1e-6
LARGEST_SCALE = 1e6
# A larger |t| may count as this one: times or over any scale it is still a float.
LARGEST_ARGUMENT = 1e300


class Kind(enum.Enum):
    """What the loss is a function of."""

    MARGIN = "t = y <x, w> with y in {-1, +1}"
    RESIDUAL = "t = <x, w> - y with y a number"
    COUNT = "t = <x, w> - log high with y = count / high, and y t taken from phi"


@final
@dataclass(frozen=True, kw_only=True)
class Constants:
    """Suprema over all t, never too small: |phi'| <= slope, -curvature_low <= phi'' <= curvature_high,
    |phi'''| <= third, |phi'''| <= bend phi'', 0 <= phi <= ceiling.

    `steepest` is the |t| where |phi'| peaks, at negative t for a margin loss; it rises from t = 0 to there.
    """

    slope: float
    curvature_low: float
    curvature_high: float
    third: float
    ceiling: float = math.inf
    steepest: float = math.inf
    bend: float = math.inf


class Loss(ABC):
    """A scalar loss phi(t), nonnegative, three times differentiable, with a bounded slope.

    On t <= 0 it never rises with t; a margin loss goes on falling, a residual loss is even. A count's loss is
    phi(t) - y t with y in [0, 1]: phi alone rises, and `slope` bounds |phi'(t) - y|.
    Arrays of any shape go in, float64 arrays of that shape come out, finite for every finite t.
    phi' and phi'' are clamped to their declared ranges, so that sensitivities hold for what is computed.
    """

    name: ClassVar[str]
    kind: ClassVar[Kind]
    unit: ClassVar[Constants]

    @cached_property
    def constants(self) -> Constants:
        """The loss's constants; parameters, if there are any, rescale those of the unit loss."""
        return self.unit

    @property
    def slope(self) -> float:
        """sup |phi'|."""
        return self.constants.slope

    @property
    def curvature_low(self) -> float:
        """L >= 0 with phi'' >= -L (0: convex)."""
        return self.constants.curvature_low

    @property
    def curvature_high(self) -> float:
        """U with phi'' <= U."""
        return self.constants.curvature_high

    @property
    def third(self) -> float:
        """sup |phi'''|, the Lipschitz constant of phi''."""
        return self.constants.third

    @property
    def bend(self) -> float:
        """sup |phi'''|/phi'': how fast the curvature of a convex loss can change; infinite for others."""
        return self.constants.bend

    @property
    def ceiling(self) -> float:
        """sup phi, infinite for an unbounded loss."""
        return self.constants.ceiling

    @property
    def shift(self) -> float:
        """What is taken from <x, w> for a count; 0 for others."""
        return 0.0

    def pull(self, targets: Vector) -> Vector | None:
        """y where the loss is phi(t) - y t, None where it is phi(t)."""
        return targets if self.kind is Kind.COUNT else None

    @property
    def is_likelihood(self) -> bool:
        """Whether exp(-phi(t)) is the probability of a label with margin t."""
        return False

    def relative(self, targets: Vector) -> Vector | None:
        """How much the records with these labels count, at most 1; None: all alike."""
        return None

    @property
    def is_limitable(self) -> bool:
        """Whether its slopes may be limited: convex, and phi(t) alone for all records alike."""
        ones = np.ones(1)
        return self.curvature_low == 0.0 and self.relative(ones) is None and self.pull(ones) is None

    def limited(self, limit: float) -> Loss:
        """A convex loss in this one's place with |phi'| at most `limit`: linear where this one is steeper."""
        from sottovoce.losses.limited import Limited

        return Limited(self, limit)

    @property
    def least_relative(self) -> float:
        """The least that a record can count."""
        return 1.0

    @final
    def value(self, t: Vector) -> Vector:
        """phi(t)."""
        t = np.asarray(t, dtype=np.float64)
        with np.errstate(under="ignore"):
            return self._below_ceiling(self._value(t, *self._stage(t)))

    @final
    def first(self, t: Vector) -> Vector:
        """phi'(t), within [-slope, slope]."""
        t = np.asarray(t, dtype=np.float64)
        with np.errstate(under="ignore"):
            first = self._first(t, *self._stage(t))
        return np.clip(first, -self.slope, self.slope, out=first)

    @final
    def second(self, t: Vector) -> Vector:
        """phi''(t), within [-curvature_low, curvature_high]."""
        t = np.asarray(t, dtype=np.float64)
        with np.errstate(under="ignore"):
            second = self._second(t, *self._stage(t))
        return np.clip(second, -self.curvature_low, self.curvature_high, out=second)

    @final
    def value_and_first(self, t: Vector) -> tuple[Vector, Vector]:
        """phi(t) and phi'(t) from one exponential: the same numbers as `value` and `first`."""
        t = np.asarray(t, dtype=np.float64)
        with np.errstate(under="ignore"):
            stage = self._stage(t)
            first = self._first(t, *stage)
            value = self._below_ceiling(self._value(t, *stage))
        return value, np.clip(first, -self.slope, self.slope, out=first)

    @final
    def slope_within(self, reach: float) -> float:
        """sup{|phi'(t)| : |t| <= reach}, rounded up: |phi'| rises from 0 to `steepest` and peaks there.

        Of a count sup{|phi'(t) - y| : |<x, w>| <= reach}: phi' rises, so largest at one end with y = 0 or at
        the other with y = 1."""
        reach = checked_reach(reach)
        if self.kind is Kind.COUNT:
            low, high = self.first(np.array([-reach - self.shift, reach - self.shift])).tolist()
            return min(self.slope, round_up(max(high, 1.0 - low)))
        if reach >= self.constants.steepest:
            return self.slope
        return min(self.slope, round_up(abs(self.first(np.array([-reach])).item())))

    @final
    def value_within(self, reach: float) -> float:
        """sup{phi(t) : |t| <= reach}, rounded up: phi is largest at t = -reach.

        Of a count sup{phi(t) - y t : |<x, w>| <= reach}: convex in t and linear in y, so at a corner."""
        if self.kind is Kind.COUNT:
            ends = np.array([-checked_reach(reach), reach]) - self.shift
            highest = float(np.max(self.value(ends) + np.maximum(0.0, -ends)))
        else:
            highest = self.value(np.array([-checked_reach(reach)])).item()
        return min(self.ceiling, round_up(highest), sys.float_info.max)

    @final
    def _below_ceiling(self, value: Vector) -> Vector:
        if self.ceiling < math.inf:
            np.minimum(value, self.ceiling, out=value)
        return value

    @abstractmethod
    def _stage(self, t: Vector) -> tuple[Vector, ...]:
        """New arrays that value and derivatives share: the exponential or the root, made once."""

    @abstractmethod
    def _value(self, t: Vector, *stage: Vector) -> Vector:
        """phi from the stage, nonnegative. May return an array of the stage; writes on none."""

    @abstractmethod
    def _first(self, t: Vector, *stage: Vector) -> Vector:
        """phi' from the stage as a new array."""

    @abstractmethod
    def _second(self, t: Vector, *stage: Vector) -> Vector:
        """phi'' from the stage as a new array."""


def round_up(number: float) -> float:
    """A float at least the true value of a nonnegative one known to within 16 units in the last place."""
    return math.nextafter(number * (1.0 + 2.0**-48), math.inf) if number > 0.0 else number


def at_least(exact: Fraction) -> float:
    """The smallest float that is not below an exact number."""
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def checked_number(name: str, number: float, low: float, high: float, way_out: str) -> float:
    """A public number as a float, or a ParameterError with the rule. Never quotes an array: may be data."""
    if not isinstance(number, numbers.Real) or isinstance(number, bool):
        shown = f"{name} is of type {type(number).__name__} and"
    elif not low <= number <= high:
        shown = f"{name}={number}"
    else:
        return float(number)
    raise ParameterError(f"{shown} must be a finite number in [{low:g}, {high:g}]. {way_out}")


def checked_scale(name: str, number: float) -> float:
    """A parameter of a loss as a float, or a ParameterError with the rule."""
    way_out = "Measure the targets or the features in another unit instead."
    return checked_number(name, number, SMALLEST_SCALE, LARGEST_SCALE, way_out)


def checked_reach(reach: float) -> float:
    """A bound on |t| as a float, or a ParameterError with the rule."""
    way_out = "It is the largest |t| that can occur; where there is none, use the loss's `slope`."
    return checked_number("reach", reach, 0.0, sys.float_info.max, way_out)
