"""||M x||^2 of compact rows, compiled.

The constant of a compact row is the public unit u, or 0 in a blank row. So what code column c adds depends on
its code k alone: (s_k (unit - a_k u))^2 plus the sum over its other columns j of (s_j a_j u)^2, and for none
that sum over all of them. It is looked up; no term is negative, so nothing cancels that a dense row keeps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.data.compact import Compact
from sottovoce.kernels.compiled.compact_places import combined, joint_room, places, plan_of, tile_places
from sottovoce.kernels.compiled.simd import WIDTH, fused, load, product, spread, store, zero
from sottovoce.trusted.jit import compiled


def squares(features: Compact, scale: Vector, shift: Vector, out: Vector) -> None:
    """sum over columns of (s_j (x_j - a_j u))^2, for each row."""
    columns = np.array(features.layout.numbers)
    numbers = np.ascontiguousarray(scale[columns]), np.ascontiguousarray(shift[columns])
    table = _table(features, scale, shift)
    _compact(*plan_of(features.layout), features.numbers, features.codes, *numbers, table, out)


def _table(features: Compact, scale: Vector, shift: Vector) -> Vector:
    """What every code of a row that is not blank adds, that of "none" last in its column."""
    found: list[Vector] = []
    for start, size, unit in features.layout.codes:
        span = slice(start, start + size)
        centre, reach = shift[span] * features.layout.unit, scale[span]
        apart = (reach * centre) ** 2
        own = (reach * (unit - centre)) ** 2
        others = np.concatenate(([0.0], np.cumsum(apart[:-1]))) + np.concatenate(
            (np.cumsum(apart[:0:-1])[::-1], [0.0])
        )
        found += [own + others, np.array([apart.sum()])]
    return np.concatenate([*found, np.empty(0)])


@compiled()
def _compact(
    index: Any, units: Any, numbers: Any, codes: Any, scale: Any, shift: Any, own: Any, out: Any
) -> None:
    tiles, count, width = numbers.shape
    plan = places(index, units)
    x, held, joint, table = (
        numbers.reshape(-1),
        codes.reshape(-1),
        joint_room(plan, width),
        np.empty(plan.rooms[-1]),
    )
    combined(plan, own, table)
    squares = np.empty(width)
    for tile in range(tiles):
        first, base = tile * width, tile * count * width
        tile_places(plan, held, tile, width, joint)
        for i in range(0, width, WIDTH):
            constant, a = load(x, base + (count - 1) * width + i), zero()
            for j in range(count):
                z = fused(constant, spread(-shift[j]), load(x, base + j * width + i))
                z = product(z, spread(scale[j]))
                a = fused(z, z, a)
            store(squares, i, a)
        constants = x[base + (count - 1) * width : base + count * width]
        for i in range(min(width, out.size - first)):
            square = squares[i]
            if constants[i] != 0.0:
                for at in range(i, joint.size, width):
                    square += table[joint[at]]
            out[first + i] = square
