"""Records: the only door data enters by. Behind it every row is bounded and every label declared."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.arrays import Vector
from sottovoce.data.cell import Label
from sottovoce.data.partitioned import Parts
from sottovoce.data.rows import CLIP_MARGIN, DenseRows, Rows, SparseRows, bound_dense, bound_sparse
from sottovoce.data.sealed import Sealed
from sottovoce.data.targets import Classes, Range
from sottovoce.data.validation import (
    canonical_csr,
    checked_nonzeros,
    checked_radius,
    column_of,
    declaration_of,
    dense_table,
    entries_of_rows,
    insist_rule_for_invalid,
    insist_usable,
)
from sottovoce.data.weights import declared_cap, read_weights
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.data.schema import Schema

__all__ = ["CLIP_MARGIN", "Label", "Records"]


@final
class Records(Sealed):
    """n bounded rows: ||x|| <= radius, intercept included, each with a declared label or a bounded target.

    Public facts are n, dim, radius, labels, target, intercept, sparse, nonzeros, constant and weight_cap; the
    repr shows these and nothing else. Everything else is private: read it through an Oracle, or build a Risk
    to see it as its owner."""

    __slots__ = ("_constant", "_declared", "_intercept", "_nonzeros", "_radius", "_rows", "_weight_cap")

    def __init__(
        self,
        rows: Rows | Parts,
        declared: Classes | Range,
        *,
        radius: float,
        intercept: bool,
        nonzeros: int | None = None,
        constant: bool = False,
        weight_cap: float | None = None,
    ) -> None:
        self._rows = rows
        self._declared = declared
        self._radius = radius
        self._intercept = intercept
        self._nonzeros = nonzeros
        self._constant = constant
        self._weight_cap = weight_cap

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
        constant: bool = False,
        sample_weight: Any = None,
        weight_cap: float = 1.0,
        invalid: str = "raise",
    ) -> Records:
        """Bound a NumPy array or scipy.sparse matrix X and its y; the originals are only read.

        Declare `labels` (of two, the first means -1 and the second +1) or `target=(low, high)`, to which y is
        clipped. Rows longer than `radius`, counting the 1 that `intercept` appends, are shrunk to it.
        `nonzeros` declares that no row of X has more entries other than 0: wide models then train faster.
        `constant` declares that the last column of X holds one number throughout, as BoundedEncoder's does.
        `sample_weight` says what each record counts; it is clipped to [0, weight_cap]. Every sum over records
        is divided by n, never by the weights' sum.

        Labels and entries of lists and object arrays are read one by one, as BoundedEncoder reads cells.
        A row is invalid if it holds NaN, infinity, an undeclared label, more than `nonzeros` entries or a
        weight that is not finite.
        `invalid="raise"` refuses the data; whether it did is outside the privacy guarantee. `invalid="zero"`
        makes the row x = 0, intercept included, with the first declared label (regression: the target
        nearest to 0) and tells nobody.
        Types and shapes are public: if they are wrong, both refuse."""
        radius = checked_radius(radius)
        declared = declaration_of(labels, target)
        if not isinstance(intercept, bool | np.bool_):
            raise ParameterError("intercept must be True or False.")
        insist_rule_for_invalid(invalid)
        table = canonical_csr(X) if sparse.issparse(X) else dense_table(X)
        nonzeros = checked_nonzeros(nonzeros)
        cap = declared_cap(weight_cap, sample_weight)
        targets, usable = declared.encode(column_of(y, table.shape[0]))
        weights = None if cap is None else read_weights(sample_weight, len(targets), cap, usable)
        if nonzeros is not None:
            usable &= entries_of_rows(table) <= nonzeros
        bound = bound_sparse if sparse.issparse(table) else bound_dense
        stored = bound(table, radius, bool(intercept), usable)
        insist_usable(usable | (invalid == "zero"))
        targets[~usable] = declared.blank
        rows = (SparseRows if sparse.issparse(stored) else DenseRows)(stored, targets, weights)
        return cls(
            rows,
            declared,
            radius=radius,
            intercept=bool(intercept),
            nonzeros=nonzeros,
            constant=bool(constant),
            weight_cap=cap,
        )

    @classmethod
    def from_table(
        cls, table: Any, schema: Schema | str | os.PathLike[str], *, delimiter: str = ",", **options: Any
    ) -> Records:
        """Records of a table, read into memory: a path, pandas, polars, pyarrow or an Arrow stream.

        Its schema declares how rows are encoded, as by BoundedEncoder with radius 1, and the target. Options
        are `sample_weight`, `weight_cap` and `invalid`, as in `from_arrays`."""
        from sottovoce.data.files import bounded

        return bounded(table, schema, delimiter, **options)

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str],
        schema: Schema | str | os.PathLike[str],
        radius: float = 1.0,
        *,
        sample_weight: Any = None,
        weight_cap: float = 1.0,
        invalid: str = "raise",
        memory: int = 2**29,
    ) -> Records:
        """Records of a Parquet file, or of all those in a folder, that need not fit into memory.

        The schema encodes and bounds rows as BoundedEncoder does, the constant column included, and declares
        the target. The first `memory` bytes of encoded rows are kept; later ones are read again at each pass.
        The answers are those of the same rows in memory; the file must not change until the last of them.
        `sample_weight` (one number a row, in the order of the files), `weight_cap` and `invalid` are as in
        `from_arrays`; a weight that is not finite counts 0."""
        from sottovoce.data.parquet import ParquetRows, ParquetSource
        from sottovoce.data.schema import Schema

        declared_columns = schema if isinstance(schema, Schema) else Schema.load(schema)
        aim = declared_columns.target
        if aim is None:
            raise ParameterError("the schema declares no target. Add a [target] section.")
        if isinstance(memory, bool) or not isinstance(memory, int) or memory < 0:
            raise ParameterError("memory must be a whole number of bytes, at least 0.")
        radius = checked_radius(radius)
        insist_rule_for_invalid(invalid)
        source = ParquetSource.open(path, declared_columns, radius=radius, lenient=invalid == "zero")
        declared = declaration_of(aim.classes, aim.range)
        cap = declared_cap(weight_cap, sample_weight)
        rows: Rows = ParquetRows(source, declared, memory)
        if cap is not None:
            usable = np.ones(rows.n, dtype=bool)
            weights = read_weights(sample_weight, rows.n, cap, usable)
            insist_usable(usable | (invalid == "zero"))
            rows = rows.reweighted(lambda _: weights)
        return cls(rows, declared, radius=radius, intercept=False, constant=True, weight_cap=cap)

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
        constant: bool = False,
        sample_weight: Any = None,
        weight_cap: float = 1.0,
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
        declared = declaration_of(labels, target)
        options = {"radius": checked_radius(radius), "labels": labels, "target": target, "invalid": invalid}
        options |= {"intercept": intercept, "nonzeros": checked_nonzeros(nonzeros)}
        cap = declared_cap(weight_cap, sample_weight)
        options |= {"weight_cap": weight_cap}
        insist_rule_for_invalid(invalid)
        held = hold(data, y, sample_weight, client=client, schema=schema, options=options)
        return cls(
            held,
            declared,
            radius=float(radius),
            intercept=bool(intercept),
            nonzeros=nonzeros,
            constant=constant or schema is not None,
            weight_cap=cap,
        )

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
    def constant(self) -> int | None:
        """The column that carries the constant: the appended intercept, or the last one as declared."""
        return self.dim - 1 if self._intercept or self._constant else None

    @property
    def weight_cap(self) -> float | None:
        """No record counts more than this; None without sample weights, when each counts 1."""
        return self._weight_cap

    @property
    def sparse(self) -> bool:
        """Whether rows are held as CSR."""
        return self._rows.sparse

    def subset(self, indices: NDArray[np.int64]) -> Records:
        """A copy of the records at these increasing positions, under the same declarations. Private."""
        return self._holding(self._rows.take(indices))

    def reweighted(self, rule: Callable[[Rows], Vector]) -> Records:
        """The same records, not copied, each counting what the rule says of it. Private."""
        return self._holding(self._rows.reweighted(rule))

    def _holding(self, rows: Rows | Parts) -> Records:
        """Other rows under the same declarations."""
        return Records(
            rows,
            self._declared,
            radius=self._radius,
            intercept=self._intercept,
            nonzeros=self._nonzeros,
            constant=self._constant,
            weight_cap=self._weight_cap,
        )

    def __repr__(self) -> str:
        facts = ["n", "dim", "radius", "labels", "target", "intercept", "sparse"]
        facts += ["nonzeros"] * (self._nonzeros is not None)
        facts += ["constant"] * self._constant + ["weight_cap"] * (self._weight_cap is not None)
        return f"Records({', '.join(f'{fact}={getattr(self, fact)!r}' for fact in facts)})"
