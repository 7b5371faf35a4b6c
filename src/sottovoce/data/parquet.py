"""Rows of Parquet files, read in order: what does not fit into memory never has to.

A row is encoded and clipped by public rules and by itself, so it is the same float32 row at every reading and
whatever chunk it came in. One thread reads and others encode, a few chunks ahead of the sums.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data.cells import Codes
from sottovoce.data.files import encoded
from sottovoce.data.rows import Stored, bound_dense
from sottovoce.data.schema import Schema
from sottovoce.data.sealed import Sealed
from sottovoce.data.sources import column_names, insist_present
from sottovoce.data.threads import thread_count
from sottovoce.errors import DataError

S = TypeVar("S")
T = TypeVar("T")

BATCH_ROWS = 2**14
BUFFER_BYTES = 2**18
"""Bytes read ahead for each column: a column's whole share of a row group is never held."""

_AHEAD = 4
_END = object()


@final
@dataclass(frozen=True, repr=False, eq=False)
class ParquetSource(Sealed):
    """One Parquet file, or those of a folder in the order of their names, as a schema reads them."""

    files: tuple[Path, ...]
    identity: tuple[tuple[int, int, int], ...]
    schema: Schema
    radius: float
    lenient: bool

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], schema: Schema, *, radius: float, lenient: bool
    ) -> ParquetSource:
        where = Path(path)
        files = tuple(sorted(where.glob("*.parquet"))) if where.is_dir() else (where,)
        if not files:
            raise DataError(f"there is no .parquet file in {where}.")
        wanted = _wanted(schema)
        for file in files:
            insist_present((*wanted, *schema.keyed_by, *schema.weighed_by), column_names(file))
        return cls(files, _identity(files), schema, radius, lenient)

    @property
    def n(self) -> int:
        """Rows in all files, from their footers."""
        return sum(_footer(file).num_rows for file in self.files)

    def read(self, first: int = 0) -> Generator[tuple[Stored, NDArray[Any]], None, None]:
        """Bounded rows from the row numbered `first` on, with their targets, in chunks of any length."""
        return ahead(self._chunks(first), self._bounded)

    def keys(self) -> list[Any]:
        """The persons' keys of all rows, in their order; the schema names the column."""
        assert self.schema.person is not None
        self.insist_unchanged()
        chunks = (chunk for file in self.files for chunk in _batches(file, 0, (self.schema.person,)))
        return [key for chunk in chunks for key in chunk.column(0).to_pylist()]

    def counts(self, codes: Codes) -> Vector:
        """What all rows count, by the schema's column of weights and their classes."""
        self.insist_unchanged()
        names = self.schema.weighed_by
        chunks = (chunk for file in self.files for chunk in _batches(file, 0, names)) if names else ()
        parts = [self.schema.weights(chunk.column(0)) for chunk in chunks]
        return self.schema.counts(len(codes), np.concatenate(parts) if parts else None, codes)

    def _chunks(self, first: int) -> Generator[Any, None, None]:
        """The wanted columns from the row numbered `first` on, as Arrow batches."""
        self.insist_unchanged()
        for file in self.files:
            held = _footer(file)
            if first >= held.num_rows:
                first -= held.num_rows
                continue
            group = 0
            while first >= held.row_group(group).num_rows:
                first -= held.row_group(group).num_rows
                group += 1
            for chunk in _batches(file, group, _wanted(self.schema)):
                if first < chunk.num_rows:
                    yield chunk.slice(first)
                first = max(0, first - chunk.num_rows)
        self.insist_unchanged()

    def _bounded(self, chunk: Any) -> tuple[Stored, NDArray[Any]]:
        part = encoded(chunk.num_rows, chunk.column, self.schema, self.schema.target, self.lenient)
        assert part.target is not None
        usable = np.ones(len(part.features), dtype=bool)
        return bound_dense(part.features, self.radius, False, usable), part.target

    def insist_unchanged(self) -> None:
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


def in_blocks(
    chunks: Generator[tuple[Stored, NDArray[Any]], None, None], length: int
) -> Generator[tuple[Stored, NDArray[Any]], None, None]:
    """The same rows in blocks of `length`, the last one shorter."""
    features: list[Stored] = []
    targets: list[NDArray[Any]] = []
    held = 0
    try:
        for rows, given in chunks:
            features.append(rows)
            targets.append(given)
            held += len(given)
            if held < length:
                continue
            table, column = np.concatenate(features), np.concatenate(targets)
            whole = held - held % length
            for start in range(0, whole, length):
                yield _sealed(table[start : start + length]), column[start : start + length]
            features, targets, held = [table[whole:]], [column[whole:]], held - whole
        if held:
            yield _sealed(np.concatenate(features)), np.concatenate(targets)
    finally:
        chunks.close()


def _sealed(features: Stored) -> Stored:
    """A copy of its own, so that no block keeps the chunk it was cut from."""
    block = np.array(features)
    block.flags.writeable = False
    return block


def _wanted(schema: Schema) -> tuple[str, ...]:
    return (*schema.names, *([schema.target.name] if schema.target else []))


def _batches(file: Path, group: int, wanted: tuple[str, ...]) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Arrow's refusal may quote data: ours is raised once it is forgotten, without it as context.
    with (
        suppress(pa.ArrowException, OSError, ValueError),
        pq.ParquetFile(file, buffer_size=BUFFER_BYTES, pre_buffer=False) as opened,
    ):
        groups = range(group, opened.num_row_groups)
        yield from opened.iter_batches(BATCH_ROWS, row_groups=groups, columns=list(wanted))
        return
    raise DataError(f"{file} cannot be read as Parquet.")


def _footer(file: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with suppress(pa.ArrowException, OSError, ValueError):
        return pq.read_metadata(file)
    raise DataError(f"{file} cannot be read as Parquet.")


def _identity(files: tuple[Path, ...]) -> tuple[tuple[int, int, int], ...]:
    try:
        states = [file.stat() for file in files]
    except OSError:
        raise DataError("the Parquet file is no longer there.") from None
    return tuple((state.st_ino, state.st_size, state.st_mtime_ns) for state in states)
