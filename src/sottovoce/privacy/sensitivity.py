"""How far each query can move when one record is replaced: one function per query, of public numbers only.

Neighbours differ in one record and share n, so a mean of per-record terms moves by the distance of two terms
over n. Everywhere ||x|| <= radius, `slope` is sup|phi'| and phi'' lies in [-curvature_low, curvature_high].
For a batch, n is the batch size. With declared class weights the caller multiplies slope, curvature_low and
curvature_high by the largest, or passes it as `weight` where the loss itself is asked for; the mean still
divides by n. The regularizer is the same for both neighbours and moves nothing. What floating point adds is
in `rounding`, what the noise lattice adds in `lattice`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.losses import Kind
from sottovoce.privacy.diameter import contribution_diameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sottovoce.losses import Loss

_ROUND_UP = 1.0 + 2.0**-48
"""Outweighs the rounding of the few operations in each formula."""


def _mean_moves(distance: float, n: int) -> float:
    """Movement of a mean over n records when one term moves by `distance`."""
    if n < 1:
        raise ParameterError(f"n is {n}; a mean needs at least 1 record. Declare the number of records.")
    if not 0.0 <= distance < math.inf:
        raise ParameterError(
            f"one record moves by {distance}; bounds must be finite and at least 0. Check the constants."
        )
    return distance / n * _ROUND_UP


def value(*, highest: float, lowest: float, n: int) -> float:
    """Mean loss, when every record's loss lies in [lowest, highest]: (highest - lowest) / n."""
    return _mean_moves(highest - lowest, n)


def value_at(
    loss: Loss,
    *,
    weight_norm: float,
    radius: float,
    n: int,
    target_reach: float = 0.0,
    weight: float = 1.0,
    least_weight: float = 1.0,
) -> float:
    """Mean loss at weights of known norm: (c_max sup phi - c_min inf phi) / n over |t| <= R ||w|| + Y.

    Margin losses decrease, so their infimum is at the far end; residual losses vanish at 0."""
    reach = radius * weight_norm + target_reach
    lowest = float(loss.value(np.array([reach]))[0]) if loss.kind is Kind.MARGIN else 0.0
    return value(highest=weight * loss.value_within(reach), lowest=least_weight * lowest / _ROUND_UP, n=n)


def value_difference(*, slope: float, radius: float, n: int, step_norm: float) -> float:
    """f(w) - f(w + p): 2 sup|phi'| R ||p|| / n.

    One record's loss changes by at most sup|phi'| |<x, p>| <= sup|phi'| R ||p||, in either direction."""
    return _mean_moves(2.0 * slope * radius * step_norm, n)


def trial_grid(
    *, slope: float, radius: float, n: int, direction_norm: float, longest: float, shrink: float, count: int
) -> float:
    """f(w) - f(w + gamma_i p) for gamma_i = longest shrink^i, i < count, in l2.

    Entry i moves by 2 gamma_i sup|phi'| R ||p|| / n, and the squares of the gamma_i sum to
    longest^2 (1 - shrink^(2 count)) / (1 - shrink^2)."""
    if not 0.0 < shrink < 1.0:
        raise ParameterError(f"shrink is {shrink}; each trial must be shorter than the last: 0 < shrink < 1.")
    spread = math.sqrt((1.0 - shrink ** (2 * count)) / (1.0 - shrink * shrink))
    return value_difference(slope=slope, radius=radius, n=n, step_norm=longest * direction_norm * spread)


def normalized_trials(*, slope: float, radius: float, n: int, count: int) -> float:
    """(f(w) - f(w + p_j)) / ||p_j|| for `count` steps, in l2: sqrt(count) 2 sup|phi'| R / n.

    Each entry moves by at most 2 sup|phi'| R / n, whatever its step; all do when the steps are parallel."""
    return _mean_moves(2.0 * slope * radius * math.sqrt(count), n)


def above_threshold(*, slope: float, radius: float, n: int, step_norms: Sequence[float]) -> float:
    """Largest movement of any f(w) - f(w + p_i) - required_i compared with the noisy threshold.

    AboveThreshold needs one bound for all its queries: the longest step's. What is required is public."""
    return value_difference(slope=slope, radius=radius, n=n, step_norm=max(step_norms))


def gradient(*, slope: float, radius: float, n: int) -> float:
    """Gradient at any weights, l2: 2 sup|phi'| R / n: two vectors no longer than sup|phi'| R."""
    return _mean_moves(2.0 * slope * radius, n)


