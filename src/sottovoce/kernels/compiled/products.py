"""Products of float32 rows with float64 vectors, compiled by numba: each entry is cast in a register.

A row's product depends on that row alone. Four rows go together, so that one load of the vector, or of the
running sums, serves all four; while sums are gathered, the rows to come are fetched from memory.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.kernels import products
from sottovoce.kernels.compiled import gram as outer_compiled
from sottovoce.kernels.compiled.simd import (
    LINE,
    WIDTH,
    fetch,
    fused,
    load,
    load_part,
    spread,
    store,
    store_totals,
    total,
    zero,
)
from sottovoce.trusted.jit import compiled


@compiled()
def dense_times(x: Any, first: int, last: int, w: Any, out: Any) -> None:
    """out[i - first] = <x_i, w> for the rows from first to last, x being all rows one after another."""
    dim = w.size
    full = dim - dim % WIDTH
    rest = dim - full
    even = last - (last - first) % 4
    for i in range(first, even, 4):
        at = i * dim
        a = b = c = d = zero()
        for k in range(0, full, WIDTH):
            v = load(w, k)
            a = fused(load(x, at + k), v, a)
            b = fused(load(x, at + dim + k), v, b)
            c = fused(load(x, at + 2 * dim + k), v, c)
            d = fused(load(x, at + 3 * dim + k), v, d)
        if rest:
            v = load_part(w, full, rest)
            a = fused(load_part(x, at + full, rest), v, a)
            b = fused(load_part(x, at + dim + full, rest), v, b)
            c = fused(load_part(x, at + 2 * dim + full, rest), v, c)
            d = fused(load_part(x, at + 3 * dim + full, rest), v, d)
        store_totals(out, i - first, a, b, c, d)
    for i in range(even, last):
        a = zero()
        for k in range(0, full, WIDTH):
            a = fused(load(x, i * dim + k), load(w, k), a)
        if rest:
            a = fused(load_part(x, i * dim + full, rest), load_part(w, full, rest), a)
        out[i - first] = total(a)


@compiled()
def dense_gather(x: Any, first: int, last: int, dim: int, factors: Any, ahead: int, out: Any) -> None:
    """Add factors[i - first] x_i for the rows from first to last, and fetch the row `ahead` of each.

    `out` has room for whole lanes: its size is dim rounded up to a multiple of eight."""
    full = dim - dim % WIDTH
    rest = dim - full
    even = last - (last - first) % 4
    for i in range(first, even, 4):
        at = i * dim
        for k in range(at + ahead * dim, at + (ahead + 4) * dim, LINE):
            fetch(x, k)
        a = spread(factors[i - first])
        b = spread(factors[i - first + 1])
        c = spread(factors[i - first + 2])
        d = spread(factors[i - first + 3])
        for k in range(0, full, WIDTH):
            sums = fused(load(x, at + k), a, load(out, k))
            sums = fused(load(x, at + dim + k), b, sums)
            sums = fused(load(x, at + 2 * dim + k), c, sums)
            store(out, k, fused(load(x, at + 3 * dim + k), d, sums))
        if rest:
            sums = fused(load_part(x, at + full, rest), a, load(out, full))
            sums = fused(load_part(x, at + dim + full, rest), b, sums)
            sums = fused(load_part(x, at + 2 * dim + full, rest), c, sums)
            store(out, full, fused(load_part(x, at + 3 * dim + full, rest), d, sums))
    for i in range(even, last):
        at = i * dim
        a = spread(factors[i - first])
        for k in range(0, full, WIDTH):
            store(out, k, fused(load(x, at + k), a, load(out, k)))
        if rest:
            store(out, full, fused(load_part(x, at + full, rest), a, load(out, full)))


@compiled()
def _dense_block_times(X: Any, w: Any, out: Any) -> None:
    dense_times(X.reshape(-1), 0, X.shape[0], w, out)


@compiled()
def _dense_block_gather(X: Any, factors: Any, out: Any) -> None:
    dense_gather(X.reshape(-1), 0, X.shape[0], X.shape[1], factors, 0, out)


@final
class DenseView(products.View):
    """Dense float32 rows, read where they are."""

    def __init__(self, features: Any) -> None:
        self._features = features

    def times(self, w: Any) -> Any:
        columns = np.atleast_2d(np.ascontiguousarray(w.T))
        out = np.empty((len(columns), len(self._features)))
        for column, margins in zip(columns, out, strict=True):
            _dense_block_times(self._features, column, margins)
        return out[0] if w.ndim == 1 else out.T

    def gather(self, factors: Vector) -> Vector:
        dim = self._features.shape[1]
        out = np.zeros(-(-dim // WIDTH) * WIDTH)
        _dense_block_gather(self._features, factors, out)
        return out[:dim]

    def squares(self, weights: Vector | None = None) -> Vector:
        return products.wide_squares(products.double(self._features), weights)

    def add_outer(self, total: Vector, weights: Vector | None, convex: bool) -> None:
        if total.ndim == 2:
            products.WideView(self._features).add_outer(total, weights, convex)
        else:
            outer_compiled.add_outer(self._features, weights, total)

    @staticmethod
    def room(dim: int) -> tuple[int, ...]:
        return (outer_compiled.room(dim),) if dim <= outer_compiled.WIDEST else (dim, dim)

    @staticmethod
    def matrix(total: Vector, dim: int) -> Matrix:
        return products.symmetric(outer_compiled.matrix(total, dim) if total.ndim == 1 else total)
