"""CSR rows with float32 entries, compiled: products with vectors, and what a block adds to each sum."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.blocks import Block
from sottovoce.kernels.block_sums import Stretches
from sottovoce.kernels.compiled import contributions
from sottovoce.kernels.compiled.block_sums import CompiledBlockKernel, or_none
from sottovoce.kernels.compiled.contributions import RUN, Call, Clamps
from sottovoce.kernels.sparse_products import SparseView
from sottovoce.trusted.bands import Band, Span
from sottovoce.trusted.jit import compiled


@compiled(reorder=True)
def sparse_times(data: Any, columns: Any, starts: Any, w: Any, out: Any) -> None:
    """out[i] = <x_i, w>."""
    for i in range(out.size):
        a = 0.0
        for k in range(starts[i], starts[i + 1]):
            a += np.float64(data[k]) * w[np.uintp(columns[k])]
        out[i] = a


@compiled(reorder=True)
def sparse_gather(data: Any, columns: Any, starts: Any, factors: Any, out: Any) -> None:
    """Add factors[i] x_i for every row."""
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
class CompiledSparseView(SparseView):
    """CSR rows with float32 entries, read where they are."""

    def times(self, w: Any) -> Any:
        if w.ndim == 2:
            return super().times(w)
        X, out = self._features, np.empty(self._features.shape[0])
        sparse_times(X.data, X.indices, X.indptr, w, out)
        return out

    def gather(self, factors: Vector) -> Vector:
        X, out = self._features, np.zeros(self._features.shape[1])
        sparse_gather(X.data, X.indices, X.indptr, factors, out)
        return out

    def squares(self, weights: Vector | None = None) -> Vector:
        if weights is not None:
            return super().squares(weights)
        X, out = self._features, np.zeros(self._features.shape[1])
        _sparse_squares(X.data, X.indices, out)
        return out


@final
class SparseBlockKernel(CompiledBlockKernel):
    """CSR rows with float32 entries, read where they are."""

    def tangent(
        self, block: Block, w: Vector, band: Band | None, span: Span | None, at: Stretches, totals: Matrix
    ) -> None:
        law, clamps = self._tangent_call(band is not None, span is not None), Clamps.of(band, span)
        t, weights, total = self._arguments(block, w), or_none(block.weights), totals[0]
        slopes = np.empty_like(t)
        total[-1] += _tangent(
            law, clamps, t, block.targets, weights, slopes, band is not None, span is not None
        )
        if band is not None:
            X, sums = block.features, np.zeros(total.size - 1)
            sparse_gather(X.data, X.indices, X.indptr, slopes, sums)
            total[:-1] += sums

    def curvatures(self, block: Block, w: Vector, span: Span) -> Vector:
        t = self._arguments(block, w)
        out = np.empty_like(t)
        contributions.curvatures(self._call("curvatures"), Clamps.of(None, span), t, block.targets, out)
        return out if block.weights is None else np.multiply(out, block.weights, out=out)

    def trials(
        self, block: Block, w: Vector, directions: Matrix, steepest: float, at: Stretches, totals: Matrix
    ) -> None:
        here = self._arguments(block, w)
        marks = self.marks(here, block.targets)
        for j, direction in enumerate(directions):
            moves = self._moves(block, direction)
            totals[0, j] += self.drop(steepest, 1.0, here, moves, marks, block.targets, block.weights)

    def margins(self, block: Block, w: Vector, direction: Vector, here: Vector, moves: Vector) -> None:
        here[:] = self._arguments(block, w)
        moves[:] = self._moves(block, direction)

    def _arguments(self, block: Block, w: Vector) -> Vector:
        products = _sparse_products(block, w)
        contributions.place(self._call("values"), products, block.targets)
        return products

    def _moves(self, block: Block, direction: Vector) -> Vector:
        products = _sparse_products(block, direction)
        contributions.chain(self._call("values"), products, block.targets)
        return products


def _sparse_products(block: Block, w: Vector) -> Vector:
    X, out = block.features, np.empty(block.targets.size)
    sparse_times(X.data, X.indices, X.indptr, w, out)
    return out


@compiled()
def _tangent(
    law: Call,
    clamps: Clamps,
    t: Any,
    targets: Any,
    weights: Any,
    slopes: Any,
    sloped: bool,
    valued: bool,
) -> float:
    values, places = np.empty(RUN), np.empty(RUN, np.int32)
    total = 0.0
    for first in range(0, t.size, RUN):
        last = min(t.size, first + RUN)
        here, labels, factors = t[first:last], targets[first:last], slopes[first:last]
        counts = weights[first:last]
        total += contributions.tangent(
            law, clamps, here, labels, counts, factors, values, places, sloped, valued
        )
        if sloped:
            contributions.chain(law, factors, labels)
    return total
