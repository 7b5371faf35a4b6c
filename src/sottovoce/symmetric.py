"""Symmetric matrices as vectors, so that one Gaussian release serves both."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Matrix, Vector
from sottovoce.errors import ParameterError

SQRT2 = math.sqrt(2.0)


@lru_cache(maxsize=8)
def _layout(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Vector]:
    """Flat positions of the upper triangle, of its mirror image, and the weight of each entry."""
    rows, columns = np.triu_indices(d)
    upper, mirror = rows * d + columns, columns * d + rows
    weights = np.where(rows == columns, 1.0, SQRT2)
    for array in (upper, mirror, weights):
        array.setflags(write=False)
    return upper, mirror, weights


def svec(A: Matrix) -> Vector:
    """Upper triangle of a symmetric matrix, off-diagonals times sqrt2: length d(d+1)/2.

    ||svec(A) - svec(B)||_2 = ||A - B||_F, because each off-diagonal entry appears twice in the matrix.
    Rounding moves the vector by at most 2^-52 ||A||_F."""
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ParameterError(f"svec takes a square matrix, got shape {A.shape}.")
    upper, _, weights = _layout(A.shape[0])
    return A.ravel()[upper] * weights


def smat(v: Vector) -> Matrix:
    """The exactly symmetric matrix whose svec is v."""
    d = (math.isqrt(8 * v.size + 1) - 1) // 2
    if v.ndim != 1 or d * (d + 1) // 2 != v.size:
        raise ParameterError(f"smat takes a vector of length d(d+1)/2, got shape {v.shape}.")
    upper, mirror, weights = _layout(d)
    entries = v / weights
    flat = np.empty(d * d)
    flat[upper] = entries
    flat[mirror] = entries
    return flat.reshape(d, d)
