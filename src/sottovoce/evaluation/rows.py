"""Test rows before a model sees them: which can be read at all, and made-up ones to learn its shapes from."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse

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
