"""Arrow arrays around memory that is there already, and the memory of Arrow arrays.

`pyarrow.array` and `to_numpy` look for pandas and so load it, which takes longer than all of `predict`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sottovoce.arrays import Mask


def texts(values: Sequence[str]) -> Any:
    """Text, none of it missing."""
    import pyarrow as pa

    spelled = [value.encode("utf-8") for value in values]
    ends = np.cumsum([0, *map(len, spelled)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(spelled))]
    return pa.Array.from_buffers(pa.large_string(), len(spelled), buffers)


def flags(values: Mask) -> Any:
    """Booleans, eight to a byte."""
    import pyarrow as pa

    packed = np.packbits(values, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(packed)])


def numbers(values: np.ndarray[Any, Any]) -> Any:
    """Integers or floats, in 64 bits."""
    import pyarrow as pa

    whole = values.dtype.kind in "iu"
    wide = np.ascontiguousarray(values, dtype=np.int64 if whole else np.float64)
    return pa.Array.from_buffers(pa.int64() if whole else pa.float64(), len(wide), [None, pa.py_buffer(wide)])


def small(column: Any) -> np.ndarray[Any, Any] | None:
    """Memory, as unsigned numbers, of an Arrow array of whole numbers of 8 or 16 bits, none missing, that has
    at least as many cells as its type has numbers; None of any other column."""
    import pyarrow as pa

    if not isinstance(column, pa.Array) or not pa.types.is_integer(column.type):
        return None
    if column.type.bit_width > 16 or len(column) < 2**column.type.bit_width or column.null_count:
        return None
    kind = np.dtype(f"u{column.type.bit_width // 8}")
    return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)]


@lru_cache(maxsize=8)
def all_of(kind: Any) -> Any:
    """Every number that such a type can hold, in the order of its memory as unsigned ones."""
    import pyarrow as pa

    held = np.arange(2**kind.bit_width, dtype=f"u{kind.bit_width // 8}")
    return pa.Array.from_buffers(kind, held.size, [None, pa.py_buffer(held)])


def given(column: Any) -> Mask:
    """Which values are not missing."""
    present = column.buffers()[0]
    if present is None:
        return np.full(len(column), column.null_count == 0)
    bits = np.unpackbits(np.frombuffer(present, np.uint8), bitorder="little")
    return bits[column.offset : column.offset + len(column)].astype(np.bool_)


def filled(column: Any, blank: float) -> np.ndarray[Any, Any]:
    """A copy of int64 or float64 values, `blank` where one is missing."""
    import pyarrow as pa

    kind = np.int64 if pa.types.is_integer(column.type) else np.float64
    if not len(column):
        return np.zeros(0, kind)
    held = np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)]
    if column.null_count == 0:
        return held.copy()
    return np.where(given(column), held, kind(blank))
