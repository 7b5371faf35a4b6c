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


def smallest_pair(
    matrix: Matrix, *, precision: float = 1e-6, failure: float = 1e-6, seed: int = 0
) -> tuple[float, Vector]:
    """Ritz value and unit Ritz vector: within precision * ||A|| of the smallest eigenvalue, from above.

    Lanczos with full reorthogonalization from a public random start, at most
    min(d, 1 + ceil(log(2.75 d / failure^2) / 2 * sqrt(1 / (2 precision)))) products (paper, appendix C).
    A Ritz value is never below the smallest eigenvalue: it guides steps but certifies nothing."""
    dim = matrix.shape[0]
    reach = 0.5 * math.log(2.75 * dim / failure**2) * math.sqrt(0.5 / precision)
    steps = min(dim, 1 + math.ceil(reach))
    basis = np.zeros((steps, dim))
    diagonal, beside = np.zeros(steps), np.zeros(max(0, steps - 1))
    start = np.random.default_rng(seed).standard_normal(dim)
    basis[0] = start / np.linalg.norm(start)
    used = steps
    for k in range(steps):
        image = matrix @ basis[k]
        diagonal[k] = basis[k] @ image
        for _ in range(2):
            image -= basis[: k + 1].T @ (basis[: k + 1] @ image)
        length = float(np.linalg.norm(image))
        if k + 1 == steps or length <= 1e-12 * (abs(diagonal[0]) + float(np.max(beside, initial=0.0)) + 1e-300):
            used = k + 1
            break
        beside[k], basis[k + 1] = length, image / length
    values, vectors = linalg.eigh_tridiagonal(
        diagonal[:used], beside[: used - 1], select="i", select_range=(0, 0)
    )
    direction = vectors[:, 0] @ basis[:used]
    return float(values[0]), direction / np.linalg.norm(direction)
