"""Products of compact rows with float64 vectors, compiled: numbers by lanes of eight rows, codes by tables.

A tile holds each column of some rows side by side, so that eight rows go together and nothing is summed
across lanes but the finished sums. With w_c the entries of w that belong to code column c, a row adds
unit_c w_c[code] to its margin: what the codes of a group of columns add together is looked up in a table made
once for many rows (`compact_places`), where "none" adds 0.

**Rounding.** A margin is a sum of at most as many terms as the dense row has columns, and each term is a
product rounded once, as there. An entry of a sum over rows adds what its rows give in lanes, copies and joint
places: however m terms are ordered, each meets fewer than m roundings, since adding what no row has touched
yet is exact; and a code's sum meets one product with the unit. So gamma of the dense row and block, with the
few operations that it allows each term, bounds these sums too.
"""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.compact import Compact
from sottovoce.kernels import products
from sottovoce.kernels.compiled import compact_outer
from sottovoce.kernels.compiled.block_sums import or_none
from sottovoce.kernels.compiled.compact_places import (
    Places,
    joint_room,
    places,
    plan_of,
    single,
    tables,
    tile_factors,
    tile_places,
)
from sottovoce.kernels.compiled.simd import (
    LINE,
    WIDTH,
    fetch,
    fused,
    load,
    looked_up,
    product,
    spread,
    store,
    total,
    zero,
)
from sottovoce.trusted.jit import compiled

COPIES = 4
"""Bins of a code column, one for every row in four: rows that follow each other wait for no common number."""


@compiled()
def tile_times(x: Any, joint: Any, tile: int, short: Any, table: Any, out: Any) -> None:
    """out[i] = <x_i, w> for the rows of one tile, padding included; x holds all numbers, `joint` the tile's
    joint places. The numbers of the next tile are fetched from memory meanwhile."""
    width, count = out.size, short.size
    base = tile * count * width
    whole, one = width - width % (4 * WIDTH), spread(1.0)
    for i in range(0, whole, 4 * WIDTH):
        a = b = c = d = zero()
        at = base + i
        for j in range(count):
            v = spread(short[j])
            fetch(x, at + count * width)
            fetch(x, at + count * width + LINE)
            a = fused(load(x, at), v, a)
            b = fused(load(x, at + WIDTH), v, b)
            c = fused(load(x, at + 2 * WIDTH), v, c)
            d = fused(load(x, at + 3 * WIDTH), v, d)
            at += width
        for at in range(i, joint.size, width):
            a = fused(looked_up(table, joint, at), one, a)
            b = fused(looked_up(table, joint, at + WIDTH), one, b)
            c = fused(looked_up(table, joint, at + 2 * WIDTH), one, c)
            d = fused(looked_up(table, joint, at + 3 * WIDTH), one, d)
        store(out, i, a)
        store(out, i + WIDTH, b)
        store(out, i + 2 * WIDTH, c)
        store(out, i + 3 * WIDTH, d)
    for i in range(whole, width, WIDTH):
        a = zero()
        for j in range(count):
            a = fused(load(x, base + j * width + i), spread(short[j]), a)
        for at in range(i, joint.size, width):
            a = fused(looked_up(table, joint, at), one, a)
        store(out, i, a)


@compiled()
def tile_gather(x: Any, joint: Any, tile: int, factors: Any, sums: Any, bins: Any) -> None:
    """Add factors[i] x_i for the rows of one tile; factors of padding are 0.

    `sums` are those of the numbers in eight lanes each, `bins` COPIES times those of the codes, without their
    units."""
    width, count = factors.size, sums.size // WIDTH
    at = tile * count * width
    whole = count - count % 4
    for j in range(0, whole * WIDTH, 4 * WIDTH):
        a, b = load(sums, j), load(sums, j + WIDTH)
        c, d = load(sums, j + 2 * WIDTH), load(sums, j + 3 * WIDTH)
        for i in range(0, width, WIDTH):
            f = load(factors, i)
            a = fused(load(x, at + i), f, a)
            b = fused(load(x, at + width + i), f, b)
            c = fused(load(x, at + 2 * width + i), f, c)
            d = fused(load(x, at + 3 * width + i), f, d)
        store(sums, j, a)
        store(sums, j + WIDTH, b)
        store(sums, j + 2 * WIDTH, c)
        store(sums, j + 3 * WIDTH, d)
        at += 4 * width
    for j in range(whole * WIDTH, count * WIDTH, WIDTH):
        a = load(sums, j)
        for i in range(0, width, WIDTH):
            a = fused(load(x, at + i), load(factors, i), a)
        store(sums, j, a)
        at += width
    tile_bins(joint, factors, bins)


