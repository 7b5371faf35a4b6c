"""Arrow arrays are made and read as pyarrow itself does it, missing values, slices and all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sottovoce.data import arrow

TEXTS = ("", "NA", "é", "a\x00b", "long" * 40)
MASKS = [np.arange(n) % 3 == 0 for n in (0, 1, 7, 8, 9, 64, 65)]
COLUMNS = [
    pa.array([1.5, None, float("nan"), -0.0, None, float("inf")]),
    pa.array([1.0, 2.0]),
    pa.array([], pa.float64()),
    pa.array([None, None], pa.float64()),
    pa.array([3, None, -(2**62)], pa.int64()),
    pa.nulls(3).cast(pa.float64()),
]


def test_texts_come_back() -> None:
    assert arrow.texts(TEXTS).to_pylist() == list(TEXTS)
    assert arrow.texts(()).to_pylist() == []


@pytest.mark.parametrize("mask", MASKS, ids=len)
def test_flags_come_back(mask: np.ndarray) -> None:
    made = arrow.flags(mask)
    made.validate(full=True)
    assert made.to_pylist() == mask.tolist()


@pytest.mark.parametrize(
    "values", [np.arange(5), np.linspace(0, 1, 6)[::2], np.array([True, False])[:1] * 1.5]
)
def test_numbers_come_back_whatever_their_layout(values: np.ndarray) -> None:
    made = arrow.numbers(values)
    made.validate(full=True)
    assert made.to_pylist() == values.tolist()


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_values_are_read_as_pyarrow_reads_them_from_any_slice(column: pa.Array) -> None:
    for start in range(len(column) + 1):
        part = column.slice(start)
        listed = part.to_pylist()
        assert arrow.given(part).tolist() == [value is not None for value in listed]
        blank = -1 if pa.types.is_integer(part.type) else -7.0
        np.testing.assert_array_equal(
            arrow.filled(part, blank), [blank if value is None else value for value in listed]
        )
