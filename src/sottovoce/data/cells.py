"""Columns read at once, every cell by the rule of `cell` and by itself.

A column is a NumPy array of numbers, text or objects, an Arrow array, or values with places (`Coded`). Typed
ones are read in bulk by conversions that equal the rule: integers to the nearest float64, decimals by their
digits. No type is ever inferred, and a bulk conversion that fails for one cell changes no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data import arrow, arrow_cells
from sottovoce.data.cell import (
    LETTERS,
    Codebook,
    Label,
    Spelling,
    codebook,
    dense,
    number,
    spells_missing,
    value,
)

Codes = NDArray[np.intp]
T = TypeVar("T", np.float64, np.intp)

NUMBERS, TEXT = "biufc", "OUTS"
"""Kinds of NumPy arrays that are read: numbers in bulk, text and objects one by one."""


class Coded(NamedTuple):
    """A column whose cells are places in a column of values, -1 for a missing cell."""

    values: Any
    places: NDArray[Any]


def one_by_one(entries: Iterable[Any]) -> NDArray[Any]:
    """Objects as they are: NumPy would look at all of them to find a type, or a shape."""
    listed = list(entries)
    column = np.empty(len(listed), dtype=object)
    for place, entry in enumerate(listed):
        column[place] = entry
    return column


def array(entries: Any) -> NDArray[Any]:
    """An array of the type that the entries come in; those of a list, which has none, as objects.

    Whatever an object raises on the way passes through, and may quote it."""
    if isinstance(entries, np.ma.MaskedArray | str | bytes):
        raise TypeError("a mask or one text is no column")
    return one_by_one(entries) if isinstance(entries, Sequence) else np.asarray(entries)


def numbers(column: Any) -> Vector:
    """`cell.number` of each cell."""
    plain = unwrapped(column)
    if isinstance(plain, Coded):
        return arrow_cells.taken(numbers(plain.values), plain.places, np.nan)
    if isinstance(plain, np.ndarray):
        return _array_numbers(plain)
    if arrow_cells.is_text(plain.type):
        return arrow_cells.text_numbers(plain)
    if arrow_cells.is_decimal(plain.type):
        return arrow_cells.decimal_numbers(plain)
    if arrow_cells.is_number(plain.type):
        return arrow_cells.floats(plain)
    return np.full(len(plain), np.nan)


def codes(column: Any, labels: Sequence[Label], spelling: Spelling = LETTERS) -> Codes:
    """Position of each cell among the declared labels, -1 for none of them: `Codebook.code` of each cell."""
    book = codebook(tuple(labels), spelling)
    plain = unwrapped(column)
    if isinstance(plain, Coded):
        return arrow_cells.taken(codes(plain.values, labels, spelling), plain.places, -1)
    if isinstance(plain, np.ndarray):
        if plain.dtype.kind in TEXT:
            return np.array([book.code(cell) for cell in plain.tolist()], dtype=np.intp)
    elif arrow_cells.is_text(plain.type):
        encoded = arrow_cells.text_column(plain).dictionary_encode()
        found = np.array([book.code(text) for text in encoded.dictionary.to_pylist()], dtype=np.intp)
        return arrow_cells.taken(found, arrow_cells.places(encoded), -1)
    elif (memory := arrow.small(plain)) is not None:
        return np.take(_all_codes(plain.type, tuple(labels), spelling), memory, mode="clip")
    return _matched(numbers(plain), book.numbers)


@lru_cache(maxsize=256)
def _all_codes(kind: Any, labels: tuple[Label, ...], spelling: Spelling) -> Codes:
    """The codes of all that a type of small whole numbers can hold."""
    return _matched(numbers(arrow.all_of(kind)), codebook(labels, spelling).numbers)


def holds(column: Any) -> NDArray[np.bool_]:
    """Which cells are a number or text: `cell.value` of each is not None."""
    plain = unwrapped(column)
    if isinstance(plain, Coded):
        return np.asarray(np.append(holds(plain.values), False)[plain.places])
    if isinstance(plain, np.ndarray) and plain.dtype.kind in TEXT:
        return np.array([value(cell) is not None for cell in plain.tolist()], dtype=bool)
    if not isinstance(plain, np.ndarray) and arrow_cells.is_text(plain.type):
        return arrow.given(arrow_cells.text_column(plain))
    return ~np.isnan(numbers(plain))


def alike(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether two arrays have the same `cell.value`, cell by cell; no value equals nothing."""
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError("two columns of one length are compared")
    if left.dtype.kind in NUMBERS and right.dtype.kind in NUMBERS:
        return np.asarray(numbers(left) == numbers(right))
    pairs = zip(_values(left), _values(right), strict=True)
    return np.array([a is not None and a == b for a, b in pairs], dtype=bool)


