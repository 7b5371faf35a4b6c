"""Records: the only door data enters by. Behind it every row is bounded and every label declared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.arrays import Mask, Vector
from sottovoce.data.cell import Label
from sottovoce.data.compact import Compact
from sottovoce.data.compact_rows import LEAST_COMPACT, CompactRows, bound_compact
from sottovoce.data.doors import Doors
from sottovoce.data.layout import indicators_of
from sottovoce.data.partitioned import Parts
from sottovoce.data.persons import Persons
from sottovoce.data.record_facts import Declared, RecordFacts
from sottovoce.data.rows import CLIP_MARGIN, DenseRows, Rows, bound_dense
from sottovoce.data.sealed import Sealed
from sottovoce.data.sparse_rows import SparseRows, bound_sparse
from sottovoce.data.validation import (
    canonical_csr,
    checked_column_groups,
    checked_nonzeros,
    checked_radius,
    column_of,
    declaration_of,
    dense_table,
    entries_of_rows,
    require_rule_for_invalid,
    require_usable,
)
from sottovoce.data.weights import declared_cap, read_weights
from sottovoce.errors import ParameterError

__all__ = ["CLIP_MARGIN", "Label", "Records"]


@final
class Records(Doors, Declared, Sealed):
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
        column_groups: Sequence[int] | None = None,
        indicators: Sequence[tuple[int, int]] = (),
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
        `column_groups` numbers the columns of X, those expected to have one scale alike (the pixels of one
        channel): of a wide table a method then learns a scale for each group instead of each column, and up
        to four groups may each be found to tell nothing.
        `indicators` declares blocks of X's columns, (start, stop) each, that encode a category: a row has at
        most one of them other than 0, and that one holds what the constant column holds.
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
            raise ParameterError("intercept must be True or False.", argument="intercept")
        require_rule_for_invalid(invalid)
        table = _table_of(X)
        nonzeros = checked_nonzeros(nonzeros)
        cap = declared_cap(weight_cap, sample_weight)
        targets, usable = declared.encode(column_of(y, table.shape[0]))
        weights = None if cap is None else read_weights(sample_weight, len(targets), cap, usable)
        if nonzeros is not None:
            usable &= _entries_of(table) <= nonzeros
        hold = _bounded(table, radius, bool(intercept), usable)
        require_usable(usable | (invalid == "zero"))
        targets[~usable] = declared.blank
        facts = RecordFacts(
            declared=declared,
            radius=radius,
            intercept=bool(intercept),
            nonzeros=nonzeros,
            constant=bool(constant),
            weight_cap=cap,
            column_groups=checked_column_groups(column_groups, table.shape[1]),
            indicators=indicators_of(table, indicators, bool(constant)),
        )
        return cls(hold(targets, weights), facts).of_persons(groups, persons, invalid)

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
    def column_groups(self) -> tuple[int, ...] | None:
        """The declared group of each column, which share a scale; an appended intercept has its own."""
        declared = self._facts.column_groups
        if declared is None or not self.intercept:
            return declared
        return (*declared, max(declared) + 1)

    @property
    def sparse(self) -> bool:
        """Whether rows are held as CSR."""
        return self._rows.sparse

    def subset(self, indices: NDArray[np.int64], n: int | None = None) -> Records:
        """A copy of the records, or persons, at these increasing positions; sums are divided by `n`. Private.

        Where there are none, a row that counts nothing stands for them."""
        rows = indices if self._persons is None else self._persons.rows_of(indices)
        held = self._rows.take(rows) if rows.size else self._rows.take(_FIRST).reweighted(_counting_nothing)
        held = held.expecting(self._rows.expected)
        return Records(held, self._facts, divisor=indices.size if n is None else n)

    def reweighted(self, rule: Callable[[Rows], Vector]) -> Records:
        """The same records, not copied, each counting what the rule says of it. Private."""
        rows = self._rows.reweighted(rule)
        return Records(rows, self._facts, persons=self._persons, divisor=self._divisor)

    def of_persons(
        self, groups: Any, persons: int | None, invalid: str, quota: int = 1, *, alone: bool = False
    ) -> Records:
        """The same rows, each counting its share of its person; as they are without groups."""
        if groups is None and persons is None:
            return self
        held = Persons.given(
            groups, self._rows.n, persons, lenient=invalid == "zero", quota=quota, alone=alone
        )
        assert held is not None
        rows = self._rows.scaled(held.shares()).expecting(held.n * held.quota)
        return Records(rows, self._facts, persons=held)

    def __repr__(self) -> str:
        facts = ["n", "dim", "radius", "labels", "target", "intercept", "sparse"]
        facts += ["nonzeros"] * (self.nonzeros is not None)
        facts += ["constant"] * self._facts.constant + ["weight_cap"] * (self.weight_cap is not None)
        facts += ["persons"] * (self._persons is not None)
        groups = self._facts.column_groups
        shown = [f"{fact}={getattr(self, fact)!r}" for fact in facts]
        shown += [f"indicators={len(self.indicators)}"] * bool(self.indicators)
        shown += [] if groups is None else [f"column_groups={max(groups) + 1}"]
        return f"Records({', '.join(shown)})"


_FIRST = np.zeros(1, dtype=np.int64)


def _counting_nothing(rows: Rows) -> Vector:
    return np.zeros(rows.n)


def _table_of(X: Any) -> Any:
    """X as compact rows, canonical CSR or an array of numbers."""
    if isinstance(X, Compact):
        return X
    return canonical_csr(X) if sparse.issparse(X) else dense_table(X)


def _entries_of(table: Any) -> NDArray[Any]:
    """How many entries of each row are not 0."""
    return table.entries() if isinstance(table, Compact) else entries_of_rows(table)


def _bounded(
    table: Any, radius: float, intercept: bool, usable: Mask
) -> Callable[[Vector, Vector | None], Rows]:
    """The rows of norm at most `radius`, waiting for targets and weights; those not usable are zero."""
    if isinstance(table, Compact) and radius >= LEAST_COMPACT and not intercept:
        return partial(CompactRows, bound_compact(table, radius, usable))
    if sparse.issparse(table):
        return partial(SparseRows, bound_sparse(table, radius, intercept, usable))
    return partial(DenseRows, bound_dense(table, radius, intercept, usable))
