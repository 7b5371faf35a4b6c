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
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError
from sottovoce.losses import Kind
from sottovoce.privacy.diameter import contribution_diameter

if TYPE_CHECKING:
    from sottovoce.losses import Loss

REPLACE_ONE = Relation.REPLACE_ONE

ROUND_UP = 1.0 + 2.0**-48
"""Outweighs the rounding of the few operations in each formula."""


def _mean_moves(distance: float, n: int) -> float:
    """Movement of a mean over n records when one term moves by `distance`."""
    if n < 1:
        raise ParameterError(f"n is {n}; a mean needs at least 1 record. Declare the number of records.")
    if not 0.0 <= distance < math.inf:
        raise ParameterError(
            f"one record moves by {distance}; bounds must be finite and at least 0. Check the constants."
        )
    return distance / n * ROUND_UP


def mean(*, diameter: float, norm: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """Mean of any terms, from the diameter of their set and the longest of them."""
    return _mean_moves(relation.distance(diameter=diameter, norm=norm), n)


def terms(*, longest: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """Mean of terms that may point anywhere: two of them are twice the longest apart."""
    return mean(diameter=2.0 * longest, norm=longest, n=n, relation=relation)


def value(*, highest: float, lowest: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """Mean loss, when every record's loss lies in [lowest, highest]: (highest - lowest) / n; zeroed out,
    highest / n, which is more."""
    return mean(diameter=highest - lowest, norm=highest, n=n, relation=relation)


def value_at(
    loss: Loss,
    *,
    weight_norm: float,
    radius: float,
    n: int,
    target_reach: float = 0.0,
    weight: float = 1.0,
    least_weight: float = 1.0,
    relation: Relation = REPLACE_ONE,
) -> float:
    """Mean loss at weights of known norm: (c_max sup phi - c_min inf phi) / n over |t| <= R ||w|| + Y.

    Margin losses decrease, so their infimum is at the far end; residual losses vanish at 0."""
    reach = radius * weight_norm + target_reach
    lowest = float(loss.value(np.array([reach]))[0]) if loss.kind is Kind.MARGIN else 0.0
    highest = weight * loss.value_within(reach)
    return value(highest=highest, lowest=least_weight * lowest / ROUND_UP, n=n, relation=relation)


def value_difference(
    *, slope: float, radius: float, n: int, step_norm: float, relation: Relation = REPLACE_ONE
) -> float:
    """f(w) - f(w + p): 2 sup|phi'| R ||p|| / n.

    One record's loss changes by at most sup|phi'| |<x, p>| <= sup|phi'| R ||p||, in either direction."""
    return terms(longest=slope * radius * step_norm, n=n, relation=relation)


def trial_grid(
    *,
    slope: float,
    radius: float,
    n: int,
    direction_norm: float,
    longest: float,
    shrink: float,
    count: int,
    relation: Relation = REPLACE_ONE,
) -> float:
    """f(w) - f(w + gamma_i p) for gamma_i = longest shrink^i, i < count, in l2.

    Entry i moves by 2 gamma_i sup|phi'| R ||p|| / n, and the squares of the gamma_i sum to
    longest^2 (1 - shrink^(2 count)) / (1 - shrink^2), by logarithms lest both differences cancel near 1."""
    if not 0.0 < shrink < 1.0:
        raise ParameterError(f"shrink is {shrink}; each trial must be shorter than the last: 0 < shrink < 1.")
    rate = 2.0 * math.log(shrink)
    spread = math.sqrt(math.expm1(count * rate) / math.expm1(rate))
    total = longest * direction_norm * spread
    return value_difference(slope=slope, radius=radius, n=n, step_norm=total, relation=relation)


def normalized_trials(
    *, slope: float, radius: float, n: int, count: int, relation: Relation = REPLACE_ONE
) -> float:
    """(f(w) - f(w + p_j)) / ||p_j|| for `count` steps, in l2: sqrt(count) 2 sup|phi'| R / n.

    Each entry moves by at most 2 sup|phi'| R / n, whatever its step; all do when the steps are parallel."""
    return terms(longest=slope * radius * math.sqrt(count), n=n, relation=relation)


def gradient(*, slope: float, radius: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """Gradient at any weights, l2: 2 sup|phi'| R / n: two vectors no longer than sup|phi'| R."""
    return terms(longest=slope * radius, n=n, relation=relation)


def gradient_at(
    loss: Loss,
    *,
    weight_norm: float,
    radius: float,
    n: int,
    target_reach: float = 0.0,
    weight: float = 1.0,
    relation: Relation = REPLACE_ONE,
) -> float:
    """Gradient at weights of known norm, l2; target_reach = max|y| for residual losses.

    Margin losses: diam{phi'(<z, w>) z : ||z|| <= R} / n. The set holds 0, so a lighter class only shrinks a
    copy of it towards 0, into its own convex hull: the largest weight times the diameter covers all classes.
    Residual losses: 2 R sup{|phi'(t)| : |t| <= R ||w|| + Y} / n. Neither exceeds `gradient`."""
    reach = radius * weight_norm
    steepest = min(loss.slope, loss.slope_within((reach + target_reach) * ROUND_UP))
    diameter = 2.0 * steepest
    if loss.kind is Kind.MARGIN:
        diameter = min(2.0 * loss.slope, contribution_diameter(loss, reach))
    return _mean_moves(relation.distance(diameter=diameter, norm=steepest) * weight * radius, n)


def capped_gradient_at(
    loss: Loss,
    *,
    weight_norm: float,
    radius: float,
    influence: float,
    n: int,
    target_reach: float = 0.0,
    relation: Relation = REPLACE_ONE,
) -> float:
    """Gradient at weights of known norm, l2, where a record of length rho <= R counts q with q rho <= C.

    One record gives phi'(<x, w>) q x, a vector no longer than C sup{|phi'(t)| : |t| <= R ||w||}: twice that
    bounds two of them. A convex margin loss has |phi'| falling in the margin y<x, w>, and there
    C max(diam, |phi'(0)| + sup|phi'|) suffices, diam that of {phi'(<z, w>) z / R : ||z|| <= R}. If one margin
    is at least 0, its vector is no longer than C |phi'(0)|. If both are below 0, lengthen either record to R,
    at the same direction and with q R = C: its margin falls, |phi'| rises, and the vector only grows, to C
    times a point of that set. The set reaches to R although influence ends at C: the diameter at C ||w|| is
    no bound."""
    reach = radius * weight_norm
    steepest = min(loss.slope, loss.slope_within((reach + target_reach) * ROUND_UP))
    diameter = 2.0 * steepest
    if loss.kind is Kind.MARGIN and loss.curvature_low == 0.0:
        at_zero = abs(float(loss.first(np.zeros(1))[0])) * ROUND_UP
        diameter = min(diameter, max(contribution_diameter(loss, reach), at_zero + steepest))
    return _mean_moves(relation.distance(diameter=diameter, norm=steepest) * influence, n)


def hessian(
    *,
    curvature_low: float,
    curvature_high: float,
    radius: float,
    n: int,
    relation: Relation = REPLACE_ONE,
) -> float:
    """Hessian, Frobenius: max(sqrt2 max(U, L), U + L) R^2 / n, with no factor of the dimension.

    Two terms a uu' and b vv' lie a^2 + b^2 - 2ab <u, v>^2 apart, squared: most for orthogonal rows if a and b
    have one sign, for parallel rows if they have opposite signs."""
    largest = max(curvature_low, curvature_high)
    diameter = max(math.sqrt(2.0) * largest, curvature_low + curvature_high)
    return _mean_moves(relation.distance(diameter=diameter, norm=largest) * radius**2, n)


def second_moment(*, largest: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """Mean of semidefinite matrices of Frobenius norm at most `largest`: sqrt2 largest / n.

    ||P - Q||^2 = ||P||^2 + ||Q||^2 - 2 tr PQ, and tr PQ >= 0. Rank-one terms of orthogonal rows attain it."""
    return _mean_moves(relation.distance(diameter=math.sqrt(2.0) * largest, norm=largest), n)


def smallest_eigenvalue(
    *,
    curvature_low: float,
    curvature_high: float,
    radius: float,
    n: int,
    relation: Relation = REPLACE_ONE,
) -> float:
    """Smallest eigenvalue of the Hessian: (U + L) R^2 / n.

    By Weyl it moves by at most the spectral norm, and |a <u, e>^2 - b <v, e>^2| <= (U + L) R^2 for unit e."""
    diameter, norm = curvature_low + curvature_high, max(curvature_low, curvature_high)
    return _mean_moves(relation.distance(diameter=diameter, norm=norm) * radius**2, n)


def gram(*, radius: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """X'X/n, Frobenius: sqrt2 R^2 / n: two rank-one terms differ most when their rows are orthogonal."""
    return _mean_moves(relation.distance(diameter=math.sqrt(2.0), norm=1.0) * radius**2, n)


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
    return _mean_moves(influence * math.sqrt(relation.distance(diameter=square, norm=1.0 + b)), n)


def capped_moments(*, influence: float, balance: float, n: int, relation: Relation = REPLACE_ONE) -> float:
    """As `moments`, where a record counts q with q ||x|| <= C and q ||x||^2 <= E; the factor is sqrt(b) C/E.

    Means are two vectors no longer than C, squares two nonnegative ones that sum to at most E."""
    b = _checked_balance(balance)
    return _mean_moves(influence * math.sqrt(relation.distance(diameter=4.0 + 2.0 * b, norm=1.0 + b)), n)


def _checked_balance(balance: float) -> float:
    if not 0.0 < balance < math.inf:
        raise ParameterError(f"balance is {balance}; it must be finite and above 0.")
    return balance
