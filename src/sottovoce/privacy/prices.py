"""What queries cost and how noisy their answers are: bounds, a run that pays, no data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from sottovoce.accounting.checks import positive, whole
from sottovoce.accounting.events import (
    Draw,
    GaussianEvent,
    PureEvent,
    QueryKind,
    SubsampledGaussianEvent,
)
from sottovoce.accounting.relations import Relation
from sottovoce.errors import BudgetExceeded, LedgerError, ParameterError
from sottovoce.privacy.noise import calibrate
from sottovoce.privacy.release import packing_for
from sottovoce.privacy.sources import batch_bounds
from sottovoce.problem import Calibration
from sottovoce.queries import (
    Backtrack,
    Derivatives,
    Queries,
    Query,
    arguments,
)

if TYPE_CHECKING:
    from sottovoce.accounting import Run
    from sottovoce.privacy.bounds import Bounds
    from sottovoce.privacy.noise import NoiseCalibration
    from sottovoce.privacy.release import Packing
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer, Preconditioner

T = TypeVar("T")
Q = TypeVar("Q")

PRICE_SLACK = 1.0 + 2.0**-20
"""Covers what the noise lattice adds to a sensitivity when a price is quoted beforehand."""


class _Priced(Derivatives):
    """Base of all prices and oracles: how far answers move and who pays. Never copied."""

    def __init__(self, bounds: Bounds, run: Run) -> None:
        self._bounds = bounds
        self._run = run

    def __reduce__(self) -> NoReturn:
        raise LedgerError("an oracle holds data and a ledger and cannot be pickled or copied.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.problem.n} records, {self._run!r})"

    @property
    def problem(self) -> Problem:
        return self._bounds.problem

    @property
    def units_left(self) -> int:
        return self._run.units_left

    def mu_squared(self, units: int) -> float:
        return self._run.currency.mu_squared(units)

    def ask(self, query: Query[T], units: int) -> Answer[T]:
        raise ParameterError("prices are known without data, answers are not: ask an oracle.")

    def packing(self, query: Query[T]) -> Packing:
        """How an answer is laid out for its noise. The paper's own layout is for its Hessian alone."""
        published = self._bounds.calibration is Calibration.PUBLISHED and query.kind is QueryKind.HESSIAN
        return packing_for(query.form, published=published)

    def _affordable(self, units: int) -> int:
        given = arguments.units(units)
        if not 1 <= given <= self.units_left:
            raise BudgetExceeded(
                f"this query was given {'no' if given < 1 else 'more'} units of privacy, "
                f"{self.units_left} are left. Nothing was released. Raise the budget or plan fewer steps."
            )
        return given


class Prices(_Priced, Queries):
    """Prices of queries about all records."""

    def calibrated(self, query: Query[T], units: int) -> NoiseCalibration:
        """The noise that `units` buy."""
        return self._calibrated(query, self._sensitivity(query), units)

    def _calibrated(self, query: Query[T], sensitivity: float, units: int) -> NoiseCalibration:
        return calibrate(sensitivity, self.mu_squared(units), query.entries(self.problem))

    def _sensitivity(self, query: Query[T]) -> float:
        """What the query will be charged for."""
        return query.sensitivity(self._bounds)

    def price(self, query: Query[T], scale: float) -> int:
        sensitivity = self._sensitivity(require_known(query).admitted(self.problem))
        return self._run.currency.price(GaussianEvent(query.kind, sensitivity * PRICE_SLACK, scale, 1, 0.0))

    def search(self, query: Backtrack, units: int) -> int | None:
        raise ParameterError("prices are known without data, answers are not: ask an oracle.")

    def preconditioned(self, preconditioner: Preconditioner) -> Queries:
        raise ParameterError("prices are known without data, other coordinates are not: ask an oracle.")

    def search_price(self, epsilon: float) -> int:
        return self._run.currency.price(
            PureEvent(QueryKind.LINE_SEARCH, positive("epsilon", epsilon) * PRICE_SLACK)
        )

    def batched(self, size: int) -> BatchPrices:
        return BatchPrices(self._bounds, self._run, size=size)


class BatchPrices(_Priced):
    """Prices of queries about secret batches, amplified by their secrecy.

    Under zero-out batches are Poisson ones, their sums divided by the expected size: they move by one record
    over that size. Else they have a fixed size and move as when one of their records is replaced, whatever
    the relation: for that, amplification is proved."""

    def __init__(self, bounds: Bounds, run: Run, *, size: int) -> None:
        size = whole("the size of a batch", size)
        if size > bounds.problem.n:
            raise ParameterError(f"a batch holds between 1 and n={bounds.problem.n} records, got {size}.")
        super().__init__(bounds, run)
        self._size = size
        self._draw = Draw.under(bounds.relation)
        self._batch_bounds = batch_bounds(bounds, size, *self._batch)

    @property
    def _batch(self) -> tuple[int, Relation]:
        """How many records a sum holds at most, and how two batches of neighbours differ."""
        if self._draw is Draw.FIXED:
            return self._size, Relation.REPLACE_ONE
        return self.problem.n, Relation.ZERO_OUT

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size} of {self.problem.n} records, {self._run!r})"

    def calibrated(self, query: Query[T], units: int) -> NoiseCalibration:
        """The noise that `units` buy."""
        return self._calibrated(query, self._sensitivity(query), units)

    def _calibrated(self, query: Query[T], sensitivity: float, units: int) -> NoiseCalibration:
        multiplier = self._run.currency.multiplier(units, self._size, self.problem.n, self._draw)
        mu_squared = (1.0 - 2.0**-45) / (multiplier * multiplier)
        return calibrate(sensitivity, mu_squared, query.entries(self.problem))

    def _sensitivity(self, query: Query[T]) -> float:
        """What the query will be charged for."""
        return query.sensitivity(self._batch_bounds)

    def price(self, query: Query[T], scale: float) -> int:
        query = require_known(query).admitted(self.problem)
        sensitivity = self._sensitivity(query) * PRICE_SLACK
        batch = (self._size, self.problem.n, self._draw)
        return self._run.currency.price(
            SubsampledGaussianEvent(query.kind, sensitivity, scale, 1, 0.0, *batch)
        )

    def sampling(self, query: Query[T]) -> float:
        """Root mean square distance of a batch's answer from that of all records, at most."""
        return batch_deviation(query.term(self.problem), self.problem.n, self._size)


def batch_deviation(term: float, n: int, size: int) -> float:
    """Root mean square of ||g_S - g||: sup||term|| / sqrt(m), times what is left out of the batch."""
    left_out = (n - size) / max(1, n - 1)
    return term * math.sqrt(left_out / size)


def _final(kind: Any) -> set[Any]:
    below = kind.__subclasses__()
    return set().union(*map(_final, below)) if below else {kind}


_KNOWN = frozenset(kind for kind in _final(Query) if kind.__module__.startswith("sottovoce.queries."))
SEARCHES = frozenset({Backtrack})
"""What a line search may compare."""


def require_known(query: Q, known: frozenset[type] = _KNOWN) -> Q:
    """A query of the room `queries`: its bound has been proven, one brought by a method has not."""
    if type(query) not in known:
        raise ParameterError("an oracle answers the queries of sottovoce.queries and no others.")
    return query
