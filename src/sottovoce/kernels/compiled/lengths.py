"""||M x||^2 of dense float32 rows, compiled: centred, scaled and squared in registers."""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.kernels.compiled.jit import compiled
from sottovoce.questions.geometry import Geometry


def squares(features: Any, geometry: Geometry) -> Vector:
    """sum over columns of (s_j (x_j - a_j x_c))^2, for each row."""
    shift = np.zeros(geometry.columns) if geometry.shift is None else geometry.shift
    out = np.empty(len(features))
    _squares(features, np.array(geometry.scale), np.array(shift), geometry.constant or 0, out)
    return out


@compiled(reorder=True)
def _squares(X: Any, scale: Any, shift: Any, constant: int, out: Any) -> None:
    for i in range(out.size):
        held = np.float64(X[i, constant])
        total = 0.0
        for j in range(scale.size):
            z = (np.float64(X[i, j]) - held * shift[j]) * scale[j]
            total += z * z
        out[i] = total
