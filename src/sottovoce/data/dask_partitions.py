"""Partitions of Dask collections, bounded and read on the workers: what runs there, and what stays there."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.arrays import Vector
from sottovoce.data.compact import Compact
from sottovoce.data.compact_rows import CompactRows
from sottovoce.data.layout import RowLayout
from sottovoce.data.records import Records
from sottovoce.data.rows import DenseRows, Rows
from sottovoce.data.schema import Schema
from sottovoce.data.sparse_rows import SparseRows
from sottovoce.data.threads import alone
from sottovoce.errors import DataError, ParameterError

T = TypeVar("T")


@final
class Part:
    """Bounded rows of a partition, on a worker. Alone among holders of records it is pickled, for Dask.

    `fingerprint` is that of the whole partition as it was read, also where only some of its rows are here."""

    __slots__ = ("fingerprint", "rows")

    def __init__(self, rows: Rows, fingerprint: bytes) -> None:
        self.rows = rows
        self.fingerprint = fingerprint

    def __reduce__(self) -> Any:
        blocks = self._features()
        if self.rows.layout is not None:
            numbers = np.concatenate([block.numbers for block in blocks])
            whole: Any = (
                self.rows.layout,
                self.rows.n,
                numbers,
                np.concatenate([block.codes for block in blocks]),
            )
        else:
            whole = sparse.vstack(blocks, format="csr") if self.rows.sparse else np.concatenate(blocks)
        weights = None if self.rows.weights is None else np.array(self.rows.weights)
        return _restored, (whole, np.array(self.rows.targets), weights, self.fingerprint)

    def __sizeof__(self) -> int:
        """What Dask counts against the worker's memory."""
        held = sum(part.nbytes for features in self._features() for part in _arrays(features))
        weights = 0 if self.rows.weights is None else self.rows.weights.nbytes
        return int(held) + self.rows.targets.nbytes + weights

    def _features(self) -> list[Any]:
        return [self.rows.block(index).features for index in range(self.rows.blocks)]

    def __repr__(self) -> str:
        return "Part(private)"


def _arrays(features: Any) -> tuple[NDArray[Any], ...]:
    """What a block of rows holds."""
    if isinstance(features, Compact):
        return features.numbers, features.codes
    if sparse.issparse(features):
        return features.data, features.indices, features.indptr
    return (features,)


def array_tasks(X: Any, y: Any, weights: Any, options: dict[str, Any]) -> list[Any]:
    """A Part to be made of each chunk of rows of dask arrays; `options` are those of Records.from_arrays."""
    import dask
    import dask.array as da

    if not isinstance(X, da.Array) or not isinstance(y, da.Array) or X.ndim != 2 or y.ndim != 1:
        raise ParameterError(
            "pass a dask array X of two dimensions and y of one, or a dask dataframe with schema=Schema(...)."
        )
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    if X.chunks[0] != y.chunks[0] and not np.isnan(sum(X.chunks[0]) + sum(y.chunks[0])):
        y = y.rechunk((X.chunks[0],))
    if X.numblocks[0] != y.numblocks[0]:
        raise DataError(
            "X and y must be cut into the same chunks of rows. Call compute_chunk_sizes() on both."
        )
    bound = dask.delayed(_bounded, pure=False)
    counts = [None] * X.numblocks[0] if weights is None else _cut_alike(weights, X)
    triples = zip(X.to_delayed().ravel(), y.to_delayed().ravel(), counts, strict=True)
    return [bound(part, targets, options, count) for part, targets, count in triples]


def _cut_alike(weights: Any, X: Any) -> list[Any]:
    """The weights in the chunks of X's rows."""
    import dask.array as da

    if not isinstance(weights, da.Array) or weights.ndim != 1:
        raise ParameterError(
            "sample_weight must be a dask array of one dimension, as y.", argument="sample_weight"
        )
    if X.chunks[0] != weights.chunks[0] and not np.isnan(sum(X.chunks[0]) + sum(weights.chunks[0])):
        weights = weights.rechunk((X.chunks[0],))
    if X.numblocks[0] != weights.numblocks[0]:
        raise DataError("X and sample_weight must be cut into the same chunks of rows.")
    return list(weights.to_delayed().ravel())


