"""The trust-region subproblem, solved exactly from an eigendecomposition."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector

_TINY = 1e-13


def minimize_in_ball(gradient: Vector, hessian: Matrix, radius: float) -> Vector:
    """p that minimizes g'p + p'Hp/2 over ||p|| <= radius.

    p solves (H + m I) p = -g with m >= 0, H + m I positive semidefinite and m (||p|| - radius) = 0."""
    values, vectors = np.linalg.eigh(hessian)
    step: Vector = vectors @ _minimize(vectors.T @ gradient, values, radius)
    return step


def _minimize(parts: Vector, values: Vector, radius: float) -> Vector:
    """In the eigenbasis, eigenvalues ascending. Interior: H is positive definite and Newton's step short.

    Otherwise m >= max(0, -lambda_1). Hard case: g has no part along the lowest eigenspace and even at
    m = -lambda_1 the rest of p is short; a lowest eigenvector then leads to the boundary."""
    lowest = float(values[0])
    size = max(float(np.abs(values).max()), float(np.linalg.norm(parts)) / radius)
    if size == 0.0:
        return np.zeros_like(parts)
    if lowest > _TINY * size:
        inside = -parts / values
        if float(np.linalg.norm(inside)) <= radius:
            return inside
    bottom = values - lowest <= _TINY * size
    if lowest <= 0.0 and float(np.linalg.norm(parts[bottom])) <= _TINY * size * radius:
        short = np.zeros_like(parts)
        short[~bottom] = -parts[~bottom] / (values[~bottom] - lowest)
        room = radius**2 - float(short @ short)
        if room >= 0.0:
            short[0] = math.sqrt(room) if lowest < -_TINY * size else 0.0
            return short
    return _on_boundary(parts, values, radius)


def _on_boundary(parts: Vector, values: Vector, radius: float) -> Vector:
    """The root of the secular equation 1/||p(m)|| = 1/radius, increasing and nearly linear in m."""
    above = values - float(values[0])

    def excess(shift: float) -> float:
        return 1.0 / float(np.linalg.norm(parts / (above + shift))) - 1.0 / radius

    high = float(np.linalg.norm(parts)) / radius * (1.0 + _TINY)
    low = high
    while excess(low) > 0.0:
        low *= 0.5
    shift = low if low == high else float(optimize.brentq(excess, low, 2.0 * low, xtol=1e-300, rtol=1e-14))
    step = -parts / (above + shift)
    return step * (radius / float(np.linalg.norm(step)))
