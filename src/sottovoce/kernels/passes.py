"""Blocked passes over the rows: exact sums, accumulated in float64.

Every record counts q_i: its weight if rows have weights, else 1; sums below are written without it.
Rows are read block by block; each float32 entry is cast to float64 before any product. Consecutive blocks
form at most 32 stretches, whose bounds depend on n and dim alone: a stretch adds up its blocks in order, and
stretches are added in order, so the numbers do not depend on how many threads there are. A sum over rows
meets at most block_length + blocks roundings per entry, and those of `parts` where rows are held in several.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.blocks import Block
from sottovoce.data.partitioned import over_parts
from sottovoce.data.rows import Rows
from sottovoce.data.sealed import Sealed
from sottovoce.data.threads import in_order, thread_count
from sottovoce.kernels.block_sums import ALONE, BlockKernel, Stretches, block_kernel
from sottovoce.kernels.products import view_for
from sottovoce.trusted.bands import Band, Span
from sottovoce.trusted.laws import Law, Placing

_STRETCHES = 32
_PIECE = 2**15
"""Rows of a piece of a line: enough to outweigh handing it to a thread."""


@over_parts
def value(rows: Rows, law: Law, w: Vector, span: Span) -> float:
    """sum of phi(t_i), each within the span."""
    return float(_tangent(rows, law, w, None, span)[-1])


@over_parts
def gradient(rows: Rows, law: Law, w: Vector, band: Band) -> Vector:
    """sum of phi'(t_i) dt_i/dw, each phi' within the band."""
    return _tangent(rows, law, w, band, None)[:-1].copy()


@over_parts
def value_and_gradient(rows: Rows, law: Law, w: Vector, band: Band, span: Span) -> tuple[float, Vector]:
    """Both sums in one pass."""
    total = _tangent(rows, law, w, band, span)
    return float(total[-1]), total[:-1].copy()


def _tangent(rows: Rows, law: Law, w: Vector, band: Band | None, span: Span | None) -> Vector:
    kernel = block_kernel(rows, law)

    def add(block: Block, at: Stretches, totals: Matrix) -> None:
        kernel.tangent(block, w, band, span, at, totals)

    return _sum_runs(rows, rows.dim + 1, add, folds=kernel.folds)


@over_parts
def gradient_change(rows: Rows, law: Law, w: Vector, step: Vector, span: Span, limit: float) -> Vector:
    """sum of (phi'(t_i + u_i) - phi'(t_i)) dt_i/dw, u_i the change of t_i along the step: row by row, each
    within s u_i for the s of the span, and within the limit."""
    kernel, view = block_kernel(rows, law), view_for(rows)

    def add(_: int, block: Block, total: Vector) -> None:
        here, moves = np.empty(block.targets.size), np.empty(block.targets.size)
        kernel.margins(block, w, step, here, moves)
        with np.errstate(invalid="ignore"):
            changes = law.slopes(here + moves, block.targets) - law.slopes(here, block.targets)
        ends = span.low * moves, span.high * moves
        changes = np.fmin(np.fmax(changes, np.minimum(*ends)), np.maximum(*ends))
        factors = _weighed(np.clip(changes, -limit, limit), law, block)
        if law.placing is Placing.MARGIN:
            factors = factors * block.targets
        total += view(block.features).gather(factors)

    return sum_blocks(rows, (rows.dim,), add)


@over_parts
def residual_bands(rows: Rows, law: Law, w: Vector, edges: Vector) -> Vector:
    """sum of q_i over rows with |t_i| at or above the first of falling edges, between two, below the last.

    What is not a number counts below the last: every row is counted once."""
    kernel, rising = block_kernel(rows, law), -np.asarray(edges)

    def add(_: int, block: Block, total: Vector) -> None:
        here, unused = np.empty(block.targets.size), np.empty(block.targets.size)
        kernel.margins(block, w, w, here, unused)
        bands = np.searchsorted(rising, -np.abs(here), side="left")
        total += np.bincount(bands, block.weights, minlength=edges.size + 1)

    return sum_blocks(rows, (edges.size + 1,), add)


@over_parts
def hessian(rows: Rows, law: Law, w: Vector, span: Span) -> Matrix:
    """sum of phi''(t_i) x_i x_i', each phi'' within the span; exactly symmetric."""
    kernel = block_kernel(rows, law)
    return _outer(rows, lambda block: kernel.curvatures(block, w, span), convex=span.low >= 0.0)


