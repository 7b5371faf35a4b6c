"""Rows of Parquet files, read in order: what does not fit into memory never has to.

A row is encoded and bounded by public rules and by itself, so it is the same row at every reading and in
whatever chunk it came. One thread reads and others encode, a few pieces ahead of the sums.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar, final

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.data.cells import Codes
from sottovoce.data.compact import Compact
from sottovoce.data.compact_rows import LEAST_COMPACT
from sottovoce.data.encoding import require_type
from sottovoce.data.filesets import files_of, is_parquet
from sottovoce.data.layout import RowLayout
from sottovoce.data.persons import Keys, read_keys, require_key_type
from sottovoce.data.pieces import Encode, Piece, PieceReader, zeros
from sottovoce.data.schema import Schema
from sottovoce.data.sealed import Sealed
from sottovoce.data.sources import column_names, located, require_present
from sottovoce.data.threads import thread_count
from sottovoce.errors import DataError
from sottovoce.machine import memory_told
from sottovoce.trusted.compiling import is_compiled

S = TypeVar("S")
T = TypeVar("T")

Room = Callable[[int, int], tuple[Compact | None, Vector]]
"""Where the piece with a number and a length goes if it is held compact, and its targets."""

BATCH_ROWS = 2**15
PIECE_BYTES = 2**23
"""Encoded rows that are held, spooled and mapped together: a few megabytes."""

BUFFER_BYTES = 2**18
"""Bytes read ahead for each column: a column's whole share of a row group is never held."""

_AHEAD = 4
_END = object()


