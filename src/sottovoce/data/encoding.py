"""Rows of norm at most 1 from declared columns: what BoundedEncoder, files and models have in common."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.data import cells
from sottovoce.data.cell import Codebook
from sottovoce.data.dates import DatePart
from sottovoce.data.schema import Schema
from sottovoce.data.sources import open_source
from sottovoce.errors import DataError

_MARGIN = 2.0**-21
"""Rows stay this far below norm 1, so that rounding to float32 pushes none past what Records leave alone."""


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
    unit = unit_of(schema)
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


def unit_of(schema: Schema) -> float:
    """What a feature of 1 is encoded as: every block has norm at most 1, and so the row."""
    return (1.0 - _MARGIN) / math.sqrt(schema.blocks)


def insist_type(column: Any, schema: Schema, name: str) -> None:
    """Refuse a column whose type cannot hold a value that the schema declares."""
    if any(isinstance(column, DatePart) and column.source == name for column in schema.columns):
        return
    labels = schema.labels_of(name)
    kind = "numeric" if labels is None else "with numbers as values"
    if labels is not None and not Codebook(labels).numbers:
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
