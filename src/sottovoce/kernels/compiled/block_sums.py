"""What one block of rows adds to each sum, compiled: margins, loss and sums of a few rows at a time.

Rows are taken in runs short enough to stay in the innermost cache: their margins are made, the loss is
evaluated, and the same rows are added up, while those of the next run are fetched from memory.
"""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.blocks import Block
from sottovoce.kernels.block_sums import BlockKernel, Stretches
from sottovoce.kernels.compiled import contributions
from sottovoce.kernels.compiled.contributions import NONE, RUN, Call, Clamps
from sottovoce.kernels.compiled.products import dense_gather, dense_times
from sottovoce.kernels.compiled.simd import WIDTH
from sottovoce.trusted.bands import Band, Span
from sottovoce.trusted.jit import compiled

_RUN_ENTRIES = 2**13
"""Entries of a run: 32 KB of float32."""

_RUNS = 32
"""Runs of a line that are added up by themselves, so that no sum has too many terms."""


class CompiledBlockKernel(BlockKernel, ABC):
    """Which loop of the law each sum takes, and sums along a line, for which rows are no longer needed."""

    @final
    def _call(self, which: str) -> Call:
        return Call.of(self._law, which)

    @final
    def _tangent_call(self, sloped: bool, valued: bool) -> Call:
        return self._call("tangents" if sloped and valued else "slopes" if sloped else "values")

    @final
    def marks(self, here: Vector, targets: Vector) -> Vector:
        marks = np.empty_like(here)
        contributions.mark(self._call("values"), here, targets, marks)
        return marks

    @final
    def drop(
        self,
        steepest: float,
        length: float,
        here: Vector,
        moves: Vector,
        marks: Vector,
        targets: Vector,
        weights: Vector | None,
    ) -> float:
        law, counts = self._call("values"), or_none(weights)
        return float(_drop(law, steepest, length, here, moves, marks, targets, counts))


@final
class DenseBlockKernel(CompiledBlockKernel):
    """Dense float32 rows, read where they are."""

    folds: ClassVar[bool] = True

    def tangent(
        self, block: Block, w: Vector, band: Band | None, span: Span | None, at: Stretches, totals: Matrix
    ) -> None:
        X, targets, weights = block.features, block.targets, or_none(block.weights)
        sloped, valued = band is not None, span is not None
        law, clamps = self._tangent_call(sloped, valued), Clamps.of(band, span)
        _dense_tangent(law, clamps, X, targets, weights, w, sloped, valued, at, totals)

    def curvatures(self, block: Block, w: Vector, span: Span) -> Vector:
        out = np.empty(block.targets.size)
        clamps = Clamps.of(None, span)
        _dense_curvatures(self._call("curvatures"), clamps, block.features, block.targets, w, out)
        return out if block.weights is None else np.multiply(out, block.weights, out=out)

    def trials(
        self, block: Block, w: Vector, directions: Matrix, steepest: float, at: Stretches, totals: Matrix
    ) -> None:
        X, targets, weights = block.features, block.targets, or_none(block.weights)
        _dense_trials(self._call("values"), steepest, X, targets, weights, w, directions, at, totals)

    def margins(self, block: Block, w: Vector, direction: Vector, here: Vector, moves: Vector) -> None:
        _dense_margins(self._call("values"), block.features, block.targets, w, direction, here, moves)


def or_none(weights: Vector | None) -> Vector:
    """Weights as compiled code takes them: an empty array where records have none."""
    return NONE if weights is None else weights


