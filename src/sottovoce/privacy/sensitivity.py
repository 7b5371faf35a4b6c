"""How far each query can move between neighbours: one function per query, of public numbers only.

Neighbours share n. If one record is replaced, a mean of per-record terms moves by the distance of two terms
over n, at most the diameter of their set; if it is zeroed out, by one term over n, at most the longest. The
docstrings speak of two terms; a single one is half as long where they say twice, and else as said there.

Everywhere ||x|| <= radius, `slope` is sup|phi'| and phi'' lies in [-curvature_low, curvature_high]. For a
batch, n is the batch size. Where a record counts q, `radius` is the largest q ||x|| of a first derivative and
the root of the largest q ||x||^2 of a second; with declared class weights the caller multiplies slope,
curvature_low and curvature_high by the largest, or passes it as `weight` where the loss itself is asked for.
The mean still divides by n. The regularizer is the same for both neighbours and moves nothing. What floating
point adds is in `rounding`, what the noise lattice adds in `lattice`.
"""

from __future__ import annotations

import math

from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError

REPLACE_ONE = Relation.REPLACE_ONE

ROUND_UP = 1.0 + 2.0**-48
"""Outweighs the rounding of the few operations in each formula."""


def _mean_sensitivity(distance: float, n: int) -> float:
    """Sensitivity of a mean over n records when one term moves by `distance`."""
    if n < 1:
        raise ParameterError(f"n is {n}; a mean needs at least 1 record. Declare the number of records.")
    if not 0.0 <= distance < math.inf:
        raise ParameterError(
            f"one record moves by {distance}; bounds must be finite and at least 0. Check the constants."
        )
    return distance / n * ROUND_UP


def mean(*, diameter: float, norm: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """Mean of any terms, from the diameter of their set and the longest of them."""
    return _mean_sensitivity(relation.distance(diameter=diameter, norm=norm), n)


def terms(*, longest: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """Mean of terms that may point anywhere: two of them are twice the longest apart."""
    return mean(diameter=2.0 * longest, norm=longest, n=n, relation=relation)


def value(*, highest: float, lowest: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """Mean loss, when every record's loss lies in [lowest, highest]: (highest - lowest) / n; zeroed out,
    highest / n, which is more."""
    return mean(diameter=highest - lowest, norm=highest, n=n, relation=relation)


def value_difference(
    *, slope: float, radius: float, n: int, step_norm: float, relation: Relation = REPLACE_ONE
) -> float:
    """f(w) - f(w + p): 2 sup|phi'| R ||p|| / n.

    One record's loss changes by at most sup|phi'| |<x, p>| <= sup|phi'| R ||p||, in either direction."""
    return terms(longest=slope * radius * step_norm, n=n, relation=relation)


def normalized_trials(
    *, slope: float, radius: float, n: int, count: int, relation: Relation = REPLACE_ONE
) -> float:
    """(f(w) - f(w + p_j)) / ||p_j|| for `count` steps, in l2: sqrt(count) 2 sup|phi'| R / n.

    Each entry moves by at most 2 sup|phi'| R / n, whatever its step; all do when the steps are parallel."""
    return terms(longest=slope * radius * math.sqrt(count), n=n, relation=relation)


def second_moment(*, largest: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """Mean of semidefinite matrices of Frobenius norm at most `largest`: sqrt2 largest / n.

    ||P - Q||^2 = ||P||^2 + ||Q||^2 - 2 tr PQ, and tr PQ >= 0. Rank-one terms of orthogonal rows attain it."""
    return _mean_sensitivity(relation.distance(diameter=math.sqrt(2.0) * largest, norm=largest), n)