def is_misread(column: Any, missing: Codebook, fits: Callable[[str], bool] | None = None) -> bool:
    """Whether a text of an Arrow column neither `fits`, as numbers do by default, nor means missing."""
    plain = unwrapped(column)
    if isinstance(plain, Coded):
        return is_misread(plain.values, missing, fits)
    if isinstance(plain, np.ndarray) or not arrow_cells.is_text(plain.type):
        return False
    if fits is None:
        unread = np.isnan(numbers(plain))
        doubtful = (
            arrow_cells.text_column(plain).filter(arrow.flags(unread)).drop_null().unique().to_pylist()
            if unread.any()
            else []
        )
    else:
        doubtful = [
            text for text in arrow_cells.text_column(plain).drop_null().unique().to_pylist() if not fits(text)
        ]
    return not all(spells_missing(text) or missing.code(text) >= 0 for text in doubtful)


def is_decodable(column: Any) -> bool:
    """Whether all bytes of an Arrow column are text in UTF-8."""
    plain = unwrapped(column)
    if isinstance(plain, Coded):
        return is_decodable(plain.values)
    typed = isinstance(plain, np.ndarray) or not arrow_cells.is_text(plain.type)
    return typed or arrow_cells.text_column(plain).null_count == plain.null_count


def holds_numbers_only(column: Any) -> bool:
    """Whether the column's type admits numbers and truth values alone."""
    plain = unwrapped(column)
    if isinstance(plain, Coded):
        return holds_numbers_only(plain.values)
    if isinstance(plain, np.ndarray):
        return plain.dtype.kind in NUMBERS
    return arrow_cells.is_number(plain.type) or arrow_cells.is_decimal(plain.type)


def holds_no_value(column: Any) -> bool:
    """Whether nothing of the column's type is a value: dates, durations, containers."""
    import pyarrow as pa

    plain = unwrapped(column)
    if isinstance(plain, Coded):
        return holds_no_value(plain.values)
    if isinstance(plain, np.ndarray):
        return plain.dtype.kind not in NUMBERS + TEXT
    return not (holds_numbers_only(plain) or arrow_cells.is_text(plain.type) or pa.types.is_null(plain.type))


def unwrapped(column: Any) -> Any:
    """A NumPy array, an Arrow array without chunks, or Coded."""
    if isinstance(column, Coded) or (isinstance(column, np.ndarray) and column.dtype.kind != "U"):
        return column
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, np.ndarray):
        with suppress(pa.ArrowException, UnicodeError):
            return pa.array(column, pa.large_string())
        return column
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if isinstance(column.type, pa.OpaqueType) and arrow_cells.is_text(column.type.storage_type):
        column = column.storage  # PostgreSQL's numeric: digits, in a type that says whose
    if isinstance(column.type, pa.Bool8Type):
        column = pc.not_equal(column.storage, pa.scalar(0, pa.int8()))
    return (
        Coded(column.dictionary, arrow_cells.places(column))
        if pa.types.is_dictionary(column.type)
        else column
    )


def _array_numbers(column: NDArray[Any]) -> Vector:
    if column.dtype.kind in TEXT:
        return np.array([number(cell) for cell in column.tolist()], dtype=np.float64)
    if column.dtype.kind not in NUMBERS:
        return np.full(len(column), np.nan)
    with np.errstate(all="ignore"):
        real = np.where(column.imag == 0, column.real, np.nan) if column.dtype.kind == "c" else column
        return real.astype(np.float64)


def _values(column: NDArray[Any]) -> list[Any]:
    if column.dtype.kind in TEXT:
        return [value(cell) for cell in column.tolist()]
    return [None if found != found else found for found in numbers(column).tolist()]


def _matched(values: Vector, wanted: dict[float, int]) -> Codes:
    if not wanted:
        return np.full(len(values), -1, dtype=np.intp)
    whole = dense(wanted)
    if whole is not None:
        return _looked_up(values, *whole)
    keys = np.array(sorted(wanted))
    order = np.array([wanted[key] for key in keys.tolist()], dtype=np.intp)
    places = np.minimum(np.searchsorted(keys, values), keys.size - 1)
    return np.where(keys[places] == values, order[places], -1)


def _looked_up(values: Vector, least: float, table: Codes) -> Codes:
    """As `_matched`; what a place stands for is compared with the value, since rounding may bring it from one
    nearby."""
    with np.errstate(invalid="ignore"):
        places = np.clip(values - least, 0.0, table.size - 1.0)
        whole = np.nan_to_num(places, copy=False, nan=0.0).astype(np.intp)
    return np.where(whole + least == values, table[whole], -1)