@over_parts
def information(rows: Rows, law: Law, w: Vector, span: Span) -> Matrix:
    """sum of q_i^2 phi''(t_i) x_i x_i', each phi'' within the span; exactly symmetric."""
    kernel = block_kernel(rows, law)

    def factors(block: Block) -> Vector:
        return _counted(kernel.curvatures(block, w, span), block)

    return _outer(rows, factors, convex=span.low >= 0.0)


@over_parts
def score_moment(rows: Rows, law: Law, w: Vector, band: Band) -> Matrix:
    """sum of q_i^2 phi'(t_i)^2 x_i x_i', each phi' within the band; a class weight counts as q_i does."""
    kernel = block_kernel(rows, law)
    return _outer(rows, lambda block: np.square(slopes(kernel, law, block, w, band)), convex=True)


def slopes(kernel: BlockKernel, law: Law, block: Block, w: Vector, band: Band) -> Vector:
    """q_i phi'(t_i) of a block, phi' within the band; a class weight counts as q_i does."""
    here, unused = np.empty(block.targets.size), np.empty(block.targets.size)
    kernel.margins(block, w, w, here, unused)
    return _weighed(band.clamped(here, law.slopes(here, block.targets)), law, block)


def _weighed(terms: Vector, law: Law, block: Block) -> Vector:
    """Times what each record counts, and its class."""
    found = _counted(terms, block)
    if law.negative == law.positive == 1.0:
        return found
    return found * np.where(block.targets > 0.0, law.positive, law.negative)


def _counted(factors: Vector, block: Block) -> Vector:
    return factors if block.weights is None else factors * block.weights


def _outer(rows: Rows, factors: Callable[[Block], Vector], *, convex: bool) -> Matrix:
    """sum of f_i x_i x_i'; `convex` says that no f_i is below 0."""
    view = view_for(rows)

    def add(_: int, block: Block, total: Vector) -> None:
        view(block.features).add_outer(total, factors(block), convex)

    return view.matrix(sum_blocks(rows, view.room(rows.dim), add), rows.dim)


@over_parts
def gram(rows: Rows) -> Matrix:
    """sum of q_i x_i x_i', exactly symmetric."""
    view = view_for(rows)

    def add(_: int, block: Block, total: Vector) -> None:
        view(block.features).add_outer(total, block.weights, convex=True)

    return view.matrix(sum_blocks(rows, view.room(rows.dim), add, together=view.folds), rows.dim)


@over_parts
def gram_diagonal(rows: Rows) -> Vector:
    """sum of q_i x_ij^2 for each column j."""
    view = view_for(rows)

    def add(_: int, block: Block, total: Vector) -> None:
        total += view(block.features).squares(block.weights)

    return sum_blocks(rows, (rows.dim,), add)


@over_parts
def gram_column(rows: Rows, column: int) -> Vector:
    """sum of q_i x_ic x_i, c the column."""
    view, unit = view_for(rows), np.eye(1, rows.dim, column)[0]

    def add(_: int, block: Block, total: Vector) -> None:
        held = view(block.features)
        factors = held.times(unit)
        total += held.gather(factors if block.weights is None else factors * block.weights)

    return sum_blocks(rows, (rows.dim,), add)


@over_parts
def moments(rows: Rows) -> Matrix:
    """sums of q_i x_ij and of q_i x_ij^2 for each column j, shape (2, dim), in one pass."""
    view = view_for(rows)

    def add(_: int, block: Block, total: Matrix) -> None:
        view(block.features).add_moments(total, block.weights, block.targets.size)

    return sum_blocks(rows, (2, rows.dim), add, together=view.folds)


@over_parts
def trials(rows: Rows, law: Law, w: Vector, directions: Matrix, steepest: float) -> Vector:
    """sum of phi(t_i) - phi(t_ij) for each direction p_j, t_ij at w + p_j; differences row by row, each
    within steepest |t_ij - t_i|."""
    kernel, steps = block_kernel(rows, law), np.ascontiguousarray(directions)

    def add(block: Block, at: Stretches, totals: Matrix) -> None:
        kernel.trials(block, w, steps, steepest, at, totals)

    return _sum_runs(rows, len(steps), add, folds=kernel.folds)


