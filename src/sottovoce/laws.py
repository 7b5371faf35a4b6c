"""How a pass evaluates a loss: by the loss itself in NumPy, or by its compiled twin where there is one."""

from __future__ import annotations

from typing import Protocol

from sottovoce.arrays import Vector
from sottovoce.losses import Loss
from sottovoce.products import is_compiled
from sottovoce.rows import Rows


class Law(Protocol):
    """phi and its derivatives, elementwise, each computed to within the ulps that `rounding` allows."""

    def value(self, t: Vector) -> Vector: ...

    def first(self, t: Vector) -> Vector: ...

    def second(self, t: Vector) -> Vector: ...

    def value_and_first(self, t: Vector) -> tuple[Vector, Vector]: ...


def law_for(rows: Rows, loss: Loss) -> Law:
    """The loss on the reference path and wherever it has no compiled twin."""
    if is_compiled(rows.n * rows.dim):
        from sottovoce import laws_compiled

        if laws_compiled.is_known(loss):
            return laws_compiled.CompiledLaw(loss)
    return loss
