"""How far one record moves a mean of clamped contributions: from shape, band, lengths and relation alone.

A contribution is c, c z or c zz', z the row in public coordinates and c a number that depends on that record
and public numbers. c is clamped, at run time, to a band: lo_k <= c <= hi_k while t, which c was computed
from, lies in the k-th of K equal bins. Nothing here knows what c means, so a wrong c costs accuracy alone.
All distances are per record: of a mean they are divided by n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, final

import numpy as np

from sottovoce.accounting.relations import Relation
from sottovoce.arrays import Vector
from sottovoce.errors import ParameterError

BINS = 256
"""Bins of a band: a gradient then gets at most 0.46 % more noise than from arbitrarily many."""

MOST_BINS = 2**14
LARGEST = 1e60
"""No bound of a band lies beyond it, so that no square of a sum, nor of its square, overflows."""

ROUND_UP = 1.0 + 2.0**-40
"""Outweighs the rounding of the operations in each formula."""

_COSINE = 1e-12
_ANGLE = 1e-9
"""Angles are widened by this, cosines by that: more than arccos loses."""


@final
@dataclass(frozen=True, eq=False)
class Band:
    """lo_k <= c <= hi_k while t lies in the k-th of K equal bins of [first, last]; the outer bins hold what
    lies beyond, and no number is lo. Any finite numbers will do."""

    first: float
    last: float
    lo: Vector
    hi: Vector

    def __post_init__(self) -> None:
        if not (-1e100 < self.first < self.last < 1e100 and self.last - self.first > 1e-200):
            raise ParameterError("a band covers an interval of finite numbers.")
        for name in ("lo", "hi"):
            held = np.array(getattr(self, name), dtype=np.float64)
            if held.ndim != 1 or not 1 <= held.size <= MOST_BINS or not np.all(np.abs(held) < LARGEST):
                raise ParameterError("a band has two finite numbers a bin.")
            held.flags.writeable = False
            object.__setattr__(self, name, held)
        if self.lo.shape != self.hi.shape or not np.all(self.lo <= self.hi):
            raise ParameterError("a band has lo <= hi in every bin.")

    @property
    def bins(self) -> int:
        return int(self.lo.size)

    @property
    def per(self) -> float:
        """Bins per unit of t."""
        return self.bins / (self.last - self.first)

    @property
    def largest(self) -> float:
        """Largest |c|; found anew each time, since it is charged for."""
        return float(max(np.abs(self.lo).max(), np.abs(self.hi).max()))

    def clamped(self, t: Vector, c: Vector) -> Vector:
        """c within the band of its t; compiled passes do the same."""
        place = np.fmin(np.fmax((t - self.first) * self.per, 0.0), self.bins - 1.0).astype(np.intp)
        return np.asarray(np.fmin(np.fmax(c, self.lo[place]), self.hi[place]))


class Span(NamedTuple):
    """low <= c <= high wherever t lies; no number is low."""

    low: float
    high: float

    def checked(self) -> Span:
        if not -LARGEST < self.low <= self.high < LARGEST:
            raise ParameterError("a span has finite numbers low <= high.")
        return Span(float(self.low), float(self.high))

    @property
    def largest(self) -> float:
        return max(abs(self.low), abs(self.high))

    def below(self, ceiling: float) -> Span:
        """The span cut off at `ceiling`."""
        return Span(min(self.low, ceiling), min(self.high, ceiling))

    def clamped(self, c: Vector) -> Vector:
        return np.asarray(np.fmin(np.fmax(c, self.low), self.high))


class Reach(NamedTuple):
    """What a row can be at known weights: R ||w||, C ||w||, where t lies from <z, w>, and how far t as
    computed lies from it.

    A row has length rho <= R and counts q with q rho <= C; `offset` bounds <d, w> - t, d being y z where t is
    a margin and z where it is not."""

    far: float
    near: float
    offset: tuple[float, float]
    error: float

    @property
    def interval(self) -> tuple[float, float]:
        """Every t that a row can have, as computed."""
        low, high = self.offset
        pad = self.error + 2.0**-40 * (self.far + abs(low) + abs(high) + 1.0)
        return -self.far - high - pad, self.far - low + pad


@lru_cache(maxsize=1024)
def vector_distance(band: Band, reach: Reach, relation: Relation) -> float:
    """Diameter of {c z / C}, or its longest, c in the band at its t.

    Two contributions lie no farther apart than their lengths added. So of all bins only those count whose
    largest |c|, added to the largest of all, exceeds what every eighth bin has shown already. In units of the
    largest of all, lest squares underflow."""
    low, high, plus, minus = _angles(band, reach)
    largest = np.maximum(plus, minus)
    longest = float(largest.max(initial=0.0))
    norm = longest * ROUND_UP
    if relation is Relation.ZERO_OUT or not norm:
        return relation.distance(diameter=2.0 * norm, norm=norm)
    largest, plus, minus = largest / longest, plus / longest, minus / longest
    shown = _farthest(low[::8], high[::8], plus[::8], minus[::8])
    left = largest + 1.0 > shown
    best = max(1.0, shown, _farthest(low[left], high[left], plus[left], minus[left]))
    return relation.distance(diameter=norm * min(2.0, best), norm=norm)


def _farthest(low: Vector, high: Vector, plus: Vector, minus: Vector) -> float:
    """The largest distance of two contributions neither of which is 0, of bins as `_angles` has them; 0 if
    there are none.

    Let two rows stand at angles a and b to w, with factors c and d. The parts along w are c cos(a) and
    d cos(b); those across w can point any way, so at worst their lengths add. Squared, the distance is at
    most c^2 + d^2 - 2|cd| cos(a + b) where signs agree, c^2 + d^2 + 2|cd| cos(a - b) where they do not. Both
    are convex in |c|, and 0 belongs to the set (z = 0), so in each bin only the largest |c| of either sign
    counts; of two bins take the angles whose sum is nearest to pi, or whose difference is nearest to 0."""
    best = 0.0
    for factors, others in ((plus, plus), (minus, minus), (plus, minus)):
        i, j = np.flatnonzero(factors)[:, None], np.flatnonzero(others)
        if factors is others:
            least, most = low[i] + low[j], high[i] + high[j]
            cosine = -np.cos(np.where(least > math.pi, least, np.minimum(most, math.pi)))
        else:
            gap = np.maximum(low[i] - high[j], low[j] - high[i])
            cosine = np.cos(np.maximum(gap, 0.0))
        c, d = factors[i], others[j]
        square = c**2 + d**2 + 2.0 * c * d * cosine
        best = max(best, float(square.max(initial=0.0)))
    return math.sqrt(best)


def _angles(band: Band, reach: Reach) -> tuple[Vector, Vector, Vector, Vector]:
    """Of every bin that a row can reach: least and largest angle to w there, largest c and largest -c.

    <d, w> = rho ||w|| cos(angle) with rho <= R. Rows shorter than C move on the plane where <d, w> is what it
    is, inside the hull of those of length C, so C <= rho; then the cosine lies between <d, w> / (R ||w||) and
    <d, w> / (C ||w||)."""
    edges = band.first + np.arange(1, band.bins) / band.per
    slack = reach.error + 2.0**-40 * (
        reach.far + abs(band.first) + abs(band.last) + max(map(abs, reach.offset))
    )
    start = np.concatenate(([-math.inf], edges)) + reach.offset[0] - slack
    stop = np.concatenate((edges, [math.inf])) + reach.offset[1] + slack
    reached = (stop >= -reach.far) & (start <= reach.far)
    start, stop = (np.clip(side[reached], -reach.far, reach.far) for side in (start, stop))
    plus, minus = np.maximum(band.hi[reached], 0.0), np.maximum(-band.lo[reached], 0.0)
    if not reach.far > 0.0:
        return np.zeros_like(plus), np.full_like(plus, math.pi), plus, minus
    near = max(min(reach.near, reach.far), reach.far * 1e-300)
    top = np.where(stop >= 0.0, stop / near, stop / reach.far)
    bottom = np.where(start >= 0.0, start / reach.far, start / near)
    low = np.arccos(np.clip(top + _COSINE, -1.0, 1.0)) - _ANGLE
    high = np.arccos(np.clip(bottom - _COSINE, -1.0, 1.0)) + _ANGLE
    return np.maximum(low, 0.0), np.minimum(high, math.pi), plus, minus


def number_distance(span: Span, lightest: float, heaviest: float, relation: Relation) -> float:
    """Of q c, c in the span and q between `lightest` and `heaviest`: the width of that interval; zeroed out,
    its longest."""
    low = min(lightest * span.low, heaviest * span.low)
    high = max(lightest * span.high, heaviest * span.high)
    return relation.distance(diameter=high - low, norm=max(abs(low), abs(high))) * ROUND_UP


def matrix_distance(span: Span, relation: Relation) -> float:
    """Of c zz' with ||z|| <= 1, Frobenius: max(sqrt2 max|c|, hi + lo), hi = max(high, 0), lo = max(-low, 0).

    Two terms c uu' and d vv' lie c^2 + d^2 - 2cd <u, v>^2 apart, squared: most for orthogonal rows if c and d
    have one sign, for parallel rows if they have opposite signs."""
    high, low = max(span.high, 0.0), max(-span.low, 0.0)
    largest = max(high, low)
    return relation.distance(diameter=max(math.sqrt(2.0) * largest, high + low), norm=largest) * ROUND_UP


def spectral_distance(span: Span, relation: Relation) -> float:
    """Of c zz' with ||z|| <= 1, in spectral norm, and so of any eigenvalue (Weyl): hi + lo, as above.

    |c <u, e>^2 - d <v, e>^2| <= hi + lo for a unit e, and 0 belongs to the set."""
    high, low = max(span.high, 0.0), max(-span.low, 0.0)
    return relation.distance(diameter=high + low, norm=max(high, low)) * ROUND_UP


def moment_distance(largest: float, relation: Relation) -> float:
    """Of ss' with ||s||^2 <= `largest`, Frobenius: sqrt2 `largest`.

    ||P - Q||^2 = ||P||^2 + ||Q||^2 - 2 tr PQ, and tr PQ >= 0. A person's s lies in the hull of row terms."""
    return relation.distance(diameter=math.sqrt(2.0) * largest, norm=largest) * ROUND_UP


