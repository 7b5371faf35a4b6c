"""Smallest eigenpair of a released symmetric matrix by Lanczos, for dimensions where `eigh` is slow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector

DENSE_LIMIT = 512
"""Up to this dimension a dense solver is as fast."""

_BETWEEN_CHECKS = 20


def smallest_pair(
    matrix: Matrix, *, precision: float = 1e-4, failure: float = 1e-6, seed: int = 0
) -> tuple[float, Vector]:
    """Ritz value and unit Ritz vector: within precision * ||A|| of the smallest eigenvalue, from above.

    Lanczos with full reorthogonalization from a public random start. It ends when the residual ||A v - r v||
    is within precision * ||A||, and after min(d, 1 + ceil(log(2.75 d / failure^2) / sqrt(8 precision)))
    products at the latest, when that precision holds but for a chance of `failure` (paper, appendix C).
    A Ritz value is never below the smallest eigenvalue: it guides steps but certifies nothing."""
    dim = matrix.shape[0]
    most = min(dim, 1 + math.ceil(math.log(2.75 * dim / failure**2) / math.sqrt(8.0 * precision)))
    basis, diagonal, beside = np.zeros((most, dim)), np.zeros(most), np.zeros(most)
    start = np.random.default_rng(seed).standard_normal(dim)
    basis[0] = start / np.linalg.norm(start)
    for k in range(most):
        used = k + 1
        image = matrix @ basis[k]
        diagonal[k] = basis[k] @ image
        for _ in range(2):
            image -= basis[:used].T @ (basis[:used] @ image)
        beside[k] = np.linalg.norm(image)
        size = float(np.max(np.abs(diagonal[:used]) + beside[:used]))
        if used == most or beside[k] <= 1e-13 * size:
            break
        if used % _BETWEEN_CHECKS == 0:
            _, parts = _smallest(diagonal[:used], beside[: used - 1])
            if beside[k] * abs(parts[-1]) <= precision * size:
                break
        basis[used] = image / beside[k]
    value, parts = _smallest(diagonal[:used], beside[: used - 1])
    direction = parts @ basis[:used]
    return value, direction / np.linalg.norm(direction)


def _smallest(diagonal: Vector, beside: Vector) -> tuple[float, Vector]:
    values, vectors = linalg.eigh_tridiagonal(diagonal, beside, select="i", select_range=(0, 0))
    return float(values[0]), vectors[:, 0]
