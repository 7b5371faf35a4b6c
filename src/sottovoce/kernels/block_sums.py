"""What one block of rows adds to each sum over all rows: in NumPy for any loss, compiled where it can be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.blocks import Block
from sottovoce.data.compiling import is_compiled
from sottovoce.data.rows import Rows
from sottovoce.kernels.products import View, view_for
from sottovoce.losses import Kind, Loss


class Tally(ABC):
    """Sums over a block, t_i being y_i <x_i, w> for a margin loss, <x_i, w> - y_i for a residual loss and
    <x_i, w> less a constant for a count, whose phi is the loss's less y_i t_i.

    `folds`: `tangent` takes several blocks that lie together, and adds them one after another."""

    folds: ClassVar[bool] = False

    @abstractmethod
    def tangent(self, block: Block, w: Vector, sloped: bool, total: Vector) -> None:
        """Add the sum of phi(t_i) to the last entry and, if `sloped`, that of phi'(t_i) dt_i/dw to the rest.

        The value is the same number either way."""

    @abstractmethod
    def curvatures(self, block: Block, w: Vector) -> Vector:
        """phi''(t_i) times what the record counts."""

    @abstractmethod
    def trials(self, block: Block, w: Vector, directions: Matrix, total: Vector) -> None:
        """Add the sum of phi(t_i) - phi(t_ij), t_ij at w + p_j, for each direction; row by row."""

    @abstractmethod
    def margins(self, block: Block, w: Vector, direction: Vector, here: Vector, moves: Vector) -> None:
        """Write t_i at w, and how fast it moves along the direction: t_i(w + gamma p) = t_i + gamma u_i."""

    @abstractmethod
    def marks(self, here: Vector) -> Vector:
        """What `drop` needs to know of where it starts."""

    @abstractmethod
    def drop(
        self,
        length: float,
        here: Vector,
        moves: Vector,
        marks: Vector,
        targets: Vector,
        weights: Vector | None,
    ) -> float:
        """Sum of phi(t_i) - phi(t_i + length u_i), differences taken row by row."""


@final
class PlainTally(Tally):
    """Products by a view of the block, the loss by itself."""

    def __init__(self, loss: Loss, view: Callable[[Any], View]) -> None:
        self._loss = loss
        self._view = view

    def tangent(self, block: Block, w: Vector, sloped: bool, total: Vector) -> None:
        features, targets, weights = block
        view = self._view(features)
        t = self._arguments(view.times(w), targets)
        values, slopes = self._loss.value_and_first(t)
        pull = self._loss.pull(targets)
        if pull is not None:
            values -= pull * t
            slopes -= pull
        if sloped:
            total[:-1] += view.gather(self._chain(self._weigh(slopes, targets, weights), targets))
        total[-1] += self._weigh(values, targets, weights).sum()

    def curvatures(self, block: Block, w: Vector) -> Vector:
        features, targets, weights = block
        t = self._arguments(self._view(features).times(w), targets)
        return self._weigh(self._loss.second(t), targets, weights)

    def trials(self, block: Block, w: Vector, directions: Matrix, total: Vector) -> None:
        features, targets, weights = block
        products = np.ascontiguousarray(self._view(features).times(np.column_stack([w, directions.T])).T)
        here = self._arguments(products[0], targets)
        values = self._loss.value(here)
        for j, moves in enumerate(products[1:]):
            total[j] += self.drop(1.0, here, self._chain(moves, targets), values, targets, weights)

    def margins(self, block: Block, w: Vector, direction: Vector, here: Vector, moves: Vector) -> None:
        features, targets, _ = block
        products = self._view(features).times(np.column_stack([w, direction]))
        here[:] = self._arguments(products[:, 0], targets)
        moves[:] = self._chain(products[:, 1], targets)

    def marks(self, here: Vector) -> Vector:
        return self._loss.value(here)

    def drop(
        self,
        length: float,
        here: Vector,
        moves: Vector,
        marks: Vector,
        targets: Vector,
        weights: Vector | None,
    ) -> float:
        drops = marks - self._loss.value(here + length * moves)
        pull = self._loss.pull(targets)
        if pull is not None:
            drops += pull * (length * moves)
        return float(self._weigh(drops, targets, weights).sum())

    def _arguments(self, products: Vector, targets: Vector) -> Vector:
        """t_i from <x_i, w>, in place."""
        if self._loss.kind is Kind.MARGIN:
            return np.multiply(products, targets, out=products)
        taken = self._loss.shift if self._loss.kind is Kind.COUNT else targets
        return np.subtract(products, taken, out=products)

    def _weigh(self, values: Vector, targets: Vector, weights: Vector | None) -> Vector:
        """Multiply by what each record counts, by its class and by its weight, in place."""
        for factors in (self._loss.relative(targets), weights):
            if factors is not None:
                np.multiply(values, factors, out=values)
        return values

    def _chain(self, slopes: Vector, targets: Vector) -> Vector:
        """Multiply by dt/d<x, w>, in place: the label's sign for a margin loss, 1 for others."""
        return np.multiply(slopes, targets, out=slopes) if self._loss.kind is Kind.MARGIN else slopes


def tally_for(rows: Rows, loss: Loss, *, slopes_only: bool = False) -> Tally:
    """Compiled for large tables and losses with a compiled twin, else plain.

    `slopes_only`: sums of phi will not be read, so a limited loss may be its base with another clamp."""
    if is_compiled(rows.n * rows.dim):
        from sottovoce.kernels.compiled import block_sums as tallies_compiled
        from sottovoce.kernels.compiled.twins import sloping_twin_of, twin_of

        twin = (sloping_twin_of if slopes_only else twin_of)(loss)
        if twin is not None and rows.layout is not None:
            from sottovoce.kernels.compiled.compact_sums import CompactTally

            return CompactTally(twin)
        if twin is not None:
            return (tallies_compiled.SparseTally if rows.sparse else tallies_compiled.DenseTally)(twin)
    return PlainTally(loss, view_for(rows))
