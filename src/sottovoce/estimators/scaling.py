"""Features in units of the declared radius: rows divided by it, and shrunk into the unit ball if longer."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sottovoce.arrays import Vector

_BLOCK = 8192


def shrinkage(X: Any, radius: float) -> Vector:
    """For each row what to multiply it by: 1 / max(radius, ||x||). Never overflows."""
    factors = np.empty(X.shape[0])
    for start in range(0, X.shape[0], _BLOCK):
        rows = X[start : start + _BLOCK]
        if sparse.issparse(rows):
            lengths = _sparse_lengths(rows)
        else:
            wide = np.asarray(rows, dtype=np.float64)
            largest = np.maximum(np.abs(wide).max(axis=1), np.finfo(float).tiny)
            lengths = (largest, np.sqrt(np.square(wide / largest[:, None]).sum(axis=1)))
        largest, unit = lengths
        # largest * unit may overflow where each of the two quotients does not
        factors[start : start + _BLOCK] = np.minimum(1.0 / radius, 1.0 / largest / np.maximum(unit, 1.0))
    return factors


def into_unit_ball(X: Any, radius: float) -> Any:
    """Rows times their shrinkage, in X's own precision; X itself where that changes nothing."""
    factors = shrinkage(X, radius)
    if np.all(factors == 1.0):
        return X
    if sparse.issparse(X):
        rows = X.tocsr()
        data = rows.data * np.repeat(factors, np.diff(rows.indptr))
        return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
    return np.multiply(X, factors[:, None], dtype=X.dtype, casting="unsafe")


def _sparse_lengths(rows: Any) -> tuple[Vector, Vector]:
    wide = rows.astype(np.float64)
    largest = np.maximum(abs(wide).max(axis=1).toarray().ravel(), np.finfo(float).tiny)
    wide.data /= np.repeat(largest, np.diff(wide.indptr))
    return largest, np.sqrt(np.asarray(wide.multiply(wide).sum(axis=1)).ravel())
