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


def gram(*, radius: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """X'X/n, Frobenius: sqrt2 R^2 / n: two rank-one terms differ most when their rows are orthogonal."""
    return _mean_sensitivity(relation.distance(diameter=math.sqrt(2.0), norm=1.0) * radius**2, n)


def gram_diagonal(*, radius: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """Diagonal of X'X/n, l2: sqrt2 R^2 / n.

    Squared entries are nonnegative and sum to at most R^2; two such vectors differ most at two corners."""
    return gram(radius=radius, n=n, relation=relation)


def moments(*, influence: float, balance: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """Column means and sqrt(b)/R times column mean squares together, l2: C sqrt(F) / n, where F is
    2 + 2 b + 1/(2b) if b > 1/2, else 4, with b the balance and C = q R, q the most that a record counts.

    Lighter records shrink their terms towards 0, the terms of the row 0: into the convex hull. Let rows have
    norm 1; shorter ones gain by a new column each that fills them up. With absolute values alpha, beta and
    S = ||alpha + beta||^2, opposite signs are worst: the means move by at most S, squared. The entries of
    alpha^2 - beta^2 sum to 0, so its squared norm is at most half its squared l1 norm, which by Cauchy and
    Schwarz is at most S ||alpha - beta||^2 = S (4 - S). So F <= S + (b/2) S (4 - S), largest at
    S = min(4, 2 + 1/b); rows (c, s) and (-s, -c) attain it. Squares summed over groups of columns move no
    further: take the norm of each group for its columns."""
    b = _checked_balance(balance)
    square = 2.0 + 2.0 * b + 0.5 / b if b > 0.5 else 4.0
    return _mean_sensitivity(influence * math.sqrt(relation.distance(diameter=square, norm=1.0 + b)), n)


def capped_moments(*, influence: float, balance: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """As `moments`, where a record counts q with q ||x|| <= C and q ||x||^2 <= E; the factor is sqrt(b) C/E.

    Means are two vectors no longer than C, squares two nonnegative ones that sum to at most E."""
    b = _checked_balance(balance)
    return _mean_sensitivity(
        influence * math.sqrt(relation.distance(diameter=4.0 + 2.0 * b, norm=1.0 + b)), n
    )


def _checked_balance(balance: float) -> float:
    if not 0.0 < balance < math.inf:
        raise ParameterError(f"balance is {balance}; it must be finite and above 0.")
    return balance
