"""A meter between a method and its questions: counts passes over the data, and ends what takes too long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, final

from sottovoce.errors import BudgetExceeded
from sottovoce.methods.loop import Goal, Method

if TYPE_CHECKING:
    from sottovoce.accounting import Budget, Event
    from sottovoce.accounting.events import Query
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.geometry import Geometry
    from sottovoce.moments import Indices, Moments
    from sottovoce.questions import Answer, Derivatives, Problem, Questions
    from sottovoce.result import Outcome, TraceRow

D = TypeVar("D", bound="Derivatives")


@final
@dataclass(kw_only=True)
class Reading:
    """What a run asked for: a question about all records is one pass, one about m of n is m/n.

    `places` holds, for every gradient, the passes so far, its own included, and the weights."""

    longest: int
    passes: float = 0.0
    hessians: int = 0
    visits: int = 0
    cut: bool = False
    places: list[tuple[float, Vector]] = field(default_factory=list)

    def ask(self, share: float = 1.0, *, hessian: bool = False) -> None:
        """Count a question, or refuse it where the run has made all the visits it is given."""
        if self.visits >= self.longest:
            self.cut = True
            raise BudgetExceeded(f"this study ends a run after {self.longest} visits. Nothing was released.")
        self.passes += share
        self.hessians += hessian

    def gradient(self, w: Vector, share: float = 1.0) -> None:
        self.ask(share)
        self.places.append((self.passes, w))


@dataclass(frozen=True)
class Counted(Generic[D]):
    """Derivatives, each counted on its way as the `share` of the records it reads.

    Places are noted in the user's coordinates, also where questions are asked in those of a geometry."""

    inner: D
    reading: Reading
    share: float = 1.0
    geometry: Geometry | None = None

    @property
    def problem(self) -> Problem:
        return self.inner.problem

    @property
    def units_left(self) -> int:
        return self.inner.units_left

    def mu_squared(self, units: int) -> float:
        return self.inner.mu_squared(units)

    def gradient(self, w: Vector, units: int) -> Answer[Vector]:
        self.reading.gradient(w if self.geometry is None else self.geometry.to_user(w), self.share)
        return self.inner.gradient(w, units)

    def hessian(self, w: Vector, units: int) -> Answer[Matrix]:
        self.reading.ask(self.share, hessian=True)
        return self.inner.hessian(w, units)

    def curvature_product(self, w: Vector, direction: Vector, units: int) -> Answer[Vector]:
        self.reading.ask(self.share)
        return self.inner.curvature_product(w, direction, units)

    def price(self, query: Query, w: Vector, scale: float) -> int:
        return self.inner.price(query, w, scale)


@final
@dataclass(frozen=True)
class MeteredBatch(Counted["Derivatives"]):
    """Questions about batches."""


@final
@dataclass(frozen=True)
class Meter(Counted["Questions"]):
    """The questions a method may ask about all records; implements `Questions`."""

    def smallest_eigenvalue(self, w: Vector, units: int) -> Answer[float]:
        self.reading.ask(hessian=True)
        return self.inner.smallest_eigenvalue(w, units)

    def gram(self, units: int) -> Answer[Matrix]:
        self.reading.ask()
        return self.inner.gram(units)

    def gram_diagonal(self, units: int) -> Answer[Vector]:
        self.reading.ask()
        return self.inner.gram_diagonal(units)

    def moments(self, units: int, *, balance: float = 2.0, groups: Indices | None = None) -> Moments:
        self.reading.ask()
        return self.inner.moments(units, balance=balance, groups=groups)

    def reshaped(self, geometry: Geometry) -> Questions:
        self.reading.ask()
        return Meter(self.inner.reshaped(geometry), self.reading, geometry=geometry)

    def trials(self, w: Vector, directions: Matrix, units: int) -> Answer[Vector]:
        self.reading.ask()
        return self.inner.trials(w, directions, units)

    def gradient_norm(self, w: Vector, units: int) -> Answer[float]:
        self.reading.ask()
        return self.inner.gradient_norm(w, units)

    def backtrack(
        self, w: Vector, direction: Vector, lengths: Vector, required: Vector, units: int
    ) -> int | None:
        self.reading.ask()
        return self.inner.backtrack(w, direction, lengths, required, units)

    def grid(
        self, w: Vector, direction: Vector, longest: float, shrink: float, count: int, units: int
    ) -> Answer[Vector]:
        self.reading.ask()
        return self.inner.grid(w, direction, longest, shrink, count, units)

    def value(self, w: Vector, units: int) -> Answer[float]:
        self.reading.ask()
        return self.inner.value(w, units)

    def search_price(self, epsilon: float) -> int:
        return self.inner.search_price(epsilon)

    def batched(self, size: int, *, shared: bool = False) -> Derivatives:
        share = size / self.inner.problem.n
        return MeteredBatch(self.inner.batched(size, shared=shared), self.reading, share, self.geometry)


@final
@dataclass(frozen=True)
class Metered(Method):
    """A method whose questions pass a meter. A run that is cut ends as one that is out of budget does."""

    inner: Method
    reading: Reading
    name: ClassVar[str] = "metered"
    published: ClassVar[bool] = True

    def amplified(
        self, problem: Problem, start: Vector, goal: Goal, budget: Budget
    ) -> list[tuple[Event, int]]:
        return self.inner.amplified(problem, start, goal, budget)

    def run(self, ask: Questions, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        def count(row: TraceRow) -> None:
            self.reading.visits += 1
            watch(row)

        return self.inner.run(Meter(ask, self.reading), start, goal, count)
