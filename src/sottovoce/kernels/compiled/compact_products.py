"""Products of compact rows with float64 vectors, compiled: numbers by lanes of eight rows, codes by tables.

A tile holds each column of some rows side by side, so that eight rows go together and nothing is summed
across lanes but the finished sums. With w_c the entries of w that belong to code column c, a row adds
unit_c w_c[code] to its margin: a table made once for a block, whose last entry, 0, is that of "none".

**No code is read out of bounds**: one past the declared ones is taken for "none", as the schema rules.
**Rounding.** A margin is a sum of at most as many terms as the dense row has columns, and each term is a
product rounded once, as there. An entry of a sum over rows adds what its rows give in eight lanes and four
copies: rows that are added to one number are fewer than the block has, lanes and copies are joined by at most
five more additions, and a code's sum meets one product with the unit. So gamma of the dense row and block,
with the few operations that it allows each term, bounds these sums too.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.compact import Compact
from sottovoce.data.layout import RowLayout
from sottovoce.kernels import products
from sottovoce.kernels.compiled import compact_outer
from sottovoce.kernels.compiled.jit import compiled
from sottovoce.kernels.compiled.simd import WIDTH, fused, load, spread, store, total, zero

COPIES = 4
"""Bins of a code column, one for every row in four: rows that follow each other wait for no common number."""


class Places(NamedTuple):
    """A layout as compiled code takes it: where numbers, tables and bins lie among the dense columns.

    `columns` are those of the numbers; code column c has the dense columns from `starts[c]` on, `sizes[c]` of
    them, and in a table the places from `slots[c]` on, one more: that of "none"."""

    columns: Any
    starts: Any
    sizes: Any
    slots: Any
    units: Any


@lru_cache(maxsize=64)
def plan_of(layout: RowLayout) -> Places:
    sizes = np.array([code.size for code in layout.codes], dtype=np.int64)
    return Places(
        columns=np.array(layout.numbers, dtype=np.int64),
        starts=np.array([code.start for code in layout.codes], dtype=np.int64),
        sizes=sizes,
        slots=np.concatenate(([0], np.cumsum(sizes + 1))),
        units=np.array([code.unit for code in layout.codes], dtype=np.float64),
    )


@compiled()
def tables(plan: Places, w: Any, short: Any, table: Any) -> None:
    """Entries of w for the numbers, and unit w for every code."""
    for j in range(plan.columns.size):
        short[j] = w[plan.columns[j]]
    for c in range(plan.sizes.size):
        to, at = plan.slots[c], plan.starts[c]
        for k in range(plan.sizes[c]):
            table[to + k] = plan.units[c] * w[at + k]
        table[to + plan.sizes[c]] = 0.0


@compiled()
def tile_times(plan: Places, x: Any, codes: Any, tile: int, short: Any, table: Any, out: Any) -> None:
    """out[i] = <x_i, w> for the rows of one tile, padding included; x holds all numbers, codes all codes."""
    width, count = out.size, short.size
    base = tile * count * width
    whole = width - width % (4 * WIDTH)
    for i in range(0, whole, 4 * WIDTH):
        a = b = c = d = zero()
        at = base + i
        for j in range(count):
            v = spread(short[j])
            a = fused(load(x, at), v, a)
            b = fused(load(x, at + WIDTH), v, b)
            c = fused(load(x, at + 2 * WIDTH), v, c)
            d = fused(load(x, at + 3 * WIDTH), v, d)
            at += width
        store(out, i, a)
        store(out, i + WIDTH, b)
        store(out, i + 2 * WIDTH, c)
        store(out, i + 3 * WIDTH, d)
    for i in range(whole, width, WIDTH):
        a = zero()
        for j in range(count):
            a = fused(load(x, base + j * width + i), spread(short[j]), a)
        store(out, i, a)
    at = tile * plan.sizes.size * width
    for k in range(plan.sizes.size):
        size, slot = plan.sizes[k], plan.slots[k]
        for i in range(width):
            out[i] += table[slot + min(np.int64(codes[at + i]), size)]
        at += width


@compiled()
def tile_gather(plan: Places, x: Any, codes: Any, tile: int, factors: Any, sums: Any, bins: Any) -> None:
    """Add factors[i] x_i for the rows of one tile; factors of padding are 0.

    `sums` are those of the numbers, `bins` COPIES times those of the codes, without their units."""
    width, count = factors.size, sums.size
    at = tile * count * width
    for j in range(count):
        a = b = zero()
        for i in range(0, width - WIDTH, 2 * WIDTH):
            a = fused(load(x, at + i), load(factors, i), a)
            b = fused(load(x, at + i + WIDTH), load(factors, i + WIDTH), b)
        if width % (2 * WIDTH):
            a = fused(load(x, at + width - WIDTH), load(factors, width - WIDTH), a)
        sums[j] += total(a) + total(b)
        at += width
    tile_bins(plan, codes, tile, factors, bins)


@compiled()
def tile_bins(plan: Places, codes: Any, tile: int, factors: Any, bins: Any) -> None:
    """Add factors[i] to the bin of each of the row's codes."""
    width, room = factors.size, bins.size // COPIES
    at = tile * plan.sizes.size * width
    for k in range(plan.sizes.size):
        size, slot = plan.sizes[k], plan.slots[k]
        for i in range(0, width, COPIES):
            bins[slot + min(np.int64(codes[at + i]), size)] += factors[i]
            bins[room + slot + min(np.int64(codes[at + i + 1]), size)] += factors[i + 1]
            bins[2 * room + slot + min(np.int64(codes[at + i + 2]), size)] += factors[i + 2]
            bins[3 * room + slot + min(np.int64(codes[at + i + 3]), size)] += factors[i + 3]
        at += width


