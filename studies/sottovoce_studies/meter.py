"""A meter between a method and its queries: counts passes over the data, and ends what takes too long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, TypeVar, final

from sottovoce.errors import BudgetExceeded
from sottovoce.methods.base import Goal, Method
from sottovoce.queries import Derivatives, Gradient, Hessian, Queries, SmallestEigenvalue

if TYPE_CHECKING:
    from sottovoce.accounting import Budget, Event
    from sottovoce.arrays import Vector
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer, Backtrack, Preconditioner, Query
    from sottovoce.results.result import Outcome, TraceRow

T = TypeVar("T")


@final
@dataclass(kw_only=True)
class Reading:
    """What a run asked for: a query about all records is one pass, one about m of n is m/n.

    `places` holds, for every gradient, the passes so far, its own included, and the weights."""

    longest: int
    passes: float = 0.0
    hessians: int = 0
    visits: int = 0
    cut: bool = False
    places: list[tuple[float, Vector]] = field(default_factory=list)

    def ask(self, share: float = 1.0, *, hessian: bool = False) -> None:
        """Count a query, or refuse it where the run has made all the visits it is given."""
        if self.visits >= self.longest:
            self.cut = True
            raise BudgetExceeded(f"this study ends a run after {self.longest} visits. Nothing was released.")
        self.passes += share
        self.hessians += hessian

    def gradient(self, w: Vector, share: float = 1.0) -> None:
        self.ask(share)
        self.places.append((self.passes, w))


class _Counted(Derivatives):
    """Queries passed on, each counted on its way as the `share` of the records it reads."""

    inner: Derivatives
    reading: Reading
    share: float = 1.0

    @property
    def problem(self) -> Problem:
        return self.inner.problem

    @property
    def units_left(self) -> int:
        return self.inner.units_left

    def mu_squared(self, units: int) -> float:
        return self.inner.mu_squared(units)

    def price(self, query: Query[T], scale: float) -> int:
        return self.inner.price(query, scale)

    def ask(self, query: Query[T], units: int) -> Answer[T]:
        if isinstance(query, Gradient):
            self.reading.gradient(query.w, self.share)
        else:
            self.reading.ask(self.share, hessian=isinstance(query, Hessian | SmallestEigenvalue))
        return self.inner.ask(query, units)


@final
@dataclass(frozen=True)
class MeteredBatch(_Counted):
    """Queries about batches."""

    inner: Derivatives
    reading: Reading
    share: float = 1.0


@final
@dataclass(frozen=True)
class Meter(_Counted, Queries):
    """Queries about all records."""

    inner: Queries
    reading: Reading
    share: float = 1.0

    def search(self, query: Backtrack, units: int) -> int | None:
        self.reading.ask()
        return self.inner.search(query, units)

    def search_price(self, epsilon: float) -> int:
        return self.inner.search_price(epsilon)

    def preconditioned(self, preconditioner: Preconditioner) -> Meter:
        return Meter(self.inner.preconditioned(preconditioner), self.reading)

    def batched(self, size: int) -> Derivatives:
        share = size / self.inner.problem.n
        return MeteredBatch(self.inner.batched(size), self.reading, share)


@final
@dataclass(frozen=True)
class Metered(Method):
    """A method whose queries pass a meter. A run that is cut ends as one that is out of budget does."""

    inner: Method
    reading: Reading
    name: ClassVar[str] = "metered"
    published: ClassVar[bool] = True

    def amplified(
        self, problem: Problem, start: Vector, goal: Goal, budget: Budget
    ) -> list[tuple[Event, int]]:
        return self.inner.amplified(problem, start, goal, budget)

    def run(self, ask: Queries, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        def count(row: TraceRow) -> None:
            self.reading.visits += 1
            watch(row)

        return self.inner.run(Meter(ask, self.reading), start, goal, count)
