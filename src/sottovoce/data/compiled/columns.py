"""Typed columns written straight into the tiles of compact rows, compiled: each cell by itself, read once.

`values` is a column's memory, `present` the bits that say which cells are given, from `offset` on, empty
where all are; what lies in the memory of a missing cell is never used. Numbers are made in float64 by the
operations of `Numeric.basis` in their order, so that the float32 kept is the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.trusted.jit import compiled


@compiled()
def is_given(present: Any, place: int) -> bool:
    """Whether a cell is given."""
    return bool((present[place >> 3] >> (place & 7)) & 1)


@compiled()
def scale(
    values: Any,
    present: Any,
    offset: int,
    bounds: tuple[float, float],
    constants: tuple[float, float],
    unit: float,
    numbers: Any,
    column: int,
) -> None:
    """unit clip((clip(x, *bounds) - middle) / reach, -1, 1), 0 where x is NaN or missing."""
    low, high = bounds
    middle, reach = constants
    tiles, _, width = numbers.shape
    for tile in range(tiles):
        first, out = tile * width, numbers[tile, column]
        count = min(width, values.size - first)
        for i in range(count):
            x = np.float64(values[first + i])
            moved = (min(max(x, low), high) - middle) / reach
            out[i] = np.float32(min(max(moved, -1.0), 1.0) * unit if x == x else 0.0)
        if present.size:
            for i in range(count):
                if not is_given(present, offset + first + i):
                    out[i] = 0.0


@compiled()
def look_up(
    values: Any, present: Any, offset: int, table: Any, absent: Any, complete: bool, tiled: Any, column: int
) -> None:
    """table[x], `absent` where x is missing or no place of the table; a `complete` one has all of them."""
    tiles, _, width = tiled.shape
    for tile in range(tiles):
        first, out = tile * width, tiled[tile, column]
        count = min(width, values.size - first)
        if complete:
            held = values[first : first + count]
            for i in range(count):
                out[i] = table[np.uintp(held[i])]
        else:
            for i in range(count):
                place = np.int64(values[first + i])
                out[i] = table[place] if 0 <= place < table.size else absent
        if present.size:
            for i in range(count):
                if not is_given(present, offset + first + i):
                    out[i] = absent


@compiled()
def match(
    values: Any, present: Any, offset: int, least: float, table: Any, absent: Any, tiled: Any, column: int
) -> None:
    """table[x - least] where that is a whole number within the table, else `absent`."""
    tiles, _, width = tiled.shape
    for tile in range(tiles):
        first, out = tile * width, tiled[tile, column]
        count = min(width, values.size - first)
        for i in range(count):
            x = np.float64(values[first + i])
            within = 0.0 <= x - least <= table.size - 1.0
            place = np.int64(x - least) if within else 0
            out[i] = table[place] if within and place + least == x else absent
        if present.size:
            for i in range(count):
                if not is_given(present, offset + first + i):
                    out[i] = absent


@compiled()
def are_short(numbers: Any, n: int, codes: float, largest: float) -> bool:
    """Whether no row's square is above `largest`, what its codes add taken to be at most `codes`."""
    tiles, count, width = numbers.shape
    squares = np.empty(width)
    short = True
    for tile in range(tiles):
        squares[:] = codes
        for column in range(count):
            held = numbers[tile, column]
            for i in range(width):
                x = np.float64(held[i])
                squares[i] += x * x
        for i in range(min(width, n - tile * width)):
            short &= squares[i] <= largest
    return short
