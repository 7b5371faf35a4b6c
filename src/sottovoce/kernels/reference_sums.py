"""What one block adds, in NumPy: a judge of compiled kernels, and all there is without a compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.blocks import Block
from sottovoce.kernels.block_sums import BlockKernel, Stretches
from sottovoce.kernels.products import View
from sottovoce.trusted.bands import Band, Span
from sottovoce.trusted.laws import Law, Placing


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