@final
@dataclass(frozen=True, repr=False, eq=False)
class ParquetSource(Sealed):
    """One Parquet file, or those of a folder in the order of their names, as a schema reads them."""

    files: tuple[Path, ...]
    identity: tuple[tuple[int, ...], ...]
    schema: Schema
    radius: float
    lenient: bool
    spelled: Mapping[str, str]
    """Names of the columns as the files have them."""

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], schema: Schema, *, radius: float, lenient: bool
    ) -> ParquetSource:
        files = files_of(path)
        if len(files) > 1 and not is_parquet(files[0]):
            raise DataError("these files are CSV. Read them with Records.from_table.")
        wanted = (*_wanted(schema), *schema.keyed_by, *schema.weighed_by)
        spelled = located(wanted, column_names(files[0]))
        for file in files[1:]:
            require_present(tuple(spelled.values()), column_names(file))
        return cls(files, _identity(files), schema, radius, lenient, spelled)

    @cached_property
    def n(self) -> int:
        """Rows in all files, from their footers."""
        return sum(_footer(file).num_rows for file in self.files)

    def read(self, room: Room, first: int = 0, encode: Encode = zeros) -> Generator[Any, None, None]:
        """Pieces of bounded rows from the row numbered `first` on, where a piece begins.

        All have as many rows as a piece has, the last one fewer. `room` gives the piece with a number and a
        length its place, and its targets theirs; `encode` is applied to the targets."""
        compiled = is_compiled(self.n * self.layout.dim)
        options: dict[str, Any] = {"lenient": self.lenient, "encode": encode, "compiled": compiled}
        reader = PieceReader(self.schema, self.spelled, self.radius, **options)

        def work(numbered: tuple[int, Piece]) -> Any:
            number, piece = numbered
            return reader.read(piece, *room(number, piece.num_rows))

        pieces = in_pieces(self._chunks(first), self.piece, first // self.piece)
        with closing(ahead(pieces, work)) as bounded:
            yield from bounded

    @cached_property
    def layout(self) -> RowLayout:
        return RowLayout.of(self.schema)

    @property
    def row_bytes(self) -> int:
        """Memory of one encoded row."""
        return 4 * self.layout.dim if self.compact is None else self.layout.row_bytes

    @property
    def piece(self) -> int:
        """Rows of a piece: whole blocks."""
        return max(1, PIECE_BYTES // (self.row_bytes * self.layout.block_length)) * self.layout.block_length

    @property
    def compact(self) -> RowLayout | None:
        """The layout in which rows are held; None where the radius shrinks them and they are held dense."""
        return self.layout if self.radius >= LEAST_COMPACT else None

    def keys(self) -> Keys:
        """The persons' keys of all rows, in their order; the schema names the column."""
        assert self.schema.person is not None
        self.require_unchanged()
        names = (self.spelled[self.schema.person],)
        keys = Keys()
        for chunk in (chunk for file in self.files for chunk in _batches(file, 0, names)):
            require_key_type(chunk.column(0), self.schema.person)
            keys += read_keys(chunk.column(0), chunk.num_rows)
        return keys

    def counts(self, codes: Codes) -> Vector:
        """What all rows count, by the schema's column of weights and their classes."""
        self.require_unchanged()
        names = tuple(self.spelled[name] for name in self.schema.weighed_by)
        chunks = (chunk for file in self.files for chunk in _batches(file, 0, names)) if names else ()
        parts = list[Vector]()
        for chunk in chunks:
            held = dict(zip(self.schema.weighed_by, chunk.columns, strict=True))
            for name, column in held.items():
                require_type(column, self.schema, name)
            found = self.schema.weights(held.__getitem__)
            assert found is not None
            parts.append(found)
        return self.schema.counts(len(codes), np.concatenate(parts) if parts else None, codes)

    def _chunks(self, first: int) -> Generator[Any, None, None]:
        """The wanted columns from the row numbered `first` on, as Arrow batches."""
        self.require_unchanged()
        for file in self.files:
            held = _footer(file)
            if first >= held.num_rows:
                first -= held.num_rows
                continue
            group = 0
            while first >= held.row_group(group).num_rows:
                first -= held.row_group(group).num_rows
                group += 1
            names = tuple(self.spelled[name] for name in _wanted(self.schema))
            for chunk in _batches(file, group, names, max(BATCH_ROWS, self.piece), self._in_words):
                if first < chunk.num_rows:
                    yield chunk.slice(first)
                first = max(0, first - chunk.num_rows)
        self.require_unchanged()

    @cached_property
    def _in_words(self) -> tuple[str, ...]:
        """Columns of declared words alone: each word of a row group is looked up once."""
        declared: list[Any] = [*self.schema.columns, self.schema.target]
        sources = {part.source for part in declared if part.labels is None}
        words = {
            part.source
            for part in declared
            if part.source not in sources and all(isinstance(label, str) for label in part.labels)
        }
        return tuple(self.spelled[name] for name in words)

    def require_unchanged(self) -> None:
        """Answers about two tables would share one guarantee."""
        if _identity(self.files) != self.identity:
            raise DataError(
                "the Parquet file changed since the records were made from it. Nothing was released from the "
                "new content. Make the records again."
            )


def ahead(
    source: Generator[S, None, None], work: Callable[[S], T], depth: int = _AHEAD
) -> Generator[T, None, None]:
    """work(item) for each item in order: one thread reads, others work, up to `depth` items ahead."""
    reader = ThreadPoolExecutor(1, thread_name_prefix="sottovoce-read")
    workers = ThreadPoolExecutor(thread_count(), thread_name_prefix="sottovoce-read")
    pending: deque[Future[T]] = deque()
    try:
        upcoming: Future[Any] = reader.submit(next, source, _END)
        while (item := upcoming.result()) is not _END:
            upcoming = reader.submit(next, source, _END)
            pending.append(workers.submit(work, item))
            if len(pending) > depth:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        reader.shutdown(cancel_futures=True)
        workers.shutdown(cancel_futures=True)
        source.close()


def in_pieces(
    chunks: Generator[Any, None, None], length: int, number: int = 0
) -> Generator[tuple[int, Piece], None, None]:
    """The same rows in pieces of `length`, the last one shorter, numbered from `number` on; what is whole
    already is not copied."""
    held, count = list[Any](), 0
    try:
        for chunk in chunks:
            while count + chunk.num_rows >= length:
                yield number, _one([*held, chunk.slice(0, length - count)])
                chunk = chunk.slice(length - count)
                held, count = [], 0
                number += 1
            if chunk.num_rows:
                held.append(chunk)
                count += chunk.num_rows
        if held:
            yield number, _one(held)
    finally:
        chunks.close()


def _one(batches: list[Any]) -> Piece:
    """The batches as one; several where the types of their columns differ."""
    import pyarrow as pa

    alike = [list(run) for _, run in groupby(batches, key=lambda batch: batch.schema.types)]
    return Piece(
        tuple(
            run[0] if len(run) == 1 else pa.Table.from_batches(run).combine_chunks().to_batches()[0]
            for run in alike
        )
    )


def _wanted(schema: Schema) -> tuple[str, ...]:
    aim = schema.target
    exposure = () if aim is None or aim.exposure is None else (aim.exposure,)
    return (*schema.names, *([aim.name] if aim else []), *exposure)


def _batches(
    file: Path, group: int, wanted: tuple[str, ...], length: int = BATCH_ROWS, coded: tuple[str, ...] = ()
) -> Iterator[Any]:
    """Batches of the columns; text of those that are `coded` as places in a dictionary of each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Arrow's refusal may quote data: ours is raised once it is forgotten, without it as context.
    with (
        suppress(pa.ArrowException, OSError, ValueError),
        memory_told(),
        pq.ParquetFile(
            file, buffer_size=BUFFER_BYTES, pre_buffer=False, read_dictionary=list(coded)
        ) as opened,
    ):
        groups = range(group, opened.num_row_groups)
        yield from opened.iter_batches(length, row_groups=groups, columns=list(wanted))
        return
    raise DataError(f"{file} cannot be read as Parquet.")


def _footer(file: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with suppress(pa.ArrowException, OSError, ValueError), memory_told():
        return pq.read_metadata(file)
    raise DataError(f"{file} cannot be read as Parquet.")


def _identity(files: tuple[Path, ...]) -> tuple[tuple[int, ...], ...]:
    """What changes when a file is written to. A writer may set back the time of the last change, but not
    that of the entry itself."""
    try:
        states = [file.stat() for file in files]
    except OSError:
        raise DataError("the Parquet file is no longer there.") from None
    return tuple((state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns) for state in states)