def gradient_at(
    loss: Loss, *, weight_norm: float, radius: float, n: int, target_reach: float = 0.0, weight: float = 1.0
) -> float:
    """Gradient at weights of known norm, l2; target_reach = max|y| for residual losses.

    Margin losses: diam{phi'(<z, w>) z : ||z|| <= R} / n. The set holds 0, so a lighter class only shrinks a
    copy of it towards 0, into its own convex hull: the largest weight times the diameter covers all classes.
    Residual losses: 2 R sup{|phi'(t)| : |t| <= R ||w|| + Y} / n. Neither exceeds `gradient`."""
    reach = radius * weight_norm
    if loss.kind is Kind.MARGIN:
        distance = contribution_diameter(loss, reach)
    else:
        distance = 2.0 * loss.slope_within((reach + target_reach) * _ROUND_UP)
    return _mean_moves(min(distance, 2.0 * loss.slope) * weight * radius, n)


def gradient_norm(*, slope: float, radius: float, n: int) -> float:
    """Norm of the gradient: as the gradient, by the triangle inequality; at known weights, `gradient_at`."""
    return gradient(slope=slope, radius=radius, n=n)


def hessian(*, curvature_low: float, curvature_high: float, radius: float, n: int) -> float:
    """Hessian, Frobenius: max(sqrt2 max(U, L), U + L) R^2 / n, with no factor of the dimension.

    Two terms a uu' and b vv' lie a^2 + b^2 - 2ab <u, v>^2 apart, squared: most for orthogonal rows if a and b
    have one sign, for parallel rows if they have opposite signs."""
    same_sign = math.sqrt(2.0) * max(curvature_low, curvature_high)
    return _mean_moves(max(same_sign, curvature_low + curvature_high) * radius**2, n)


def smallest_eigenvalue(*, curvature_low: float, curvature_high: float, radius: float, n: int) -> float:
    """Smallest eigenvalue of the Hessian: (U + L) R^2 / n.

    By Weyl it moves by at most the spectral norm, and |a <u, e>^2 - b <v, e>^2| <= (U + L) R^2 for unit e."""
    return _mean_moves((curvature_low + curvature_high) * radius**2, n)


def gram(*, radius: float, n: int) -> float:
    """X'X/n, Frobenius: sqrt2 R^2 / n: two rank-one terms differ most when their rows are orthogonal."""
    return _mean_moves(math.sqrt(2.0) * radius**2, n)


def gram_diagonal(*, radius: float, n: int) -> float:
    """Diagonal of X'X/n, l2: sqrt2 R^2 / n.

    Squared entries are nonnegative and sum to at most R^2; two such vectors differ most at two corners."""
    return gram(radius=radius, n=n)


def softmax_gradient(*, radius: float, n: int) -> float:
    """Softmax gradient, l2: 2 sqrt2 R / n: one record gives (p - e_y) x' and ||p - e_y|| <= sqrt2."""
    return _mean_moves(2.0 * math.sqrt(2.0) * radius, n)


def softmax_gradient_at(*, spread: float, classes: int, radius: float, n: int) -> float:
    """Softmax gradient at weights whose rows satisfy ||w_j - w_k|| <= spread, l2: 2 R sup||p - e_y|| / n.

    Two probabilities differ at most by the factor e^s, s = R spread. Such p are mixtures of those with only
    two distinct entries, k of them e^s times the rest, and a convex function is largest at one of these."""
    ratio = math.exp(-radius * spread * _ROUND_UP)
    largest = 0.0
    for high in range(classes):
        top = 1.0 / (high + (classes - high) * ratio) if high else 1.0 / classes
        low = top * ratio if high else top
        squares = high * top * top + (classes - high) * low * low
        largest = max(largest, squares + 1.0 - 2.0 * low)
    return _mean_moves(min(2.0, largest) ** 0.5 * 2.0 * radius, n)


def softmax_hessian(*, radius: float, n: int) -> float:
    """Softmax Hessian, Frobenius: R^2 / (sqrt2 n).

    One record gives A (x) xx', A = diag(p) - pp' positive semidefinite. With S = sum p^2 and sum p^3 >= S^2,
    ||A||_F^2 = S - 2 sum p^3 + S^2 <= S - S^2 <= 1/4; two semidefinite terms are at most sqrt2 / 2 apart."""
    return _mean_moves(radius**2 / math.sqrt(2.0), n)


def softmax_eigenvalue(*, radius: float, n: int) -> float:
    """Any eigenvalue of the softmax Hessian: R^2 / (2n).

    A difference of semidefinite terms has spectral norm at most the larger of the two, ||A|| <= 1/2."""
    return _mean_moves(0.5 * radius**2, n)
