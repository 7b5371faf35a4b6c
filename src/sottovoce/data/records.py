"""Records: the only door data enters by. Behind it every row is bounded and every label declared."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.data.partitioned import Parts
from sottovoce.data.rows import CLIP_MARGIN, DenseRows, Rows, Sealed, SparseRows, bound_dense, bound_sparse
from sottovoce.data.targets import Classes, Label, Range
from sottovoce.errors import DataError, ParameterError

if TYPE_CHECKING:
    from sottovoce.data.schema import Schema

__all__ = ["CLIP_MARGIN", "Label", "Records"]

_RADIUS_RANGE = (1e-12, 1e12)


@final
class Records(Sealed):
    """n bounded rows: ||x|| <= radius, intercept included, each with a declared label or a bounded target.

    Public facts are n, dim, radius, labels, target, intercept and sparse; the repr shows these and nothing
    else. Everything else is private: read it through an Oracle, or build a Risk to see it as its owner."""

    __slots__ = ("_declared", "_intercept", "_nonzeros", "_radius", "_rows")

    def __init__(
        self,
        rows: Rows | Parts,
        declared: Classes | Range,
        *,
        radius: float,
        intercept: bool,
        nonzeros: int | None = None,
    ) -> None:
        self._rows = rows
        self._declared = declared
        self._radius = radius
        self._intercept = intercept
        self._nonzeros = nonzeros

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
        nonzeros: int | None = None,
        invalid: str = "raise",
    ) -> Records:
        """Bound a NumPy array or scipy.sparse matrix X and its y; the originals are only read.

        Declare `labels` (of two, the first means -1 and the second +1) or `target=(low, high)`, to which y is
        clipped. Rows longer than `radius`, counting the 1 that `intercept` appends, are shrunk to it.
        `nonzeros` declares that no row of X has more entries other than 0: wide models then train faster.

        A row is invalid if it holds NaN, infinity, an undeclared label or more than `nonzeros` entries.
        `invalid="raise"` refuses the data; whether it did is outside the privacy guarantee. `invalid="zero"`
        makes the row x = 0, intercept included, with the first declared label (regression: the target
        nearest to 0) and tells nobody.
        Types and shapes are public: if they are wrong, both refuse."""
        radius = _checked_radius(radius)
        declared = _declaration(labels, target)
        if not isinstance(intercept, bool | np.bool_):
            raise ParameterError("intercept must be True or False.")
        _check_invalid(invalid)
        table = _canonical(X) if sparse.issparse(X) else _array(X, "X")
        _insist_table(table)
        nonzeros = _checked_nonzeros(nonzeros)
        targets, usable = declared.encode(_column(y, table.shape[0]))
        if nonzeros is not None:
            usable &= _entries(table) <= nonzeros
        bound = bound_sparse if sparse.issparse(table) else bound_dense
        stored = bound(table, radius, bool(intercept), usable)
        if invalid == "raise" and not usable.all():
            raise DataError(
                "X or y holds NaN, infinity, an undeclared label or a row with more entries than declared. "
                'Clean the data, declare every label, or pass invalid="zero" to blank such rows.'
            )
        targets[~usable] = declared.blank
        rows = SparseRows(stored, targets) if sparse.issparse(stored) else DenseRows(stored, targets)
        return cls(rows, declared, radius=radius, intercept=bool(intercept), nonzeros=nonzeros)

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str],
        schema: Schema | str | os.PathLike[str],
        radius: float = 1.0,
        *,
        invalid: str = "raise",
        memory: int = 2**29,
    ) -> Records:
        """Records of a Parquet file, or of all those in a folder, that need not fit into memory.

        The schema encodes and bounds rows as BoundedEncoder does, the constant column included, and declares
        the target. The first `memory` bytes of encoded rows are kept; later ones are read again at each pass.
        The answers are those of the same rows in memory; the file must not change until the last of them.
        `invalid` is as in `from_arrays`."""
        from sottovoce.data.parquet import ParquetRows, ParquetSource
        from sottovoce.data.schema import Schema

        declared_columns = schema if isinstance(schema, Schema) else Schema.load(schema)
        aim = declared_columns.target
        if aim is None:
            raise ParameterError("the schema declares no target. Add a [target] section.")
        if isinstance(memory, bool) or not isinstance(memory, int) or memory < 0:
            raise ParameterError("memory must be a whole number of bytes, at least 0.")
        radius = _checked_radius(radius)
        _check_invalid(invalid)
        source = ParquetSource.open(path, declared_columns, radius=radius, lenient=invalid == "zero")
        declared = _declaration(aim.classes, aim.range)
        return cls(ParquetRows(source, declared, memory), declared, radius=radius, intercept=False)

    @classmethod
    def from_dask(
        cls,
        data: Any,
        y: Any = None,
        *,
        schema: Schema | None = None,
        radius: float = 1.0,
        labels: Sequence[Label] | None = None,
        target: tuple[float, float] | None = None,
        intercept: bool = False,
        nonzeros: int | None = None,
        invalid: str = "raise",
        client: Any = None,
    ) -> Records:
        """Records that stay on the workers of a Dask cluster (extra `sottovoce[dask]`).

        Pass dask arrays X (its chunks may be scipy.sparse) and y with `labels` or `target`, or a dask
        dataframe with a `schema` that declares them. `client` is a distributed.Client, by default the
        current one. Everything else is as in `from_arrays`. Workers and scheduler are trusted."""
        from sottovoce.data.dask import hold

        if schema is not None:
            if schema.target is None or labels is not None or target is not None or intercept:
                raise ParameterError(
                    "with a schema that declares a target, pass no labels, target or intercept."
                )
            labels, target = schema.target.classes, schema.target.range
        declared = _declaration(labels, target)
        options = {"radius": _checked_radius(radius), "labels": labels, "target": target, "invalid": invalid}
        options |= {"intercept": intercept, "nonzeros": _checked_nonzeros(nonzeros)}
        _check_invalid(invalid)
        held = hold(data, y, client=client, schema=schema, options=options)
        return cls(held, declared, radius=float(radius), intercept=bool(intercept), nonzeros=nonzeros)

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
    def nonzeros(self) -> int | None:
        """Declared most entries other than 0 in a row, the intercept not counted; None if not declared."""
        return self._nonzeros

    @property
    def sparse(self) -> bool:
        """Whether rows are held as CSR."""
        return self._rows.sparse

    def subset(self, indices: NDArray[np.int64]) -> Records:
        """A copy of the records at these increasing positions, under the same declarations. Private."""
        return Records(
            self._rows.take(indices),
            self._declared,
            radius=self._radius,
            intercept=self._intercept,
            nonzeros=self._nonzeros,
        )

    def __repr__(self) -> str:
        facts = ["n", "dim", "radius", "labels", "target", "intercept", "sparse"]
        if self._nonzeros is not None:
            facts.append("nonzeros")
        return f"Records({', '.join(f'{fact}={getattr(self, fact)!r}' for fact in facts)})"


def _checked_radius(radius: float) -> float:
    low, high = _RADIUS_RANGE
    with suppress(TypeError, ValueError, OverflowError):
        if not isinstance(radius, bool | str) and low <= float(radius) <= high:
            return float(radius)
    raise ParameterError(f"radius must be a number within [{low:g}, {high:g}]. Rescale the features instead.")


def _check_invalid(invalid: str) -> None:
    if not isinstance(invalid, str) or invalid not in ("raise", "zero"):
        raise ParameterError('invalid must be "raise" (refuse the data) or "zero" (blank the row).')


def _checked_nonzeros(nonzeros: int | None) -> int | None:
    if nonzeros is None:
        return None
    if isinstance(nonzeros, bool) or not isinstance(nonzeros, int | np.integer) or nonzeros < 1:
        raise ParameterError("nonzeros must be a whole number of at least 1, or None.")
    return int(nonzeros)


def _entries(table: Any) -> NDArray[Any]:
    """How many entries of each row are not 0; NaN is one of them."""
    if not sparse.issparse(table):
        return np.asarray(np.count_nonzero(table, axis=1))
    filled = np.concatenate(([0], np.cumsum(table.data != 0)))
    return np.asarray(np.diff(filled[table.indptr]))


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
