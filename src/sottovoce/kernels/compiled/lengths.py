"""||M x||^2 of dense rows, compiled: centred, scaled and squared in registers; and what a row of that length
counts, by the rule of `Preconditioner.counts`."""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.data.compact import Compact
from sottovoce.kernels.compiled.block_sums import or_none
from sottovoce.queries.preconditioner import Preconditioner
from sottovoce.trusted.jit import compiled


def counts(
    features: Any,
    preconditioner: Preconditioner,
    rounding: float,
    slack: float,
    weights: Vector | None,
    out: Vector,
) -> None:
    """q omega of each row, its length rho enlarged to rho (1 + rounding) + slack."""
    squares(features, preconditioner, out)
    _count(preconditioner.cap, preconditioner.ceiling, rounding, slack, or_none(weights), out)


def squares(features: Any, preconditioner: Preconditioner, out: Vector) -> None:
    """sum over columns of (s_j (x_j - a_j x_c))^2, for each row."""
    shift = np.zeros(preconditioner.columns) if preconditioner.shift is None else preconditioner.shift
    if isinstance(features, Compact):
        from sottovoce.kernels.compiled import compact_lengths

        compact_lengths.squares(features, np.array(preconditioner.scale), shift, out)
    else:
        _squares(features, np.array(preconditioner.scale), np.array(shift), preconditioner.constant or 0, out)


@compiled()
def _count(cap: float, ceiling: float, rounding: float, slack: float, weights: Any, out: Any) -> None:
    """min(1, C/rho, B C^2/rho^2) of squares of lengths, in place; rounded down, so that both caps hold."""
    for i in range(out.size):
        length = np.sqrt(out[i]) * (1.0 + rounding) + slack
        ratio = cap / max(length, cap)
        capped = min(1.0, ratio * min(1.0, ceiling * ratio) * (1.0 - 2.0**-40))
        out[i] = 1.0 if length <= cap else capped
    if weights.size:
        for i in range(out.size):
            out[i] *= weights[i]


@compiled(reorder=True)
def _squares(X: Any, scale: Any, shift: Any, constant: int, out: Any) -> None:
    for i in range(out.size):
        held = np.float64(X[i, constant])
        total = 0.0
        for j in range(scale.size):
            z = (np.float64(X[i, j]) - held * shift[j]) * scale[j]
            total += z * z
        out[i] = total
