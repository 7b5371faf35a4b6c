"""Records: the only door data enters by. Behind it every row is bounded and every label declared."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.errors import DataError, ParameterError
from sottovoce.rows import CLIP_MARGIN, DenseRows, Rows, Sealed, SparseRows, bound_dense, bound_sparse
from sottovoce.targets import Classes, Label, Range

__all__ = ["CLIP_MARGIN", "Label", "Records"]

_RADIUS_RANGE = (1e-12, 1e12)


@final
class Records(Sealed):
    """n bounded rows: ||x|| <= radius, intercept included, each with a declared label or a bounded target.

    Public facts are n, dim, radius, labels, target, intercept and sparse; the repr shows these and nothing
    else. Everything else is private: read it through an Oracle, or build a Risk to see it as its owner."""

    __slots__ = ("_declared", "_intercept", "_radius", "_rows")

    def __init__(self, rows: Rows, declared: Classes | Range, *, radius: float, intercept: bool) -> None:
        self._rows = rows
        self._declared = declared
        self._radius = radius
        self._intercept = intercept

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        radius: float = 1.0,
        labels: Sequence[Label] | None = None,
        target: tuple[float, float] | None = None,
        intercept: bool = False,
        invalid: str = "raise",
    ) -> Records:
        """Bound a NumPy array or scipy.sparse matrix X and its y; the originals are only read.

        Declare `labels` (of two, the first means -1 and the second +1) or `target=(low, high)`, to which y is
        clipped. Rows longer than `radius`, counting the 1 that `intercept` appends, are shrunk to it.

        A row is invalid if it holds NaN, infinity or an undeclared label. `invalid="raise"` refuses the data;
        whether it did is outside the privacy guarantee. `invalid="zero"` makes the row x = 0, intercept
        included, with the first declared label (regression: the target nearest to 0) and tells nobody.
        Types and shapes are public: if they are wrong, both refuse."""
        radius = _checked_radius(radius)
        declared = _declaration(labels, target)
        if not isinstance(intercept, bool | np.bool_):
            raise ParameterError("intercept must be True or False.")
        if invalid not in ("raise", "zero"):
            raise ParameterError('invalid must be "raise" (refuse the data) or "zero" (blank the row).')
        table = _canonical(X) if sparse.issparse(X) else _array(X, "X")
        _insist_table(table)
        targets, usable = declared.encode(_column(y, table.shape[0]))
        bound = bound_sparse if sparse.issparse(table) else bound_dense
        stored = bound(table, radius, bool(intercept), usable)
        if invalid == "raise" and not usable.all():
            raise DataError(
                "X or y holds NaN, infinity or an undeclared label. Clean the data, declare every label, "
                'or pass invalid="zero" to blank such rows.'
            )
        targets[~usable] = declared.blank
        rows = SparseRows(stored, targets) if sparse.issparse(stored) else DenseRows(stored, targets)
        return cls(rows, declared, radius=radius, intercept=bool(intercept))

    @property
    def n(self) -> int:
        """Number of records."""
        return self._rows.n

    @property
    def dim(self) -> int:
        """Number of columns, intercept included."""
        return self._rows.dim

    @property
    def radius(self) -> float:
        """No row is longer than this."""
        return self._radius

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """Declared labels; None for regression."""
        return self._declared.labels if isinstance(self._declared, Classes) else None

    @property
    def target(self) -> tuple[float, float] | None:
        """Declared range of a regression target; None for classification."""
        return (self._declared.low, self._declared.high) if isinstance(self._declared, Range) else None

    @property
    def intercept(self) -> bool:
        """Whether the last column is the appended constant, shrunk with its row."""
        return self._intercept

    @property
    def sparse(self) -> bool:
        """Whether rows are held as CSR."""
        return isinstance(self._rows, SparseRows)

    def subset(self, indices: NDArray[np.int64]) -> Records:
        """A copy of the records at these increasing positions, under the same declarations. Private."""
        return Records(
            self._rows.take(indices), self._declared, radius=self._radius, intercept=self._intercept
        )

    def __repr__(self) -> str:
        facts = ("n", "dim", "radius", "labels", "target", "intercept", "sparse")
        return f"Records({', '.join(f'{fact}={getattr(self, fact)!r}' for fact in facts)})"


def _checked_radius(radius: float) -> float:
    low, high = _RADIUS_RANGE
    with suppress(TypeError, ValueError, OverflowError):
        if not isinstance(radius, bool | str) and low <= float(radius) <= high:
            return float(radius)
    raise ParameterError(f"radius must be a number within [{low:g}, {high:g}]. Rescale the features instead.")


def _declaration(labels: Sequence[Label] | None, target: tuple[float, float] | None) -> Classes | Range:
    if labels is not None and target is None:
        return Classes.declare(labels)
    if target is not None and labels is None:
        return Range.declare(target)
    raise ParameterError(
        "declare exactly one of labels (classification) and target=(low, high) (regression), "
        "from what is known without looking at the data."
    )


def _array(values: Any, name: str) -> NDArray[Any]:
    """NumPy's own refusal may quote data: ours is raised after it is forgotten, without it as context."""
    if not isinstance(values, np.ma.MaskedArray):
        with suppress(Exception):
            return np.asarray(values)
    raise DataError(f"{name} cannot be read as an array. Pass a plain NumPy array without a mask.")


def _canonical(X: Any) -> Any:
    """X as CSR with sorted columns, none twice: entries given twice add up, in float64, before clipping."""
    _insist_table(X)
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


def _insist_table(X: Any) -> None:
    if X.ndim != 2 or min(X.shape) < 1:
        raise DataError("X must have two dimensions, at least one row and at least one column.")
    if X.dtype.kind not in "biuf":
        raise DataError("X must hold real numbers. Encode text and dates, then convert with X.astype(float).")


def _column(y: Any, n: int) -> NDArray[Any]:
    array = _array(y, "y")
    if array.ndim != 1 or array.size != n:
        raise DataError("y must have one dimension and an entry for each row of X. y.ravel() drops an axis.")
    return array
