"""Bounded rows and how they are kept: clipped in float64, stored read-only in float32, read in blocks.

Why no stored row x can exceed the radius R: clipping leaves ||x|| <= R(1 - 2^-22)(1 + (d + 8) 2^-53), the
cast to float32 moves every entry by at most a factor 1 + 2^-24, and the product stays below R for every
d up to 2^27. Each stored row is nevertheless measured again in float64 before it is let in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Mask, Matrix, Vector, row_dots
from sottovoce.data import blocks
from sottovoce.data.blocks import Block
from sottovoce.data.sealed import Sealed
from sottovoce.errors import DataError

if TYPE_CHECKING:
    from sottovoce.data.layout import RowLayout

CLIP_MARGIN = 2.0**-22
"""Rows longer than R(1 - CLIP_MARGIN) are shrunk to that length, so that float32 cannot push them past R."""

Stored = NDArray[np.float32]


class Rows(Sealed, ABC):
    """All rows in blocks whose boundaries depend on the public n and dim only.

    `weights` are what each row counts in every sum; None where each counts 1. `layout` is that of compact
    rows, None of others. Where blocks are `streamed`, `read` alone gives them, in order; else `block` gives
    any of them. How many rows persons have, or a part that is held elsewhere, and so where a row stands, is
    private: `expected` is then the public number that stands for n where a way to compute is chosen."""

    __slots__ = ("block_length", "dim", "expected", "layout", "n", "targets", "weights")
    sparse: ClassVar[bool] = False
    streamed: ClassVar[bool] = False

    def __init__(
        self,
        targets: Vector,
        dim: int,
        block_length: int,
        weights: Vector | None = None,
        layout: RowLayout | None = None,
    ) -> None:
        self.targets = targets
        self.targets.flags.writeable = False
        self.weights = weights
        if weights is not None:
            weights.flags.writeable = False
        self.n = targets.size
        self.dim = dim
        self.block_length = block_length
        self.layout = layout
        self.expected: int | None = None

    @property
    def entries(self) -> int:
        """Entries of the table, or as many as are expected: public."""
        return (self.n if self.expected is None else self.expected) * self.dim

    @property
    def blocks(self) -> int:
        return -(-self.n // self.block_length)

    def span(self, index: int) -> slice:
        """The rows of one block."""
        start = index * self.block_length
        return slice(start, min(start + self.block_length, self.n))

    def weights_in(self, span: slice) -> Vector | None:
        """What these rows count."""
        return None if self.weights is None else self.weights[span]

    def reweighted(self, rule: Callable[[Rows], Vector]) -> Rows:
        """The same features and targets, not copied, each row counting what the rule says."""
        copy = self._copied()
        copy.weights = rule(self)
        copy.weights.flags.writeable = False
        return copy

    def scaled(self, shares: Vector) -> Rows:
        """The same rows, each counting so much of what it counted."""
        return self.reweighted(partial(times, shares=shares))

    def expecting(self, expected: int | None) -> Rows:
        """The same rows, not copied, of which so many are expected."""
        copy = self._copied()
        copy.expected = expected
        return copy

    def _copied(self) -> Rows:
        copy = object.__new__(type(self))
        for kind in type(self).__mro__:
            for name in getattr(kind, "__slots__", ()):
                setattr(copy, name, getattr(self, name))
        return copy

    @abstractmethod
    def block(self, index: int) -> Block: ...

    def each(self, first: int, last: int) -> Iterator[Block]:
        """The blocks from `first` to `last`, in order."""
        return map(self.block, range(first, last))

    def run(self, first: int, last: int) -> Iterator[Block]:
        """As `each`, but blocks that lie together in memory as one piece."""
        return self.each(first, last)

    def read(self) -> Generator[Block, None, None]:
        """Every block, in order."""
        for index in range(self.blocks):
            yield self.block(index)

    @abstractmethod
    def take(self, indices: NDArray[np.int64]) -> Rows:
        """A copy of the rows at increasing `indices`."""


@final
class DenseRows(Rows):
    """One float32 array; a block is a view of it."""

    __slots__ = ("_features",)

    def __init__(self, features: Stored, targets: Vector, weights: Vector | None = None) -> None:
        super().__init__(targets, features.shape[1], blocks.dense_block_length(features.shape[1]), weights)
        self._features = features
        self._features.flags.writeable = False

    def block(self, index: int) -> Block:
        span = self.span(index)
        return Block(self._features[span], self.targets[span], self.weights_in(span))

    def run(self, first: int, last: int) -> Iterator[Block]:
        span = slice(self.span(first).start, self.span(last - 1).stop)
        yield Block(self._features[span], self.targets[span], self.weights_in(span))

    def take(self, indices: NDArray[np.int64]) -> DenseRows:
        return DenseRows(self._features[indices], self.targets[indices], chosen(self.weights, indices))


def times(rows: Rows, shares: Vector) -> Vector:
    """What rows count, times their shares."""
    return shares.copy() if rows.weights is None else shares * rows.weights


def chosen(weights: Vector | None, indices: NDArray[np.int64]) -> Vector | None:
    """The weights at `indices`."""
    return None if weights is None else weights[indices]


def bound_dense(X: Any, radius: float, intercept: bool, usable: Mask) -> Stored:
    """Copy of X with a column of ones if wanted, each row clipped to the radius, in float32.

    Rows that are not finite are cleared in `usable`; rows not usable become zero, intercept included."""
    n, columns = X.shape
    stored = np.empty((n, columns + intercept), dtype=np.float32)
    length = blocks.dense_block_length(columns + intercept)
    buffer = np.empty((min(n, length), columns + intercept))
    with np.errstate(all="ignore"):
        for start in range(0, n, length):
            span = slice(start, min(n, start + length))
            rows = buffer[: span.stop - start]
            rows[:, :columns] = X[span]
            rows[:, columns:] = 1.0
            _clip_dense(rows, radius, usable[span])
            stored[span] = rows
            rows[:] = stored[span]
            require_short(row_dots(rows, rows), radius)
    return stored


def _clip_dense(rows: Matrix, radius: float, usable: Mask) -> None:
    largest = np.maximum(rows.max(axis=1), -rows.min(axis=1))
    usable &= np.isfinite(largest)
    rows[~usable] = 0.0
    largest[~usable] = 0.0
    unit = rows / np.where(largest > 0.0, largest, 1.0)[:, None]
    reach, long = lengths_within(largest, row_dots(unit, unit), radius)
    rows[long] = unit[long] * reach[long, None]


def lengths_within(largest: Vector, unit_square: Vector, radius: float) -> tuple[Vector, Mask]:
    """What the largest entry may be, and which rows exceed it: ||x|| = largest * ||unit|| never overflows."""
    reach = radius * (1.0 - CLIP_MARGIN) / np.sqrt(unit_square)
    return reach, largest > reach


def require_short(squares: Vector, radius: float) -> None:
    """No stored row is let in whose norm, by its square, is not below the radius."""
    if not np.all(squares <= radius**2 * (1.0 - CLIP_MARGIN / 2.0)):
        raise DataError(
            "a stored row would exceed the radius. This is a defect of sottovoce: please report it."
        )
