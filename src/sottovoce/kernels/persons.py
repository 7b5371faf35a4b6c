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
from sottovoce.kernels.block_sums import tally_for
from sottovoce.kernels.products import double, scale_sparse
from sottovoce.kernels.softmax import residuals
from sottovoce.losses import Kind, Loss


def score_moment(rows: Rows, persons: Persons, loss: Loss, w: Vector) -> Matrix:
    """sum over persons of ss' for a linear model, exactly symmetric."""
    tally = tally_for(rows, loss)

    def factors(block: Block) -> Matrix:
        here, unused = np.empty(block.targets.size), np.empty(block.targets.size)
        tally.margins(block, w, w, here, unused)
        slopes, relative, pull = loss.first(here), loss.relative(block.targets), loss.pull(block.targets)
        slopes = slopes if pull is None else slopes - pull
        slopes = slopes if relative is None else slopes * relative
        return (slopes * block.targets if loss.kind is Kind.MARGIN else slopes)[None]

    return _moment(rows, persons, rows.dim, factors)


def softmax_score_moment(rows: Rows, persons: Persons, weights: Matrix) -> Matrix:
    """sum over persons of ss', s being (p - e_y) (x) x summed over rows, class by class."""
    return _moment(rows, persons, weights.size, lambda block: residuals(block, weights))


def _moment(rows: Rows, persons: Persons, dim: int, factors: Callable[[Block], Matrix]) -> Matrix:
    """sum of ss', s stacked from sums of f x over a person's rows, an f for each block of weights."""
    scores = np.zeros((persons.n, dim))
    for index, block in enumerate(rows.read()):
        owners = persons.owners_in(rows.span(index))
        known = np.flatnonzero(owners >= 0)
        people, slots = np.unique(owners[known], return_inverse=True)
        ones = np.ones(known.size)
        gather = sparse.csr_array((ones, (slots, known)), shape=(people.size, owners.size))
        held = factors(block)
        counted = held if block.weights is None else held * block.weights
        wide = double(block.features)
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
