"""Products of float32 rows with float64 vectors, compiled by numba: each entry is cast in a register.

Sums may be reordered and multiplications fused with additions, nothing else: no result depends on whether a
number is finite, and a row's product depends on that row and its place in the block alone. Four rows go
together, so that one load of the vector, or of the running sums, serves all four.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, final

import numba
import numpy as np

from sottovoce import products
from sottovoce.arrays import Matrix, Vector

F = TypeVar("F", bound=Callable[..., Any])


def compiled(*, reorder: bool) -> Callable[[F], F]:
    """Machine code kept on disk from the first call on; where no folder may be written, in memory alone.

    Multiplications fuse with additions; `reorder` lets sums be made in any order."""
    options = {
        "nogil": True,
        "fastmath": {"reassoc", "contract"} if reorder else {"contract"},
        "error_model": "numpy",
    }

    def compile_(function: F) -> F:
        try:
            code: F = numba.njit(cache=True, **options)(function)
        except RuntimeError:
            code = numba.njit(**options)(function)
        return code

    return compile_


@compiled(reorder=True)
def _dense_times(X: Any, w: Any, out: Any) -> None:
    n, dim = X.shape
    even = n - n % 4
    for i in range(0, even, 4):
        a = b = c = d = 0.0
        for j in range(dim):
            v = w[j]
            a += np.float64(X[i, j]) * v
            b += np.float64(X[i + 1, j]) * v
            c += np.float64(X[i + 2, j]) * v
            d += np.float64(X[i + 3, j]) * v
        out[i] = a
        out[i + 1] = b
        out[i + 2] = c
        out[i + 3] = d
    for i in range(even, n):
        a = 0.0
        for j in range(dim):
            a += np.float64(X[i, j]) * w[j]
        out[i] = a


@compiled(reorder=True)
def _dense_gather(X: Any, factors: Any, out: Any) -> None:
    n, dim = X.shape
    even = n - n % 4
    for i in range(0, even, 4):
        a = factors[i]
        b = factors[i + 1]
        c = factors[i + 2]
        d = factors[i + 3]
        for j in range(dim):
            out[j] += (a * np.float64(X[i, j]) + b * np.float64(X[i + 1, j])) + (
                c * np.float64(X[i + 2, j]) + d * np.float64(X[i + 3, j])
            )
    for i in range(even, n):
        a = factors[i]
        for j in range(dim):
            out[j] += a * np.float64(X[i, j])


@compiled(reorder=True)
def _dense_scale(X: Any, factors: Any, out: Any) -> None:
    for i in range(X.shape[0]):
        a = factors[i]
        for j in range(X.shape[1]):
            out[i, j] = a * np.float64(X[i, j])


@compiled(reorder=True)
def _sparse_times(data: Any, columns: Any, starts: Any, w: Any, out: Any) -> None:
    for i in range(out.size):
        a = 0.0
        for k in range(starts[i], starts[i + 1]):
            a += np.float64(data[k]) * w[np.uintp(columns[k])]
        out[i] = a


@compiled(reorder=True)
def _sparse_gather(data: Any, columns: Any, starts: Any, factors: Any, out: Any) -> None:
    for i in range(factors.size):
        a = factors[i]
        for k in range(starts[i], starts[i + 1]):
            out[np.uintp(columns[k])] += a * np.float64(data[k])


@compiled(reorder=True)
def _sparse_squares(data: Any, columns: Any, out: Any) -> None:
    for k in range(data.size):
        a = np.float64(data[k])
        out[np.uintp(columns[k])] += a * a


@final
class DenseView(products.View):
    """Dense float32 rows, read where they are."""

    def __init__(self, features: Any) -> None:
        self._features = features

    def times(self, w: Any) -> Any:
        if w.ndim == 2:
            return products.double(self._features) @ w
        out = np.empty(len(self._features))
        _dense_times(self._features, w, out)
        return out

    def gather(self, factors: Vector) -> Vector:
        out = np.zeros(self._features.shape[1])
        _dense_gather(self._features, factors, out)
        return out

    def squares(self) -> Vector:
        wide = products.double(self._features)
        return np.asarray(np.einsum("ij,ij->j", wide, wide))

    def add_outer(self, total: Matrix, weights: Vector | None, convex: bool) -> None:
        if weights is None:
            wide = products.double(self._features)
            total += wide.T @ wide
            return
        scaled = products.buffer("weighted", self._features.shape)
        _dense_scale(self._features, np.sqrt(weights) if convex else weights, scaled)
        total += scaled.T @ (scaled if convex else products.double(self._features))


@final
class SparseView(products.SparseView):
    """CSR rows with float32 entries, read where they are."""

    def times(self, w: Any) -> Any:
        if w.ndim == 2:
            return super().times(w)
        X, out = self._features, np.empty(self._features.shape[0])
        _sparse_times(X.data, X.indices, X.indptr, w, out)
        return out

    def gather(self, factors: Vector) -> Vector:
        X, out = self._features, np.zeros(self._features.shape[1])
        _sparse_gather(X.data, X.indices, X.indptr, factors, out)
        return out

    def squares(self) -> Vector:
        X, out = self._features, np.zeros(self._features.shape[1])
        _sparse_squares(X.data, X.indices, out)
        return out
