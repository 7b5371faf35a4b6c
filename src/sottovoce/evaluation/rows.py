"""Test rows before a model sees them: which can be read at all, made-up ones to learn its shapes from, and
the calls in which it sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.data import cells, places
from sottovoce.data.persons import Persons
from sottovoce.errors import BLANK, DataError

MADE_UP = 2

LONGEST_CALL = 1024
"""Rows that a model sees at once, at most, where their number is private."""


def readable(X: Any, *, lenient: bool) -> Any:
    """X, or if `lenient` a copy in which each row with NaN or infinity is zero.

    The copy is made whether or not there is such a row, so that none decides how the others lie in memory.
    Frames go to the model as they are. A list has no type of its own, and what the model made of it would
    follow from all rows: its cells are read one by one, as numbers."""
    if isinstance(X, list | tuple):
        X = _numbers(X)
    if sparse.issparse(X):
        table = sparse.csr_array(X, copy=True)
        finite = np.asarray(np.isfinite(table.data))
        if lenient:
            row = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
            table.data[np.isin(row, row[~finite])] = 0.0
            return table
    elif isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2:
        finite = np.isfinite(X)
        if lenient:
            return np.where(np.all(finite, axis=1, keepdims=True), X, X.dtype.type(0.0))
    else:
        return X
    if not finite.all():
        raise DataError(
            'X holds NaN or infinity. Clean the test set, or pass invalid="zero": such a row counts as '
            "zeros.",
            advice=(BLANK,),
        )
    return X


def _numbers(X: Sequence[Any]) -> NDArray[np.float64]:
    """A list of rows as numbers, a cell that is none as NaN."""
    with suppress(Exception):
        columns = zip(*X, strict=True) if not any(isinstance(row, str) for row in X) else ()
        return np.column_stack([cells.numbers(cells.one_by_one(column)) for column in columns])
    raise DataError(
        "X is a list, and not one of rows with the same number of cells. Give it a type: np.array(rows, "
        "dtype=np.float64), or dtype=object for texts."
    )


def made_up(X: Any) -> Any:
    """Rows of zeros of the kind of X, or None where none can be made."""
    with suppress(Exception):
        if hasattr(X, "iloc"):
            return X.iloc[:0].reindex(range(MADE_UP)).fillna(0)
        width = X.shape[1] if hasattr(X, "shape") else np.shape(X)[1]
        zeros = np.zeros((MADE_UP, width))
        return sparse.csr_array(zeros) if sparse.issparse(X) else zeros
    return None


def answered(
    ask: Callable[[Any], NDArray[Any]], X: Any, people: Persons | None
) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """The rows of X that a model was asked about in one call, and what it answered for each of them.

    Records are one call, of public length. How many rows persons have is private, and a model may round a row
    by its place and by the length of a call: theirs are at places of their own (`data/places.py`), in calls
    whose empty places hold some row of the call again."""
    if people is None:
        yield np.arange(_row_count(X)), ask(X)
        return
    length = places.spread_length(people.n, LONGEST_CALL)
    for rows, at in places.calls(people.row_numbers(), length):
        index = np.full(length, rows[0])
        index[at] = rows
        found = ask(taken(X, index))
        if found.shape[:1] != (length,):
            raise ValueError("not an entry a row")
        yield rows, found[at]


def predicted(predict: Callable[[Any], Any], X: Any, people: Persons | None) -> NDArray[Any]:
    """What a model predicts for each row. Of persons' calls they are objects, so that no call's type reaches
    another."""
    parts = list(answered(lambda rows: cells.array(predict(rows)), X, people))
    if any(part.shape != rows.shape for rows, part in parts):
        raise ValueError("not one prediction a row")
    if people is None:
        return parts[0][1]
    joined = np.empty(sum(len(rows) for rows, _ in parts), dtype=object)
    for rows, part in parts:
        joined[rows] = cells.one_by_one(part)
    return joined


def taken(X: Any, chosen: NDArray[np.int64]) -> Any:
    """These rows of an array, a sparse matrix or a dataframe."""
    import narwhals as nw

    with suppress(Exception):
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            return frame[chosen].to_native()
        return X.tocsr()[chosen] if sparse.issparse(X) else X[chosen]
    raise DataError("X must be an array, a sparse matrix or a dataframe whose column names are distinct.")


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
