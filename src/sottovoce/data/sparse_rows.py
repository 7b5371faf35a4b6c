"""CSR rows, bounded and kept as `rows` keeps dense ones."""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.arrays import Mask, Vector
from sottovoce.data import blocks
from sottovoce.data.blocks import Block
from sottovoce.data.rows import Rows, chosen, lengths_within, require_short


@final
class SparseRows(Rows):
    """CSR with float32 entries, cut into blocks once; blocks share the entries and the column indices."""

    __slots__ = ("_features",)
    sparse: ClassVar[bool] = True

    def __init__(self, features: Any, targets: Vector, weights: Vector | None = None) -> None:
        super().__init__(targets, features.shape[1], blocks.SPARSE_BLOCK_LENGTH, weights)
        for part in (features.data, features.indices):
            part.flags.writeable = False
        self._features = tuple(_csr_slice(features, self.span(i)) for i in range(self.blocks))

    def block(self, index: int) -> Block:
        span = self.span(index)
        return Block(self._features[index], self.targets[span], self.weights_in(span))

    def take(self, indices: NDArray[np.int64]) -> SparseRows:
        bounds = np.searchsorted(indices, self.block_length * np.arange(self.blocks + 1))
        parts = [
            block[indices[first:last] - number * self.block_length]
            for number, (block, first, last) in enumerate(
                zip(self._features, bounds[:-1], bounds[1:], strict=True)
            )
            if last > first
        ]
        taken = chosen(self.weights, indices)
        return SparseRows(sparse.vstack(parts, format="csr"), self.targets[indices], taken)


def bound_sparse(X: Any, radius: float, intercept: bool, usable: Mask) -> Any:
    """As `bound_dense`, for a canonical CSR (sorted columns, none twice); zero entries may stay explicit."""
    n, columns = X.shape
    shape = (n, columns + intercept)
    kind = np.int32 if max(X.nnz + n, *shape) < 2**31 else np.int64
    indptr = X.indptr.astype(kind) + np.arange(n + 1, dtype=kind) * kind(intercept)
    data = np.empty(indptr[-1], dtype=np.float32)
    indices = np.empty(indptr[-1], dtype=kind)
    with np.errstate(all="ignore"):
        for start in range(0, n, blocks.SPARSE_BLOCK_LENGTH):
            stop = min(n, start + blocks.SPARSE_BLOCK_LENGTH)
            source = slice(X.indptr[start], X.indptr[stop])
            target = slice(indptr[start], indptr[stop])
            lengths = np.diff(indptr[start : stop + 1])
            given = np.ones(target.stop - target.start, dtype=bool)
            if intercept:
                given[np.cumsum(lengths) - 1] = False
            values = np.ones(given.size)
            values[given] = X.data[source]
            places = np.full(given.size, columns, dtype=kind)
            places[given] = X.indices[source]
            _clip_sparse(values, lengths, radius, usable[start:stop])
            data[target], indices[target] = values, places
            kept = data[target].astype(np.float64)
            require_short(_per_row(np.add, kept * kept, lengths), radius)
    return sparse.csr_array((data, indices, indptr), shape=shape)


def _clip_sparse(values: Vector, lengths: NDArray[Any], radius: float, usable: Mask) -> None:
    largest = _per_row(np.maximum, np.abs(values), lengths)
    usable &= np.isfinite(largest)
    values[np.repeat(~usable, lengths)] = 0.0
    largest[~usable] = 0.0
    unit = values / np.repeat(np.where(largest > 0.0, largest, 1.0), lengths)
    reach, long = lengths_within(largest, _per_row(np.add, unit * unit, lengths), radius)
    entries = np.repeat(long, lengths)
    values[entries] = unit[entries] * np.repeat(reach, lengths)[entries]


def _per_row(reduce: np.ufunc, values: Vector, lengths: NDArray[Any]) -> Vector:
    """Reduce consecutive runs of the given lengths; an empty run gives 0."""
    out = np.zeros(lengths.size)
    filled = lengths > 0
    starts = (np.cumsum(lengths) - lengths)[filled]
    if starts.size:
        out[filled] = reduce.reduceat(values, starts)
    return out


def _csr_slice(features: Any, span: slice) -> Any:
    first, last = features.indptr[span.start], features.indptr[span.stop]
    indptr = features.indptr[span.start : span.stop + 1] - first
    indptr.flags.writeable = False
    parts = (features.data[first:last], features.indices[first:last], indptr)
    return sparse.csr_array(parts, shape=(indptr.size - 1, features.shape[1]))
