"""From one column, as Arrow or as Python objects, to numbers or to codes of declared values.

What is missing, unparsable or undeclared becomes NaN or -1: no value ever enters an error message. The type
of a column is public, so a type that cannot fit its declaration is refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data.targets import Label
from sottovoce.errors import DataError

Codes = NDArray[np.intp]
T = TypeVar("T", np.float64, np.intp)

_TRUTHS = {"true": 1.0, "1": 1.0, "false": 0.0, "0": 0.0}


def numbers(column: Any, name: str) -> Vector:
    """The column in float64; NaN where a cell is missing or, among objects, not a number."""
    if isinstance(column, list):
        return np.array([_number(cell) for cell in column], dtype=np.float64)
    column, indices = _unpacked(column)
    if _is_text(column.type):
        raise _misfit(name, "numeric", "text. Convert it to numbers, or declare its categories")
    if not _is_number(column.type):
        raise _misfit(name, "numeric", "neither numbers nor booleans. Convert it to numbers")
    return _taken(_floats(column), indices, np.nan)


def parsed(column: Any) -> Vector:
    """Text as numbers; NaN where it is none. For a file whose fields do not all fit their declared type."""
    encoded = column.dictionary_encode()
    values = np.array([_parse(text) for text in encoded.dictionary.to_pylist()], dtype=np.float64)
    return _taken(values, _indices(encoded), np.nan)


def codes(column: Any, labels: Sequence[Label], name: str) -> Codes:
    """Position of each cell among the declared labels, -1 for none of them.

    Numbers and booleans are also recognized in text, as a CSV file holds them."""
    text = isinstance(labels[0], str)
    if isinstance(column, list):
        wanted = {label: code for code, label in enumerate(labels)}
        return np.array([_code(cell, wanted, text) for cell in column], dtype=np.intp)
    column, indices = _unpacked(column)
    if _is_null(column.type):
        found = np.full(len(column), -1, dtype=np.intp)
    elif _is_text(column.type):
        found = _text_codes(column, labels)
    elif text or not _is_number(column.type):
        kind = "text" if text else "numbers"
        raise _misfit(name, f"with {kind} as values", "another type. Declare values of the column's own type")
    else:
        found = _matched(_floats(column), labels)
    return _taken(found, indices, -1)


def _text_codes(column: Any, labels: Sequence[Label]) -> Codes:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.cast(pa.large_string())
    if isinstance(labels[0], str):
        found = pc.index_in(column, value_set=pa.array(labels, pa.large_string()))
        return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.intp)
    if isinstance(labels[0], bool):
        encoded = column.dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        truths = np.array([_TRUTHS.get(text.strip().lower(), np.nan) for text in texts], dtype=np.float64)
        return _matched(_taken(truths, _indices(encoded), np.nan), labels)
    return _matched(parsed(column), labels)


def _matched(values: Vector, labels: Sequence[Label]) -> Codes:
    wanted = np.array([float(label) for label in labels])
    order = np.argsort(wanted)
    places = np.minimum(np.searchsorted(wanted, values, sorter=order), wanted.size - 1)
    found = order[places]
    return np.where(wanted[found] == values, found, -1)


def _unpacked(column: Any) -> tuple[Any, NDArray[np.int64] | None]:
    """One array without chunks; of a dictionary-encoded one, its dictionary and the indices into it."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
    if pa.types.is_dictionary(column.type):
        return column.dictionary, _indices(column)
    return column, None


def _indices(encoded: Any) -> NDArray[np.int64]:
    """Indices into the dictionary, -1 for a missing cell."""
    import pyarrow as pa

    plain = encoded.indices.cast(pa.int64()).fill_null(-1)
    return np.asarray(plain.to_numpy(zero_copy_only=False), dtype=np.int64)


def _taken(values: NDArray[T], indices: NDArray[np.int64] | None, absent: float) -> NDArray[T]:
    """values[indices], `absent` at -1."""
    return values if indices is None else np.append(values, np.array(absent, values.dtype))[indices]


def _floats(column: Any) -> Vector:
    import pyarrow as pa

    plain = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    converted = plain.cast(pa.float64(), safe=False)
    return np.asarray(converted.to_numpy(zero_copy_only=False), dtype=np.float64)


def _is_text(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_null(kind: Any) -> bool:
    """Whether nothing is given: Arrow has no other type for a column of missing objects."""
    import pyarrow.types as types

    return bool(types.is_null(kind))


def _is_number(kind: Any) -> bool:
    import pyarrow.types as types

    plain = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return bool(plain or types.is_decimal(kind) or types.is_null(kind))


def _number(cell: Any) -> float:
    with suppress(Exception):
        if isinstance(cell, Real):
            return float(cell)
    return np.nan


def _parse(text: str) -> float:
    with suppress(ValueError):
        return np.nan if "_" in text else float(text)
    return np.nan


def _code(cell: Any, wanted: dict[Label, int], text: bool) -> int:
    with suppress(Exception):
        if isinstance(cell, str) == text:
            return wanted.get(cell, -1)
    return -1


def _misfit(name: str, declared: str, held: str) -> DataError:
    return DataError(f"column {name!r} is declared {declared} but holds {held}.")
