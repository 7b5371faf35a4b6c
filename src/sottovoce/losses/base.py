"""Losses: a scalar function with two derivatives, the constants that bound them, and bands to clamp them to.

Privacy does not rest on any of it: what the function returns is clamped where it is summed up, to the band
that was charged for. Constants plan steps; a wrong one costs accuracy."""

from __future__ import annotations

import enum
import math
import numbers
import sys
from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, final

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.errors import ParameterError
from sottovoce.trusted.bands import BINS, Band, Span
from sottovoce.trusted.laws import Law, Placing, Scalar

SMALLEST_SCALE = 1e-6
LARGEST_SCALE = 1e6
_SEEN = 8
"""Points of a bin at which its band is read off, besides one end."""

_SCALES = 10.0 ** np.concatenate([np.linspace(-9.0, 9.0, 361), np.linspace(-3.0, 3.0, 1501)])
"""Distances from a landmark at which a loss is looked at, however wide the bins."""


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

    `scalar` is the function (t, y, *numbers) -> (phi, phi', phi''), `numbers` what it takes besides.
    On t <= 0 it never rises with t; a margin loss goes on falling, a residual loss is even. A count's loss is
    phi(t) - y t with y in [0, 1]: phi alone rises, and `slope` bounds |phi'(t) - y|.
    Arrays of any shape go in, float64 arrays of that shape come out, finite for every finite t.
    """

    name: ClassVar[str]
    kind: ClassVar[Kind]
    unit: ClassVar[Constants]
    scalar: ClassVar[Scalar]
    landmarks: ClassVar[tuple[float, ...]] = (0.0,)
    """Where the loss changes most."""

    @property
    def numbers(self) -> tuple[float, ...]:
        """What `scalar` takes besides t and y."""
        return ()

    @cached_property
    def law(self) -> Law:
        """The loss as passes over records take it: checked to depend on one record's numbers alone."""
        return Law(type(self).scalar, _PLACING[self.kind], self.numbers, self.shift)

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

    @property
    def is_likelihood(self) -> bool:
        """Whether exp(-phi(t)) is the probability of a label with margin t."""
        return False

    @property
    def is_limitable(self) -> bool:
        """Whether its slopes may be limited: convex, and phi(t) alone for all records alike."""
        return self.curvature_low == 0.0 and self.kind is not Kind.COUNT

    def limited(self, limit: float) -> Loss:
        """A convex loss in this one's place with |phi'| at most `limit`: linear where this one is steeper."""
        from sottovoce.losses.limited import Limited

        return Limited(self, limit)

    @final
    def value(self, t: Vector) -> Vector:
        """phi(t)."""
        found = self._each(t, self._values)
        return np.asarray(np.minimum(found, self.ceiling) if self.ceiling < math.inf else found)

    @final
    def first(self, t: Vector) -> Vector:
        """phi'(t), within [-slope, slope]."""
        found = self._each(t, self._slopes)
        return np.clip(found, -self.slope, self.slope, out=found)

    @final
    def second(self, t: Vector) -> Vector:
        """phi''(t), within [-curvature_low, curvature_high]."""
        found = self._each(t, self._curvatures)
        return np.clip(found, -self.curvature_low, self.curvature_high, out=found)

    def _values(self, t: Vector) -> Vector:
        return self.law.values(t, self._plainest(t))

    def _slopes(self, t: Vector) -> Vector:
        return self.law.slopes(t, self._plainest(t))

    def _curvatures(self, t: Vector) -> Vector:
        return self.law.curvatures(t, self._plainest(t))

    def _plainest(self, t: Vector) -> Vector:
        """Targets with which the loss is phi(t) alone."""
        return np.full(t.size, float(self.kind is Kind.MARGIN))

    def _each(self, t: Vector, function: Callable[[Vector], Vector]) -> Vector:
        held = np.asarray(t, dtype=np.float64)
        found = function(np.ascontiguousarray(held).reshape(-1)) * self.law.heaviest
        return np.asarray(found.reshape(held.shape))

    def slope_band(self, first: float, last: float) -> Band:
        """What phi' takes in every bin of [first, last], seen at some points of it."""
        return _band(self.law, self.landmarks, first, last)

    def value_span(self, first: float, last: float) -> Span:
        """What phi takes in [first, last], seen at some points of it."""
        return _span(self.law, self.landmarks, "values", first, last)

    def curvature_span(self, first: float, last: float) -> Span:
        """What phi'' takes in [first, last], seen at some points of it."""
        return _span(self.law, self.landmarks, "curvatures", first, last)

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


_PLACING = {
    Kind.MARGIN: Placing.MARGIN,
    Kind.RESIDUAL: Placing.RESIDUAL,
    Kind.COUNT: Placing.SHIFTED,
}


@lru_cache(maxsize=1024)
def _band(law: Law, landmarks: tuple[float, ...], first: float, last: float) -> Band:
    within, beside = _looked_at(landmarks, first, last)
    seen = _ends(law, "slopes", within.ravel()).reshape(-1, *within.shape)
    lo, hi = seen.min(axis=(0, 2)), seen.max(axis=(0, 2))
    beside = np.concatenate([beside, *_closer(law, "slopes", np.concatenate([within.ravel(), beside]))])
    place = np.clip((beside - first) * (BINS / (last - first)), 0.0, BINS - 1.0).astype(np.intp)
    for slopes in _ends(law, "slopes", beside):
        np.minimum.at(lo, place, slopes)
        np.maximum.at(hi, place, slopes)
    return Band(first, last, lo, hi)


@lru_cache(maxsize=1024)
def _span(law: Law, landmarks: tuple[float, ...], which: str, first: float, last: float) -> Span:
    within, beside = _looked_at(landmarks, first, last)
    t = np.concatenate([within.ravel(), beside])
    seen = _ends(law, which, np.concatenate([t, *_closer(law, which, t)]))
    return Span(float(seen.min()), float(seen.max()))


def _looked_at(landmarks: tuple[float, ...], first: float, last: float) -> tuple[Vector, Vector]:
    """Points of every bin, its ends among them, and points about the landmarks."""
    steps = np.arange(BINS)[:, None] + np.linspace(0.0, 1.0, _SEEN + 1)
    about = np.concatenate([centre + np.r_[-_SCALES, 0.0, _SCALES] for centre in landmarks])
    return first + steps * ((last - first) / BINS), about[(about >= first) & (about <= last)]


def _closer(law: Law, which: str, t: Vector) -> list[Vector]:
    """Points between the neighbours of the least and the largest that was seen, twice over."""
    found: list[Vector] = []
    for extreme in (np.argmin, np.argmax):
        near = np.unique(t)
        for _ in range(2):
            seen = _ends(law, which, near)
            best = int(extreme(seen.min(axis=0) if extreme is np.argmin else seen.max(axis=0)))
            near = np.linspace(near[max(0, best - 1)], near[min(near.size - 1, best + 1)], 65)
            found.append(near)
    return found


def _ends(law: Law, which: str, t: Vector) -> Vector:
    """What the law says at t, of a count for its least and its largest y; a row each."""
    t = np.ascontiguousarray(t)
    ends = (0.0, 1.0) if law.placing is Placing.SHIFTED else (float(law.placing is Placing.MARGIN),)
    seen = np.stack([getattr(law, which)(t, np.full(t.size, y)) for y in ends])
    return np.asarray(np.clip(np.nan_to_num(seen), -1e59, 1e59))


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
    raise ParameterError(f"{shown} must be a finite number in [{low:g}, {high:g}]. {way_out}", argument=shown)


def checked_scale(name: str, number: float) -> float:
    """A parameter of a loss as a float, or a ParameterError with the rule."""
    way_out = "Measure the targets or the features in another unit instead."
    return checked_number(name, number, SMALLEST_SCALE, LARGEST_SCALE, way_out)


def checked_reach(reach: float) -> float:
    """A bound on |t| as a float, or a ParameterError with the rule."""
    way_out = "It is the largest |t| that can occur; where there is none, use the loss's `slope`."
    return checked_number("reach", reach, 0.0, sys.float_info.max, way_out)
