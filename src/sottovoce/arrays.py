"""Names for the arrays that travel between rooms, and products that know no row but their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def row_dots(rows: Matrix, with_each: Matrix | Vector) -> Vector:
    """<x_i, v>, or <x_i, v_i> for as many rows: each a matrix product of its own, so that no other row, nor
    how many there are, changes a digit. BLAS rounds the last rows of a product differently, and `einsum`
    splits rows of more than 8,192 entries by where they stand."""
    return np.asarray(np.matmul(rows[:, None, :], with_each[..., None])[:, 0, 0])
