"""What one block of rows adds to each sum over all rows, compiled for large tables or as in `reference`.

Each contribution is placed, evaluated by a law, clamped, and only then weighted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.blocks import Block
from sottovoce.data.rows import Rows
from sottovoce.kernels.products import view_for
from sottovoce.trusted.bands import Band, Span
from sottovoce.trusted.compiling import is_compiled
from sottovoce.trusted.laws import Law


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


def block_kernel(rows: Rows, law: Law) -> BlockKernel:
    """Compiled for large tables, else plain."""
    if is_compiled(rows.entries):
        return compiled_kernel(rows, law)
    from sottovoce.kernels.reference_sums import PlainBlockKernel

    return PlainBlockKernel(law, view_for(rows))


def compiled_kernel(rows: Rows, law: Law) -> BlockKernel:
    if rows.layout is not None:
        from sottovoce.kernels.compiled.compact_sums import CompactBlockKernel

        return CompactBlockKernel(law)
    if rows.sparse:
        from sottovoce.kernels.compiled.sparse_sums import SparseBlockKernel

        return SparseBlockKernel(law)
    from sottovoce.kernels.compiled.block_sums import DenseBlockKernel

    return DenseBlockKernel(law)
