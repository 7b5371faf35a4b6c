"""The logistic loss with limited slopes and the same minimizer: records weighed by their predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

from sottovoce.losses.base import Constants, Kind, Loss, checked_number
from sottovoce.losses.limited import JUMP
from sottovoce.trusted.laws import Scalar
from sottovoce.trusted.vocabulary import decay, log_unit

LEAST_LIMIT = 0.5
"""The least of max(s, 1-s): below it every record would count less, which only rescales."""

_FURTHEST = 700.0
"""Where e^-t ends: past it no record counts in full for being sure."""


def unbiased_limited(
    t: float, y: float, limit: float, corner: float, joined: float
) -> tuple[float, float, float]:
    """The logistic loss plus `joined` for |t| <= `corner`, limit e^-t beyond, linear before."""
    e = decay(t)
    share = 1.0 / (1.0 + e)
    falling = e if t >= 0.0 else 1.0
    past = max(-t - corner, 0.0)
    near = max(t, -corner)
    middle = max(-near, 0.0) + log_unit(decay(near)) + joined + limit * past
    bend = 0.0 if past > 0.0 else e * share * share
    slope = -min(falling * share, limit * falling)
    return limit * e if t > corner else middle, slope, limit * e if t > corner else bend


@final
@dataclass(frozen=True)
class UnbiasedLimited(Loss):
    """phi' = -w s, s = 1/(1 + e^t) the slope of the logistic loss, w = min(1, m/max(s, 1-s)), m = `limit`.

    max(s, 1-s) = 1/(1 + e^-|t|), and s is that times min(1, e^-t), so |phi'| = min(s, m min(1, e^-t)): no
    more than m, and falling in t, so that phi is convex.

    Unbiased: max(s, 1-s) is the chance that the model gives to the likelier label. Margins of both labels are
    t and -t, hence w is the same for both, a function of the row alone. A row whose label is that of margin t
    with the probability 1 - s that the model says has mean slope -(1-s) w s + s w (1-s) = 0, as without w:
    true weights are stationary for every m. In other words phi'(-t)/phi'(t) = e^t. Cutting slopes off instead
    (`Limited`) changes that ratio and makes weights too large. A wrong model counts rows it is sure of less.

    With c = log(m/(1-m)) >= 0, phi is log(1 + e^-t) + (1 - m + log m) for |t| <= c, m e^-t beyond, and linear
    of slope -m before. phi'' is at most 1/4 in the middle, m e^-t <= 1-m beyond and 0 before; it jumps."""

    name: ClassVar[str] = "unbiased-limited"
    scalar: ClassVar[Scalar] = staticmethod(unbiased_limited)
    kind: ClassVar[Kind] = Kind.MARGIN
    limit: float

    def __post_init__(self) -> None:
        way_out = "Slopes of the logistic loss end at 1; for limits below 1/2 use Limited."
        limit = checked_number("limit", self.limit, LEAST_LIMIT, 1.0, way_out)
        object.__setattr__(self, "limit", limit)

    @property
    def numbers(self) -> tuple[float, ...]:
        return self.limit, self.corner, 1.0 - self.limit + math.log(self.limit)

    @cached_property
    def constants(self) -> Constants:
        highest = max(0.25, 1.0 - self.limit)
        return Constants(slope=self.limit, curvature_low=0.0, curvature_high=highest, third=JUMP)

    @cached_property
    def corner(self) -> float:
        """c: rows of margin up to it count in full. Where all do, the largest exponent."""
        rest = 1.0 - self.limit
        return min(math.log(self.limit / rest), _FURTHEST) if rest > 0.0 else _FURTHEST
