"""The one door for tables: files, a dataframe, an Arrow stream or a query, read column by column in chunks.

A table is the path of a CSV or Parquet file, a folder or a pattern of such files, or a list of them
(`filesets`), a pandas, polars (eager or lazy) or pyarrow table, or anything
that gives an Arrow stream (`__arrow_c_stream__`: a RecordBatchReader, a DuckDB relation, an ADBC reader).
Columns come in the type they have: none is ever inferred from their cells. Names are public and may have
spaces around them that the schema leaves out."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, final

from sottovoce.data.csv_files import csv_chunks, csv_names, with_points
from sottovoce.data.filesets import files_of, is_files, is_parquet
from sottovoce.data.frames import Dataframe
from sottovoce.data.options import AS_WRITTEN, ReadOptions
from sottovoce.errors import BLANK, DataError, ParameterError, meant
from sottovoce.machine import memory_told

Chunk: TypeAlias = tuple[int, Callable[[str], Any]]

PARQUET_BATCH_ROWS = 2**16
BROKE_OFF = "the Arrow stream broke off while it was read."


class Source(ABC):
    """A table that can be read once, or more often.

    `typed`: the types of its columns are declared, and so public; pandas takes them from the cells."""

    typed: ClassVar[bool] = True

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of its columns; no row is read."""

    def chunks(self, wanted: tuple[str, ...]) -> Iterator[Chunk]:
        """Some rows after the other: how many, and their columns by the names that are wanted."""
        found = located(wanted, self.names)

        def named(column_of: Callable[[str], Any]) -> Callable[[str], Any]:
            return lambda name: column_of(found[name])

        for rows, column_of in self._read(tuple(dict.fromkeys(found.values()))):
            yield rows, named(column_of)

    def require_whole(self) -> None:
        """Refuse what was read so far if some of it was no record: of most tables all of it is."""
        return

    @abstractmethod
    def _read(self, wanted: tuple[str, ...]) -> Iterator[Chunk]: ...


def open_source(table: Any, how: ReadOptions = AS_WRITTEN) -> Source:
    """The table as a Source; what is none of those above is refused."""
    delimiter, decimal = how.delimiter, how.decimal
    if isinstance(table, Source):
        return table
    if is_files(table):
        files = files_of(table)
        if len(files) == 1:
            return _file(files[0], delimiter, decimal)
        return SeveralFiles(files, delimiter, decimal)
    if decimal != ".":
        raise ParameterError("decimal is for CSV files: numbers of other tables have no decimal mark.")
    from narwhals.dependencies import (
        is_pandas_like_dataframe,
        is_polars_dataframe,
        is_polars_lazyframe,
        is_pyarrow_table,
    )

    if is_polars_lazyframe(table):
        return FrameSource(Dataframe(_collected(table)))
    if is_pandas_like_dataframe(table):  # it has a stream too, but one whose types are inferred
        return PandasSource(Dataframe(table))
    known = is_polars_dataframe(table) or is_pyarrow_table(table)
    if not known and hasattr(table, "__arrow_c_stream__"):
        return StreamSource(table)
    return FrameSource(Dataframe(table))


def column_names(table: Any, how: ReadOptions = AS_WRITTEN) -> tuple[str, ...]:
    """Names of a table's columns; no row is read. They are public."""
    return open_source(table, how).names


def located(wanted: tuple[str, ...], names: tuple[str, ...]) -> dict[str, str]:
    """The table's own spelling of each wanted name: the same, else the only one that differs by spaces."""
    bare = [name.strip() if isinstance(name, str) else name for name in names]
    found = {}
    for name in wanted:
        if name in names:
            found[name] = name
        elif bare.count(name.strip()) == 1:
            found[name] = names[bare.index(name.strip())]
    if len(found) < len(wanted):
        require_present(wanted, (*names, *found))
    return found


