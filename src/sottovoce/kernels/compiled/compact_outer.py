"""X' diag(c) X of compact rows, compiled: the upper triangle alone, made of what compact rows hold alone.

Numbers with numbers: a product of two columns of a tile, eight rows at a time. Numbers with codes: the row of
numbers, and c after them, is added to the panel of its joint place (`compact_places`), which at the end of a
block holds what each column of the group and each pair of them need. Two columns of different groups: c is
added where both codes meet. Units are multiplied once for a block.

An entry's sum has a term for each row of the block: however it is ordered, each term meets fewer roundings
than there are rows, since adding what no row has touched yet is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.kernels.compiled.compact_places import (
    Places,
    joint_room,
    places,
    single,
    tile_factors,
    tile_places,
)
from sottovoce.kernels.compiled.simd import (
    WIDTH,
    fused,
    load,
    product,
    spread,
    store,
    store_turned,
    total,
    zero,
)
from sottovoce.trusted.jit import compiled


@compiled()
def add_outer(
    index: Any, units: Any, numbers: Any, codes: Any, weights: Any, n: int, length: int, whole: Any
) -> None:
    """Add X' diag(weights) X to the upper triangle of a matrix of dense columns, blocks of `length` rows one
    after another; no weights mean 1 for each of the n rows."""
    tiles, count, width = numbers.shape
    plan, lanes = places(index, units), count // WIDTH * WIDTH + WIDTH
    x, held, joint = numbers.reshape(-1), codes.reshape(-1), joint_room(plan, width)
    squares, panels = np.empty((count * count) * WIDTH), np.empty(plan.rooms[-1] * lanes)
    crossed = np.empty((plan.slots[-1], plan.slots[-1]))
    wide, scaled, rows = np.empty(count * width), np.zeros(lanes * width), np.empty(WIDTH * lanes)
    factors = scaled[count * width : (count + 1) * width]
    for tile in range(tiles):
        first = tile * width
        last = min(n, first + width)
        if first % length == 0:
            squares[:] = 0.0
            panels[:] = 0.0
            crossed[:] = 0.0
        tile_factors(weights, first, last, factors)
        tile_places(plan, held, tile, width, joint)
        _scale(x, tile, factors, wide, scaled)
        _add_numbers(wide, scaled, width, squares)
        if joint.size:
            _add_panels(scaled, rows, joint, width, panels)
            _add_crossed(plan, held, tile, factors, crossed)
        if last % length == 0 or last == n:
            _spread_out(plan, squares, panels, crossed, whole)


@compiled()
def _scale(x: Any, tile: int, factors: Any, wide: Any, scaled: Any) -> None:
    """x_ij and c_i x_ij in float64, column by column."""
    width = factors.size
    at = tile * wide.size
    for j in range(0, wide.size, width):
        for i in range(0, width, WIDTH):
            entries = load(x, at + j + i)
            store(wide, j + i, entries)
            store(scaled, j + i, product(entries, load(factors, i)))


@compiled()
def _add_numbers(wide: Any, scaled: Any, width: int, squares: Any) -> None:
    """Products of column j, scaled, with the columns from j on, four at a time, in eight lanes each."""
    count = wide.size // width
    for j in range(count):
        at, k = j * width, j
        while k < count:
            some = min(4, count - k)
            to, sums = k * width, (j * count + k) * WIDTH
            a, b, c, d = load(squares, sums), zero(), zero(), zero()
            if some == 4:
                b, c = load(squares, sums + WIDTH), load(squares, sums + 2 * WIDTH)
                d = load(squares, sums + 3 * WIDTH)
                for i in range(0, width, WIDTH):
                    v = load(scaled, at + i)
                    a = fused(load(wide, to + i), v, a)
                    b = fused(load(wide, to + width + i), v, b)
                    c = fused(load(wide, to + 2 * width + i), v, c)
                    d = fused(load(wide, to + 3 * width + i), v, d)
                store(squares, sums + WIDTH, b)
                store(squares, sums + 2 * WIDTH, c)
                store(squares, sums + 3 * WIDTH, d)
            else:
                some = 1
                for i in range(0, width, WIDTH):
                    a = fused(load(wide, to + i), load(scaled, at + i), a)
            store(squares, sums, a)
            k += some


@compiled()
def _add_panels(scaled: Any, rows: Any, joint: Any, width: int, panels: Any) -> None:
    """Add each row, its weight after its numbers, to the panel of its place in every group."""
    lanes, one = rows.size // WIDTH, spread(1.0)
    for first in range(0, width, WIDTH):
        for j in range(0, lanes, WIDTH):
            store_turned(rows, j, lanes, scaled, j * width + first, width)
        for at in range(first, joint.size, width):
            for i in range(WIDTH):
                to = np.int64(joint[at + i]) * lanes
                for j in range(0, lanes, WIDTH):
                    store(panels, to + j, fused(load(rows, i * lanes + j), one, load(panels, to + j)))


@compiled()
def _add_crossed(plan: Places, codes: Any, tile: int, factors: Any, crossed: Any) -> None:
    """Add each weight where codes of different groups meet."""
    width, columns = factors.size, plan.sizes.size
    base = tile * columns * width
    for g in range(plan.firsts.size - 1):
        for c in range(plan.firsts[g], plan.firsts[g + 1]):
            left = codes[base + c * width : base + (c + 1) * width]
            for d in range(plan.firsts[g + 1], columns):
                right = codes[base + d * width : base + (d + 1) * width]
                for i in range(width):
                    here = plan.slots[c] + min(np.int64(left[i]), plan.sizes[c])
                    crossed[here, plan.slots[d] + min(np.int64(right[i]), plan.sizes[d])] += factors[i]


@compiled()
def _cross_groups(plan: Places, panels: Any, lanes: int, count: int, crossed: Any) -> None:
    """Add the weights of every joint place where the codes of two columns of its group meet."""
    for g in range(plan.firsts.size - 1):
        for place in range(plan.rooms[g + 1] - plan.rooms[g]):
            weight = panels[(plan.rooms[g] + place) * lanes + count]
            for c in range(plan.firsts[g], plan.firsts[g + 1]):
                here = plan.slots[c] + place // plan.strides[c] % (plan.sizes[c] + 1)
                for d in range(c, plan.firsts[g + 1]):
                    there = plan.slots[d] + place // plan.strides[d] % (plan.sizes[d] + 1)
                    crossed[here, there] += weight


@compiled()
def _spread_out(plan: Places, squares: Any, panels: Any, crossed: Any, whole: Any) -> None:
    """Add what was summed at its place above the diagonal."""
    count, columns = plan.columns.size, plan.sizes.size
    lanes = count // WIDTH * WIDTH + WIDTH
    own = np.zeros(plan.slots[-1] * lanes)
    single(plan, panels, lanes, own)
    _cross_groups(plan, panels, lanes, count, crossed)
    for j in range(count):
        for k in range(j, count):
            whole[plan.columns[j], plan.columns[k]] += total(load(squares, (j * count + k) * WIDTH))
    for c in range(columns):
        for k in range(plan.sizes[c]):
            place, row = plan.slots[c] + k, plan.starts[c] + k
            for j in range(count):
                column = plan.columns[j]
                whole[min(row, column), max(row, column)] += plan.units[c] * own[place * lanes + j]
            for d in range(c, columns):
                unit = plan.units[c] * plan.units[d]
                for m in range(k if d == c else 0, k + 1 if d == c else plan.sizes[d]):
                    whole[row, plan.starts[d] + m] += unit * crossed[place, plan.slots[d] + m]
