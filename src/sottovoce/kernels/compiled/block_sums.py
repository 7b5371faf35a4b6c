"""What one block of rows adds to each sum, compiled: margins, loss and sums of a few rows at a time.

Rows are taken in runs short enough to stay in the innermost cache: their margins are made, the loss is
evaluated, and the same rows are added up, while those of the next run are fetched from memory.
"""

from __future__ import annotations

from abc import ABC
from typing import Any, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.blocks import Block
from sottovoce.data.compiled.jit import compiled
from sottovoce.kernels.block_sums import Tally
from sottovoce.kernels.compiled import losses as laws
from sottovoce.kernels.compiled.losses import RUN
from sottovoce.kernels.compiled.products import dense_gather, dense_times, sparse_gather, sparse_times
from sottovoce.kernels.compiled.simd import WIDTH
from sottovoce.kernels.compiled.twins import Twin

_RUN_ENTRIES = 2**13
"""Entries of a run: 32 KB of float32."""

_RUNS = 32
"""Runs of a line that are added up by themselves, so that no sum has too many terms."""


_NONE = np.empty(0)
_NONE.flags.writeable = False


class CompiledTally(Tally, ABC):
    """Sums along a line, for which rows are no longer needed."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin

    @final
    def marks(self, here: Vector) -> Vector:
        marks = np.empty_like(here)
        _mark(self._twin, here, marks)
        return marks

    @final
    def drop(
        self,
        length: float,
        here: Vector,
        moves: Vector,
        marks: Vector,
        targets: Vector,
        weights: Vector | None,
    ) -> float:
        return float(_drop(self._twin, length, here, moves, marks, targets, or_none(weights)))


@final
class DenseTally(CompiledTally):
    """Dense float32 rows, read where they are."""

    def tangent(self, block: Block, w: Vector, sloped: bool, total: Vector) -> None:
        _dense_tangent(self._twin, block.features, block.targets, or_none(block.weights), w, sloped, total)

    def curvatures(self, block: Block, w: Vector) -> Vector:
        out = np.empty(block.targets.size)
        _dense_curvatures(self._twin, block.features, block.targets, w, out)
        return out if block.weights is None else np.multiply(out, block.weights, out=out)

    def trials(self, block: Block, w: Vector, directions: Matrix, total: Vector) -> None:
        _dense_trials(self._twin, block.features, block.targets, or_none(block.weights), w, directions, total)

    def margins(self, block: Block, w: Vector, direction: Vector, here: Vector, moves: Vector) -> None:
        _dense_margins(self._twin, block.features, block.targets, w, direction, here, moves)


@final
class SparseTally(CompiledTally):
    """CSR rows with float32 entries, read where they are."""

    def tangent(self, block: Block, w: Vector, sloped: bool, total: Vector) -> None:
        t = self._arguments(block, w)
        slopes = np.empty_like(t)
        total[-1] += _tangent(self._twin, t, block.targets, or_none(block.weights), slopes)
        if sloped:
            X, sums = block.features, np.zeros(total.size - 1)
            sparse_gather(X.data, X.indices, X.indptr, slopes, sums)
            total[:-1] += sums

    def curvatures(self, block: Block, w: Vector) -> Vector:
        t = self._arguments(block, w)
        out = np.empty_like(t)
        laws.curvatures(self._twin, t, block.targets, out)
        return out if block.weights is None else np.multiply(out, block.weights, out=out)

    def trials(self, block: Block, w: Vector, directions: Matrix, total: Vector) -> None:
        here = self._arguments(block, w)
        marks = self.marks(here)
        for j, direction in enumerate(directions):
            moves = self._moves(block, direction)
            total[j] += self.drop(1.0, here, moves, marks, block.targets, block.weights)

    def margins(self, block: Block, w: Vector, direction: Vector, here: Vector, moves: Vector) -> None:
        here[:] = self._arguments(block, w)
        moves[:] = self._moves(block, direction)

    def _arguments(self, block: Block, w: Vector) -> Vector:
        products = _sparse_products(block, w)
        laws.place(self._twin, products, block.targets)
        return products

    def _moves(self, block: Block, direction: Vector) -> Vector:
        products = _sparse_products(block, direction)
        laws.chain(self._twin, products, block.targets)
        return products


def or_none(weights: Vector | None) -> Vector:
    """Weights as compiled code takes them: an empty array where records have none."""
    return _NONE if weights is None else weights


def _sparse_products(block: Block, w: Vector) -> Vector:
    X, out = block.features, np.empty(block.targets.size)
    sparse_times(X.data, X.indices, X.indptr, w, out)
    return out


@compiled()
def _run_length(dim: int) -> int:
    """Rows in a run: a multiple of eight."""
    return max(8, min(RUN, _RUN_ENTRIES // dim // 8 * 8))


@compiled()
def _dense_tangent(twin: Twin, X: Any, targets: Any, weights: Any, w: Any, sloped: bool, total: Any) -> None:
    n, dim = X.shape
    x, run = X.reshape(-1), _run_length(dim)
    t, slopes, values = np.empty(run), np.empty(run), np.empty(run)
    sums = np.zeros(-(-dim // WIDTH) * WIDTH)
    value = 0.0
    for first in range(0, n, run):
        last = min(n, first + run)
        here, factors, labels = t[: last - first], slopes[: last - first], targets[first:last]
        dense_times(x, first, last, w, here)
        laws.place(twin, here, labels)
        value += laws.tangent(twin, here, labels, weights[first:last], factors, values)
        if sloped:
            laws.chain(twin, factors, labels)
            dense_gather(x, first, last, dim, factors, run, sums)
    total[dim] += value
    if sloped:
        for j in range(dim):
            total[j] += sums[j]


@compiled()
def _dense_curvatures(twin: Twin, X: Any, targets: Any, w: Any, out: Any) -> None:
    n, dim = X.shape
    x, run = X.reshape(-1), _run_length(dim)
    t = np.empty(run)
    for first in range(0, n, run):
        last = min(n, first + run)
        here, labels = t[: last - first], targets[first:last]
        dense_times(x, first, last, w, here)
        laws.place(twin, here, labels)
        laws.curvatures(twin, here, labels, out[first:last])


@compiled()
def _dense_trials(
    twin: Twin, X: Any, targets: Any, weights: Any, w: Any, directions: Any, total: Any
) -> None:
    n, dim = X.shape
    x, run = X.reshape(-1), _run_length(dim)
    buffers, rooms = np.empty((3, run)), np.empty((3, run))
    gains = np.zeros(total.size)
    for first in range(0, n, run):
        last = min(n, first + run)
        m, labels = last - first, targets[first:last]
        here, moves, marks = buffers[0, :m], buffers[1, :m], buffers[2, :m]
        dense_times(x, first, last, w, here)
        laws.place(twin, here, labels)
        laws.mark(twin, here, marks, rooms[0])
        for j in range(total.size):
            dense_times(x, first, last, directions[j], moves)
            laws.chain(twin, moves, labels)
            gains[j] += laws.drop(twin, 1.0, here, moves, marks, labels, weights[first:last], rooms)
    for j in range(total.size):
        total[j] += gains[j]


@compiled()
def _dense_margins(twin: Twin, X: Any, targets: Any, w: Any, direction: Any, here: Any, moves: Any) -> None:
    n, dim = X.shape
    x, run = X.reshape(-1), _run_length(dim)
    for first in range(0, n, run):
        last = min(n, first + run)
        dense_times(x, first, last, w, here[first:last])
        dense_times(x, first, last, direction, moves[first:last])
    laws.place(twin, here, targets)
    laws.chain(twin, moves, targets)


@compiled()
def _tangent(twin: Twin, t: Any, targets: Any, weights: Any, slopes: Any) -> float:
    values = np.empty(RUN)
    total = 0.0
    for first in range(0, t.size, RUN):
        last = min(t.size, first + RUN)
        labels, factors = targets[first:last], slopes[first:last]
        total += laws.tangent(twin, t[first:last], labels, weights[first:last], factors, values)
        laws.chain(twin, factors, labels)
    return total


@compiled()
def _mark(twin: Twin, here: Any, marks: Any) -> None:
    slopes = np.empty(RUN)
    for first in range(0, here.size, RUN):
        last = min(here.size, first + RUN)
        laws.mark(twin, here[first:last], marks[first:last], slopes)


@compiled()
def _drop(twin: Twin, length: float, here: Any, moves: Any, marks: Any, targets: Any, weights: Any) -> float:
    rooms = np.empty((3, RUN))
    total = 0.0
    for start in range(0, here.size, _RUNS * RUN):
        gain = 0.0
        for first in range(start, min(here.size, start + _RUNS * RUN), RUN):
            last = min(here.size, first + RUN)
            labels, before = targets[first:last], marks[first:last]
            counts = weights[first:last]
            gain += laws.drop(
                twin, length, here[first:last], moves[first:last], before, labels, counts, rooms
            )
        total += gain
    return total
