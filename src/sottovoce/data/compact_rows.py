"""Compact rows in memory: let in once they are measured, read in blocks of whole tiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Mask, Vector
from sottovoce.data.blocks import Block
from sottovoce.data.compact import Compact
from sottovoce.data.rows import Rows, chosen, require_short
from sottovoce.errors import DataError

LEAST_COMPACT = 1.0
"""Radius from which on no row of a schema is shrunk: below it indicators would differ from row to row."""


@final
class CompactRows(Rows):
    """Compact rows in memory; a block is a view of whole tiles."""

    __slots__ = ("_features",)

    def __init__(self, features: Compact, targets: Vector, weights: Vector | None = None) -> None:
        layout = features.layout
        super().__init__(targets, layout.dim, layout.block_length, weights, layout)
        self._features = features.seal()

    def block(self, index: int) -> Block:
        span = self.span(index)
        return Block(self._features.tiles(span.start, span.stop), self.targets[span], self.weights_in(span))

    def run(self, first: int, last: int) -> Iterator[Block]:
        span = slice(self.span(first).start, self.span(last - 1).stop)
        yield Block(self._features.tiles(span.start, span.stop), self.targets[span], self.weights_in(span))

    def take(self, indices: NDArray[np.int64]) -> CompactRows:
        return CompactRows(self._features.take(indices), self.targets[indices], chosen(self.weights, indices))


def bound_compact(features: Compact, radius: float, usable: Mask) -> Compact:
    """The rows, those not usable blank; a radius of at least 1 shrinks none that a schema encodes.

    The constant is the unit, or 0 in a blank row: passes that centre by it rely on that."""
    features.clear(~usable)
    step = features.layout.block_length
    for first in range(0, features.n, step):
        part = features.tiles(first, min(features.n, first + step))
        require_short(part.squares(), radius)
        constant = part.numbers[:, -1]
        if not np.all((constant == 0.0) | (constant == np.float32(features.layout.unit))):
            raise DataError("a compact row has no constant. This is a defect of sottovoce: please report it.")
    return features
