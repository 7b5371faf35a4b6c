"""Features in units of the declared radius: rows divided by it, and shrunk into the unit ball if longer."""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.arrays import Matrix, Vector, row_dots

_BLOCK = 8192


def shrinkage(X: Any, radius: float) -> Vector:
    """For each row what to multiply it by: 1 / max(radius, ||x||). Never overflows."""
    factors = np.empty(X.shape[0])
    for start in range(0, X.shape[0], _BLOCK):
        rows = X[start : start + _BLOCK]
        if _is_sparse(rows):
            lengths = _sparse_lengths(rows)
        else:
            wide = np.array(rows, dtype=np.float64, order="C")
            largest = np.maximum(np.abs(wide).max(axis=1), np.finfo(float).tiny)
            lengths = (largest, np.sqrt(np.square(wide / largest[:, None]).sum(axis=1)))
        largest, unit = lengths
        # largest * unit may overflow where each of the two quotients does not
        factors[start : start + _BLOCK] = np.minimum(1.0 / radius, 1.0 / largest / np.maximum(unit, 1.0))
    return factors


def into_unit_ball(X: Any, radius: float, kept: type = np.float64) -> Any:
    """Rows times their shrinkage, multiplied in float64 and, where dense, `kept` in one type: always a copy
    of one layout, row after row. Records keep float32.

    X itself where no row is too long would leave the layout, and so the order of later sums, to one row. X's
    own precision is not its rows' alone: one whole number makes float64 of a frame of float32."""
    factors = shrinkage(X, radius)
    if _is_sparse(X):
        from scipy import sparse

        rows = X.tocsr()
        data = rows.data * np.repeat(factors, np.diff(rows.indptr))
        return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
    shrunk = np.empty(X.shape, dtype=kept)
    for start in range(0, X.shape[0], _BLOCK):
        span = slice(start, start + _BLOCK)
        np.multiply(X[span], factors[span, None], out=shrunk[span], dtype=np.float64, casting="unsafe")
    return shrunk


def row_products(X: Any, weights: Matrix) -> Matrix:
    """<x, w> for each row and each w, shape (rows, outputs), in float64.

    Each is a sum over one row alone, in one order: the other rows, their number and the memory layout change
    no digit, as they would in a matrix product of BLAS."""
    if _is_sparse(X):
        return np.asarray(X.tocsr().astype(np.float64) @ weights.T)
    products = np.empty((X.shape[0], len(weights)))
    for start in range(0, X.shape[0], _BLOCK):
        rows = np.array(X[start : start + _BLOCK], dtype=np.float64, order="C")
        for output, vector in enumerate(np.ascontiguousarray(weights)):
            products[start : start + _BLOCK, output] = row_dots(rows, vector)
    return products


def _is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix. SciPy, slow to load, is asked about what is no array only."""
    if isinstance(X, np.ndarray):
        return False
    from scipy import sparse

    return bool(sparse.issparse(X))


def _sparse_lengths(rows: Any) -> tuple[Vector, Vector]:
    wide = rows.astype(np.float64)
    largest = np.maximum(abs(wide).max(axis=1).toarray().ravel(), np.finfo(float).tiny)
    wide.data /= np.repeat(largest, np.diff(wide.indptr))
    return largest, np.sqrt(np.asarray(wide.multiply(wide).sum(axis=1)).ravel())
