"""X' diag(c) X of compact rows, compiled: the upper triangle alone, made of what compact rows hold alone.

Numbers with numbers: a product of two columns of a tile, eight rows at a time. Numbers with a code column:
the row of numbers is added to the panel of its code. Two code columns: c is added where both codes meet.
Units are multiplied once for a block. An entry's sum has at most a term for each row of the block.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.kernels.compiled.jit import compiled
from sottovoce.kernels.compiled.simd import WIDTH, fused, load, product, spread, store, total, zero


def add_outer(plan: Any, numbers: Any, codes: Any, weights: Any, whole: Any) -> None:
    """Add the block's X' diag(weights) X to the upper triangle of a matrix of dense columns."""
    _add(plan, numbers, codes, weights, whole)


@compiled()
def _add(plan: Any, numbers: Any, codes: Any, weights: Any, whole: Any) -> None:
    tiles, count, width = numbers.shape
    x, held, slots = numbers.reshape(-1), codes.reshape(-1), plan.slots[-1]
    lanes = -(-count // WIDTH) * WIDTH
    squares, panels, crossed = np.zeros((count, count)), np.zeros(slots * lanes), np.zeros((slots, slots))
    scaled, rows, factors = np.empty(count * width), np.zeros(width * lanes), np.zeros(width)
    for tile in range(tiles):
        first = tile * width
        last = min(width, weights.size - first)
        factors[:] = 0.0
        for i in range(last):
            factors[i] = weights[first + i]
        _scale(x, tile, factors, scaled)
        _add_numbers(x, tile, width, scaled, squares)
        for j in range(count):
            for i in range(last):
                rows[i * lanes + j] = scaled[j * width + i]
        _add_codes(plan, held, tile, width, last, rows, factors, panels, crossed)
    _spread_out(plan, squares, panels, crossed, whole)


@compiled()
def _scale(x: Any, tile: int, factors: Any, scaled: Any) -> None:
    """c_i x_ij, column by column."""
    width = factors.size
    at = tile * scaled.size
    for j in range(0, scaled.size, width):
        for i in range(0, width, WIDTH):
            store(scaled, j + i, product(load(x, at + j + i), load(factors, i)))


@compiled()
def _add_numbers(x: Any, tile: int, width: int, scaled: Any, squares: Any) -> None:
    """Products of column j, scaled, with the columns from j on, four at a time."""
    count = len(squares)
    base = tile * count * width
    for j in range(count):
        at = j * width
        k = j
        while k + 4 <= count:
            a = b = c = d = zero()
            to = base + k * width
            for i in range(0, width, WIDTH):
                v = load(scaled, at + i)
                a = fused(load(x, to + i), v, a)
                b = fused(load(x, to + width + i), v, b)
                c = fused(load(x, to + 2 * width + i), v, c)
                d = fused(load(x, to + 3 * width + i), v, d)
            squares[j, k] += total(a)
            squares[j, k + 1] += total(b)
            squares[j, k + 2] += total(c)
            squares[j, k + 3] += total(d)
            k += 4
        while k < count:
            a = zero()
            for i in range(0, width, WIDTH):
                a = fused(load(x, base + k * width + i), load(scaled, at + i), a)
            squares[j, k] += total(a)
            k += 1


@compiled()
def _add_codes(
    plan: Any,
    codes: Any,
    tile: int,
    width: int,
    last: int,
    rows: Any,
    factors: Any,
    panels: Any,
    crossed: Any,
) -> None:
    """Add each row to the panels of its codes, and its weight where its codes meet."""
    columns, lanes = plan.sizes.size, rows.size // width
    base = tile * columns * width
    one = spread(1.0)
    for i in range(last):
        for c in range(columns):
            here = plan.slots[c] + min(np.int64(codes[base + c * width + i]), plan.sizes[c])
            for k in range(0, lanes, WIDTH):
                to = here * lanes + k
                store(panels, to, fused(load(rows, i * lanes + k), one, load(panels, to)))
            for d in range(c, columns):
                there = plan.slots[d] + min(np.int64(codes[base + d * width + i]), plan.sizes[d])
                crossed[here, there] += factors[i]


@compiled()
def _spread_out(plan: Any, squares: Any, panels: Any, crossed: Any, whole: Any) -> None:
    """Add what was summed at its place above the diagonal."""
    count, columns = len(squares), plan.sizes.size
    lanes = -(-count // WIDTH) * WIDTH
    for j in range(count):
        for k in range(j, count):
            whole[plan.columns[j], plan.columns[k]] += squares[j, k]
    for c in range(columns):
        for k in range(plan.sizes[c]):
            place, row = plan.slots[c] + k, plan.starts[c] + k
            for j in range(count):
                column = plan.columns[j]
                whole[min(row, column), max(row, column)] += plan.units[c] * panels[place * lanes + j]
            for d in range(c, columns):
                unit = plan.units[c] * plan.units[d]
                for m in range(k if d == c else 0, k + 1 if d == c else plan.sizes[d]):
                    whole[row, plan.starts[d] + m] += unit * crossed[place, plan.slots[d] + m]
