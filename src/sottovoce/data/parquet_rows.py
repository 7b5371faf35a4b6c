"""Rows of Parquet files once they are encoded: the first in memory, later ones spooled or decoded again.

Either way they are the same float32 rows, in the same blocks, as if all were held in memory.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data.encoding import feature_names
from sottovoce.data.files import insist_one_weighing
from sottovoce.data.parquet import ParquetSource, in_blocks
from sottovoce.data.record_facts import RecordFacts
from sottovoce.data.records import Records
from sottovoce.data.rows import Block, DenseRows, Rows, Stored, chosen, dense_block_length
from sottovoce.data.schema import Schema
from sottovoce.data.spool import Spool, in_gigabytes, spool_folder
from sottovoce.data.targets import Classes, Range
from sottovoce.data.validation import (
    checked_radius,
    declaration_of,
    insist_rule_for_invalid,
    insist_usable,
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
) -> Records:
    """Records of Parquet files by the rules of `from_parquet`; what public facts decide is refused first."""
    declared_columns = schema if isinstance(schema, Schema) else Schema.load(schema)
    aim = declared_columns.target
    if aim is None:
        raise ParameterError("the schema declares no target. Add a [target] section.")
    if isinstance(memory, bool) or not isinstance(memory, int) or memory < 0:
        raise ParameterError("memory must be a whole number of bytes, at least 0.")
    folder = spool_folder(spool)
    radius = checked_radius(radius)
    insist_rule_for_invalid(invalid)
    source = ParquetSource.open(path, declared_columns, radius=radius, lenient=invalid == "zero")
    declared = declaration_of(aim.classes, aim.range)
    insist_one_weighing(declared_columns, sample_weight)
    cap = 1.0 if declared_columns.is_weighted else declared_cap(weight_cap, sample_weight)
    rows = read_rows(source, declared, memory=memory, folder=folder, progress=progress)
    if cap is not None:
        usable = np.ones(rows.n, dtype=bool)
        given = (
            source.counts(declared.places(rows.targets)) if declared_columns.is_weighted else sample_weight
        )
        weights = read_weights(given, rows.n, cap, usable)
        insist_usable(usable | (invalid == "zero"))
        rows = rows.reweighted(lambda _: weights)
    facts = RecordFacts(declared=declared, radius=radius, constant=True, weight_cap=cap)
    keys = source.keys() if groups is None and declared_columns.person is not None else groups
    return Records(rows, facts).of_persons(keys, persons, invalid)


def read_rows(
    source: ParquetSource, declared: Classes | Range, *, memory: int, folder: Path | None, progress: bool
) -> Rows:
    """Read every row once: keep `memory` bytes of them, spool the others into `folder` if there is one."""
    dim, n = len(feature_names(source.schema)), source.n
    if n < 1:
        raise DataError("the file has no rows.")
    length = dense_block_length(dim)
    blocks = -(-n // length)
    most = blocks if 4 * n * dim <= memory else memory // (4 * length * dim)
    spool = Spool(folder, length=length, dim=dim, blocks=blocks - most) if folder and most < blocks else None
    targets, kept, start = np.empty(n), list[Stored](), 0
    told = f", spooling {in_gigabytes(spool.size)} into {folder}" if spool else ""
    with waiting(progress, f"reading {n} rows{told}"):
        for features, given in in_blocks(source.read(), length):
            codes, _ = declared.encode(given)
            targets[start : start + len(codes)] = codes
            start += len(codes)
            if len(kept) < most:
                kept.append(features)
            elif spool is not None:
                spool.append(features)
    if start != n:
        raise DataError("the Parquet file has another number of rows than its footer says.")
    if spool is None and most < blocks:
        return StreamedRows(source, tuple(kept), targets, dim)
    return SpooledRows(source, tuple(kept), spool, targets, dim)


@final
class SpooledRows(Rows):
    """The first blocks in memory and the others in a spool: any of them is at hand at any time."""

    __slots__ = ("_kept", "_source", "_spool")

    def __init__(
        self, source: ParquetSource, kept: tuple[Stored, ...], spool: Spool | None, targets: Vector, dim: int
    ) -> None:
        super().__init__(targets, dim, dense_block_length(dim))
        self._source, self._kept, self._spool = source, kept, spool

    def block(self, index: int) -> Block:
        """Every pass asks for block 0, which is where a file that has changed is refused."""
        if index == 0:
            self._insist_unchanged()
        span = self.span(index)
        return Block(self._features(index), self.targets[span], self.weights_in(span))

    def take(self, indices: NDArray[np.int64]) -> DenseRows:
        self._insist_unchanged()
        bounds = np.searchsorted(indices, self.block_length * np.arange(self.blocks + 1))
        taken = [np.empty((0, self.dim), dtype=np.float32)]
        for number in np.flatnonzero(np.diff(bounds)).tolist():
            places = indices[bounds[number] : bounds[number + 1]] - number * self.block_length
            taken.append(self._features(number)[places])
        return DenseRows(np.concatenate(taken), self.targets[indices], chosen(self.weights, indices))

    def _features(self, index: int) -> Stored:
        held = len(self._kept)
        if self._spool is None or index < held:
            return self._kept[index]
        return self._spool.block(index - held)

    def _insist_unchanged(self) -> None:
        if self._spool is not None:
            self._source.insist_unchanged()


@final
class StreamedRows(Rows):
    """The first blocks in memory; the others are decoded again at each pass."""

    __slots__ = ("_kept", "_source")
    streamed: ClassVar[bool] = True

    def __init__(self, source: ParquetSource, kept: tuple[Stored, ...], targets: Vector, dim: int) -> None:
        super().__init__(targets, dim, dense_block_length(dim))
        self._source, self._kept = source, kept

    def block(self, index: int) -> Block:
        """Reads all blocks before it: passes use `read`."""
        return next(islice(self.read(), index, None))

    def read(self) -> Generator[Block, None, None]:
        for index, features in enumerate(self._kept):
            span = self.span(index)
            yield Block(features, self.targets[span], self.weights_in(span))
        held = len(self._kept)
        later = in_blocks(self._source.read(held * self.block_length), self.block_length)
        for index, (features, _) in enumerate(later, start=held):
            span = self.span(index)
            yield Block(features, self.targets[span], self.weights_in(span))

    def take(self, indices: NDArray[np.int64]) -> DenseRows:
        bounds = np.searchsorted(indices, self.block_length * np.arange(self.blocks + 1))
        taken = [
            features[indices[bounds[number] : bounds[number + 1]] - number * self.block_length]
            for number, (features, *_) in enumerate(self.read())
        ]
        return DenseRows(np.concatenate(taken), self.targets[indices], chosen(self.weights, indices))
