"""Test rows before a model sees them: which can be read at all, and made-up ones to learn its shapes from."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.data import cells
from sottovoce.errors import DataError, ParameterError

MADE_UP = 2


def readable(X: Any, invalid: str) -> Any:
    """X, or with invalid="zero" a copy in which each row with NaN or infinity is zero.

    The copy is made whether or not there is such a row, so that none decides how the others lie in memory.
    Frames and lists go to the model as they are."""
    if invalid not in ("raise", "zero"):
        raise ParameterError('invalid must be "raise" or "zero".')
    if sparse.issparse(X):
        table = sparse.csr_array(X, copy=True)
        finite = np.asarray(np.isfinite(table.data))
        if invalid == "zero":
            row = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
            table.data[np.isin(row, row[~finite])] = 0.0
            return table
    elif isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2:
        finite = np.isfinite(X)
        if invalid == "zero":
            return np.where(np.all(finite, axis=1, keepdims=True), X, X.dtype.type(0.0))
    else:
        return X
    if not finite.all():
        raise DataError(
            'X holds NaN or infinity. Clean the test set, or pass invalid="zero": such a row counts as zeros.'
        )
    return X


def made_up(X: Any) -> Any:
    """Rows of zeros of the kind of X, or None where none can be made."""
    with suppress(Exception):
        if hasattr(X, "iloc"):
            return X.iloc[:0].reindex(range(MADE_UP)).fillna(0)
        width = X.shape[1] if hasattr(X, "shape") else np.shape(X)[1]
        zeros = np.zeros((MADE_UP, width))
        return sparse.csr_array(zeros) if sparse.issparse(X) else zeros
    return None


def labelled(X: Any, y: Any) -> NDArray[Any]:
    """y as an array whose entries no other entry has changed, if it has one for each row of X."""
    with suppress(Exception):
        labels = cells.array(y)
        if labels.ndim == 1 and labels.size and _row_count(X) == labels.size:
            return labels
    raise DataError("y must have one dimension and an entry for each row of X.")


def _row_count(X: Any) -> int:
    """Rows of an array, a sparse matrix, a list or a dataframe; -1 where there are none to count."""
    if not hasattr(X, "shape"):
        return len(X) if isinstance(X, Sequence) else -1
    return int(X.shape[0]) if X.shape else -1
