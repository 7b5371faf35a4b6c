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
from sottovoce.data.persons import Persons
from sottovoce.data.record_facts import Declared, RecordFacts
from sottovoce.data.rows import CLIP_MARGIN, DenseRows, Rows, SparseRows, bound_dense, bound_sparse
from sottovoce.data.sealed import Sealed
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
class Records(Declared, Sealed):
    """n bounded rows: ||x|| <= radius, intercept included, each with a declared label or a bounded target.

    Public facts are n, dim, radius, labels, target, intercept, sparse, nonzeros, constant and weight_cap; the
    repr shows these and nothing else. Everything else is private: read it through an Oracle, or build a Risk
    to see it as its owner."""

    __slots__ = ("_divisor", "_facts", "_persons", "_rows")

    def __init__(
        self,
        rows: Rows | Parts,
        facts: RecordFacts,
        *,
        persons: Persons | None = None,
        divisor: int | None = None,
    ) -> None:
        self._rows = rows
        self._facts = facts
        self._persons = persons
        self._divisor = divisor

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
        groups: Any = None,
        persons: int | None = None,
        invalid: str = "raise",
    ) -> Records:
        """Bound a NumPy array or scipy.sparse matrix X and its y; the originals are only read.

        Declare `labels` (of two, the first means -1 and the second +1) or `target=(low, high)`, to which y is
        clipped. Rows longer than `radius`, counting the 1 that `intercept` appends, are shrunk to it.
        `nonzeros` declares that no row of X has more entries other than 0: wide models then train faster.
        `constant` declares that the last column of X holds one number throughout, as BoundedEncoder's does.
        `sample_weight` says what each record counts; it is clipped to [0, weight_cap]. Every sum over records
        is divided by n, never by the weights' sum.
        `groups` holds the key of each row's person: the m rows of one count 1/m each, n is the number of
        persons, and the guarantee is theirs. `persons` declares that number where it must not be counted.

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
        facts = RecordFacts(
            declared=declared,
            radius=radius,
            intercept=bool(intercept),
            nonzeros=nonzeros,
            constant=bool(constant),
            weight_cap=cap,
        )
        return cls(rows, facts).of_persons(groups, persons, invalid)

    @classmethod
    def from_table(
        cls, table: Any, schema: Schema | str | os.PathLike[str], *, delimiter: str = ",", **options: Any
    ) -> Records:
        """Records of a table, read into memory: a path, pandas, polars, pyarrow or an Arrow stream.

        Its schema declares how rows are encoded, as by BoundedEncoder with radius 1, the target, and, if it
        says so, what rows count: their weight over its cap. Options are `sample_weight`, `weight_cap` and
        `invalid`, as in `from_arrays`."""
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
        groups: Any = None,
        persons: int | None = None,
        invalid: str = "raise",
        memory: int = 2**29,
        spool: bool | str | os.PathLike[str] = True,
        progress: bool = False,
    ) -> Records:
        """Records of a Parquet file, or of all those in a folder, that need not fit into memory.

        The schema encodes and bounds rows as BoundedEncoder does, the constant column included, and declares
        the target. The first `memory` bytes of encoded rows are kept, later ones spooled: 4 bytes an entry in
        the system's temporary folder, or the one that `spool` names, in a file that nobody else can open and
        that is gone with these records, or a crash. `spool=False` decodes them again at each pass. The
        answers are those of the same rows in memory; the file must not change until the last of them.
        `sample_weight` (one number a row, in the order of the files), `weight_cap`, `groups`, `persons` and
        `invalid` are as in `from_arrays`; a weight that is not finite counts 0. Without `groups`, the column
        that the schema names as `person` holds the keys."""
        from sottovoce.data.parquet_rows import bounded

        given: dict[str, Any] = {"sample_weight": sample_weight, "weight_cap": weight_cap, "groups": groups}
        where: dict[str, Any] = {"memory": memory, "spool": spool, "progress": progress}
        return bounded(path, schema, radius, persons=persons, invalid=invalid, **given, **where)

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
        groups: Any = None,
        persons: int | None = None,
        invalid: str = "raise",
        client: Any = None,
    ) -> Records:
        """Records that stay on the workers of a Dask cluster (extra `sottovoce[dask]`).

        Pass dask arrays X (its chunks may be scipy.sparse) and y with `labels` or `target`, or a dask
        dataframe with a `schema` that declares them. `client` is a distributed.Client, by default the
        current one. Everything else is as in `from_arrays`. Workers and scheduler are trusted. `groups` is a
        dask array or column; keys are gathered here, so a person's rows may lie in several partitions."""
        from sottovoce.data.dask import gathered, hold

        if schema is not None:
            if schema.target is None or labels is not None or target is not None or intercept:
                raise ParameterError(
                    "with a schema that declares a target, pass no labels, target or intercept."
                )
            labels, target = schema.target.classes, schema.target.range
        declared = declaration_of(labels, target)
        options = {"radius": checked_radius(radius), "labels": labels, "target": target, "invalid": invalid}
        options |= {"intercept": intercept, "nonzeros": checked_nonzeros(nonzeros)}
        weighted = schema is not None and schema.is_weighted
        cap = 1.0 if weighted else declared_cap(weight_cap, sample_weight)
        options |= {"weight_cap": weight_cap}
        insist_rule_for_invalid(invalid)
        held = hold(data, y, sample_weight, client=client, schema=schema, options=options)
        facts = RecordFacts(
            declared=declared,
            radius=float(radius),
            intercept=bool(intercept),
            nonzeros=nonzeros,
            constant=constant or schema is not None,
            weight_cap=cap,
        )
        if groups is None and schema is not None and schema.person is not None:
            groups = data[schema.person]
        keys = None if groups is None else gathered(groups, client)
        return cls(held, facts).of_persons(keys, persons, invalid)

    @property
    def n(self) -> int:
        """Number of records, or of persons: what every sum is divided by."""
        if self._divisor is not None:
            return self._divisor
        return self._rows.n if self._persons is None else self._persons.n

    @property
    def persons(self) -> Persons | None:
        """Whose rows these are; None where each is a record of its own."""
        return self._persons

    @property
    def dim(self) -> int:
        """Number of columns, intercept included."""
        return self._rows.dim

    @property
    def constant(self) -> int | None:
        """The column that carries the constant: the appended intercept, or the last one as declared."""
        return self.dim - 1 if self._facts.intercept or self._facts.constant else None

    @property
    def sparse(self) -> bool:
        """Whether rows are held as CSR."""
        return self._rows.sparse

    def subset(self, indices: NDArray[np.int64], n: int | None = None) -> Records:
        """A copy of the records, or persons, at these increasing positions; sums are divided by `n`. Private.

        Where there are none, a row that counts nothing stands for them."""
        rows = indices if self._persons is None else self._persons.rows_of(indices)
        held = self._rows.take(rows) if rows.size else self._rows.take(_FIRST).reweighted(_counting_nothing)
        return Records(held, self._facts, divisor=indices.size if n is None else n)

    def reweighted(self, rule: Callable[[Rows], Vector]) -> Records:
        """The same records, not copied, each counting what the rule says of it. Private."""
        rows = self._rows.reweighted(rule)
        return Records(rows, self._facts, persons=self._persons, divisor=self._divisor)

    def of_persons(self, groups: Any, persons: int | None, invalid: str) -> Records:
        """The same rows, each counting its share of its person; as they are without groups."""
        if groups is None:
            if persons is not None:
                raise ParameterError("persons counts the people named by groups: pass groups too.")
            return self
        held = Persons.of(groups, self._rows.n, persons, lenient=invalid == "zero")
        return Records(self._rows.scaled(held.shares()), self._facts, persons=held)

    def __repr__(self) -> str:
        facts = ["n", "dim", "radius", "labels", "target", "intercept", "sparse"]
        facts += ["nonzeros"] * (self.nonzeros is not None)
        facts += ["constant"] * self._facts.constant + ["weight_cap"] * (self.weight_cap is not None)
        facts += ["persons"] * (self._persons is not None)
        return f"Records({', '.join(f'{fact}={getattr(self, fact)!r}' for fact in facts)})"


_FIRST = np.zeros(1, dtype=np.int64)


def _counting_nothing(rows: Rows) -> Vector:
    return np.zeros(rows.n)
