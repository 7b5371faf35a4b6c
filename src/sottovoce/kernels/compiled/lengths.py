"""||M x||^2 of dense and compact rows, compiled: centred, scaled and squared in registers; and what a row of
that length counts, by the rule of `Preconditioner.counts`.

The constant of a compact row is the public unit u, or 0 in a blank row. So what code column c adds depends on
its code k alone: (s_k (unit - a_k u))^2 plus the sum over its other columns j of (s_j a_j u)^2, and for none
that sum over all of them. It is looked up; no term is negative, so nothing cancels that a dense row keeps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.data.compact import Compact
from sottovoce.kernels.compiled.block_sums import or_none
from sottovoce.kernels.compiled.compact_places import combined, joint_room, places, plan_of, tile_places
from sottovoce.kernels.compiled.simd import WIDTH, fused, load, product, spread, store, zero
from sottovoce.queries.preconditioner import Preconditioner
from sottovoce.trusted.jit import compiled


def counts(
    features: Any,
    preconditioner: Preconditioner,
    rounding: float,
    slack: float,
    weights: Vector | None,
    out: Vector,
) -> None:
    """q omega of each row, its length rho enlarged to rho (1 + rounding) + slack."""
    squares(features, preconditioner, out)
    _count(preconditioner.cap, preconditioner.ceiling, rounding, slack, or_none(weights), out)


def squares(features: Any, preconditioner: Preconditioner, out: Vector) -> None:
    """sum over columns of (s_j (x_j - a_j x_c))^2, for each row."""
    shift = np.zeros(preconditioner.columns) if preconditioner.shift is None else preconditioner.shift
    if isinstance(features, Compact):
        columns = np.array(features.layout.numbers)
        table = _table(features, np.array(preconditioner.scale), shift)
        numbers = np.ascontiguousarray(preconditioner.scale[columns]), np.ascontiguousarray(shift[columns])
        _compact(*plan_of(features.layout), features.numbers, features.codes, *numbers, table, out)
    else:
        _squares(features, np.array(preconditioner.scale), np.array(shift), preconditioner.constant or 0, out)


@compiled()
def _count(cap: float, ceiling: float, rounding: float, slack: float, weights: Any, out: Any) -> None:
    """min(1, C/rho, B C^2/rho^2) of squares of lengths, in place; rounded down, so that both caps hold."""
    for i in range(out.size):
        length = np.sqrt(out[i]) * (1.0 + rounding) + slack
        ratio = cap / max(length, cap)
        capped = min(1.0, ratio * min(1.0, ceiling * ratio) * (1.0 - 2.0**-40))
        out[i] = 1.0 if length <= cap else capped
    if weights.size:
        for i in range(out.size):
            out[i] *= weights[i]


@compiled(reorder=True)
def _squares(X: Any, scale: Any, shift: Any, constant: int, out: Any) -> None:
    for i in range(out.size):
        held = np.float64(X[i, constant])
        total = 0.0
        for j in range(scale.size):
            z = (np.float64(X[i, j]) - held * shift[j]) * scale[j]
            total += z * z
        out[i] = total


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
