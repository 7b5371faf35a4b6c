"""What one block of compact rows adds to each sum, compiled: tile by tile, each read from memory once.

A tile's margins are made, the loss is evaluated, and the same tile is added up, as `block_sums` does with
runs of dense rows. What records count, in a preconditioner too, enters in the same pass.
"""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.blocks import Block
from sottovoce.kernels.block_sums import Stretches
from sottovoce.kernels.compiled import contributions
from sottovoce.kernels.compiled.block_sums import CompiledBlockKernel, or_none
from sottovoce.kernels.compiled.compact_places import joint_room, places, plan_of, tables, tile_places
from sottovoce.kernels.compiled.compact_products import COPIES, spread_out, tile_gather, tile_times
from sottovoce.kernels.compiled.contributions import Call, Clamps
from sottovoce.kernels.compiled.simd import WIDTH
from sottovoce.trusted.bands import Band, Span
from sottovoce.trusted.jit import compiled


@final
class CompactBlockKernel(CompiledBlockKernel):
    """Compact rows, read where they are."""

    folds: ClassVar[bool] = True

    def tangent(
        self, block: Block, w: Vector, band: Band | None, span: Span | None, at: Stretches, totals: Matrix
    ) -> None:
        sloped, valued = band is not None, span is not None
        law, clamps = self._tangent_call(sloped, valued), Clamps.of(band, span)
        counts = or_none(block.weights)
        _tangent(law, clamps, *_parts(block), counts, w, sloped, valued, at, totals)

    def curvatures(self, block: Block, w: Vector, span: Span) -> Vector:
        out = np.empty(block.targets.size)
        _curvatures(self._call("curvatures"), Clamps.of(None, span), *_parts(block), w, out)
        return out if block.weights is None else np.multiply(out, block.weights, out=out)

    def trials(
        self, block: Block, w: Vector, directions: Matrix, steepest: float, at: Stretches, totals: Matrix
    ) -> None:
        counts = or_none(block.weights)
        _trials(self._call("values"), steepest, *_parts(block), counts, w, directions, at, totals)

    def margins(self, block: Block, w: Vector, direction: Vector, here: Vector, moves: Vector) -> None:
        _margins(self._call("values"), *_parts(block), w, direction, here, moves)


def _parts(block: Block) -> tuple[tuple[Any, Vector], tuple[Any, Any], Vector]:
    features = block.features
    return plan_of(features.layout), (features.numbers, features.codes), block.targets


@compiled()
def _tangent(
    law: Call,
    clamps: Clamps,
    layout: Any,
    rows: Any,
    targets: Any,
    weights: Any,
    w: Any,
    sloped: bool,
    valued: bool,
    at: Stretches,
    totals: Any,
) -> None:
    tiles, count, width = rows[0].shape
    plan = places(*layout)
    joint = joint_room(plan, width)
    x, held = rows[0].reshape(-1), rows[1].reshape(-1)
    short, table = np.empty(count), np.empty(plan.rooms[-1])
    tables(plan, w, short, table)
    t, slopes, values = np.empty(width), np.zeros(width), np.empty(width)
    bands = np.empty(width, np.int32)
    sums, bins, value = np.empty(count * WIDTH), np.empty(COPIES * plan.rooms[-1]), 0.0
    for tile in range(tiles):
        first = tile * width
        if first % at.length == 0:
            value = 0.0
            sums[:] = 0.0
            bins[:] = 0.0
        last = min(targets.size, first + width)
        tile_places(plan, held, tile, width, joint)
        tile_times(x, joint, tile, short, table, t)
        here, factors, labels = t[: last - first], slopes[: last - first], targets[first:last]
        counts = weights[first:last]
        contributions.place(law, here, labels)
        value += contributions.tangent(
            law, clamps, here, labels, counts, factors, values, bands, sloped, valued
        )
        if sloped:
            contributions.chain(law, factors, labels)
            for i in range(last - first, width):
                slopes[i] = 0.0
            tile_gather(x, joint, tile, slopes, sums, bins)
        if last % at.length == 0 or last == targets.size:
            total = totals[((last - 1) // at.length + at.done) // at.share]
            total[-1] += value
            if sloped:
                spread_out(plan, sums, bins, 1, total)


@compiled()
def _curvatures(law: Call, clamps: Clamps, layout: Any, rows: Any, targets: Any, w: Any, out: Any) -> None:
    tiles, count, width = rows[0].shape
    plan = places(*layout)
    joint = joint_room(plan, width)
    x, held = rows[0].reshape(-1), rows[1].reshape(-1)
    short, table, t = np.empty(count), np.empty(plan.rooms[-1]), np.empty(width)
    tables(plan, w, short, table)
    for tile in range(tiles):
        first = tile * width
        tile_places(plan, held, tile, width, joint)
        last = min(targets.size, first + width)
        here, labels = t[: last - first], targets[first:last]
        tile_times(x, joint, tile, short, table, t)
        contributions.place(law, here, labels)
        contributions.curvatures(law, clamps, here, labels, out[first:last])


@compiled()
def _trials(
    law: Call,
    steepest: float,
    layout: Any,
    rows: Any,
    targets: Any,
    weights: Any,
    w: Any,
    directions: Any,
    at: Stretches,
    totals: Any,
) -> None:
    tiles, count, width = rows[0].shape
    plan = places(*layout)
    joint = joint_room(plan, width)
    x, held = rows[0].reshape(-1), rows[1].reshape(-1)
    ways = len(directions) + 1
    short, table = np.empty((ways, count)), np.empty((ways, plan.rooms[-1]))
    tables(plan, w, short[0], table[0])
    for j in range(1, ways):
        tables(plan, directions[j - 1], short[j], table[j])
    t, u, before, rooms = np.empty(width), np.empty(width), np.empty(width), np.empty((2, width))
    gains = np.zeros(len(directions))
    for tile in range(tiles):
        first = tile * width
        if first % at.length == 0:
            gains[:] = 0.0
        tile_places(plan, held, tile, width, joint)
        last = min(targets.size, first + width)
        m, labels = last - first, targets[first:last]
        here, moves, marks = t[:m], u[:m], before[:m]
        tile_times(x, joint, tile, short[0], table[0], t)
        counts = weights[first:last]
        contributions.place(law, here, labels)
        contributions.mark(law, here, labels, marks)
        for j in range(gains.size):
            tile_times(x, joint, tile, short[j + 1], table[j + 1], u)
            contributions.chain(law, moves, labels)
            gains[j] += contributions.drop(law, steepest, 1.0, here, moves, marks, labels, counts, rooms)
        if last % at.length == 0 or last == targets.size:
            totals[((last - 1) // at.length + at.done) // at.share] += gains


@compiled()
def _margins(
    law: Call, layout: Any, rows: Any, targets: Any, w: Any, direction: Any, here: Any, moves: Any
) -> None:
    tiles, count, width = rows[0].shape
    plan = places(*layout)
    joint = joint_room(plan, width)
    x, held = rows[0].reshape(-1), rows[1].reshape(-1)
    short, table, t = np.empty((2, count)), np.empty((2, plan.rooms[-1])), np.empty(width)
    tables(plan, w, short[0], table[0])
    tables(plan, direction, short[1], table[1])
    for tile in range(tiles):
        first = tile * width
        tile_places(plan, held, tile, width, joint)
        for k in range(2):
            tile_times(x, joint, tile, short[k], table[k], t)
            out = here if k == 0 else moves
            for i in range(min(width, targets.size - first)):
                out[first + i] = t[i]
    contributions.place(law, here, targets)
    contributions.chain(law, moves, targets)
