"""What each record counts in a geometry: one pass that measures ||M x||, rounded up.

A record's count depends on that record and its place alone, so replacing one changes no other's. What is
computed as rho differs from ||M x|| by the rounding of a sum of `dim` terms that may cancel: it is enlarged
by that, in units of stretch R >= || |M| |x| ||, before the caps are applied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.blocks import Block
from sottovoce.data.rows import Rows
from sottovoce.kernels.passes import sum_blocks
from sottovoce.kernels.products import double, scale_sparse
from sottovoce.privacy.rounding import gamma
from sottovoce.questions.geometry import Geometry
from sottovoce.trusted.compiling import is_compiled

_CHUNK = 2**20
"""Entries of the dense piece into which sparse rows are turned."""


def counts(rows: Rows, geometry: Geometry, radius: float) -> Vector:
    """q omega for every record: its own weight times the geometry's, which caps its influence."""
    out = np.empty(rows.n)
    rounding = gamma(2.0 * rows.dim + 32.0)
    slack = rounding * (geometry.stretch * radius) ** (2.0 if _is_expanded(rows, geometry) else 1.0)
    if _is_fused(rows, geometry):
        from sottovoce.kernels.compiled import lengths as lengths_compiled

        def fill(index: int, block: Block, _: Vector) -> None:
            first = rows.span(index).start
            part = out[first : first + block.targets.size]
            lengths_compiled.counts(block.features, geometry, rounding, slack, block.weights, part)

        sum_blocks(rows, (), fill, together=True)
        return out
    measure = _measure_for(rows, geometry)

    def fill_plainly(index: int, block: Block, _: Vector) -> None:
        measured = measure(block.features)
        if _is_expanded(rows, geometry):
            lengths = np.sqrt(np.maximum(measured, 0.0) + slack) * (1.0 + rounding)
        else:
            lengths = np.sqrt(measured) * (1.0 + rounding) + slack
        omega = geometry.counts(lengths)
        out[rows.span(index)] = omega if block.weights is None else omega * block.weights

    sum_blocks(rows, (), fill_plainly)
    return out


def _is_fused(rows: Rows, geometry: Geometry) -> bool:
    """Whether one compiled loop measures rows and caps what they count."""
    if geometry.is_mixed or rows.sparse or not is_compiled(rows.n * rows.dim):
        return False
    # Compact rows are centred through the column that they know as the constant.
    return geometry.shift is None or rows.layout is None or geometry.constant == rows.layout.constant


def _is_expanded(rows: Rows, geometry: Geometry) -> bool:
    """Whether squares are summed over the entries other than 0, so that centring costs no dense row."""
    return rows.sparse and not geometry.is_mixed


def _measure_for(rows: Rows, geometry: Geometry) -> Callable[[Any], Vector]:
    """||M x||^2 of every row of a block."""
    if geometry.is_mixed:
        return lambda features: _turned(features, geometry)
    if rows.sparse:
        return lambda features: _sparse(features, geometry)
    return lambda features: _row_squares(geometry.to_coordinates(double(features)))


def _row_squares(z: Matrix) -> Vector:
    return np.asarray(np.einsum("ij,ij->i", z, z))


def _sparse(features: Any, geometry: Geometry) -> Vector:
    """sum of s_j^2 (x_j^2 - 2 a_j x_c x_j) over the entries, plus x_c^2 ||s a||^2."""
    wide, squares = double(features), geometry.scale**2
    total = np.asarray((wide * wide) @ squares)
    if geometry.shift is None:
        return total
    constant = np.asarray(wide @ np.eye(1, geometry.columns, geometry.constant or 0)[0])
    crossed = np.asarray(scale_sparse(wide, constant) @ (squares * geometry.shift))
    return total - 2.0 * crossed + constant**2 * float(np.sum(squares * geometry.shift**2))


def _turned(features: Any, geometry: Geometry) -> Vector:
    step = max(1, _CHUNK // geometry.columns)
    pieces = [double(features[start : start + step]) for start in range(0, features.shape[0], step)]
    return np.concatenate(
        [
            _row_squares(
                geometry.to_coordinates(piece.toarray() if hasattr(piece, "toarray") else piece.copy())
            )
            for piece in pieces
        ]
    )
