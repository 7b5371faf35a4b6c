"""Column means and mean squares, released together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.errors import ParameterError

Indices = NDArray[np.intp]


@final
@dataclass(frozen=True, eq=False)
class Moments:
    """Noisy means of q x_j and of q x_j^2, or of its sums over groups of columns, and what both cost.

    Noise is independent in each entry, of standard deviation `mean_scale` and `square_scale`."""

    means: Vector
    squares: Vector
    mean_scale: float
    square_scale: float
    units: int


def checked_groups(groups: Indices | None, columns: int) -> Indices | None:
    """The group of each column, numbered from 0; every number up to the largest has a column."""
    if groups is None:
        return None
    members = np.asarray(groups)
    if members.dtype.kind not in "iu" or members.shape != (columns,):
        raise ParameterError(f"groups must hold a whole number for each of the {columns} columns.")
    found = np.unique(members)
    if not np.array_equal(found, np.arange(found.size)):
        raise ParameterError("groups must be numbered 0, 1, 2, ... without a gap.")
    return members.astype(np.intp)
