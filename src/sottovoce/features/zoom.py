"""Ranges declared far too wide: where nearly all records are in a few bins, look at those bins again.

All of this follows from released marginals: the narrower range is then public, and takes the place of the one
declared. Numbers beyond it are clipped to it, as they are to any range."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.data.numbers import Numeric
from sottovoce.features.curves import NARROWEST

if TYPE_CHECKING:
    from sottovoce.data.schema import Schema
    from sottovoce.features.marginals import Marginal

SHARE = 0.015
"""Part of the budget for the second look, where a column needs one."""

_NARROW = 0.25
"""A column is looked at again if its records fill no more than this part of its range, margins included."""

_SEEN = 4.0
"""A bin holds records if its share is this many standard deviations of the noise."""

_OUTSIDE = 0.05
"""Largest part of the records, with twice the standard error of that part, that may be beyond the range."""


def window(marginal: Marginal, margin: float) -> tuple[int, int] | None:
    """The bins from first to last that hold records, with `margin` times as many on either side, at least
    one; None where noise cannot tell that next to nobody is elsewhere."""
    shares = np.array(marginal.shares)
    held = np.flatnonzero(shares > max(_SEEN * marginal.noise, 1e-12))
    if not marginal.edges or not held.size:
        return None
    width = int(held[-1] - held[0]) + 1
    beside = max(1, math.ceil(margin * width))
    first, last = max(0, int(held[0]) - beside), min(shares.size, int(held[-1]) + 1 + beside)
    beyond = float(shares.sum() - shares[first:last].sum())
    error = marginal.noise * math.sqrt(shares.size - (last - first))
    return (first, last) if max(0.0, beyond) + 2.0 * error <= _OUTSIDE else None


def narrowed(schema: Schema, marginals: tuple[Marginal, ...]) -> Schema:
    """The schema with the ranges of those numbers drawn in that fill only a small part of theirs.

    Numbers declared with a centre or scale keep their range: they were scaled on purpose."""
    found = {marginal.name: marginal for marginal in marginals}
    columns = []
    for column in schema.columns:
        if isinstance(column, Numeric) and column.centre is None and column.scale is None:
            marginal = found[column.name]
            seen = window(marginal, 1.0)
            if seen is not None and seen[1] - seen[0] <= _NARROW * len(marginal.shares):
                low, high = marginal.edges[seen[0]], marginal.edges[seen[1]]
                column = replace(column, low=low, high=high) if _has_room(low, high) else column
        columns.append(column)
    return replace(schema, columns=tuple(columns))


def _has_room(low: float, high: float) -> bool:
    """Whether floats tell apart as many knots as a curve may have between them, and hold its cubics."""
    return high - low > NARROWEST * max(abs(low), abs(high), 1e-80)


def tightened(schema: Schema, marginals: tuple[Marginal, ...]) -> tuple[Schema, tuple[Marginal, ...]]:
    """Both with ranges drawn in to the bins that hold records and half as many on either side."""
    by_name = {column.name: column for column in schema.columns}
    kept = []
    for marginal in marginals:
        column, seen = by_name[marginal.name], window(marginal, 0.5)
        assert isinstance(column, Numeric)
        if seen is not None and _has_room(marginal.edges[seen[0]], marginal.edges[seen[1]]):
            first, last = seen
            shares = np.array(marginal.shares)
            inside = shares[first:last].copy()
            inside[0] += shares[:first].sum()
            inside[-1] += shares[last:].sum()
            marginal = replace(
                marginal, edges=marginal.edges[first : last + 1], shares=tuple(inside.tolist())
            )
            by_name[column.name] = replace(column, low=marginal.edges[0], high=marginal.edges[-1])
        kept.append(marginal)
    return replace(schema, columns=tuple(by_name.values())), tuple(kept)
