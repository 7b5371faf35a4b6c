"""Blocked passes over the rows for K linear scores at once: exact sums, accumulated in float64.

Scores are kept class by class, shape (K, rows of the block), so that maxima, exponentials and sums run along
contiguous memory. Blocks are read and added as in `kernels`: the numbers do not depend on the thread count.
Every record counts its weight, where rows have weights; sums below are written without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.blocks import Block
from sottovoce.data.partitioned import over_parts
from sottovoce.data.rows import Rows
from sottovoce.kernels.passes import sum_blocks, sum_in_order
from sottovoce.kernels.products import (
    View,
    double,
    symmetric,
    view_for,
)
from sottovoce.kernels.sparse_products import add_sparse, scale_sparse
from sottovoce.trusted.bands import Span
from sottovoce.trusted.compiling import is_compiled

Codes = NDArray[np.intp]


@over_parts
def value(rows: Rows, weights: Matrix, span: Span) -> float:
    """sum of log(sum_k exp(<x_i, w_k>)) - <x_i, w_y>, each within the span."""

    read = _reader(rows)

    def add(_: int, block: Block, total: Vector) -> None:
        features, targets, counts = block
        found = span.clamped(losses(_scores(read(features), weights), _codes(targets)))
        total += _counted(found, counts).sum()

    return float(sum_blocks(rows, (), add))


@over_parts
def gradient(rows: Rows, weights: Matrix, limit: float) -> Matrix:
    """sum of r_i x_i', r_i = p_i - e_y shortened to `limit` where it is longer, shape (K, dim)."""
    read = _reader(rows)

    def add(_: int, block: Block, total: Matrix) -> None:
        features, targets, counts = block
        wide = read(features)
        scores = _scores(wide, weights)
        probabilities(scores)
        total += _gather(_counted(shortened(scores, _codes(targets), limit), counts), wide)

    return sum_blocks(rows, weights.shape, add)


@over_parts
def value_and_gradient(rows: Rows, weights: Matrix, span: Span, limit: float) -> tuple[float, Matrix]:
    """Both sums in one pass."""
    classes, read = len(weights), _reader(rows)

    def add(_: int, block: Block, total: Matrix) -> None:
        features, targets, counts = block
        wide, codes = read(features), _codes(targets)
        scores = _scores(wide, weights)
        total[classes, 0] += _counted(span.clamped(losses(scores, codes)), counts).sum()
        total[:classes] += _gather(_counted(shortened(scores, codes, limit), counts), wide)

    total = sum_blocks(rows, (classes + 1, rows.dim), add)
    return float(total[classes, 0]), total[:classes].copy()


def shortened(chances: Matrix, codes: Codes, limit: float) -> Matrix:
    """p_i - e_y for each column of probabilities, in place, no longer than `limit`: an error in what stands
    for p makes an answer wrong, and no contribution longer."""
    chances[codes, np.arange(codes.size)] -= 1.0
    lengths = np.sqrt(np.square(chances).sum(axis=0))
    chances[:, ~(lengths < np.inf)] = 0.0
    chances *= limit / np.fmax(lengths, max(limit, 1e-300))
    return chances


@over_parts
def hessian(rows: Rows, weights: Matrix) -> Matrix:
    """sum of (diag(p_i) - p_i p_i') (x) x_i x_i', exactly symmetric; class by class, shape (K dim, K dim)."""

    def pairs(block: Block, chances: Matrix, j: int, k: int) -> Vector:
        return _counted(chances[j] * ((j == k) - chances[k]), block.weights)

    return _outer(rows, weights, pairs)


@over_parts
def information(rows: Rows, weights: Matrix) -> Matrix:
    """sum of q_i^2 (diag(p_i) - p_i p_i') (x) x_i x_i', laid out as `hessian`."""

    def pairs(block: Block, chances: Matrix, j: int, k: int) -> Vector:
        return _counted(_counted(chances[j] * ((j == k) - chances[k]), block.weights), block.weights)

    return _outer(rows, weights, pairs)


@over_parts
def score_moment(rows: Rows, weights: Matrix, limit: float) -> Matrix:
    """sum of q_i^2 r_i r_i' (x) x_i x_i', r_i = p_i - e_y no longer than `limit`, laid out as `hessian`."""

    def prepared(block: Block, chances: Matrix) -> Matrix:
        return shortened(chances, _codes(block.targets), limit)

    def pairs(block: Block, held: Matrix, j: int, k: int) -> Vector:
        return _counted(_counted(held[j] * held[k], block.weights), block.weights)

    return _outer(rows, weights, pairs, prepared)


def residuals(rows: Rows, block: Block, weights: Matrix, limit: float) -> Matrix:
    """p_i - e_y for each row of a block, no longer than `limit`, class by class."""
    chances = _scores(_reader(rows)(block.features), weights)
    probabilities(chances)
    return shortened(chances, _codes(block.targets), limit)


