"""CSV files as Arrow reads them, every field as bytes and none typed by looking at it."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from sottovoce.data.headers import looks_like_value
from sottovoce.data.machine import memory_told
from sottovoce.errors import DataError

CSV_BLOCK_BYTES = 4 * 2**20
HEADER_BYTES = 2**20


def csv_names(path: str | os.PathLike[str], delimiter: str) -> tuple[str, ...]:
    """Names in the header of a CSV file; no row is read.

    They are public. A first line that does not look like a header is refused, because it may be a record."""
    names: list[str] = []
    with suppress(OSError, UnicodeDecodeError, csv.Error):
        text = _start(path).decode("utf-8-sig", errors="ignore")
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    if not names or len(set(names)) < len(names) or any(map(looks_like_value, names)):
        raise DataError(
            f"the first line of {os.fspath(path)} is not a header: names must be distinct, not empty and not "
            "numbers, dates or other values. Put the column names there, and check the delimiter and the "
            "encoding (UTF-8)."
        )
    return tuple(names)


def _start(path: str | os.PathLike[str]) -> bytes:
    """The first bytes of a file, decompressed by its ending as Arrow does it; empty if that fails."""
    if os.fspath(path).lower().endswith(".csv"):
        with open(path, "rb") as plain:
            return plain.read(HEADER_BYTES)
    import pyarrow as pa

    with suppress(pa.ArrowException), pa.input_stream(path) as stream:
        return bytes(stream.read(HEADER_BYTES))
    return b""


def csv_chunks(
    path: str | os.PathLike[str], names: tuple[str, ...], wanted: tuple[str, ...], delimiter: str
) -> Iterator[Any]:
    """Every field as bytes: Arrow's own conversion fails as a whole, quoting the field.

    In a file of a single column an empty line is a missing field."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    # Arrow's refusal quotes the line: ours is raised once it is forgotten, without it as context.
    with (
        suppress(pa.ArrowException, OSError, ValueError),
        memory_told(),
        arrow.open_csv(
            path,
            read_options=arrow.ReadOptions(block_size=CSV_BLOCK_BYTES),
            parse_options=arrow.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(names) > 1
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
