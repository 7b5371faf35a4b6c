"""How far apart the gradients of two records can lie at known weights, bounded rigorously from above.

A record z = y x with ||z|| <= R contributes phi'(<z, w>) z. With R scaled to 1 and reach s = R ||w||, the
set of contributions is A = {q (a, b) : a^2 + ||b||^2 <= 1}, q = phi'(s a), a along w and b across it. For two
records with given a_1, a_2 the squared distance is (q_1 a_1 - q_2 a_2)^2 + ||q_1 b_1 - q_2 b_2||^2, largest
when q_1 b_1 and q_2 b_2 point opposite ways and both b are as long as the ball allows. So both records lie on
the sphere, a = cos theta, |b| = sin theta, and the diameter of A, interior points and z = 0 included, is

    max over theta_1, theta_2 in [0, pi] of hypot(q_1 cos_1 - q_2 cos_2, |q_1| sin_1 + |q_2| sin_2).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.arrays import Vector
    from sottovoce.losses import Loss

    Indices = NDArray[np.intp]

_TOLERANCE = 1e-6
_FEWEST_ARCS = 24
_MOST_ARCS = 72
_MOST_PAIRS = 2000
_FLOAT_MARGIN = 2.0**-36
"""Covers rounding here and a relative error of this size in ||w||: A moves by at most K s per unit of it."""


@lru_cache(maxsize=1024)
def contribution_diameter(loss: Loss, reach: float) -> float:
    """Upper bound of diam{phi'(<z, w>) z : ||z|| <= 1} at ||w|| = reach.

    Never above 2 sup{|phi'(t)| : |t| <= reach}. Branch and bound over pairs of arcs: on an arc of width h the
    curve f(theta) = q (cos, sin) stays within (h^2/8) sup|f''| of its chord, so two arcs are nowhere farther
    apart than their farthest end points plus twice that. Here q' = -s sin phi'', q'' = s^2 sin^2 phi''' -
    s cos phi'', hence |f''| = |(q'' - q) e + 2 q' e_perp| <= s^2 sup|phi'''| + 3 s sup|phi''| + sup|phi'|.
    Pairs that cannot beat the largest distance seen are dropped, the others are halved. When that would cost
    too much (s beyond about 100, where the answer is near its ceiling) the bound reached so far is returned.
    """
    if not (math.isfinite(reach) and reach >= 0.0):
        raise ParameterError(
            f"the reach R ||w|| is {reach}; it must be finite and at least 0. Bound the weights first."
        )
    curvature = max(loss.curvature_low, loss.curvature_high)
    ceiling = 2.0 * loss.slope_within(reach * (1.0 + _FLOAT_MARGIN))
    bend = reach * reach * loss.third + 3.0 * reach * curvature + loss.slope
    arcs = max(_FEWEST_ARCS, math.pi * math.sqrt(bend / ceiling)) if ceiling > 0.0 else math.inf
    if arcs > _MOST_ARCS:
        return ceiling
    slack = 2.0 * _FLOAT_MARGIN * (loss.slope + curvature * reach)
    return min(ceiling, _search(loss, reach, bend, math.ceil(arcs), ceiling) + slack)


def _search(loss: Loss, reach: float, bend: float, arcs: int, ceiling: float) -> float:
    first, second = np.triu_indices(arcs)
    width = math.pi / arcs
    seen = 0.0
    while True:
        farthest = _farthest_ends(loss, reach, width, first, second)
        sag = 0.25 * width * width * bend
        seen = max(seen, float(farthest.max()))
        goal = seen * (1.0 + _TOLERANCE)
        if goal >= ceiling:
            return ceiling
        open_pairs = farthest + sag > goal
        first, second = first[open_pairs], second[open_pairs]
        if 4 * first.size > _MOST_PAIRS or first.size == 0:
            return max(goal, float(farthest.max()) + sag)
        first, second = 2 * first, 2 * second
        first = np.concatenate((first, first, first + 1, first + 1))
        second = np.concatenate((second, second + 1, second, second + 1))
        width /= 2.0


def _farthest_ends(loss: Loss, reach: float, width: float, first: Indices, second: Indices) -> Vector:
    """For each pair of arcs, the largest of the four distances between their end points, one arc mirrored."""
    ends, where = np.unique(np.concatenate((first, first + 1, second, second + 1)), return_inverse=True)
    cosine = np.cos(width * ends)
    factor = loss.first(reach * cosine)
    along = (factor * cosine)[where].reshape(2, 2, -1)
    across = (np.abs(factor) * np.sin(width * ends))[where].reshape(2, 2, -1)
    squared = (along[0, :, None] - along[1]) ** 2 + (across[0, :, None] + across[1]) ** 2
    farthest: Vector = np.sqrt(squared.max(axis=(0, 1)))
    return farthest
