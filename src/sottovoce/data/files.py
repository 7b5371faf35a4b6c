"""CSV and Parquet files read in chunks, typed by a schema, kept only as encoded float32 rows."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.data import cells
from sottovoce.data.columns import Target
from sottovoce.data.encoder import encode, insist_present, insist_type
from sottovoce.data.headers import checked_delimiter, looks_like_value
from sottovoce.data.schema import Schema
from sottovoce.data.sealed import Sealed
from sottovoce.data.targets import Range
from sottovoce.errors import DataError, ParameterError

CSV_BLOCK_BYTES = 4 * 2**20
PARQUET_BATCH_ROWS = 2**16
HEADER_BYTES = 2**20


@final
@dataclass(frozen=True, repr=False, eq=False)
class Table(Sealed):
    """Encoded rows of norm at most 1, intercept last, and the target column if the schema declares one.

    The target holds the declared classes themselves, or numbers. Private: for `fit` and `evaluation`."""

    features: NDArray[np.float32]
    target: NDArray[Any] | None

    def __repr__(self) -> str:
        return f"Table({self.features.shape[0]} rows, {self.features.shape[1]} columns)"


def read(
    path: str | os.PathLike[str],
    schema: Schema,
    *,
    target: bool = True,
    invalid: str = "raise",
    delimiter: str = ",",
) -> Table:
    """Read and encode a .csv (also .csv.gz) or .parquet file; with `target` its target column too.

    Features follow the rules of BoundedEncoder, field by field. `invalid="raise"` refuses the file if a field
    that is declared a number is none, a target is missing or undeclared, text is not UTF-8 or a column has an
    unfit type; whether it did is outside the privacy guarantee. `invalid="zero"` treats such a field as
    missing, makes a row without a target all zero with the first class (regression: the target nearest to
    0), and tells nobody. No message quotes the file's content."""
    if invalid not in ("raise", "zero"):
        raise ParameterError('invalid must be "raise" (refuse the file) or "zero" (blank the row).')
    aim = schema.target if target else None
    if target and aim is None:
        raise ParameterError("the schema declares no target. Add a [target] section.")
    wanted = (*schema.names, *([aim.name] if aim else []))
    delimiter = checked_delimiter(delimiter)
    names = column_names(path, delimiter=delimiter)
    insist_present(wanted, names)
    lenient = invalid == "zero"
    chunks = _parquet(path, wanted) if _is_parquet(path) else _csv(path, wanted, delimiter, len(names) == 1)
    features: list[NDArray[np.float32]] = []
    targets: list[NDArray[Any]] = []
    for chunk in chunks:
        part = encoded(chunk.num_rows, chunk.column, schema, aim, lenient)
        features.append(part.features)
        if part.target is not None:
            targets.append(part.target)
    if not sum(map(len, features)):
        raise DataError("the file has no rows.")
    return Table(_joined(features), np.concatenate(targets) if aim else None)


def encoded(
    n: int, column_of: Callable[[str], Any], schema: Schema, aim: Target | None, lenient: bool
) -> Table:
    """n rows, by the rules of `read`: cell by cell, so chunks may end anywhere."""

    def checked(name: str) -> Any:
        column = column_of(name)
        if not lenient:
            _insist_valid(column, schema, name)
        return column

    rows = encode(schema, n, checked)
    if aim is None:
        return Table(rows, None)
    values, usable = _target(checked(aim.name), aim)
    if not usable.all() and not lenient:
        raise DataError(
            f"target {aim.name!r} holds a missing or undeclared value. Clean the data, declare every "
            'class, or read with invalid="zero" to blank such rows.'
        )
    rows[~usable] = 0.0
    return Table(rows, values)


def column_names(path: str | os.PathLike[str], *, delimiter: str = ",") -> tuple[str, ...]:
    """Names in the header of a CSV file or the schema of a Parquet file; no row is read.

    They are public. A first line that does not look like a header is refused, because it may be a record."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    delimiter = checked_delimiter(delimiter)
    if not Path(path).is_file():
        raise DataError(f"there is no file {os.fspath(path)}.")
    if _is_parquet(path):
        with suppress(pa.ArrowException, OSError):
            return tuple(pq.read_schema(path).names)
        raise DataError(f"{os.fspath(path)} cannot be read as Parquet.")
    names: list[str] = []
    with suppress(pa.ArrowException, OSError, UnicodeDecodeError, csv.Error), pa.input_stream(path) as stream:
        text = stream.read(HEADER_BYTES).decode("utf-8-sig", errors="ignore")
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    if not names or len(set(names)) < len(names) or any(map(looks_like_value, names)):
        raise DataError(
            f"the first line of {os.fspath(path)} is not a header: names must be distinct, not empty and not "
            "numbers, dates or other values. Put the column names there, and check the delimiter and the "
            "encoding (UTF-8)."
        )
    return tuple(names)


def _csv(
    path: str | os.PathLike[str], wanted: tuple[str, ...], delimiter: str, single: bool
) -> Iterator[Any]:
    """Every field as bytes: Arrow's own conversion fails as a whole, quoting the field.

    In a file of a `single` column an empty line is a missing field."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    # Arrow's refusal quotes the line: ours is raised once it is forgotten, without it as context.
    with (
        suppress(pa.ArrowException, OSError, ValueError),
        arrow.open_csv(
            path,
            read_options=arrow.ReadOptions(block_size=CSV_BLOCK_BYTES),
            parse_options=arrow.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=not single
            ),
            convert_options=arrow.ConvertOptions(
                include_columns=list(wanted), column_types=dict.fromkeys(wanted, pa.binary())
            ),
        ) as reader,
    ):
        yield from reader
        return
    raise DataError(
        f"{os.fspath(path)} cannot be read as CSV: it must be UTF-8, with as many fields in every line."
    )


def _parquet(path: str | os.PathLike[str], wanted: tuple[str, ...]) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with suppress(pa.ArrowException, OSError, ValueError), pq.ParquetFile(path) as file:
        yield from file.iter_batches(PARQUET_BATCH_ROWS, columns=list(wanted))
        return
    raise DataError(f"{os.fspath(path)} cannot be read as Parquet.")


def _insist_valid(column: Any, schema: Schema, name: str) -> None:
    """Refuse a type or a field that cannot be what is declared."""
    insist_type(column, schema, name)
    if not cells.is_decodable(column):
        raise DataError(f"column {name!r} holds text that is not UTF-8. Convert the file.")
    if schema.labels_of(name) is None and cells.is_misread(column):
        raise DataError(
            f"column {name!r} is declared numeric but a field of it is no number. Clean the data, declare "
            'its categories, or read with invalid="zero" to treat such fields as missing.'
        )


def _target(column: Any, aim: Target) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Declared classes or clipped numbers, and which of them were given; the others get the blank value."""
    if aim.classes is not None:
        codes = cells.codes(column, aim.classes)
        return np.array(aim.classes)[np.maximum(codes, 0)], codes >= 0
    assert aim.low is not None
    assert aim.high is not None
    declared = Range(aim.low, aim.high)
    values, usable = declared.encode(column)
    values[~usable] = declared.blank
    return values, usable


def _joined(parts: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """All parts in one array; each is let go once it is copied."""
    whole = np.empty((sum(map(len, parts)), parts[0].shape[1]), dtype=np.float32)
    place = len(whole)
    while parts:
        part = parts.pop()
        whole[place - len(part) : place] = part
        place -= len(part)
    return whole


def _is_parquet(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() in (".parquet", ".pq")
