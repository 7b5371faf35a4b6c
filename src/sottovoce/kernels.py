"""Blocked passes over the rows: exact sums, accumulated in float64.

Rows are read block by block; each float32 block is cast to float64 before any product. Consecutive blocks
form at most 32 stretches, whose bounds depend on n and dim alone: a stretch adds up its blocks in order, and
stretches are added in order, so the numbers do not depend on how many threads there are. A sum over rows
meets at most block_length + blocks roundings per entry.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from sottovoce.arrays import Matrix, Vector
from sottovoce.losses import Kind, Loss
from sottovoce.rows import Rows
from sottovoce.threads import in_order

_STRETCHES = 32
_scratch = threading.local()


def value(rows: Rows, loss: Loss, w: Vector) -> float:
    """sum of phi(t_i)."""

    def add(index: int, total: Vector) -> None:
        features, targets = rows.block(index)
        total += loss.value(_arguments(loss, _double(features) @ w, targets)).sum()

    return float(_sum(rows.blocks, (), add))


def gradient(rows: Rows, loss: Loss, w: Vector) -> Vector:
    """sum of phi'(t_i) dt_i/dw."""

    def add(index: int, total: Vector) -> None:
        features, targets = rows.block(index)
        wide = _double(features)
        total += wide.T @ _chain(loss, loss.first(_arguments(loss, wide @ w, targets)), targets)

    return _sum(rows.blocks, (rows.dim,), add)


def value_and_gradient(rows: Rows, loss: Loss, w: Vector) -> tuple[float, Vector]:
    """Both sums in one pass: the same numbers as `value` and `gradient`."""

    def add(index: int, total: Vector) -> None:
        features, targets = rows.block(index)
        wide = _double(features)
        values, slopes = loss.value_and_first(_arguments(loss, wide @ w, targets))
        total[:-1] += wide.T @ _chain(loss, slopes, targets)
        total[-1] += values.sum()

    total = _sum(rows.blocks, (rows.dim + 1,), add)
    return float(total[-1]), total[:-1].copy()


def hessian(rows: Rows, loss: Loss, w: Vector) -> Matrix:
    """sum of phi''(t_i) x_i x_i', exactly symmetric."""

    def add(index: int, total: Matrix) -> None:
        features, targets = rows.block(index)
        wide = _double(features)
        weights = loss.second(_arguments(loss, wide @ w, targets))
        if sparse.issparse(wide):
            _add_sparse(total, wide.T @ _scale_sparse(wide, weights))
        elif loss.curvature_low == 0.0:
            wide *= np.sqrt(weights)[:, None]
            total += wide.T @ wide
        else:
            total += wide.T @ np.multiply(wide, weights[:, None], out=_buffer("weighted", wide.shape))

    return _symmetric(_sum(rows.blocks, (rows.dim, rows.dim), add))


def gram(rows: Rows) -> Matrix:
    """sum of x_i x_i', exactly symmetric."""

    def add(index: int, total: Matrix) -> None:
        wide = _double(rows.block(index).features)
        if sparse.issparse(wide):
            _add_sparse(total, wide.T @ wide)
        else:
            total += wide.T @ wide

    return _symmetric(_sum(rows.blocks, (rows.dim, rows.dim), add))


def trials(rows: Rows, loss: Loss, w: Vector, directions: Matrix) -> Vector:
    """sum of phi(t_i) - phi(t_ij) for each direction p_j, t_ij at w + p_j; differences row by row."""
    columns = np.column_stack([w, directions.T])

    def add(index: int, total: Vector) -> None:
        features, targets = rows.block(index)
        products = np.ascontiguousarray((_double(features) @ columns).T)
        here = _arguments(loss, products[0], targets)
        values = loss.value(here)
        for j, moves in enumerate(products[1:]):
            there = np.add(here, _chain(loss, moves, targets), out=moves)
            total[j] += (values - loss.value(there)).sum()

    return _sum(rows.blocks, (len(directions),), add)


def margins(rows: Rows, loss: Loss, w: Vector, direction: Vector) -> tuple[Vector, Vector]:
    """t_i at w, and how fast it moves along the direction: t_i(w + gamma p) = t_i + gamma u_i."""
    columns = np.column_stack([w, direction])
    here, moves = np.empty(rows.n), np.empty(rows.n)

    def fill(index: int, _: Vector) -> None:
        features, targets = rows.block(index)
        products = _double(features) @ columns
        here[rows.span(index)] = _arguments(loss, products[:, 0], targets)
        moves[rows.span(index)] = _chain(loss, products[:, 1], targets)

    _sum(rows.blocks, (), fill)
    return here, moves


def decrease(
    loss: Loss, here: Vector, moves: Vector, values: Vector, length: float, block_length: int
) -> float:
    """sum of phi(t_i) - phi(t_i + length u_i), values being phi(t_i): differences are taken row by row."""

    def add(index: int, total: Vector) -> None:
        span = slice(index * block_length, (index + 1) * block_length)
        total += (values[span] - loss.value(here[span] + length * moves[span])).sum()

    return float(_sum(-(-here.size // block_length), (), add))


def _sum(blocks: int, shape: tuple[int, ...], add: Callable[[int, Vector], None]) -> Vector:
    """Total of what `add` adds for every block, in an order that depends on the number of blocks alone."""
    share = -(-blocks // _STRETCHES)

    def stretch(number: int) -> Vector:
        total = np.zeros(shape)
        for index in range(number * share, min(blocks, (number + 1) * share)):
            add(index, total)
        return total

    total = np.zeros(shape)
    for part in in_order(stretch, -(-blocks // share)):
        total += part
    return total


def _arguments(loss: Loss, products: Vector, targets: Vector) -> Vector:
    """t_i from <x_i, w>, in place: y <x, w> for a margin loss, <x, w> - y for a residual loss."""
    if loss.kind is Kind.MARGIN:
        return np.multiply(products, targets, out=products)
    return np.subtract(products, targets, out=products)


def _chain(loss: Loss, slopes: Vector, targets: Vector) -> Vector:
    """Multiply by dt/d<x, w>, in place: the label's sign for a margin loss, 1 for a residual loss."""
    return np.multiply(slopes, targets, out=slopes) if loss.kind is Kind.MARGIN else slopes


def _double(features: Any) -> Any:
    """The block in float64: in this thread's buffer, overwritten by the next block; CSR in a new array."""
    if sparse.issparse(features):
        parts = (features.data.astype(np.float64), features.indices, features.indptr)
        return sparse.csr_array(parts, shape=features.shape)
    wide = _buffer("rows", features.shape)
    np.copyto(wide, features)
    return wide


def _buffer(name: str, shape: tuple[int, int]) -> Matrix:
    size = shape[0] * shape[1]
    held: Vector | None = getattr(_scratch, name, None)
    if held is None or held.size < size:
        held = np.empty(size)
        setattr(_scratch, name, held)
    return held[:size].reshape(shape)


def _scale_sparse(features: Any, weights: Vector) -> Any:
    data = features.data * np.repeat(weights, np.diff(features.indptr))
    return sparse.csr_array((data, features.indices, features.indptr), shape=features.shape)


def _add_sparse(total: Matrix, product: Any) -> None:
    entries = product.tocoo()
    total[entries.row, entries.col] += entries.data


def _symmetric(total: Matrix) -> Matrix:
    """Rounding may differ across the diagonal: the mean of both halves is symmetric to the last bit."""
    return 0.5 * (total + total.T)
