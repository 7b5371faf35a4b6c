"""What queries cost and how noisy their answers are: bounds, a run that pays, no data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from sottovoce.accounting.checks import positive
from sottovoce.accounting.events import (
    GaussianEvent,
    PureEvent,
    QueryKind,
)
from sottovoce.errors import BudgetExceeded, LedgerError, ParameterError
from sottovoce.privacy.noise import calibrate
from sottovoce.privacy.release import packing_for
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
    from sottovoce.models.bounds import Bounds
    from sottovoce.privacy.batches import BatchPrices
    from sottovoce.privacy.noise import NoiseCalibration
    from sottovoce.privacy.release import Packing
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer, Preconditioner

T = TypeVar("T")
Q = TypeVar("Q")

PRICE_SLACK = 1.0 + 2.0**-20
"""Covers what the noise lattice adds to a sensitivity when a price is quoted beforehand."""


class Priced(Derivatives):
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


class Prices(Priced, Queries):
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
        from sottovoce.privacy.batches import BatchPrices

        return BatchPrices(self._bounds, self._run, size=size)


def _final(kind: Any) -> set[Any]:
    below = kind.__subclasses__()
    return set().union(*map(_final, below)) if below else {kind}


_KNOWN = frozenset(kind for kind in _final(Query) if kind.__module__.startswith("sottovoce.queries."))
SEARCHES = frozenset({Backtrack})
"""What a line search may compare."""


def require_known(query: Q, known: frozenset[type] = _KNOWN) -> Q:
    """A query of the room `queries`, whose requests the base bounds; one brought by a method is refused."""
    if type(query) not in known:
        raise ParameterError("an oracle answers the queries of sottovoce.queries and no others.")
    return query