@compiled()
def spread_out(plan: Places, sums: Any, bins: Any, power: int, out: Any) -> None:
    """Add sums and bins at their dense columns, bins times the unit's power."""
    for j in range(plan.columns.size):
        out[plan.columns[j]] += sums[j]
    room = bins.size // COPIES
    for c in range(plan.sizes.size):
        for k in range(plan.sizes[c]):
            place = plan.slots[c] + k
            both = bins[place] + bins[room + place]
            bin_ = (both + (bins[2 * room + place] + bins[3 * room + place])) * plan.units[c]
            out[plan.starts[c] + k] += bin_ * plan.units[c] if power == 2 else bin_


@compiled()
def _times(plan: Places, numbers: Any, codes: Any, w: Any, out: Any) -> None:
    tiles, count, width = numbers.shape
    x, held = numbers.reshape(-1), codes.reshape(-1)
    short, table, t = np.empty(count), np.empty(plan.slots[-1]), np.empty(width)
    tables(plan, w, short, table)
    for tile in range(tiles):
        tile_times(plan, x, held, tile, short, table, t)
        first = tile * width
        for i in range(min(width, out.size - first)):
            out[first + i] = t[i]


@compiled()
def _gather(plan: Places, numbers: Any, codes: Any, factors: Any, squared: bool, out: Any) -> None:
    """Add factors[i] x_i, or factors[i] times the squares of its entries, for every row."""
    tiles, count, width = numbers.shape
    x, held = numbers.reshape(-1), codes.reshape(-1)
    sums, bins, some = np.zeros(count), np.zeros(COPIES * plan.slots[-1]), np.zeros(width)
    for tile in range(tiles):
        first = tile * width
        some[:] = 0.0
        for i in range(min(width, factors.size - first)):
            some[i] = factors[first + i]
        if squared:
            _add_squares(x, tile, some, sums)
            tile_bins(plan, held, tile, some, bins)
        else:
            tile_gather(plan, x, held, tile, some, sums, bins)
    spread_out(plan, sums, bins, 2 if squared else 1, out)


@compiled(reorder=True)
def _add_squares(x: Any, tile: int, factors: Any, sums: Any) -> None:
    width = factors.size
    at = tile * sums.size * width
    for j in range(sums.size):
        term = 0.0
        for i in range(width):
            entry = np.float64(x[at + i])
            term += factors[i] * (entry * entry)
        sums[j] += term
        at += width


@final
class CompiledCompactView(products.View):
    """Compact rows, read where they are."""

    def __init__(self, features: Compact) -> None:
        self._features = features
        self._parts = plan_of(features.layout), features.numbers, features.codes

    def times(self, w: Any) -> Any:
        columns = np.atleast_2d(np.ascontiguousarray(w.T))
        out = np.empty((len(columns), len(self._features)))
        for column, margins in zip(columns, out, strict=True):
            _times(*self._parts, column, margins)
        return out[0] if w.ndim == 1 else out.T

    def gather(self, factors: Vector) -> Vector:
        return self._gathered(factors, squared=False)

    def squares(self, weights: Vector | None = None) -> Vector:
        return self._gathered(np.ones(len(self._features)) if weights is None else weights, squared=True)

    def _gathered(self, factors: Vector, squared: bool) -> Vector:
        out = np.zeros(self._features.layout.dim)
        _gather(*self._parts, np.ascontiguousarray(factors), squared, out)
        return out

    def add_outer(self, total: Vector, weights: Vector | None, convex: bool) -> None:
        compact_outer.add_outer(
            *self._parts, np.ones(len(self._features)) if weights is None else weights, total
        )

    @staticmethod
    def matrix(total: Vector, dim: int) -> Matrix:
        upper = np.triu(total)
        return upper + np.triu(total, 1).T