def require_present(wanted: tuple[str, ...], given: Any) -> None:
    """Column names are public: those that are absent are named, and one that is near.

    Where most are absent, what stands in their place may be the first record of a file without a header, of
    which nothing is quoted."""
    absent = [name for name in wanted if name not in set(given)]
    if absent:
        raise DataError(
            f"the table has no column {', '.join(map(repr, absent))}, which the schema declares."
            + (meant(absent[0], map(str, given)) if 2 * len(absent) <= len(wanted) else "")
        )


class FrameSource(Source):
    """A dataframe in memory, as one chunk."""

    def __init__(self, frame: Dataframe) -> None:
        self._frame = frame

    @property
    def names(self) -> tuple[str, ...]:
        return self._frame.names

    def _read(self, wanted: tuple[str, ...]) -> Iterator[Chunk]:
        yield self._frame.n, self._frame.column


@final
class PandasSource(FrameSource):
    """A pandas frame: where all other cells are missing, one record decides the type of a column."""

    typed = False


@final
class StreamSource(Source):
    """An Arrow stream, batch after batch: read once where its giver gives it once.

    `explained` says why it broke off, from what its giver raised, of which nothing may be repeated."""

    def __init__(self, table: Any, explained: Callable[[str], str] = lambda _: BROKE_OFF) -> None:
        import pyarrow as pa

        self._explained = explained

        self._reader: Any = None
        with suppress(Exception):
            self._reader = pa.RecordBatchReader.from_stream(table)
        if self._reader is None or len(set(self._reader.schema.names)) < len(self._reader.schema.names):
            raise DataError("the Arrow stream cannot be read, or two of its columns have one name.")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._reader.schema.names)

    def _read(self, wanted: tuple[str, ...]) -> Iterator[Chunk]:
        # what a database raises may quote a cell: ours is raised once it is forgotten
        try:
            for batch in self._reader:
                yield batch.num_rows, batch.column
            return
        except Exception as failure:
            reason = self._explained(str(failure))
        raise DataError(reason)

    def batches(self) -> list[Chunk]:
        """All that is left of the stream."""
        return list(self._read(self.names))


@final
class HeldStream(Source):
    """The batches of an Arrow stream, kept to be read more than once."""

    def __init__(self, stream: StreamSource) -> None:
        self._names = stream.names
        self._batches = stream.batches()

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def _read(self, wanted: tuple[str, ...]) -> Iterator[Chunk]:
        yield from self._batches


def rereadable(table: Any, how: ReadOptions = AS_WRITTEN) -> Any:
    """The table, or the batches of a stream that may be given once."""
    source = open_source(table, how)
    return HeldStream(source) if isinstance(source, StreamSource) else table


@final
class CsvSource(Source):
    """A .csv or .csv.gz file, every field as bytes."""

    def __init__(self, path: str | os.PathLike[str], delimiter: str, decimal: str = ".") -> None:
        self._path, self._delimiter, self._broken = path, delimiter, False
        self._decimal = decimal
        self._names = csv_names(path, delimiter)

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def _read(self, wanted: tuple[str, ...]) -> Iterator[Chunk]:
        for table, broken in csv_chunks(self._path, self._names, wanted, self._delimiter):
            self._broken |= broken
            yield table.num_rows, table.column if self._decimal == "." else _with_points(table)

    def require_whole(self) -> None:
        if self._broken:
            raise DataError(
                f"{os.fspath(self._path)} has a line that is no record: a quote is not closed in it, it has "
                "another number of fields than the header, a carriage return within, or more than a mebibyte."
                " A record is one line. Write line breaks within fields as spaces, convert the file to "
                'Parquet, or read with invalid="zero": such a line is then a record without values.',
                advice=(BLANK,),
            )


