"""From a table to stored rows: bounded, measured, and held in the form they came in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numpy.typing import NDArray
from scipy import sparse

from sottovoce.arrays import Mask, Vector
from sottovoce.data.compact import Compact
from sottovoce.data.compact_rows import CompactRows, bound_compact
from sottovoce.data.rows import DenseRows, Rows, SparseRows, bound_dense, bound_sparse
from sottovoce.data.validation import canonical_csr, dense_table, entries_of_rows

LEAST_COMPACT = 1.0
"""Radius from which on no row of a schema is shrunk: below it indicators would differ from row to row."""


def table_of(X: Any) -> Any:
    """X as compact rows, canonical CSR or an array of numbers."""
    if isinstance(X, Compact):
        return X
    return canonical_csr(X) if sparse.issparse(X) else dense_table(X)


def entries_of(table: Any) -> NDArray[Any]:
    """How many entries of each row are not 0."""
    return table.entries() if isinstance(table, Compact) else entries_of_rows(table)


def bounded(
    table: Any, radius: float, intercept: bool, usable: Mask
) -> Callable[[Vector, Vector | None], Rows]:
    """The rows of norm at most `radius`, waiting for targets and weights; those not usable are zero."""
    if isinstance(table, Compact) and radius >= LEAST_COMPACT and not intercept:
        return partial(CompactRows, bound_compact(table, radius, usable))
    if sparse.issparse(table):
        return partial(SparseRows, bound_sparse(table, radius, intercept, usable))
    return partial(DenseRows, bound_dense(table, radius, intercept, usable))
