"""What one block of rows adds to each sum over all rows: in NumPy, or compiled for large tables.

Each contribution is placed, evaluated by a law, clamped, and only then weighted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.blocks import Block
from sottovoce.data.rows import Rows
from sottovoce.kernels.products import View, view_for
from sottovoce.trusted.bands import Band, Span
from sottovoce.trusted.compiling import is_compiled
from sottovoce.trusted.laws import Law, Placing


class Stretches(NamedTuple):
    """Where the blocks of a run add: `length` rows make a block, `done` blocks came before, and each `share`
    of them have a total of their own."""

    length: int
    done: int
    share: int


ALONE = Stretches(2**62, 0, 1)
"""One block, one total."""


class BlockKernel(ABC):
    """Sums over a block of what a law says of t_i, which is y_i <x_i, w>, <x_i, w> - y_i or <x_i, w> less a
    constant.

    `folds`: `tangent` and `trials` take several blocks that lie together, and add them one after another."""

    folds: ClassVar[bool] = False

    def __init__(self, law: Law) -> None:
        self._law = law

    @abstractmethod
    def tangent(
        self, block: Block, w: Vector, band: Band | None, span: Span | None, at: Stretches, totals: Matrix
    ) -> None:
        """Add the sum of values within the span to the last entry, where there is one, and that of first
        derivatives within the band times dt_i/dw to the rest, where there is one."""

    @abstractmethod
    def curvatures(self, block: Block, w: Vector, span: Span) -> Vector:
        """Second derivatives within the span, times what the record counts."""

    @abstractmethod
    def trials(
        self, block: Block, w: Vector, directions: Matrix, steepest: float, at: Stretches, totals: Matrix
    ) -> None:
        """Add the sum of phi(t_i) - phi(t_ij), t_ij at w + p_j, for each direction; row by row, each within
        steepest |t_ij - t_i|."""

    @abstractmethod
    def margins(self, block: Block, w: Vector, direction: Vector, here: Vector, moves: Vector) -> None:
        """Write t_i at w, and how fast it moves along the direction: t_i(w + gamma p) = t_i + gamma u_i."""

    @abstractmethod
    def marks(self, here: Vector, targets: Vector) -> Vector:
        """phi(t_i), where `drop` starts."""

    @abstractmethod
    def drop(
        self,
        steepest: float,
        length: float,
        here: Vector,
        moves: Vector,
        marks: Vector,
        targets: Vector,
        weights: Vector | None,
    ) -> float:
        """Sum of phi(t_i) - phi(t_i + length u_i), row by row, each within steepest |length u_i|; a
        difference that is no number is 0."""


@final
class PlainBlockKernel(BlockKernel):
    """Products by a view of the block, the law by itself."""

    def __init__(self, law: Law, view: Callable[[Any], View]) -> None:
        super().__init__(law)
        self._view = view

    def tangent(
        self, block: Block, w: Vector, band: Band | None, span: Span | None, at: Stretches, totals: Matrix
    ) -> None:
        (features, targets, weights), total = block, totals[0]
        view = self._view(features)
        t = self._arguments(view.times(w), targets)
        if band is None or span is None:
            values = self._law.values(t, targets) if band is None else t
            slopes = t if band is None else self._law.slopes(t, targets)
        else:
            values, slopes = self._law.tangents(t, targets)
        if band is not None:
            counted = self._weigh(band.clamped(t, slopes), targets, weights)
            total[:-1] += view.gather(self._chain(counted, targets))
        if span is not None:
            total[-1] += self._weigh(span.clamped(values), targets, weights).sum()

    def curvatures(self, block: Block, w: Vector, span: Span) -> Vector:
        features, targets, weights = block
        t = self._arguments(self._view(features).times(w), targets)
        return self._weigh(span.clamped(self._law.curvatures(t, targets)), targets, weights)

    def trials(
        self, block: Block, w: Vector, directions: Matrix, steepest: float, at: Stretches, totals: Matrix
    ) -> None:
        (features, targets, weights), total = block, totals[0]
        products = np.ascontiguousarray(self._view(features).times(np.column_stack([w, directions.T])).T)
        here = self._arguments(products[0], targets)
        values = self.marks(here, targets)
        for j, moves in enumerate(products[1:]):
            moved = self._chain(moves, targets)
            total[j] += self.drop(steepest, 1.0, here, moved, values, targets, weights)

    def margins(self, block: Block, w: Vector, direction: Vector, here: Vector, moves: Vector) -> None:
        features, targets, _ = block
        products = self._view(features).times(np.column_stack([w, direction]))
        here[:] = self._arguments(products[:, 0], targets)
        moves[:] = self._chain(products[:, 1], targets)

    def marks(self, here: Vector, targets: Vector) -> Vector:
        return self._law.values(here, targets)

    def drop(
        self,
        steepest: float,
        length: float,
        here: Vector,
        moves: Vector,
        marks: Vector,
        targets: Vector,
        weights: Vector | None,
    ) -> float:
        moved = length * moves
        with np.errstate(invalid="ignore"):
            drops = marks - self._law.values(here + moved, targets)
        drops[np.isnan(drops)] = 0.0
        most = steepest * np.abs(moved)
        return float(self._weigh(np.clip(drops, -most, most, out=drops), targets, weights).sum())

    def _arguments(self, products: Vector, targets: Vector) -> Vector:
        """t_i from <x_i, w>, in place."""
        if self._law.placing is Placing.MARGIN:
            return np.multiply(products, targets, out=products)
        taken = self._law.shift if self._law.placing is Placing.SHIFTED else targets
        return np.subtract(products, taken, out=products)

    def _weigh(self, terms: Vector, targets: Vector, weights: Vector | None) -> Vector:
        """Multiply by what each record counts, by its class and by its weight, in place."""
        if not self._law.negative == self._law.positive == 1.0:
            terms *= np.where(targets > 0.0, self._law.positive, self._law.negative)
        return terms if weights is None else np.multiply(terms, weights, out=terms)

    def _chain(self, slopes: Vector, targets: Vector) -> Vector:
        """Multiply by dt/d<x, w>, in place: the label's sign of a margin, else 1."""
        return np.multiply(slopes, targets, out=slopes) if self._law.placing is Placing.MARGIN else slopes


def block_kernel(rows: Rows, law: Law) -> BlockKernel:
    """Compiled for large tables, else plain."""
    return (
        compiled_kernel(rows, law)
        if is_compiled(rows.n * rows.dim)
        else PlainBlockKernel(law, view_for(rows))
    )


def compiled_kernel(rows: Rows, law: Law) -> BlockKernel:
    if rows.layout is not None:
        from sottovoce.kernels.compiled.compact_sums import CompactBlockKernel

        return CompactBlockKernel(law)
    if rows.sparse:
        from sottovoce.kernels.compiled.sparse_sums import SparseBlockKernel

        return SparseBlockKernel(law)
    from sottovoce.kernels.compiled.block_sums import DenseBlockKernel

    return DenseBlockKernel(law)
