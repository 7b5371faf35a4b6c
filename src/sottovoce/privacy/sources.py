"""What an oracle asks: records behind bounded sums.

Of records, what a risk says of itself is never used: its sums charge and answer, and what it returns for its
owner is not consulted. A query only proposes a request, which is made once, charged and then answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from sottovoce.accounting.events import QueryKind
from sottovoce.accounting.relations import Relation
from sottovoce.errors import LedgerError, ParameterError
from sottovoce.problem import Calibration
from sottovoce.trusted.requests import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.accounting import Run
    from sottovoce.models.bounds import Bounds
    from sottovoce.models.protocol import ExactRisk
    from sottovoce.problem import Problem
    from sottovoce.queries import Backtrack, Preconditioner, Query


@final
class Source:
    """Charges and answers. `bounds` holds what is proposed, and never lowers a charge."""

    def __init__(self, risk: ExactRisk, sums: Sums, bounds: Bounds, relation: Relation) -> None:
        self.bounds: Any = bounds
        self._risk = risk
        self._sums = sums
        self._relation = relation

    @property
    def n(self) -> int:
        """How many records, or persons, there are to draw a batch from."""
        return self._sums.n

    @property
    def problem(self) -> Problem:
        return self.bounds.problem  # type: ignore[no-any-return]

    def require_kept(self, run: Run) -> None:
        """Refuse a run whose ledger promises what these sums do not keep."""
        if run.ledger.unit != "record" and not self._sums.by_person:
            raise LedgerError("this ledger counts for every person, and here each record counts by itself.")
        if self._sums.is_n_private and self._relation is Relation.ZERO_OUT:
            raise LedgerError("under zero-out the number of persons may not be counted: one would change it.")

    def request(self, query: Query[Any]) -> Any:
        """What will be charged and answered. A sum of terms of one sign must be named a value in the ledger:
        of it, what replacement costs says nothing of zero-out (`accounting.lineage`)."""
        request = query.request(self.bounds)
        if getattr(request, "one_sided", True) and query.kind is not QueryKind.VALUE:
            raise LedgerError("a sum of numbers of one sign is a value, and must be charged as one.")
        return request

    def sensitivity(self, query: Query[Any], request: Any) -> float:
        """How far one record moves the answer to the request, or more where the caller states more."""
        tight = self._sums.sensitivity(request, self._relation)
        if self.bounds.calibration is Calibration.TIGHT:
            return tight
        return max(tight, query.sensitivity(self.bounds))

    def answer(self, request: Any) -> Any:
        """The exact answer without the penalty: for one who adds noise to it."""
        return self._sums.answer(request)

    def public(self, query: Query[Any]) -> Any:
        """What the penalty adds to the noisy answer."""
        return query.public(self.problem)

    def comparisons(self, query: Backtrack) -> tuple[float, Iterator[Fraction]]:
        """How far one record moves each comparison of a line search, and the comparisons, made in turn.

        What the penalty falls by and what is required are added exactly: beside numbers as large as those may
        be, a float would round a record's part up to more than was charged for."""
        request = self.bounds.line_drops(query.w, query.direction, np.array([np.max(query.lengths)]))
        longest = float(np.max(np.abs(request.lengths)))
        sensitivity = self._sums.sensitivity(request, self._relation)
        if self.bounds.calibration is not Calibration.TIGHT:
            sensitivity = max(sensitivity, query.sensitivity(self.bounds))
        steps = query.lengths[:, None] * query.direction
        eased = self.problem.penalty_decrease(query.w, steps)

        def compared() -> Iterator[Fraction]:
            fall = self._sums.falls(request)
            for length, less, required in zip(query.lengths, eased, query.required, strict=True):
                within = min(max(float(length), -longest), longest)
                yield Fraction(fall(within)) + Fraction(float(less)) - Fraction(float(required))

        return sensitivity, compared()

    def preconditioned(self, preconditioner: Preconditioner) -> Source:
        return source_of(self._risk.preconditioned(preconditioner), self.bounds.calibration, self._relation)

    def batch(self, size: int, most: int, relation: Relation) -> Source:
        """As it charges for a batch of `size` records, no more than `most` of them in a sum."""
        bounds = batch_bounds(self.bounds, size, most, relation)
        return Source(self._risk, self._sums.batch(size, most), bounds, relation)

    def subset(self, indices: NDArray[np.int64], n: int) -> Source:
        return Source(self._risk, self._sums.subset(indices, n), self.bounds, self._relation)


def batch_bounds(bounds: Bounds, size: int, most: int, relation: Relation) -> Bounds:
    """What is proposed for a mean over a batch: n is its size, and `most` records may be in a sum."""
    return replace(
        bounds,
        problem=replace(bounds.problem, n=size),
        arithmetic=replace(bounds.arithmetic, n=size, records=most),
        relation=relation,
    )


def source_of(risk: ExactRisk, calibration: Calibration, relation: Relation) -> Source:
    """The records of a risk."""
    sums = getattr(risk, "sums", None)
    if not isinstance(sums, Sums) or sums.prices_only:
        raise ParameterError(
            "an oracle answers about Risk, SoftmaxRisk and TorchRisk, whose sums are bounded."
        )
    return Source(risk, sums, replace(risk.bounds, calibration=calibration, relation=relation), relation)
