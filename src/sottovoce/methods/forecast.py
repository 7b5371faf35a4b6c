"""What a method can expect of a budget: the frame that all forecasts share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from sottovoce.results.result import Tolerance

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.planning.dry_run import DryRun
    from sottovoce.problem import Problem
    from sottovoce.queries import Query

_SMALLEST = 1e-12
"""No forecast looks for a tolerance below this."""


@final
@dataclass(frozen=True, kw_only=True)
class QueryNoise:
    """One kind of query: how often a run expects to ask it, its share of the budget each time, the noise sd
    of an entry, and the norm of all its noise; for a matrix the norm is the spectral one.

    `scale` is near the end of a run, where weights are long. `first` is the sd of the first such answer, at
    the starting weights: exact, where no earlier answer decides its price. `part` of the records are read."""

    asked: Query[Any]
    times: int
    share: float
    scale: float
    norm: float
    first: float
    part: float = 1.0

    @property
    def query(self) -> str:
        """The query's name."""
        return self.asked.kind.value

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready values."""
        numbers = {name: getattr(self, name) for name in ("times", "share", "scale", "norm", "first", "part")}
        return {"query": self.query, **numbers}


@final
@dataclass(frozen=True, kw_only=True)
class Costs:
    """What a run asks: at most `steps` steps (`first_steps` in a first phase), and each kind of query."""

    steps: int
    noise: tuple[QueryNoise, ...]
    first_steps: int | None = None
    majorizer: str | None = None

    @property
    def passes(self) -> int:
        """Expected passes over the data; a batch counts as the part it reads."""
        return math.ceil(math.fsum(query.times * query.part for query in self.noise) - 1e-9)


@final
@dataclass(frozen=True, kw_only=True)
class Forecast:
    """`gradient` and `curvature` are the smallest tolerances that a run can expect to reach."""

    mu: float
    costs: Costs
    gradient: float
    curvature: float


class Forecaster(ABC):
    """The forecast of one method, from its own prices. `free`: it also runs without a tolerance."""

    free: ClassVar[bool] = False

    @abstractmethod
    def reaches(self, dry_run: DryRun) -> bool:
        """Whether a run can expect to reach the tolerance of its goal."""

    @abstractmethod
    def curvature(self, dry_run: DryRun) -> float:
        """The smallest curvature tolerance that the budget can show, whatever the gradient's."""

    @abstractmethod
    def costs(self, dry_run: DryRun) -> Costs:
        """What the run for this goal asks."""

    def forecast(self, dry_run: DryRun) -> Forecast:
        curvature, gradient = self.curvature(dry_run), self.gradient(dry_run)
        aim = dry_run
        if not self.free and (dry_run.goal.tolerance is None or not self.reaches(dry_run)):
            aim = dry_run.aiming(self._wish(dry_run, gradient))
        return Forecast(
            mu=math.sqrt(dry_run.prices.mu_squared(dry_run.units)),
            costs=self.costs(aim),
            gradient=gradient,
            curvature=curvature,
        )

    def gradient(self, dry_run: DryRun) -> float:
        """The smallest gradient tolerance within reach, beside the curvature wanted or, if that cannot be
        shown, the smallest that can."""
        ceiling = dry_run.problem.gradient_ceiling(dry_run.start)
        base = dry_run.aiming(self._wish(dry_run, ceiling / 30.0))

        def works(gradient: float) -> bool:
            return self.reaches(base.aiming(self._wish(dry_run, gradient), same_order=True))

        found = least(works, _SMALLEST, ceiling)
        return ceiling if found is None else found

    def _wish(self, dry_run: DryRun, gradient: float) -> Tolerance:
        wanted = None if dry_run.goal.tolerance is None else dry_run.goal.tolerance.curvature
        usual = Tolerance(gradient=gradient, curvature=wanted).resolved(dry_run.problem).curvature
        assert usual is not None
        return Tolerance(gradient=gradient, curvature=max(usual, self.curvature(dry_run), _SMALLEST))


class MeasuredForecaster(Forecaster):
    """Of a method that measures its last point: it reaches what that measurement can certify."""

    free: ClassVar[bool] = True
    method: Any

    @abstractmethod
    def bound(self, dry_run: DryRun) -> float:
        """The largest gradient that the measurement is expected to leave open."""

    def forecast(self, dry_run: DryRun) -> Forecast:
        self.method.require_possible(dry_run.problem, dry_run.goal)
        return super().forecast(dry_run)

    def reaches(self, dry_run: DryRun) -> bool:
        tolerance = dry_run.goal.tolerance
        assert tolerance is not None
        assert tolerance.curvature is not None
        return self.curvature(dry_run) <= tolerance.curvature and self.bound(dry_run) <= tolerance.gradient


def just_tested(problem: Problem) -> Tolerance:
    """A wish whose curvature the structural floor just fails to promise, if any can be tested at all."""
    return Tolerance(gradient=1.0, curvature=max(-0.999 * problem.curvature_floor, _SMALLEST))


def least(works: Callable[[float], bool], low: float, high: float) -> float | None:
    """The least number that works, to one part in a thousand, rounded up; None if `high` does not work."""
    if not works(high):
        return None
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if works(middle) else (middle, high)
    return high