@final
class SeveralFiles(Source):
    """Files one after the other, each with names of its own for the columns that are wanted."""

    def __init__(self, files: Sequence[Path], delimiter: str, decimal: str) -> None:
        self._files = [_file(file, delimiter, decimal) for file in files]

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that all of them have, in the order of the first."""
        first, *others = (file.names for file in self._files)
        bare = [{name.strip() for name in names} for names in others]
        return tuple(name for name in first if all(name.strip() in names for names in bare))

    def chunks(self, wanted: tuple[str, ...]) -> Iterator[Chunk]:
        for file in self._files:
            located(wanted, file.names)
        for file in self._files:
            yield from file.chunks(wanted)

    def _read(self, wanted: tuple[str, ...]) -> Iterator[Chunk]:
        yield from self.chunks(wanted)

    def require_whole(self) -> None:
        for file in self._files:
            file.require_whole()


@final
class ParquetFile(Source):
    """A .parquet file, some rows at a time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._path = path
        self._names: tuple[str, ...] = ()
        with suppress(pa.ArrowException, OSError), memory_told():
            self._names = tuple(pq.read_schema(path).names)
        if not self._names:
            raise DataError(f"{os.fspath(path)} cannot be read as Parquet.")
        if len(set(self._names)) < len(self._names):
            raise DataError(f"two columns of {os.fspath(path)} have one name. Rename one of them.")

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def _read(self, wanted: tuple[str, ...]) -> Iterator[Chunk]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        with (
            suppress(pa.ArrowException, OSError, ValueError),
            memory_told(),
            pq.ParquetFile(self._path) as file,
        ):
            for batch in file.iter_batches(PARQUET_BATCH_ROWS, columns=list(wanted)):
                yield batch.num_rows, batch.column
            return
        raise DataError(f"{os.fspath(self._path)} cannot be read as Parquet.")


_PANDAS = "python -c \"import pandas; pandas.{read}('{{path}}').to_parquet('table.parquet')\""
_ELSEWHERE = {
    ".dta": _PANDAS.format(read="read_stata"),
    ".sas7bdat": _PANDAS.format(read="read_sas"),
    ".xpt": _PANDAS.format(read="read_sas"),
    ".sav": "pip install pyreadstat, then " + _PANDAS.format(read="read_spss"),
    ".zsav": "pip install pyreadstat, then " + _PANDAS.format(read="read_spss"),
    ".rds": "in R, write.csv(readRDS('{path}'), 'table.csv', row.names = FALSE, na = '')",
    ".rdata": "in R, load('{path}') and write.csv(..., 'table.csv', row.names = FALSE, na = '')",
}
"""Files of statistics programs by their endings, and how to convert them."""


def _with_points(table: Any) -> Callable[[str], Any]:
    """Columns of a table whose numbers have a decimal comma."""
    return lambda name: with_points(table.column(name))


def _file(path: str | os.PathLike[str], delimiter: str, decimal: str) -> Source:
    where = os.fspath(path)
    if where.lower().endswith((".xlsx", ".xls", ".ods")):
        raise ParameterError(
            f"{where} is a spreadsheet, whose cells have types of their own. Save it as CSV (UTF-8), or run: "
            f"libreoffice --headless --convert-to csv {where}"
        )
    for ending, way in _ELSEWHERE.items():
        if where.lower().endswith(ending):
            raise ParameterError(
                f"{where} is a file of another program, whose columns have labels and codes of their own. "
                f"Convert it once and declare its values: {way.format(path=where)}"
            )
    if where.lower().endswith((".duckdb", ".ddb", ".db")):
        raise ParameterError(
            f"{where} is a database. Name what to read of it: --query 'SELECT ... FROM ...'; in Python pass "
            "duckdb.connect(path, read_only=True).sql(query)."
        )
    if not os.path.isfile(where):
        raise DataError(f"there is no file {where}.")
    if is_parquet(path):
        if decimal != ".":
            raise ParameterError("decimal is for CSV files: numbers in Parquet have no decimal mark.")
        return ParquetFile(path)
    return CsvSource(path, delimiter, decimal)


def _collected(table: Any) -> Any:
    """A lazy polars frame computed; what it raises may quote a cell."""
    with suppress(Exception):
        return table.collect()
    raise DataError("the lazy frame cannot be computed. Collect it yourself to see why.")