@compiled()
def tile_bins(joint: Any, factors: Any, bins: Any) -> None:
    """Add factors[i] to the bin of each of the row's joint places."""
    width, room = factors.size, np.uintp(bins.size // COPIES)
    second, third = room + room, room + room + room
    for at in range(0, joint.size, width):
        for i in range(0, width, COPIES):
            bins[joint[np.uintp(at + i)]] += factors[np.uintp(i)]
            bins[room + joint[np.uintp(at + i + 1)]] += factors[np.uintp(i + 1)]
            bins[second + joint[np.uintp(at + i + 2)]] += factors[np.uintp(i + 2)]
            bins[third + joint[np.uintp(at + i + 3)]] += factors[np.uintp(i + 3)]


@compiled()
def spread_out(plan: Places, sums: Any, bins: Any, power: int, out: Any) -> None:
    """Add sums and bins at their dense columns, bins times the unit's power."""
    for j in range(plan.columns.size):
        out[plan.columns[j]] += total(load(sums, j * WIDTH))
    room = bins.size // COPIES
    joined, own = np.empty(room), np.zeros(plan.slots[-1])
    for place in range(room):
        both = bins[place] + bins[room + place]
        joined[place] = both + (bins[2 * room + place] + bins[3 * room + place])
    single(plan, joined, 1, own)
    for c in range(plan.sizes.size):
        unit = plan.units[c]
        for k in range(plan.sizes[c]):
            term = own[plan.slots[c] + k] * unit
            out[plan.starts[c] + k] += term * unit if power == 2 else term


@compiled()
def _times(index: Any, units: Any, numbers: Any, codes: Any, w: Any, out: Any) -> None:
    tiles, count, width = numbers.shape
    plan = places(index, units)
    x, held = numbers.reshape(-1), codes.reshape(-1)
    short, table, t, joint = (
        np.empty(count),
        np.empty(plan.rooms[-1]),
        np.empty(width),
        joint_room(plan, width),
    )
    tables(plan, w, short, table)
    for tile in range(tiles):
        tile_places(plan, held, tile, width, joint)
        tile_times(x, joint, tile, short, table, t)
        first = tile * width
        for i in range(min(width, out.size - first)):
            out[first + i] = t[i]


@compiled()
def _gather(index: Any, units: Any, numbers: Any, codes: Any, factors: Any, out: Any) -> None:
    """Add factors[i] x_i for every row."""
    tiles, count, width = numbers.shape
    plan = places(index, units)
    x, held = numbers.reshape(-1), codes.reshape(-1)
    sums, bins, some = np.zeros(count * WIDTH), np.zeros(COPIES * plan.rooms[-1]), np.empty(width)
    joint = joint_room(plan, width)
    for tile in range(tiles):
        first = tile * width
        tile_factors(factors, first, min(factors.size, first + width), some)
        tile_places(plan, held, tile, width, joint)
        tile_gather(x, joint, tile, some, sums, bins)
    spread_out(plan, sums, bins, 1, out)


@compiled()
def _moments(
    index: Any, units: Any, numbers: Any, codes: Any, weights: Any, n: int, length: int, out: Any
) -> None:
    """Add q_i x_i and q_i times the squares of its entries, blocks of `length` rows one after another."""
    tiles, count, width = numbers.shape
    plan = places(index, units)
    x, held = numbers.reshape(-1), codes.reshape(-1)
    sums, squares = np.empty(count * WIDTH), np.empty(count * WIDTH)
    bins, some, joint = np.empty(COPIES * plan.rooms[-1]), np.empty(width), joint_room(plan, width)
    for tile in range(tiles):
        first = tile * width
        last = min(n, first + width)
        if first % length == 0:
            sums[:] = 0.0
            squares[:] = 0.0
            bins[:] = 0.0
        tile_factors(weights, first, last, some)
        tile_places(plan, held, tile, width, joint)
        tile_gather(x, joint, tile, some, sums, bins)
        _add_squares(x, tile, some, squares)
        if last % length == 0 or last == n:
            spread_out(plan, sums, bins, 1, out[0])
            spread_out(plan, squares, bins, 2, out[1])


@compiled()
def _add_squares(x: Any, tile: int, factors: Any, sums: Any) -> None:
    width = factors.size
    at = tile * (sums.size // WIDTH) * width
    for j in range(0, sums.size, WIDTH):
        a = load(sums, j)
        for i in range(0, width, WIDTH):
            entries = load(x, at + i)
            a = fused(product(entries, entries), load(factors, i), a)
        store(sums, j, a)
        at += width


@final
class CompiledCompactView(products.View):
    """Compact rows, read where they are."""

    folds: ClassVar[bool] = True

    def __init__(self, features: Compact) -> None:
        self._features = features
        self._length = features.layout.block_length
        self._parts = *plan_of(features.layout), features.numbers, features.codes

    def times(self, w: Any) -> Any:
        columns = np.atleast_2d(np.ascontiguousarray(w.T))
        out = np.empty((len(columns), len(self._features)))
        for column, margins in zip(columns, out, strict=True):
            _times(*self._parts, column, margins)
        return out[0] if w.ndim == 1 else out.T

    def gather(self, factors: Vector) -> Vector:
        out = np.zeros(self._features.layout.dim)
        _gather(*self._parts, np.ascontiguousarray(factors), out)
        return out

    def squares(self, weights: Vector | None = None) -> Vector:
        out = np.zeros((2, self._features.layout.dim))
        self.add_moments(out, weights, self._features.n)
        return np.asarray(out[1])

    def add_moments(self, total: Matrix, weights: Vector | None, n: int) -> None:
        _moments(*self._parts, or_none(weights), n, self._length, total)

    def add_outer(self, total: Vector, weights: Vector | None, convex: bool) -> None:
        compact_outer.add_outer(*self._parts, or_none(weights), self._features.n, self._length, total)

    @staticmethod
    def matrix(total: Vector, dim: int) -> Matrix:
        upper = np.triu(total)
        return upper + np.triu(total, 1).T