@compiled()
def _run_length(dim: int) -> int:
    """Rows in a run: a multiple of eight."""
    return max(8, min(RUN, _RUN_ENTRIES // dim // 8 * 8))


@compiled()
def _dense_tangent(
    law: Call,
    clamps: Clamps,
    X: Any,
    targets: Any,
    weights: Any,
    w: Any,
    sloped: bool,
    valued: bool,
    at: Stretches,
    totals: Any,
) -> None:
    n, dim = X.shape
    x, run = X.reshape(-1), _run_length(dim)
    t, slopes, values = np.empty(run), np.empty(run), np.empty(run)
    places = np.empty(run, np.int32)
    sums, value, first, end = np.empty(-(-dim // WIDTH) * WIDTH), 0.0, 0, 0
    while first < n:
        if first == end:
            sums[:] = 0.0
            value, end = 0.0, min(n, first + at.length)
        last = min(end, first + run)
        here, factors, labels = t[: last - first], slopes[: last - first], targets[first:last]
        counts = weights[first:last]
        dense_times(x, first, last, w, here)
        contributions.place(law, here, labels)
        value += contributions.tangent(
            law, clamps, here, labels, counts, factors, values, places, sloped, valued
        )
        if sloped:
            contributions.chain(law, factors, labels)
            dense_gather(x, first, last, dim, factors, run, sums)
        if last == end:
            total = totals[((last - 1) // at.length + at.done) // at.share]
            total[dim] += value
            if sloped:
                for j in range(dim):
                    total[j] += sums[j]
        first = last


@compiled()
def _dense_curvatures(law: Call, clamps: Clamps, X: Any, targets: Any, w: Any, out: Any) -> None:
    n, dim = X.shape
    x, run = X.reshape(-1), _run_length(dim)
    t = np.empty(run)
    for first in range(0, n, run):
        last = min(n, first + run)
        here, labels = t[: last - first], targets[first:last]
        dense_times(x, first, last, w, here)
        contributions.place(law, here, labels)
        contributions.curvatures(law, clamps, here, labels, out[first:last])


@compiled()
def _dense_trials(
    law: Call,
    steepest: float,
    X: Any,
    targets: Any,
    weights: Any,
    w: Any,
    directions: Any,
    at: Stretches,
    totals: Any,
) -> None:
    n, dim = X.shape
    x, run = X.reshape(-1), _run_length(dim)
    buffers, rooms = np.empty((3, run)), np.empty((2, run))
    gains, first, end = np.empty(len(directions)), 0, 0
    while first < n:
        if first == end:
            gains[:] = 0.0
            end = min(n, first + at.length)
        last = min(end, first + run)
        m, labels, counts = last - first, targets[first:last], weights[first:last]
        here, moves, marks = buffers[0, :m], buffers[1, :m], buffers[2, :m]
        dense_times(x, first, last, w, here)
        contributions.place(law, here, labels)
        contributions.mark(law, here, labels, marks)
        for j in range(gains.size):
            dense_times(x, first, last, directions[j], moves)
            contributions.chain(law, moves, labels)
            gains[j] += contributions.drop(law, steepest, 1.0, here, moves, marks, labels, counts, rooms)
        if last == end:
            totals[((last - 1) // at.length + at.done) // at.share] += gains
        first = last


@compiled()
def _dense_margins(law: Call, X: Any, targets: Any, w: Any, direction: Any, here: Any, moves: Any) -> None:
    n, dim = X.shape
    x, run = X.reshape(-1), _run_length(dim)
    for first in range(0, n, run):
        last = min(n, first + run)
        dense_times(x, first, last, w, here[first:last])
        dense_times(x, first, last, direction, moves[first:last])
    contributions.place(law, here, targets)
    contributions.chain(law, moves, targets)


@compiled()
def _drop(
    law: Call,
    steepest: float,
    length: float,
    here: Any,
    moves: Any,
    marks: Any,
    targets: Any,
    weights: Any,
) -> float:
    rooms = np.empty((2, RUN))
    total = 0.0
    for start in range(0, here.size, _RUNS * RUN):
        gain = 0.0
        for first in range(start, min(here.size, start + _RUNS * RUN), RUN):
            last = min(here.size, first + RUN)
            t, u, labels, before = here[first:last], moves[first:last], targets[first:last], marks[first:last]
            counts = weights[first:last]
            gain += contributions.drop(law, steepest, length, t, u, before, labels, counts, rooms)
        total += gain
    return total
