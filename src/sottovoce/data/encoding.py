"""Rows of norm at most 1 from declared columns, dense or compact: what encoders, files and models share."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.data import arrow, cells
from sottovoce.data.cell import codebook
from sottovoce.data.columns import Column, Indicators
from sottovoce.data.compact import Stored
from sottovoce.data.dates import DatePart, may_hold_moments
from sottovoce.data.layout import RowLayout
from sottovoce.data.reading import Reading
from sottovoce.data.schema import Schema
from sottovoce.data.sources import open_source
from sottovoce.errors import DataError

Positions = NDArray[np.intp]


def encoded_table(schema: Schema, table: Any, dtype: type = np.float32) -> NDArray[Any]:
    """All rows of a table, one column for each feature; no type of a column is refused.

    Training keeps float32; predictions are made from float64, as every export makes them."""
    parts = [encode(schema, n, column_of, dtype) for n, column_of in open_source(table).chunks(schema.names)]
    return np.concatenate(parts) if parts else np.zeros((0, len(schema.features)), dtype)


def feature_names(schema: Schema) -> tuple[str, ...]:
    """Names of the encoded columns, the intercept last."""
    return schema.features


def encode(schema: Schema, n: int, column_of: Callable[[str], Any], dtype: type = np.float32) -> NDArray[Any]:
    """n encoded rows; `column_of` gives a column by its name, as `cells` reads them."""
    rows: NDArray[Any] = np.zeros((n, len(schema.features)), dtype=dtype)
    unit = schema.unit
    blocks: dict[str, NDArray[Any]] = {}
    place = 0
    for column in schema.columns:
        block = blocks[column.name] = rows[:, place : place + len(column.features)]
        column.fill(block, column_of(column.source), schema.reading(column), unit)
        place += block.shape[1]
    for first, second in schema.interactions:
        products = blocks[first][:, :, None] * (blocks[second][:, None, :].astype(np.float64) / unit)
        width = products.shape[1] * products.shape[2]
        rows[:, place : place + width] = products.reshape(n, width)
        place += width
    rows[:, place] = unit
    return rows


def encode_columns(schema: Schema, n: int, column_of: Callable[[str], Any]) -> tuple[Stored, NDArray[Any]]:
    """As `encode`, entry by entry, but compact: numbers and codes, one row of the arrays for each column."""
    layout, unit = RowLayout.of(schema), schema.unit
    numbers = np.zeros((len(layout.numbers), n), dtype=np.float32)
    codes = np.empty((len(layout.codes), n), dtype=layout.kind)
    spans: dict[str, Stored] = {}
    places: dict[str, Positions] = {}
    place = 0
    for column in schema.columns:
        reading, held = schema.reading(column), column_of(column.source)
        if isinstance(column, Indicators) and column.one_hot:
            found = places[column.name] = column.places(held, reading)
            _put(found, layout, codes, len(places) - 1)
        else:
            span = spans[column.name] = numbers[place : place + len(column.features)].T
            _fill(span, held, column, reading, unit)
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


def _fill(span: Stored, held: Any, column: Column, reading: Reading, unit: float) -> None:
    """`column.fill`; of small whole numbers that are fewer than the cells, looked up."""
    memory = arrow.small(held)
    if memory is None:
        column.fill(span, held, reading, unit)
        return
    for out, table in zip(span.T, _all_features(column, reading, unit, held.type), strict=True):
        np.take(table, memory, out=out, mode="clip")


@lru_cache(maxsize=256)
def _all_features(column: Column, reading: Reading, unit: float, kind: Any) -> Stored:
    """The features of all that a type can hold, feature by feature."""
    cells_ = arrow.all_of(kind)
    block = np.zeros((len(cells_), len(column.features)), dtype=np.float32)
    column.fill(block, cells_, reading, unit)
    return np.ascontiguousarray(block.T)


def _put(places: Positions, layout: RowLayout, codes: NDArray[Any], number: int) -> None:
    """Places as codes: -1, which is none, becomes the one past the last."""
    codes[number] = np.where(places < 0, layout.codes[number].size, places)


def _indicators(places: Positions, width: int, unit: float) -> Stored:
    block = np.zeros((places.size, width), dtype=np.float32)
    known = np.flatnonzero(places >= 0)
    block[known, places[known]] = unit
    return block


def require_type(column: Any, schema: Schema, name: str) -> None:
    """Refuse a column whose type cannot hold a value that the schema declares."""
    if any(isinstance(part, DatePart) and part.source == name for part in schema.columns):
        if not may_hold_moments(column):
            raise DataError(
                f"column {name!r} is declared a date but its type is neither text nor dates or times without "
                "a zone. Convert it: say whose clock is meant, and cast to a timestamp or to text."
            )
        return
    labels = schema.labels_of(name)
    kind = "numeric" if labels is None else "with numbers as values"
    if labels is not None and not codebook(tuple(labels)).numbers:
        kind = "with text as values"
        if cells.holds_numbers_only(column):
            raise DataError(
                f"column {name!r} is declared {kind} but holds numbers. Declare values of the column's type."
            )
    if cells.holds_no_value(column):
        raise DataError(
            f"column {name!r} is declared {kind} but holds dates, lists or another type that is neither "
            "numbers nor text. Convert it."
        )