def ball_distance(longest: float, relation: Relation) -> float:
    """Of terms that may point anywhere: two of them are twice the longest apart."""
    return relation.distance(diameter=2.0 * longest, norm=longest) * ROUND_UP


def moments_distance(balance: float, relation: Relation, *, is_capped: bool) -> float:
    """Of column means and sqrt(b)/R times column mean squares together, over C = q R, q the most that a
    record counts: sqrt(F), where F is 2 + 2 b + 1/(2b) if b > 1/2, else 4, with b the balance.

    Lighter records shrink their terms towards 0, the terms of the row 0: into the convex hull. Let rows have
    norm 1; shorter ones gain by a new column each that fills them up. With absolute values alpha, beta and
    S = ||alpha + beta||^2, opposite signs are worst: the means move by at most S, squared. The entries of
    alpha^2 - beta^2 sum to 0, so its squared norm is at most half its squared l1 norm, which by Cauchy and
    Schwarz is at most S ||alpha - beta||^2 = S (4 - S). So F <= S + (b/2) S (4 - S), largest at
    S = min(4, 2 + 1/b); rows (c, s) and (-s, -c) attain it. Squares summed over groups of columns move no
    further: take the norm of each group for its columns.

    `is_capped`: a record counts q with q ||x|| <= C and q ||x||^2 <= E, the factor is sqrt(b) C/E. Means are
    then two vectors no longer than C, squares two nonnegative ones that sum to at most E: F is 4 + 2 b."""
    if not 0.0 < balance < math.inf:
        raise ParameterError(f"balance is {balance}; it must be finite and above 0.")
    plain = 2.0 + 2.0 * balance + 0.5 / balance if balance > 0.5 else 4.0
    square = 4.0 + 2.0 * balance if is_capped else plain
    return math.sqrt(relation.distance(diameter=square, norm=1.0 + balance)) * ROUND_UP
