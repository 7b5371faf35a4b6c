"""A layout as compiled code takes it: where numbers, tables and bins of compact rows lie.

Code columns that follow each other form a group while their codes together have at most `JOINT` combinations:
a row then looks up one number and adds to one bin for all of them. The joint place of a row is the sum of its
codes times their strides; a code past the declared ones is taken for "none", so no place is out of bounds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.data.layout import RowLayout
from sottovoce.trusted.jit import compiled

JOINT = 256
"""Most combinations of codes in a group of several columns: a table of them stays in the innermost cache."""


class Places(NamedTuple):
    """Where numbers, tables and bins lie among the dense columns.

    `columns` are those of the numbers; code column c has the dense columns from `starts[c]` on, `sizes[c]` of
    them, and by itself the places from `slots[c]` on, one more: that of "none". Group g has the code columns
    from `firsts[g]` to `firsts[g + 1]` and the joint places from `rooms[g]` to `rooms[g + 1]`."""

    columns: Any
    starts: Any
    sizes: Any
    slots: Any
    strides: Any
    firsts: Any
    rooms: Any
    units: Any


@lru_cache(maxsize=64)
def plan_of(layout: RowLayout) -> tuple[Any, Vector]:
    """The places one after another, and the units: two arrays, which a call hands over faster than eight."""
    sizes = [code.size for code in layout.codes]
    strides, firsts, rooms = _grouped(sizes)
    parts = (
        [len(layout.numbers), len(sizes), len(firsts) - 1],
        layout.numbers,
        [code.start for code in layout.codes],
        sizes,
        np.cumsum([0, *(size + 1 for size in sizes)]),
        strides,
        firsts,
        rooms,
    )
    units = np.array([code.unit for code in layout.codes], dtype=np.float64)
    return np.concatenate([np.array(part, dtype=np.int64) for part in parts]), units


def _grouped(sizes: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Strides of the columns, first column of every group and one past the last, and their joint places."""
    strides, firsts, rooms, held = list[int](), list[int](), [0], 0
    for column, size in enumerate(sizes):
        if held and held * (size + 1) <= JOINT:
            strides.append(held)
            held *= size + 1
            rooms[-1] = rooms[-2] + held
        else:
            strides.append(1)
            firsts.append(column)
            held = size + 1
            rooms.append(rooms[-1] + held)
    return strides, [*firsts, len(sizes)], rooms


@compiled()
def places(index: Any, units: Any) -> Places:
    """What `plan_of` put one after another."""
    numbers, codes, groups = index[0], index[1], index[2]
    starts = 3 + numbers
    sizes = starts + codes
    slots = sizes + codes
    strides = slots + codes + 1
    firsts = strides + codes
    rooms = firsts + groups + 1
    return Places(
        index[3:starts],
        index[starts:sizes],
        index[sizes:slots],
        index[slots:strides],
        index[strides:firsts],
        index[firsts:rooms],
        index[rooms:],
        units,
    )


@compiled()
def joint_room(plan: Places, width: int) -> Any:
    """Room for the joint places of a tile."""
    return np.empty((plan.firsts.size - 1) * width, np.uint32)


@compiled()
def tile_places(plan: Places, codes: Any, tile: int, width: int, joint: Any) -> None:
    """The joint places of the rows of one tile, group after group; codes holds those of all tiles."""
    at = tile * plan.sizes.size * width
    for g in range(plan.firsts.size - 1):
        found = joint[g * width : (g + 1) * width]
        found[:] = np.uint32(plan.rooms[g])
        for c in range(plan.firsts[g], plan.firsts[g + 1]):
            size, stride, given = np.uint32(plan.sizes[c]), np.uint32(plan.strides[c]), codes[at : at + width]
            for i in range(width):
                found[i] += np.uint32(min(np.uint32(given[i]), size) * stride)
            at += width


@compiled()
def tile_factors(weights: Any, first: int, last: int, factors: Any) -> None:
    """What the rows from `first` to `last` count, 1 each where there are no weights; 0 after them."""
    for i in range(last - first):
        factors[i] = weights[first + i] if weights.size else 1.0
    for i in range(last - first, factors.size):
        factors[i] = 0.0


@compiled()
def tables(plan: Places, w: Any, short: Any, table: Any) -> None:
    """Entries of w for the numbers, and for every joint place the sum of unit w of its codes, 0 for none."""
    for j in range(plan.columns.size):
        short[j] = w[plan.columns[j]]
    own = np.zeros(plan.slots[-1])
    for c in range(plan.sizes.size):
        for k in range(plan.sizes[c]):
            own[plan.slots[c] + k] = plan.units[c] * w[plan.starts[c] + k]
    combined(plan, own, table)


@compiled()
def combined(plan: Places, own: Any, table: Any) -> None:
    """For every joint place the sum of what its codes, "none" among them, have by themselves."""
    table[:] = 0.0
    for g in range(plan.firsts.size - 1):
        for c in range(plan.firsts[g], plan.firsts[g + 1]):
            size, stride, slot = plan.sizes[c], plan.strides[c], plan.slots[c]
            for base in range(plan.rooms[g], plan.rooms[g + 1], stride * (size + 1)):
                for k in range(size + 1):
                    for place in range(base + k * stride, base + (k + 1) * stride):
                        table[place] += own[slot + k]


@compiled()
def single(plan: Places, bins: Any, lanes: int, out: Any) -> None:
    """Add what lies at joint places, `lanes` numbers each, to the places that columns have by themselves."""
    for g in range(plan.firsts.size - 1):
        for c in range(plan.firsts[g], plan.firsts[g + 1]):
            size, stride, slot = plan.sizes[c], plan.strides[c], plan.slots[c]
            for base in range(plan.rooms[g], plan.rooms[g + 1], stride * (size + 1)):
                for k in range(size + 1):
                    for place in range(base + k * stride, base + (k + 1) * stride):
                        for j in range(lanes):
                            out[(slot + k) * lanes + j] += bins[place * lanes + j]
