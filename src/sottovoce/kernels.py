"""Blocked passes over the rows: exact sums, accumulated in float64.

Rows are read block by block; each float32 entry is cast to float64 before any product. Consecutive blocks
form at most 32 stretches, whose bounds depend on n and dim alone: a stretch adds up its blocks in order, and
stretches are added in order, so the numbers do not depend on how many threads there are. A sum over rows
meets at most block_length + blocks roundings per entry, and one more for each part the rows are held in.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.laws import law_for
from sottovoce.losses import Kind, Loss
from sottovoce.parts import over_parts
from sottovoce.products import view_for
from sottovoce.rows import Block, Rows
from sottovoce.threads import in_order

_STRETCHES = 32


@over_parts
def value(rows: Rows, loss: Loss, w: Vector) -> float:
    """sum of phi(t_i)."""
    view, law = view_for(rows), law_for(rows, loss)

    def add(_: int, block: Block, total: Vector) -> None:
        features, targets = block
        values = law.value(_arguments(loss, view(features).times(w), targets))
        total += _weigh(loss, values, targets).sum()

    return float(sum_blocks(rows, (), add))


@over_parts
def gradient(rows: Rows, loss: Loss, w: Vector) -> Vector:
    """sum of phi'(t_i) dt_i/dw."""
    view, law = view_for(rows), law_for(rows, loss)

    def add(_: int, block: Block, total: Vector) -> None:
        features, targets = block
        seen = view(features)
        slopes = _weigh(loss, law.first(_arguments(loss, seen.times(w), targets)), targets)
        total += seen.gather(_chain(loss, slopes, targets))

    return sum_blocks(rows, (rows.dim,), add)


@over_parts
def value_and_gradient(rows: Rows, loss: Loss, w: Vector) -> tuple[float, Vector]:
    """Both sums in one pass: the same numbers as `value` and `gradient`."""
    view, law = view_for(rows), law_for(rows, loss)

    def add(_: int, block: Block, total: Vector) -> None:
        features, targets = block
        seen = view(features)
        values, slopes = law.value_and_first(_arguments(loss, seen.times(w), targets))
        total[:-1] += seen.gather(_chain(loss, _weigh(loss, slopes, targets), targets))
        total[-1] += _weigh(loss, values, targets).sum()

    total = sum_blocks(rows, (rows.dim + 1,), add)
    return float(total[-1]), total[:-1].copy()


@over_parts
def hessian(rows: Rows, loss: Loss, w: Vector) -> Matrix:
    """sum of phi''(t_i) x_i x_i', exactly symmetric."""
    view, law, convex = view_for(rows), law_for(rows, loss), loss.curvature_low == 0.0

    def add(_: int, block: Block, total: Matrix) -> None:
        features, targets = block
        seen = view(features)
        weights = _weigh(loss, law.second(_arguments(loss, seen.times(w), targets)), targets)
        seen.add_outer(total, weights, convex)

    return symmetric(sum_blocks(rows, (rows.dim, rows.dim), add))


@over_parts
def gram(rows: Rows) -> Matrix:
    """sum of x_i x_i', exactly symmetric."""
    view = view_for(rows)

    def add(_: int, block: Block, total: Matrix) -> None:
        view(block.features).add_outer(total, None, convex=True)

    return symmetric(sum_blocks(rows, (rows.dim, rows.dim), add))


@over_parts
def gram_diagonal(rows: Rows) -> Vector:
    """sum of x_ij^2 for each column j."""
    view = view_for(rows)

    def add(_: int, block: Block, total: Vector) -> None:
        total += view(block.features).squares()

    return sum_blocks(rows, (rows.dim,), add)


