"""Rows of Parquet files once they are encoded: the first in memory, later ones spooled or decoded again.

Either way they are the same rows, in the same blocks, as if all were held in memory.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data.blocks import Block
from sottovoce.data.compact import Compact
from sottovoce.data.compact_rows import CompactRows
from sottovoce.data.files import require_one_weighing
from sottovoce.data.layout import RowLayout
from sottovoce.data.parquet import ParquetSource
from sottovoce.data.record_facts import RecordFacts
from sottovoce.data.records import Records
from sottovoce.data.rows import DenseRows, Rows, chosen
from sottovoce.data.schema import Schema
from sottovoce.data.spool import ArrayForm, Spool, spool_folder
from sottovoce.data.validation import (
    checked_radius,
    declaration_of,
    require_plain,
    require_rule_for_invalid,
    require_usable,
)
from sottovoce.data.weights import declared_cap, read_weights
from sottovoce.errors import DataError, ParameterError
from sottovoce.report.progress import waiting


def bounded(
    path: str | os.PathLike[str],
    schema: Schema | str | os.PathLike[str],
    radius: float,
    *,
    sample_weight: Any,
    weight_cap: float,
    groups: Any,
    persons: int | None,
    invalid: str,
    memory: int,
    spool: bool | str | os.PathLike[str],
    progress: bool,
    scaled: bool = False,
) -> Records:
    """Records of Parquet files by the rules of `from_parquet`; what public facts decide is refused first.

    `scaled`: numbers to predict are mapped from their declared range to the one that training sees."""
    declared_columns = schema if isinstance(schema, Schema) else Schema.load(schema)
    aim = declared_columns.target
    if aim is None:
        raise ParameterError("the schema declares no target. Add a [target] section.")
    require_plain(declared_columns)
    if isinstance(memory, bool) or not isinstance(memory, int) or memory < 0:
        raise ParameterError("memory must be a whole number of bytes, at least 0.", argument="memory")
    folder = spool_folder(spool)
    radius = checked_radius(radius)
    require_rule_for_invalid(invalid)
    source = ParquetSource.open(path, declared_columns, radius=radius, lenient=invalid == "zero")
    scaled = scaled and aim.range is not None
    declared = declaration_of(aim.classes, aim.mapped if scaled else aim.range)
    require_one_weighing(declared_columns, sample_weight)
    cap = 1.0 if declared_columns.is_weighted else declared_cap(weight_cap, sample_weight)

    def encode(values: NDArray[Any]) -> Vector:
        return declared.encode(aim.scaled(values) if scaled else values)[0]

    rows = read_rows(source, encode, memory=memory, folder=folder, progress=progress)
    if cap is not None:
        usable = np.ones(rows.n, dtype=bool)
        given = (
            source.counts(declared.places(rows.targets)) if declared_columns.is_weighted else sample_weight
        )
        weights = read_weights(given, rows.n, cap, usable)
        require_usable(usable | (invalid == "zero"))
        rows = rows.reweighted(lambda _: weights)
    facts = RecordFacts(
        declared=declared,
        radius=radius,
        constant=True,
        weight_cap=cap,
        indicators=RowLayout.of(declared_columns).indicators,
    )
    keys = source.keys() if groups is None and declared_columns.person is not None else groups
    return Records(rows, facts).of_persons(keys, persons, invalid)


def read_rows(
    source: ParquetSource,
    encode: Callable[[NDArray[Any]], Vector],
    *,
    memory: int,
    folder: Path | None,
    progress: bool,
) -> Rows:
    """Read every row once: keep `memory` bytes of them, spool the others into `folder` if there is one.

    `encode` makes numbers of the targets."""
    n, held = source.n, Held.of(source)
    if n < 1:
        raise DataError("the file has no rows.")
    pieces = -(-n // held.length)
    most = pieces if n * source.row_bytes <= memory else memory // (held.length * source.row_bytes)
    spool = Spool(folder, forms=held.forms, blocks=pieces - most) if folder and most < pieces else None
    targets, kept, start, free = np.empty(n), list[Any](), 0, deque[Compact]()

    def room(number: int, count: int) -> tuple[Compact | None, Vector]:
        """Memory of its own for a piece that is kept, for others what an earlier one has left."""
        first = number * held.length
        if first + count > n:
            raise _other_length()
        with suppress(IndexError):
            if number >= most:
                return free.pop().tiles(0, count), targets[first : first + count]
        return held.room(count), targets[first : first + count]

    # How many rows there are is private where persons have several: neither they nor their bytes are told.
    with waiting(progress, f"reading rows{f', spooling them into {folder}' if spool else ''}"):
        for features in source.read(room, encode=encode):
            start += len(features)
            if len(kept) < most:
                kept.append(held.sealed(features))
                continue
            if spool is not None:
                spool.append(held.arrays(features))
            if held.layout is not None:
                free.append(features)
    if start != n:
        raise _other_length()
    if spool is None and most < pieces:
        return StreamedRows(source, tuple(kept), targets)
    return SpooledRows(source, tuple(kept), spool, targets)


def _other_length() -> DataError:
    return DataError("the Parquet file has another number of rows than its footer says.")


class Held(NamedTuple):
    """How a source is held, in pieces of `length` rows: compact, or dense where `layout` is None."""

    dim: int
    length: int
    layout: RowLayout | None

    @classmethod
    def of(cls, source: ParquetSource) -> Held:
        return cls(source.layout.dim, source.piece, source.compact)

    @property
    def forms(self) -> tuple[ArrayForm, ...]:
        """The arrays of a piece."""
        if self.layout is None:
            return (ArrayForm(np.dtype(np.float32), (self.length, self.dim)),)
        tiles, layout = self.length // self.layout.tile, self.layout
        return (
            ArrayForm(np.dtype(np.float32), (tiles, len(layout.numbers), layout.tile)),
            ArrayForm(layout.kind, (tiles, len(layout.codes), layout.tile)),
        )

    def room(self, n: int) -> Compact | None:
        """Memory for n compact rows; dense ones come with their own."""
        return None if self.layout is None else Compact.room(self.layout, n)

    def sealed(self, features: Any) -> Any:
        return features if self.layout is None else features.seal()

    def arrays(self, features: Any) -> tuple[NDArray[Any], ...]:
        return (features,) if self.layout is None else (features.numbers, features.codes)

    def features(self, n: int, arrays: tuple[NDArray[Any], ...]) -> Any:
        """n rows of these arrays."""
        return arrays[0] if self.layout is None else Compact(self.layout, n, *arrays)

    def within(self, features: Any, first: int, last: int) -> Any:
        """The rows of a piece from `first`, where a block begins, to `last`."""
        return features[first:last] if self.layout is None else features.tiles(first, last)

    def taken(self, rows: Rows, indices: NDArray[np.int64], pieces: Iterable[tuple[int, Any]]) -> Rows:
        """A copy of the rows at increasing `indices`, out of the numbered pieces that hold them."""
        bounds = np.searchsorted(indices, self.length * np.arange(-(-rows.n // self.length) + 1))
        parts = list[Any]()
        for number, features in pieces:
            places = indices[bounds[number] : bounds[number + 1]] - number * self.length
            parts.append(features[places] if self.layout is None else features.columns(places))
        given = rows.targets[indices], chosen(rows.weights, indices)
        if self.layout is None:
            return DenseRows(np.concatenate([np.empty((0, self.dim), np.float32), *parts]), *given)
        return CompactRows(Compact.joined(self.layout, parts), *given)


class _ParquetRows(Rows):
    """The first pieces in memory."""

    __slots__ = ("_held", "_kept", "_source")

    def __init__(self, source: ParquetSource, kept: tuple[Any, ...], targets: Vector) -> None:
        self._held = Held.of(source)
        super().__init__(targets, self._held.dim, source.layout.block_length, layout=self._held.layout)
        self._source, self._kept = source, kept

    def _block(self, number: int, features: Any, span: slice) -> Block:
        """Rows `span` of the table out of the piece with this number, which has them all."""
        start = number * self._held.length
        within = self._held.within(features, span.start - start, span.stop - start)
        return Block(within, self.targets[span], self.weights_in(span))


@final
class SpooledRows(_ParquetRows):
    """The first pieces in memory and the others in a spool: any of them is at hand at any time."""

    __slots__ = ("_spool",)

    def __init__(
        self, source: ParquetSource, kept: tuple[Any, ...], spool: Spool | None, targets: Vector
    ) -> None:
        super().__init__(source, kept, targets)
        self._spool = spool

    def block(self, index: int) -> Block:
        return next(self.run(index, index + 1))

    def each(self, first: int, last: int) -> Iterator[Block]:
        """A piece is mapped once for all its blocks."""
        for number, features, piece in self._within(first, last):
            for start in range(piece.start, piece.stop, self.block_length):
                span = slice(start, min(piece.stop, start + self.block_length))
                yield self._block(number, features, span)

    def run(self, first: int, last: int) -> Iterator[Block]:
        for number, features, piece in self._within(first, last):
            yield self._block(number, features, piece)

    def _within(self, first: int, last: int) -> Iterator[tuple[int, Any, slice]]:
        """Pieces, and which rows of the table to take of each, for the blocks from `first` to `last`.

        Every pass asks for block 0, which is where a file that has changed is refused."""
        if first == 0:
            self._require_unchanged()
        start, stop = self.span(first).start, self.span(last - 1).stop
        while start < stop:
            number = start // self._held.length
            end = min(stop, (number + 1) * self._held.length)
            yield number, self._features(number), slice(start, end)
            start = end

    def take(self, indices: NDArray[np.int64]) -> Rows:
        self._require_unchanged()
        wanted = np.unique(indices // self._held.length).tolist()
        return self._held.taken(self, indices, ((number, self._features(number)) for number in wanted))

    def _features(self, number: int) -> Any:
        """One piece."""
        held, length = len(self._kept), self._held.length
        if self._spool is None or number < held:
            return self._kept[number]
        return self._held.features(min(length, self.n - number * length), self._spool.block(number - held))

    def _require_unchanged(self) -> None:
        if self._spool is not None:
            self._source.require_unchanged()


@final
class StreamedRows(_ParquetRows):
    """The first pieces in memory; the others are decoded again at each pass."""

    __slots__ = ()
    streamed: ClassVar[bool] = True

    def block(self, index: int) -> Block:
        """Reads all blocks before it: passes use `read`."""
        return next(islice(self.read(), index, None))

    def read(self) -> Generator[Block, None, None]:
        with closing(self._pieces()) as pieces:
            for number, features in pieces:
                first = number * self._held.length // self.block_length
                for index in range(first, first + -(-len(features) // self.block_length)):
                    yield self._block(number, features, self.span(index))

    def take(self, indices: NDArray[np.int64]) -> Rows:
        with closing(self._pieces()) as pieces:
            return self._held.taken(self, indices, pieces)

    def _pieces(self) -> Generator[tuple[int, Any], None, None]:
        first = len(self._kept) * self._held.length
        with closing(self._source.read(lambda _, n: (self._held.room(n), np.empty(n)), first)) as later:
            yield from enumerate(chain(self._kept, map(self._held.sealed, later)))
