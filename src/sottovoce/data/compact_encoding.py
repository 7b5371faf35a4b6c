"""Cells of declared columns as compact rows: numbers and codes, entry by entry those of `encoding.encode`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.data.columns import Indicators
from sottovoce.data.compact import Stored
from sottovoce.data.encoding import unit_of
from sottovoce.data.layout import RowLayout
from sottovoce.data.schema import Schema

Positions = NDArray[np.intp]


def encode_columns(schema: Schema, n: int, column_of: Callable[[str], Any]) -> tuple[Stored, NDArray[Any]]:
    """The numbers and the codes of n rows, one row of the arrays for each column of the layout."""
    layout, unit = RowLayout.of(schema), unit_of(schema)
    numbers = np.zeros((len(layout.numbers), n), dtype=np.float32)
    codes = np.empty((len(layout.codes), n), dtype=layout.kind)
    spans: dict[str, Stored] = {}
    places: dict[str, Positions] = {}
    place = 0
    for column in schema.columns:
        reading = schema.reading(column)
        if isinstance(column, Indicators) and column.one_hot:
            found = places[column.name] = column.places(column_of(column.source), reading)
            _put(found, layout, codes, len(places) - 1)
        else:
            span = spans[column.name] = numbers[place : place + len(column.features)].T
            column.fill(span, column_of(column.source), reading, unit)
            place += span.shape[1]
    widths = {column.name: len(column.features) for column in schema.columns}
    coded = len(places)
    for first, second in schema.interactions:
        if first in places and second in places:
            both = (places[first] >= 0) & (places[second] >= 0)
            _put(np.where(both, places[first] * widths[second] + places[second], -1), layout, codes, coded)
            coded += 1
            continue
        left, right = (
            spans[name] if name in spans else _indicators(places[name], widths[name], unit)
            for name in (first, second)
        )
        products = left[:, :, None] * (right[:, None, :].astype(np.float64) / unit)
        width = products.shape[1] * products.shape[2]
        numbers[place : place + width] = products.reshape(n, width).T
        place += width
    numbers[place] = unit
    return numbers, codes


def _put(places: Positions, layout: RowLayout, codes: NDArray[Any], number: int) -> None:
    """Places as codes: -1, which is none, becomes the one past the last."""
    codes[number] = np.where(places < 0, layout.codes[number].size, places)


def _indicators(places: Positions, width: int, unit: float) -> Stored:
    block = np.zeros((places.size, width), dtype=np.float32)
    known = np.flatnonzero(places >= 0)
    block[known, places[known]] = unit
    return block