@final
class Margins(Sealed):
    """t_i at w and how fast it moves along a direction, kept for every row: a trial length is O(n)."""

    def __init__(self, rows: Rows, law: Law, w: Vector, direction: Vector, steepest: float) -> None:
        self._rows = rows
        self._steepest = steepest
        self._kernel = block_kernel(rows, law)
        self.here, self.moves, self._marks = np.empty(rows.n), np.empty(rows.n), np.empty(rows.n)

        def fill(index: int, block: Block, _: Vector) -> None:
            span = rows.span(index)
            self._kernel.margins(block, w, direction, self.here[span], self.moves[span])
            self._marks[span] = self._kernel.marks(self.here[span], block.targets)

        sum_blocks(rows, (), fill)

    def decrease(self, length: float) -> float:
        """sum of phi(t_i) - phi(t_i + length u_i), row by row, each within steepest |length u_i|."""

        def add(index: int, total: Vector) -> None:
            span = slice(index * _PIECE, (index + 1) * _PIECE)
            kept = (self.here[span], self.moves[span], self._marks[span], self._rows.targets[span])
            total += self._kernel.drop(self._steepest, length, *kept, self._rows.weights_in(span))

        return float(sum_in_order(-(-self._rows.n // _PIECE), (), add))


def _sum_runs(
    rows: Rows, size: int, add: Callable[[Block, Stretches, Matrix], None], *, folds: bool
) -> Vector:
    """Total of what `add` adds for every block: as `sum_blocks`, but where the kernel `folds`, one call takes
    the blocks of several stretches that lie together, with a total for each stretch."""
    if rows.streamed or not folds:
        return sum_blocks(rows, (size,), lambda _, block, total: add(block, ALONE, total[None]))
    share = -(-rows.blocks // _STRETCHES)
    stretches, threads = -(-rows.blocks // share), thread_count()
    at_once = stretches if threads == 1 else -(-stretches // (4 * threads))

    def some(number: int) -> Matrix:
        first, last = number * at_once, min(stretches, (number + 1) * at_once)
        totals, done = np.zeros((last - first, size)), 0
        for block in rows.run(first * share, min(rows.blocks, last * share)):
            add(block, Stretches(rows.block_length, done, share), totals)
            done += -(-block.targets.size // rows.block_length)
        return totals

    total = np.zeros(size)
    for totals in in_order(some, -(-stretches // at_once)):
        for one in totals:
            total += one
    return total


def sum_blocks(
    rows: Rows, shape: tuple[int, ...], add: Callable[[int, Block, Vector], None], *, together: bool = False
) -> Vector:
    """Total of what `add` adds for every block, in an order that depends on the number of blocks alone.

    `together`: it takes several blocks that lie together as one, and adds them one after another."""
    if not rows.streamed and together:

        def add_all(first: int, last: int, total: Vector) -> None:
            for block in rows.run(first, last):
                add(first, block, total)
                first += -(-block.targets.size // rows.block_length)

        return _sum_stretches(rows.blocks, shape, add_all)
    if not rows.streamed:

        def add_each(first: int, last: int, total: Vector) -> None:
            for index, block in enumerate(rows.each(first, last), first):
                add(index, block, total)

        return _sum_stretches(rows.blocks, shape, add_each)
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

    def add_all(first: int, last: int, total: Vector) -> None:
        for index in range(first, last):
            add(index, total)

    return _sum_stretches(blocks, shape, add_all, in_turn)


def _sum_stretches(
    blocks: int, shape: tuple[int, ...], add: Callable[[int, int, Vector], None], in_turn: bool = False
) -> Vector:
    share = -(-blocks // _STRETCHES)

    def stretch(number: int) -> Vector:
        total = np.zeros(shape)
        add(number * share, min(blocks, (number + 1) * share), total)
        return total

    total = np.zeros(shape)
    for part in in_order(stretch, -(-blocks // share), in_turn=in_turn):
        total += part
    return total
