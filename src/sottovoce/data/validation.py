"""What a table, a column and a declaration must be before a record is read; refusals quote no data."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.data import cells
from sottovoce.data.cell import Label
from sottovoce.data.targets import Classes, Range
from sottovoce.errors import BLANK, DataError, ParameterError

_RADIUS_RANGE = (1e-12, 1e12)


def checked_radius(radius: float) -> float:
    low, high = _RADIUS_RANGE
    with suppress(TypeError, ValueError, OverflowError):
        if not isinstance(radius, bool | str) and low <= float(radius) <= high:
            return float(radius)
    raise ParameterError(
        f"radius must be a number within [{low:g}, {high:g}]. Rescale the features instead.",
        argument="radius",
    )


def require_plain(schema: Any) -> None:
    """Refuse a time to event where rows are not made while the table is read."""
    if schema.target is not None and schema.target.survival is not None:
        raise ParameterError(
            "the rows of a time to event are made of a table that is read into memory. Use sv.fit or "
            "Records.from_table."
        )


def require_usable(usable: NDArray[np.bool_]) -> None:
    if not usable.all():
        raise DataError(
            "X, y or the weights hold NaN, infinity, an undeclared label or a row with more entries than "
            'declared. Clean the data, declare every label, or pass invalid="zero" to blank such rows.',
            advice=(BLANK,),
        )


def checked_nonzeros(nonzeros: int | None) -> int | None:
    if nonzeros is None:
        return None
    if isinstance(nonzeros, bool) or not isinstance(nonzeros, int | np.integer) or nonzeros < 1:
        raise ParameterError("nonzeros must be a whole number of at least 1, or None.", argument="nonzeros")
    return int(nonzeros)


def checked_column_groups(groups: Any, columns: int) -> tuple[int, ...] | None:
    """The group of each column, numbered from 0 without a gap; None where none are declared."""
    if groups is None:
        return None
    members = np.asarray(groups)
    if members.dtype.kind not in "iu" or members.shape != (columns,):
        raise ParameterError(
            f"column_groups must hold a whole number for each of X's {columns} columns.",
            argument="column_groups",
        )
    if not np.array_equal(np.unique(members), np.arange(members.max() + 1)):
        raise ParameterError(
            "column_groups must be numbered 0, 1, 2, ... without a gap.", argument="column_groups"
        )
    return tuple(members.tolist())


def entries_of_rows(table: Any) -> NDArray[Any]:
    """How many entries of each row are not 0; NaN is one of them."""
    if isinstance(table, np.ndarray):
        return np.asarray(np.count_nonzero(table, axis=1))
    filled = np.concatenate(([0], np.cumsum(table.data != 0)))
    return np.asarray(np.diff(filled[table.indptr]))


def declaration_of(labels: Sequence[Label] | None, target: tuple[float, float] | None) -> Classes | Range:
    if labels is not None and target is None:
        return Classes.declare(labels)
    if target is not None and labels is None:
        return Range.declare(target)
    raise ParameterError(
        "declare exactly one of labels (classification) and target=(low, high) (regression), "
        "from what is known without looking at the data."
    )


def dense_table(X: Any) -> NDArray[Any]:
    """X as numbers; text and objects, those of a list too, one by one."""
    table: Any = None
    with suppress(Exception):
        if isinstance(X, Sequence):
            table = np.array([cells.numbers(cells.array(row)) for row in X])
        else:
            table = cells.array(X)
            if table.ndim == 2 and table.dtype.kind in cells.TEXT + "c":
                table = cells.numbers(table.ravel()).reshape(table.shape)
    if table is None:
        raise DataError("X cannot be read as an array. Pass a plain NumPy array without a mask.")
    require_table(table)
    return np.asarray(table)


def canonical_csr(X: Any) -> Any:
    """X as CSR with sorted columns, none twice: entries given twice add up, in float64, before clipping."""
    from scipy import sparse

    require_table(X)
    with suppress(Exception):
        source = X if X.format == "csr" else X.astype(np.float64).tocsr()
        table = sparse.csr_array((source.data, source.indices, source.indptr), shape=source.shape)
        table.check_format(full_check=True)
        if not table.has_canonical_format:
            parts = (table.data.astype(np.float64), table.indices.copy(), table.indptr.copy())
            table = sparse.csr_array(parts, shape=table.shape)
            table.sum_duplicates()
        return table
    raise DataError("X is a sparse matrix whose index arrays are inconsistent. Build it again as CSR.")


def require_table(X: Any) -> None:
    if X.ndim != 2 or min(X.shape) < 1:
        raise DataError("X must have two dimensions, at least one row and at least one column.")
    if X.dtype.kind not in "biuf":
        raise DataError("X must hold real numbers. Encode text and dates, then convert with X.astype(float).")


def column_of(y: Any, n: int, name: str = "y") -> NDArray[Any]:
    """y as an array, what NumPy or an object says of it forgotten."""
    array: Any = None
    with suppress(Exception):
        array = cells.array(y)
    if array is None or array.ndim != 1 or array.size != n:
        raise DataError(
            f"{name} must be a plain array or list of one dimension, without a mask, and have an entry for "
            f"each row of X. {name}.ravel() drops an axis."
        )
    if cells.holds_no_value(array):
        raise DataError(f"{name} must hold labels or numbers. Convert dates and other types first.")
    return np.asarray(array)


def require_rule_for_invalid(invalid: str) -> None:
    if not isinstance(invalid, str) or invalid not in ("raise", "zero"):
        raise ParameterError(
            'invalid must be "raise" (refuse the data) or "zero" (blank the row).', argument="invalid"
        )
