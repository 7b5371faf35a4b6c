"""Whole numbers of 8 and 16 bits that are looked up are encoded as each of them by itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sottovoce.data import arrow
from sottovoce.data.encoding import encode_columns
from sottovoce.data.schema import Binned, Categorical, Numeric, Schema, Spline

COLUMNS = (
    Numeric("a", -100, 250, missing=(7,), indicator=True),
    Numeric("log", 0, 3000, transform="log1p"),
    Categorical("c", (-3, 0, 5, 200, 1e6), missing=(5,), indicator=True),
    Categorical("t", ("1", "2.0", "x")),
    Binned("b", (-1.0, 0.0, 90.5)),
    Spline("s", -128, 127, (0.0, 1.0)),
    Spline("r", 0, 127, (0.5, 1.0), transform="sqrt"),
)
SCHEMA = Schema(COLUMNS)


def encoded(cells):
    return encode_columns(SCHEMA, len(cells), lambda _: cells)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int16(), pa.uint16()])
def test_a_long_column_is_encoded_as_its_cells_are_in_short_ones(kind):
    every = np.arange(2**kind.bit_width, dtype=f"u{kind.bit_width // 8}").view(kind.to_pandas_dtype())
    drawn = np.random.default_rng(0).choice(every, 500)
    column = pa.array(np.concatenate([drawn, every]), kind)
    assert arrow.small(column) is not None
    found = encoded(column)
    for start in range(0, len(column), 250 if kind.bit_width == 8 else 2**15):
        part = column.slice(start, 250 if kind.bit_width == 8 else 2**15)
        assert arrow.small(part) is None
        for one, other in zip(encoded(part), found, strict=True):
            assert np.array_equal(one, other[:, start : start + len(part)])
    sliced = column.slice(300)
    for one, other in zip(encoded(sliced), found, strict=True):
        assert np.array_equal(one, other[:, 300:])


def test_a_missing_cell_changes_no_other():
    column = pa.array(np.tile(np.arange(-128, 128, dtype=np.int8), 3))
    cells = column.to_pylist()
    cells[5] = None
    holed = pa.array(cells, pa.int8())
    assert arrow.small(holed) is None
    for one, other in zip(encoded(column), encoded(holed), strict=True):
        assert np.flatnonzero(np.any(one != other, axis=0)).tolist() == [5]


def test_other_columns_are_not_looked_up():
    many = np.zeros(2**16)
    for column in (
        pa.array(many),
        pa.array(many.astype(np.int32)),
        many.astype(np.int16),
        pa.array(many > 0),
    ):
        assert arrow.small(column) is None
