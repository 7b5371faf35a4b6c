"""What one block of compact rows adds to each sum, compiled: tile by tile, each read from memory once.

A tile's margins are made, the loss is evaluated, and the same tile is added up, as `block_sums` does with
runs of dense rows. What records count, in a geometry too, enters in the same pass.
"""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.blocks import Block
from sottovoce.data.compiled.jit import compiled
from sottovoce.kernels.compiled import losses as laws
from sottovoce.kernels.compiled.block_sums import CompiledTally, or_none
from sottovoce.kernels.compiled.compact_places import joint_room, places, plan_of, tables, tile_places
from sottovoce.kernels.compiled.compact_products import COPIES, spread_out, tile_gather, tile_times
from sottovoce.kernels.compiled.simd import WIDTH
from sottovoce.kernels.compiled.twins import Twin


@final
class CompactTally(CompiledTally):
    """Compact rows, read where they are."""

    folds: ClassVar[bool] = True

    def tangent(self, block: Block, w: Vector, sloped: bool, total: Vector) -> None:
        length = block.features.layout.block_length
        _tangent(self._twin, *_parts(block), or_none(block.weights), length, w, sloped, total)

    def curvatures(self, block: Block, w: Vector) -> Vector:
        out = np.empty(block.targets.size)
        _curvatures(self._twin, *_parts(block), w, out)
        return out if block.weights is None else np.multiply(out, block.weights, out=out)

    def trials(self, block: Block, w: Vector, directions: Matrix, total: Vector) -> None:
        _trials(self._twin, *_parts(block), or_none(block.weights), w, directions, total)

    def margins(self, block: Block, w: Vector, direction: Vector, here: Vector, moves: Vector) -> None:
        _margins(self._twin, *_parts(block), w, direction, here, moves)


def _parts(block: Block) -> tuple[tuple[Any, Vector], tuple[Any, Any], Vector]:
    features = block.features
    return plan_of(features.layout), (features.numbers, features.codes), block.targets


@compiled()
def _tangent(
    twin: Twin,
    layout: Any,
    rows: Any,
    targets: Any,
    weights: Any,
    length: int,
    w: Any,
    sloped: bool,
    total: Any,
) -> None:
    """Blocks of `length` rows are added to the total one after another."""
    tiles, count, width = rows[0].shape
    plan = places(*layout)
    joint = joint_room(plan, width)
    x, held = rows[0].reshape(-1), rows[1].reshape(-1)
    short, table = np.empty(count), np.empty(plan.rooms[-1])
    tables(plan, w, short, table)
    t, slopes, values = np.empty(width), np.zeros(width), np.empty(width)
    sums, bins, value = np.empty(count * WIDTH), np.empty(COPIES * plan.rooms[-1]), 0.0
    for tile in range(tiles):
        first = tile * width
        if first % length == 0:
            value = 0.0
            sums[:] = 0.0
            bins[:] = 0.0
        last = min(targets.size, first + width)
        tile_places(plan, held, tile, width, joint)
        tile_times(x, joint, tile, short, table, t)
        here, factors, labels = t[: last - first], slopes[: last - first], targets[first:last]
        laws.place(twin, here, labels)
        value += laws.tangent(twin, here, labels, weights[first:last], factors, values)
        if sloped:
            laws.chain(twin, factors, labels)
            for i in range(last - first, width):
                slopes[i] = 0.0
            tile_gather(x, joint, tile, slopes, sums, bins)
        if last % length == 0 or last == targets.size:
            total[-1] += value
            if sloped:
                spread_out(plan, sums, bins, 1, total)


@compiled()
def _curvatures(twin: Twin, layout: Any, rows: Any, targets: Any, w: Any, out: Any) -> None:
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
        laws.place(twin, here, labels)
        laws.curvatures(twin, here, labels, out[first:last])


@compiled()
def _trials(
    twin: Twin, layout: Any, rows: Any, targets: Any, weights: Any, w: Any, directions: Any, total: Any
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
    t, u, before, rooms = np.empty(width), np.empty(width), np.empty(width), np.empty((3, width))
    gains = np.zeros(total.size)
    for tile in range(tiles):
        first = tile * width
        tile_places(plan, held, tile, width, joint)
        last = min(targets.size, first + width)
        m, labels = last - first, targets[first:last]
        here, moves, marks = t[:m], u[:m], before[:m]
        tile_times(x, joint, tile, short[0], table[0], t)
        laws.place(twin, here, labels)
        laws.mark(twin, here, marks, rooms[0])
        for j in range(total.size):
            tile_times(x, joint, tile, short[j + 1], table[j + 1], u)
            laws.chain(twin, moves, labels)
            gains[j] += laws.drop(twin, 1.0, here, moves, marks, labels, weights[first:last], rooms)
    for j in range(total.size):
        total[j] += gains[j]


@compiled()
def _margins(
    twin: Twin, layout: Any, rows: Any, targets: Any, w: Any, direction: Any, here: Any, moves: Any
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
    laws.place(twin, here, targets)
    laws.chain(twin, moves, targets)
