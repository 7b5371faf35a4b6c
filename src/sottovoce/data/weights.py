"""What records count, as declared: sample weights in [0, cap], read entry by entry."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.data import cells
from sottovoce.data.rows import Mask
from sottovoce.data.validation import column_of
from sottovoce.errors import ParameterError

LARGEST_CAP = 1e6


def declared_cap(cap: float, values: Any) -> float | None:
    """The declared largest weight; None without weights, when every record counts 1."""
    with suppress(TypeError, ValueError, OverflowError):
        if not isinstance(cap, bool | str) and 1.0 / LARGEST_CAP <= float(cap) <= LARGEST_CAP:
            return None if values is None else float(cap)
    raise ParameterError(
        f"weight_cap must be a number within [{1.0 / LARGEST_CAP:g}, {LARGEST_CAP:g}]. Rescale the weights."
    )


def read_weights(values: Any, n: int, cap: float, usable: Mask) -> Vector:
    """n weights clipped to [0, cap], each by itself; those that are not finite are 0 and not usable."""
    weights = np.array(cells.numbers(column_of(values, n, "sample_weight")))
    finite = np.isfinite(weights)
    usable &= finite
    weights[~finite] = 0.0
    return np.clip(weights, 0.0, cap, out=weights)
