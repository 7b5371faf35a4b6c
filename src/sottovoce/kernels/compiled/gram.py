"""X' diag(c) X of float32 rows, compiled by numba: the upper triangle alone, in squares of eight by eight.

A few rows at a time are cast to float64 and laid out panel by panel, eight columns each, so that a square
reads two short stretches of memory and keeps its 64 sums in registers. BLAS, made for larger matrices, takes
twice as long up to some hundred columns and gains nothing before a thousand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.kernels.compiled.simd import LINE, WIDTH, fetch, fused, load, load_part, product, spread, store
from sottovoce.trusted.jit import compiled

WIDEST = 1024
"""Columns up to which squares are no slower than BLAS."""

_ROWS = 64
_SQUARE = WIDTH * WIDTH


def room(dim: int) -> int:
    """Numbers that hold the squares of the upper triangle."""
    panels = -(-dim // WIDTH)
    return _SQUARE * panels * (panels + 1) // 2


def matrix(squares: Vector, dim: int) -> Matrix:
    """The whole symmetric matrix: what the squares below the diagonal would hold is what those above hold."""
    panels = -(-dim // WIDTH)
    whole = np.zeros((panels, WIDTH, panels, WIDTH))
    rows, columns = np.triu_indices(panels)
    above = squares.reshape(-1, WIDTH, WIDTH)
    whole[columns, :, rows, :] = above.transpose(0, 2, 1)
    whole[rows, :, columns, :] = above
    return whole.reshape(panels * WIDTH, -1)[:dim, :dim]


def add_outer(features: Any, weights: Vector | None, squares: Vector) -> None:
    """Add the block's X' diag(weights) X, or X'X, to the squares."""
    block = np.zeros(squares.size)
    _add(features, np.ones(len(features)) if weights is None else weights, block)
    squares += block


@compiled()
def _add(X: Any, weights: Any, squares: Any) -> None:
    n, dim = X.shape
    x = X.reshape(-1)
    panels = np.empty(-(-dim // WIDTH) * WIDTH * _ROWS)
    for first in range(0, n, _ROWS):
        last = min(n, first + _ROWS)
        _lay_out(x, first, last, dim, panels)
        _add_squares(panels, weights[first:last], dim, squares)


@compiled()
def _lay_out(x: Any, first: int, last: int, dim: int, panels: Any) -> None:
    """Cast rows into panels of eight columns; the rows after these are fetched meanwhile."""
    full = dim - dim % WIDTH
    for i in range(first, last):
        start = i * dim
        for k in range(start + _ROWS * dim, start + (_ROWS + 1) * dim, LINE):
            fetch(x, k)
        at = (i - first) * WIDTH
        for k in range(0, full, WIDTH):
            store(panels, at + k * _ROWS, load(x, start + k))
        if full < dim:
            store(panels, at + full * _ROWS, load_part(x, start + full, dim - full))


@compiled()
def _add_squares(panels: Any, weights: Any, dim: int, squares: Any) -> None:
    """For panels j <= k: add panel_j' diag(weights) panel_k."""
    to = 0
    for j in range(0, dim, WIDTH):
        for k in range(j, dim, WIDTH):
            p, q = j * _ROWS, k * _ROWS
            a, b = load(squares, to), load(squares, to + WIDTH)
            c, d = load(squares, to + 2 * WIDTH), load(squares, to + 3 * WIDTH)
            e, f = load(squares, to + 4 * WIDTH), load(squares, to + 5 * WIDTH)
            g, h = load(squares, to + 6 * WIDTH), load(squares, to + 7 * WIDTH)
            for i in range(weights.size):
                v = product(load(panels, q), spread(weights[i]))
                a = fused(spread(panels[p]), v, a)
                b = fused(spread(panels[p + 1]), v, b)
                c = fused(spread(panels[p + 2]), v, c)
                d = fused(spread(panels[p + 3]), v, d)
                e = fused(spread(panels[p + 4]), v, e)
                f = fused(spread(panels[p + 5]), v, f)
                g = fused(spread(panels[p + 6]), v, g)
                h = fused(spread(panels[p + 7]), v, h)
                p += WIDTH
                q += WIDTH
            store(squares, to, a)
            store(squares, to + WIDTH, b)
            store(squares, to + 2 * WIDTH, c)
            store(squares, to + 3 * WIDTH, d)
            store(squares, to + 4 * WIDTH, e)
            store(squares, to + 5 * WIDTH, f)
            store(squares, to + 6 * WIDTH, g)
            store(squares, to + 7 * WIDTH, h)
            to += _SQUARE
