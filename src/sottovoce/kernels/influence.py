"""What each record counts in a preconditioner: one pass that measures ||M x||, rounded up.

A record's count depends on that record and its place alone, so replacing one changes no other's. What is
computed as rho differs from ||M x|| by the rounding of a sum of `dim` terms that may cancel: it is enlarged
by that, in units of stretch R >= || |M| |x| ||, before the caps are applied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sottovoce.arrays import Matrix, Vector, row_dots
from sottovoce.data.blocks import Block
from sottovoce.data.rows import Rows
from sottovoce.kernels.passes import sum_blocks
from sottovoce.kernels.products import double
from sottovoce.kernels.sparse_products import scale_sparse
from sottovoce.privacy.rounding import gamma
from sottovoce.queries.preconditioner import Preconditioner
from sottovoce.trusted.compiling import is_compiled

_CHUNK = 2**20
"""Entries of the dense piece into which sparse rows are turned."""


def counts(rows: Rows, preconditioner: Preconditioner, radius: float) -> Vector:
    """q omega for every record: its own weight times the preconditioner's, which caps its influence."""
    out = np.empty(rows.n)
    rounding = gamma(2.0 * rows.dim + 32.0)
    slack = rounding * (preconditioner.stretch * radius) ** (
        2.0 if _is_expanded(rows, preconditioner) else 1.0
    )
    if _is_fused(rows, preconditioner):
        from sottovoce.kernels.compiled import lengths as lengths_compiled

        def fill(index: int, block: Block, _: Vector) -> None:
            first = rows.span(index).start
            part = out[first : first + block.targets.size]
            lengths_compiled.counts(block.features, preconditioner, rounding, slack, block.weights, part)

        sum_blocks(rows, (), fill, together=True)
        return out
    measure = _measure_for(rows, preconditioner)

    def fill_plainly(index: int, block: Block, _: Vector) -> None:
        measured = measure(block.features)
        if _is_expanded(rows, preconditioner):
            lengths = np.sqrt(np.maximum(measured, 0.0) + slack) * (1.0 + rounding)
        else:
            lengths = np.sqrt(measured) * (1.0 + rounding) + slack
        omega = preconditioner.counts(lengths)
        out[rows.span(index)] = omega if block.weights is None else omega * block.weights

    sum_blocks(rows, (), fill_plainly)
    return out


def _is_fused(rows: Rows, preconditioner: Preconditioner) -> bool:
    """Whether one compiled loop measures rows and caps what they count."""
    if preconditioner.is_mixed or rows.sparse or not is_compiled(rows.entries):
        return False
    # Compact rows are centred through the column that they know as the constant.
    return (
        preconditioner.shift is None or rows.layout is None or preconditioner.constant == rows.layout.constant
    )


def _is_expanded(rows: Rows, preconditioner: Preconditioner) -> bool:
    """Whether squares are summed over the entries other than 0, so that centring costs no dense row."""
    return rows.sparse and not preconditioner.is_mixed


def _measure_for(rows: Rows, preconditioner: Preconditioner) -> Callable[[Any], Vector]:
    """||M x||^2 of every row of a block."""
    if preconditioner.is_mixed:
        return lambda features: _turned(features, preconditioner)
    if rows.sparse:
        return lambda features: _sparse(features, preconditioner)
    return lambda features: _row_squares(preconditioner.to_coordinates(double(features)))


def _row_squares(z: Matrix) -> Vector:
    return row_dots(z, z)


def _sparse(features: Any, preconditioner: Preconditioner) -> Vector:
    """sum of s_j^2 (x_j^2 - 2 a_j x_c x_j) over the entries, plus x_c^2 ||s a||^2."""
    wide, squares = double(features), preconditioner.scale**2
    total = np.asarray((wide * wide) @ squares)
    if preconditioner.shift is None:
        return total
    constant = np.asarray(wide @ np.eye(1, preconditioner.columns, preconditioner.constant or 0)[0])
    crossed = np.asarray(scale_sparse(wide, constant) @ (squares * preconditioner.shift))
    return total - 2.0 * crossed + constant**2 * float(np.sum(squares * preconditioner.shift**2))


def _turned(features: Any, preconditioner: Preconditioner) -> Vector:
    step = max(1, _CHUNK // preconditioner.columns)
    pieces = [double(features[start : start + step]) for start in range(0, features.shape[0], step)]
    return np.concatenate(
        [
            _row_squares(
                preconditioner.to_coordinates(piece.toarray() if hasattr(piece, "toarray") else piece.copy())
            )
            for piece in pieces
        ]
    )