def frame_tasks(frame: Any, schema: Schema, options: dict[str, Any]) -> list[Any]:
    """A Part to be made of each partition of a dask dataframe."""
    import dask

    from sottovoce.data.sources import require_present

    if not hasattr(frame, "to_delayed") or not hasattr(frame, "columns"):
        raise ParameterError("with a schema, pass a dask dataframe.")
    assert schema.target is not None
    wanted = [*schema.names, schema.target.name, *schema.weighed_by]
    require_present(tuple(wanted), frame.columns)
    bound = dask.delayed(_encoded, pure=False)
    return [bound(part, schema, options) for part in frame[wanted].to_delayed()]


def _bounded(X: Any, y: Any, options: dict[str, Any], weights: Any = None) -> Part | None:
    """On a worker. An empty partition holds nothing."""
    if X.shape[0] == 0:
        return None
    rows = Records.from_arrays(X, y, sample_weight=weights, **options)._rows
    assert isinstance(rows, Rows)
    return Part(rows, fingerprint(rows))


def fingerprint(rows: Rows) -> bytes:
    """A digest of the bounded rows, targets and weights, in order: equal for equal rows, else different."""
    digest = blake2b(f"{rows.n} {rows.dim} {rows.sparse} {rows.layout}".encode(), digest_size=32)
    for index in range(rows.blocks):
        features, targets, weights = rows.block(index)
        held = _arrays(features)
        for part in (*held, targets, *([] if weights is None else [weights])):
            digest.update(np.ascontiguousarray(part).data)
    return digest.digest()


def _encoded(frame: Any, schema: Schema, options: dict[str, Any]) -> Part | None:
    """On a worker."""
    from sottovoce.data.frames import Dataframe
    from sottovoce.data.tables import Rule, encoded_columns

    if len(frame) == 0:
        return None
    held = Dataframe(frame)
    rule = Rule(lenient=options["invalid"] == "zero", typed=False)
    part = encoded_columns(held.n, held.column, schema, schema.target, rule, schema.is_weighted)
    features = Compact.joined(RowLayout.of(schema), [part.features])
    return _bounded(features, part.target, {**options, "weight_cap": 1.0}, part.counts)


class Facts(NamedTuple):
    """What the client keeps of a part: public numbers, and the fingerprint to know it by."""

    rows: int
    columns: int
    block_length: int
    sparse: bool
    fingerprint: bytes


def facts(part: Part | None) -> Facts | None:
    """None of an empty partition."""
    if part is None:
        return None
    rows = part.rows
    return Facts(rows.n, rows.dim, rows.block_length, rows.sparse, part.fingerprint)


def passed(
    part: Part | None,
    known: bytes,
    weights: Vector | None,
    expected: int,
    kernel: Callable[..., T],
    arguments: Any,
    named: Any,
) -> T:
    """On a worker, which runs as many of these at a time as it has threads."""
    with alone():
        return kernel(_counting(part, known, weights, expected), *arguments, **named)


def taken(
    part: Part | None,
    known: bytes,
    weights: Vector | None,
    expected: int,
    indices: NDArray[np.int64],
) -> Part:
    """The rows at these increasing places of a part."""
    return Part(_counting(part, known, weights, expected).take(indices), known)


def weighed(
    part: Part | None,
    known: bytes,
    weights: Vector | None,
    expected: int,
    rule: Callable[[Rows], Vector],
) -> Vector:
    """On a worker: what each row of the part is to count."""
    with alone():
        return rule(_counting(part, known, weights, expected))


def _counting(part: Part | None, known: bytes, weights: Vector | None, expected: int) -> Rows:
    """The part's rows, counting other weights than it came with if some are given."""
    rows = _unchanged(part, known).rows.expecting(expected)
    return rows if weights is None else rows.reweighted(lambda _: np.array(weights))


def _unchanged(part: Part | None, known: bytes) -> Part:
    """Dask makes a lost part again from its source. Answers about two tables would share one guarantee."""
    if part is None or part.fingerprint != known:
        raise DataError(
            "the source of a Dask partition gave other rows than before when it was read again. Nothing was "
            "released from them; a query that was charged stays charged. Keep the source as it is while the "
            "records are in use, and make the records again."
        )
    return part


def _restored(features: Any, targets: Vector, weights: Vector | None, known: bytes) -> Part:
    if isinstance(features, tuple):
        return Part(CompactRows(Compact(*features), targets, weights), known)
    rows = (SparseRows if sparse.issparse(features) else DenseRows)(features, targets, weights)
    return Part(rows, known)