@over_parts
def trials(rows: Rows, loss: Loss, w: Vector, directions: Matrix) -> Vector:
    """sum of phi(t_i) - phi(t_ij) for each direction p_j, t_ij at w + p_j; differences row by row."""
    columns = np.column_stack([w, directions.T])
    view, law = view_for(rows), law_for(rows, loss)

    def add(_: int, block: Block, total: Vector) -> None:
        features, targets = block
        products = np.ascontiguousarray(view(features).times(columns).T)
        here = _arguments(loss, products[0], targets)
        values = law.value(here)
        for j, moves in enumerate(products[1:]):
            there = np.add(here, _chain(loss, moves, targets), out=moves)
            total[j] += _weigh(loss, values - law.value(there), targets).sum()

    return sum_blocks(rows, (len(directions),), add)


def margins(rows: Rows, loss: Loss, w: Vector, direction: Vector) -> tuple[Vector, Vector]:
    """t_i at w, and how fast it moves along the direction: t_i(w + gamma p) = t_i + gamma u_i."""
    columns = np.column_stack([w, direction])
    here, moves = np.empty(rows.n), np.empty(rows.n)
    view = view_for(rows)

    def fill(index: int, block: Block, _: Vector) -> None:
        features, targets = block
        products = view(features).times(columns)
        here[rows.span(index)] = _arguments(loss, products[:, 0], targets)
        moves[rows.span(index)] = _chain(loss, products[:, 1], targets)

    sum_blocks(rows, (), fill)
    return here, moves


def decrease(
    loss: Loss,
    here: Vector,
    moves: Vector,
    values: Vector,
    targets: Vector,
    length: float,
    block_length: int,
) -> float:
    """sum of phi(t_i) - phi(t_i + length u_i), values being phi(t_i): differences are taken row by row."""

    def add(index: int, total: Vector) -> None:
        span = slice(index * block_length, (index + 1) * block_length)
        drops = values[span] - loss.value(here[span] + length * moves[span])
        total += _weigh(loss, drops, targets[span]).sum()

    return float(sum_in_order(-(-here.size // block_length), (), add))


def sum_blocks(rows: Rows, shape: tuple[int, ...], add: Callable[[int, Block, Vector], None]) -> Vector:
    """Total of what `add` adds for every block, in an order that depends on the number of blocks alone."""
    if not rows.streamed:
        return sum_in_order(rows.blocks, shape, lambda index, total: add(index, rows.block(index), total))
    with closing(rows.read()) as source:
        total = sum_in_order(
            rows.blocks, shape, lambda index, total: add(index, next(source), total), in_turn=True
        )
        # Reading on to the end lets the source find out whether it changed under way.
        next(source, None)
        return total


def sum_in_order(
    blocks: int, shape: tuple[int, ...], add: Callable[[int, Vector], None], in_turn: bool = False
) -> Vector:
    """Total of what `add` adds for every index below `blocks`, in an order that depends on `blocks` alone."""
    share = -(-blocks // _STRETCHES)

    def stretch(number: int) -> Vector:
        total = np.zeros(shape)
        for index in range(number * share, min(blocks, (number + 1) * share)):
            add(index, total)
        return total

    total = np.zeros(shape)
    for part in in_order(stretch, -(-blocks // share), in_turn=in_turn):
        total += part
    return total


def _arguments(loss: Loss, products: Vector, targets: Vector) -> Vector:
    """t_i from <x_i, w>, in place: y <x, w> for a margin loss, <x, w> - y for a residual loss."""
    if loss.kind is Kind.MARGIN:
        return np.multiply(products, targets, out=products)
    return np.subtract(products, targets, out=products)


def _weigh(loss: Loss, values: Vector, targets: Vector) -> Vector:
    """Multiply by what each record counts, in place."""
    factors = loss.relative(targets)
    return values if factors is None else np.multiply(values, factors, out=values)


def _chain(loss: Loss, slopes: Vector, targets: Vector) -> Vector:
    """Multiply by dt/d<x, w>, in place: the label's sign for a margin loss, 1 for a residual loss."""
    return np.multiply(slopes, targets, out=slopes) if loss.kind is Kind.MARGIN else slopes


def symmetric(total: Matrix) -> Matrix:
    """Rounding may differ across the diagonal: the mean of both halves is symmetric to the last bit."""
    return 0.5 * (total + total.T)