def _outer(
    rows: Rows,
    weights: Matrix,
    pairs: Callable[[Block, Matrix, int, int], Vector],
    prepared: Callable[[Block, Matrix], Matrix] = lambda _, chances: chances,
) -> Matrix:
    """sum of f_i (x) x_i x_i', f_i a symmetric matrix of the classes given entry by entry, from what is
    `prepared` of the probabilities."""
    (classes, dim), read = weights.shape, _reader(rows)

    def add(_: int, block: Block, total: Matrix) -> None:
        chances = _scores(read(block.features), weights)
        wide = double(block.features)
        probabilities(chances)
        held = prepared(block, chances)
        for j in range(classes):
            for k in range(j, classes):
                factor = pairs(block, held, j, k)
                place = total[j * dim : (j + 1) * dim, k * dim : (k + 1) * dim]
                if sparse.issparse(wide):
                    add_sparse(place, wide.T @ scale_sparse(wide, factor))
                else:
                    place += wide.T @ (wide * factor[:, None])

    upper = sum_blocks(rows, (classes * dim, classes * dim), add)
    for j in range(classes):
        for k in range(j + 1, classes):
            upper[k * dim : (k + 1) * dim, j * dim : (j + 1) * dim] = upper[
                j * dim : (j + 1) * dim, k * dim : (k + 1) * dim
            ].T
    return symmetric(upper)


@over_parts
def trials(rows: Rows, weights: Matrix, directions: NDArray[np.float64], steepest: float) -> Vector:
    """sum of loss_i(W) - loss_i(W + P_j) for each P_j of `directions`, shape (J, K, dim); row by row, each
    within steepest ||P_j x_i||."""
    read = _reader(rows)

    def add(_: int, block: Block, total: Vector) -> None:
        features, targets, counts = block
        wide, codes = read(features), _codes(targets)
        here = _scores(wide, weights)
        marks = losses(here.copy(), codes)
        for j, direction in enumerate(directions):
            drops = _drops(marks, here, _scores(wide, direction), codes, steepest)
            total[j] += _counted(drops, counts).sum()

    return sum_blocks(rows, (len(directions),), add)


def _drops(marks: Vector, here: Matrix, moves: Matrix, codes: Codes, steepest: float) -> Vector:
    """How far each loss falls from `marks`, at scores `here`, to here + moves: within steepest times the
    length of the move; a difference that is no number is 0."""
    with np.errstate(invalid="ignore", over="ignore"):
        drops = marks - losses(here + moves, codes)
        most = steepest * np.sqrt(np.square(moves).sum(axis=0))
    drops[np.isnan(drops)] = 0.0
    return np.clip(drops, -most, most, out=drops)


def scores_along(rows: Rows, weights: Matrix, direction: Matrix) -> tuple[Matrix, Matrix]:
    """Scores at W, and how fast they move along the direction, each of shape (K, n)."""
    here, moves, read = np.empty((len(weights), rows.n)), np.empty((len(weights), rows.n)), _reader(rows)

    def fill(index: int, block: Block, _: Vector) -> None:
        wide = read(block.features)
        here[:, rows.span(index)] = _scores(wide, weights)
        moves[:, rows.span(index)] = _scores(wide, direction)

    sum_blocks(rows, (), fill)
    return here, moves


def decrease(rows: Rows, here: Matrix, moves: Matrix, length: float, steepest: float) -> float:
    """sum of the losses at scores `here` minus those at here + length moves: differences row by row, each
    within steepest times the length of the move."""

    def add(index: int, total: Vector) -> None:
        span = rows.span(index)
        codes, start = _codes(rows.targets[span]), here[:, span]
        drops = _drops(losses(start.copy(), codes), start, length * moves[:, span], codes, steepest)
        total += _counted(drops, rows.weights_in(span)).sum()

    return float(sum_in_order(rows.blocks, (), add))


def losses(scores: Matrix, codes: Codes) -> Vector:
    """log(sum_k exp(z_k)) - z_y for each column of scores, never negative; scores become probabilities."""
    own = scores[codes, np.arange(codes.size)]
    top, total = probabilities(scores)
    return np.maximum(np.log(total) - (own - top), 0.0)


def probabilities(scores: Matrix) -> tuple[Vector, Vector]:
    """Turn scores into probabilities, in place; returns max z and sum_k exp(z_k - max z), at least 1."""
    top: Vector = scores.max(axis=0)
    scores -= top
    np.exp(scores, out=scores)
    total: Vector = scores.sum(axis=0)
    scores /= total
    return top, total


def _reader(rows: Rows) -> Callable[[Any], Any]:
    """How a block is read: as float64 rows, but compact ones in compiled code where they are, and those whose
    place is private in a way that rounds each by itself."""
    compact = rows.layout is not None and is_compiled(rows.entries)
    return view_for(rows) if compact or rows.expected is not None else double


def _scores(wide: Any, weights: Matrix) -> Matrix:
    if isinstance(wide, View):
        return np.ascontiguousarray(wide.times(weights.T).T)
    if sparse.issparse(wide):
        return np.ascontiguousarray((wide @ weights.T).T)
    return np.asarray(weights @ wide.T)


def _gather(factors: Matrix, wide: Any) -> Matrix:
    """sum of factor_i x_i' over the block, shape (K, dim)."""
    if isinstance(wide, View):
        return np.stack([wide.gather(column) for column in factors])
    return np.asarray((wide.T @ factors.T).T if sparse.issparse(wide) else factors @ wide)


def _counted(terms: Matrix, counts: Vector | None) -> Matrix:
    """Terms times what each record counts, in place."""
    return terms if counts is None else np.multiply(terms, counts, out=terms)


def _codes(targets: Vector) -> Codes:
    return targets.astype(np.intp)
