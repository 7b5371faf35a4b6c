"""A place tells nothing: where a row stands in a call depends on the row's own number alone.

BLAS and PyTorch round a row by its place in a call and by the call's length, by an amount that nobody bounds;
at a kink of a model the last bit decides a whole term. So all calls have one length, which follows from
public numbers. A row's place is its number modulo that length: a record's number is its position, a person's
rows count on from a hash of the key. Rows of the same place go to several calls, and places left empty are
filled with a row that counts nothing. So a row's bits depend on its own value and number, and no record or
person, whether replaced, added, removed, with more or with fewer rows, in a batch or out of it, changes those
of another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Call(NamedTuple):
    """Rows computed at once, and the place of each."""

    rows: NDArray[np.int64]
    places: NDArray[np.int64]


def even_length(n: int, longest: int) -> int:
    """Length of calls that hold the numbers 0 to n - 1 without a collision: the fewest calls, alike full."""
    return -(-n // -(-n // min(n, longest)))


def spread_length(expected: int, longest: int, reach: float = 4.0) -> int:
    """Length of calls for about `expected` rows whose numbers collide: a power of two near `reach` times
    their root.

    Shorter calls are fuller, longer ones are fewer; the fullest place of L decides how many there are. So
    `reach` is large where a call costs much and a row little."""
    near = 1 << max(0, round(math.log2(reach * math.sqrt(expected))))
    return near if near <= longest else 1 << (longest.bit_length() - 1)


def calls(numbers: NDArray[np.int64], length: int) -> Iterator[Call]:
    """Every row once, at its number modulo `length`; the k-th row of a place in the k-th call."""
    places = numbers % length
    order = np.argsort(places, kind="stable")
    met = places[order]
    turn = np.arange(len(order)) - np.searchsorted(met, met)
    order = order[np.argsort(turn, kind="stable")]
    for rows in np.split(order, np.cumsum(np.bincount(turn))[:-1]):
        if len(rows):
            yield Call(rows, places[rows])
