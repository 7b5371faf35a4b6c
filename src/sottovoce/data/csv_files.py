"""CSV files as Arrow reads them, every field as bytes and none typed by looking at it."""

from __future__ import annotations

import csv
import os
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from sottovoce.data.headers import delimiter_meant, looks_like_value
from sottovoce.data.lines import LineReader
from sottovoce.errors import DataError
from sottovoce.machine import memory_told

CSV_BLOCK_BYTES = 4 * 2**20
HEADER_BYTES = 2**20


def csv_names(path: str | os.PathLike[str], delimiter: str) -> tuple[str, ...]:
    """Names in the header of a CSV file; no row is read.

    They are public. A first line that does not look like a header is refused, because it may be a record."""
    names: list[str] = []
    first = ""
    with suppress(OSError, UnicodeDecodeError, csv.Error):
        first = _start(path).split(b"\n", 1)[0].removesuffix(b"\r").decode("utf-8-sig")
        rows = [] if "\r" in first else list(csv.reader([first, ""], delimiter=delimiter))
        names = rows[0] if len(rows) == 2 else []
    if any(unicodedata.category(letter) == "Cc" and letter != "\t" for letter in first):
        raise DataError(
            f"{os.fspath(path)} is no text: its first line has control characters. If another program wrote "
            "it, export it from there as CSV (UTF-8) or Parquet."
        )
    if other := delimiter_meant(first, delimiter):
        raise DataError(
            f"the header of {os.fspath(path)} is separated by {other!r}, not by {delimiter!r}: pass "
            f"--delimiter {other!r}, in Python delimiter={other!r}"
            + ("; numbers then often have a decimal comma: --decimal ','." if other == ";" else ".")
        )
    if not names or len(set(names)) < len(names) or any(map(looks_like_value, names)):
        raise DataError(
            f"the first line of {os.fspath(path)} is not a header: names must be distinct, not empty and not "
            "numbers, dates or other values. Put the column names there, in one line that ends with a line "
            "feed, and check the delimiter and the encoding (UTF-8)."
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
) -> Iterator[tuple[Any, bool]]:
    """Some records after the other, every field as bytes, and whether a line of them was broken.

    Arrow's own conversion would fail as a whole, quoting the field. A broken line is a record whose fields
    hold no value. In a file of a single column an empty line is a missing field."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    lines = LineReader(len(names), delimiter)
    # Arrow's refusal quotes the line: ours is raised once it is forgotten, without it as context.
    with suppress(pa.ArrowException, OSError, ValueError), memory_told(), pa.input_stream(path) as stream:
        for block in lines.blocks(stream, CSV_BLOCK_BYTES):
            table = arrow.read_csv(
                pa.BufferReader(block.text),
                read_options=arrow.ReadOptions(
                    use_threads=False, block_size=len(block.text) + 1, column_names=list(names)
                ),
                parse_options=arrow.ParseOptions(delimiter=delimiter, ignore_empty_lines=len(names) > 1),
                convert_options=arrow.ConvertOptions(
                    include_columns=list(wanted), column_types=dict.fromkeys(wanted, pa.binary())
                ),
            )
            if table.num_rows != block.records:
                break
            yield table, block.broken
        else:
            return
    raise DataError(f"{os.fspath(path)} cannot be read as CSV. Check the delimiter and the encoding (UTF-8).")


_COMMA = re.compile(rb"\s*[-+]?(\d+,\d*|,\d+)([eE][-+]?\d+)?\s*")
_POINT = re.compile(rb"\s*[-+]?(\d+\.\d*|\.\d+)([eE][-+]?\d+)?\s*")


def with_points(column: Any) -> Any:
    """Fields that are numbers with a decimal comma, with a point instead, each by itself.

    One with a point is no number then: it may be one with thousands marked. All others stay as they are."""
    import pyarrow as pa

    coded = column.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    words = pa.array([_with_point(word) for word in coded.dictionary.to_pylist()], pa.binary())
    return words.take(coded.indices)


def _with_point(field: bytes) -> bytes:
    if _COMMA.fullmatch(field):
        return field.replace(b",", b".")
    return field + b"." if _POINT.fullmatch(field) else field
