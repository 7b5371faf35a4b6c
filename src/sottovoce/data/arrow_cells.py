"""Arrow columns read at once, every cell by the rule of `cell` and by itself; `cells` says which are."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data import arrow
from sottovoce.data.cell import MISSING, number, text_of

T = TypeVar("T", np.float64, np.intp)


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text, or bytes that may hold it."""
    import pyarrow.types as types

    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(text or types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def is_number(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def is_decimal(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_decimal(kind))


def floats(column: Any) -> Vector:
    import pyarrow as pa

    plain = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    return arrow.filled(plain.cast(pa.float64(), safe=False), np.nan)


def text_numbers(column: Any) -> Vector:
    """Arrow's parser rounds as Python's does; what it refuses, such as "true", is read text by text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = text_column(column)
    with suppress(pa.ArrowException):
        return floats(text)  # a cell that means missing is refused, or no number already
    with suppress(pa.ArrowException):
        trimmed = pc.ascii_trim_whitespace(text)
        absent = pc.is_in(trimmed, value_set=arrow.texts(MISSING).cast(trimmed.type))
        return floats(pc.if_else(absent, pa.nulls(1, trimmed.type)[0], trimmed))
    encoded = text.dictionary_encode()
    found = np.array([number(text) for text in encoded.dictionary.to_pylist()], dtype=np.float64)
    return taken(found, places(encoded), np.nan)


def decimal_numbers(column: Any) -> Vector:
    """By their digits: Arrow's own conversion scales by a power of ten and rounds as the scale has it."""
    import pyarrow as pa

    with suppress(pa.ArrowException):
        return floats(column.cast(pa.string()))
    return np.array([number(cell) for cell in column.to_pylist()], dtype=np.float64)


def texts(column: Any) -> list[str | None]:
    """The text of each cell of an Arrow column of text or bytes, None where there is none."""
    encoded = text_column(column).dictionary_encode()
    found = [*encoded.dictionary.to_pylist(), None]
    return [found[place] for place in places(encoded).tolist()]


def text_column(column: Any) -> Any:
    """Text of an Arrow column of text or bytes; bytes that are not UTF-8 are missing.

    Arrow takes a column of text at its word: that it is UTF-8 is checked only where bytes become text."""
    import pyarrow as pa

    held = column.cast(pa.large_binary())
    with suppress(pa.ArrowException):
        return held.cast(pa.large_string())
    return pa.array([text_of(cell) for cell in held.to_pylist()], pa.large_string())


def places(encoded: Any) -> NDArray[np.int64]:
    """Indices into the dictionary, -1 for a missing cell."""
    import pyarrow as pa

    return arrow.filled(encoded.indices.cast(pa.int64()), -1)


def taken(values: NDArray[T], places: NDArray[Any], absent: float) -> NDArray[T]:
    """values[places], `absent` at -1."""
    return np.asarray(np.append(values, np.array(absent, values.dtype))[places])
