"""A module's risk on a line, for line searches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.autodiff.clipping import clipped_numbers
from sottovoce.data.sealed import Sealed

if TYPE_CHECKING:
    from torch import Tensor

    from sottovoce.arrays import Vector
    from sottovoce.autodiff.risk import TorchRisk


@final
class TorchLine(Sealed):
    """f on the line w + gamma p: the losses at w are kept, one number an example."""

    def __init__(self, risk: TorchRisk, w: Vector, direction: Vector) -> None:
        self._risk = risk
        self._w = w
        self._direction = direction
        self._length = float(np.linalg.norm(direction))
        self._here = self._losses(w)

    def decrease(self, gamma: float) -> float:
        """f(w) - f(w + gamma p), each example's difference cut to gradient_clip ||gamma p||.

        Exact: for the data's owner only."""
        with np.errstate(over="ignore", invalid="ignore"):
            end = self._w + float(gamma) * self._direction
        end = self._risk._weights(end, "w + gamma * direction")
        limit = self._risk._settings.gradient_clip * abs(float(gamma)) * self._length
        total = math.fsum(
            clipped_numbers(here - there, -limit, limit, shares)
            for (here, shares), (there, _) in zip(self._here, self._losses(end), strict=True)
        )
        penalty = self._risk._regularizer.value
        return total / self._risk.n + penalty(self._w) - penalty(end)

    def _losses(self, w: Vector) -> list[tuple[Tensor, Tensor]]:
        """Of each call, and what each of its examples counts."""
        flat = self._risk._flat(w)
        return [(self._risk._terms.values(flat, x, y).double(), q) for x, y, q in self._risk._pieces()]

    def __repr__(self) -> str:
        return f"TorchLine({self._risk!r})"
