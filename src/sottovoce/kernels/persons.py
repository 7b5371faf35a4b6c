"""Second moments of persons' scores: the rows of a person are summed before the sum is squared.

A person's score s is the sum over their rows of q phi'(t) dt/dw, q holding the row's share, so it lies in the
convex hull of row scores and 0. Sums are kept for every person, n of them with an entry a weight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.blocks import Block
from sottovoce.data.persons import Persons
from sottovoce.data.rows import Rows
from sottovoce.kernels.block_sums import block_kernel
from sottovoce.kernels.passes import slopes
from sottovoce.kernels.products import double
from sottovoce.kernels.softmax import residuals
from sottovoce.kernels.sparse_products import scale_sparse
from sottovoce.trusted.bands import Band
from sottovoce.trusted.laws import Law, Placing


def score_moment(rows: Rows, persons: Persons, law: Law, w: Vector, band: Band) -> Matrix:
    """sum over persons of ss' for a linear model, each phi' within the band; exactly symmetric."""
    kernel = block_kernel(rows, law)

    def factors(block: Block) -> Matrix:
        found = slopes(kernel, law, block, w, band)
        return (found * block.targets if law.placing is Placing.MARGIN else found)[None]

    return _moment(rows, persons, rows.dim, factors)


def softmax_score_moment(rows: Rows, persons: Persons, weights: Matrix, limit: float) -> Matrix:
    """sum over persons of ss', s being (p - e_y) (x) x summed over rows, class by class, each p - e_y no
    longer than `limit`."""

    def factors(block: Block) -> Matrix:
        held = residuals(rows, block, weights, limit)
        return held if block.weights is None else held * block.weights

    return _moment(rows, persons, weights.size, factors)


def _moment(rows: Rows, persons: Persons, dim: int, factors: Callable[[Block], Matrix]) -> Matrix:
    """sum of ss', s stacked from sums of f x over a person's rows, a weighted f for each block of weights."""
    scores = np.zeros((persons.n, dim))
    for index, block in enumerate(rows.read()):
        owners = persons.owners_in(rows.span(index))
        known = np.flatnonzero(owners >= 0)
        people, slots = np.unique(owners[known], return_inverse=True)
        ones = np.ones(known.size)
        gather = sparse.csr_array((ones, (slots, known)), shape=(people.size, owners.size))
        counted, wide = factors(block), double(block.features)
        scores[people] += np.hstack([_dense(gather @ _scaled(wide, factor)) for factor in counted])
    moment = np.zeros((dim, dim))
    for start in range(0, persons.n, rows.block_length):
        part = scores[start : start + rows.block_length]
        moment += part.T @ part
    return np.asarray(0.5 * (moment + moment.T))


def _scaled(wide: Any, factor: Vector) -> Any:
    return scale_sparse(wide, factor) if sparse.issparse(wide) else wide * factor[:, None]


def _dense(found: Any) -> Matrix:
    return np.asarray(found.toarray() if sparse.issparse(found) else found)
