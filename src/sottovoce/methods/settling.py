"""Methods that follow gradients until they come to rest, and then pay for one measurement of that point."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

from scipy import special

from sottovoce.errors import BudgetExceeded, ParameterError
from sottovoce.methods.adaptive_damping import adaptive_damping
from sottovoce.methods.base import Goal, Method, Rule, State, follow, require_relaxation
from sottovoce.methods.designs import Design, Designer
from sottovoce.methods.measurement import curvature_in_doubt, measure
from sottovoce.results.certificate import Levels
from sottovoce.results.result import Outcome, Stop, TraceRow

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.methods.forecast import Forecaster
    from sottovoce.methods.majorizers import Majorized
    from sottovoce.problem import Problem
    from sottovoce.queries import Queries, Query

_DESIGNED = 15
"""Steps after which majorizers are compared: those of `majorize`."""

_LEVEL = 1e-3
"""How often noise alone may look like a gradient."""


def beyond_noise(sum_of_squares: float, variance: float, entries: int) -> bool:
    """Whether so many numbers are more than noise of this variance makes them."""
    return sum_of_squares > variance * float(special.chdtri(entries, _LEVEL))


class Planned(NamedTuple):
    """A kind of query on the way: what each costs, how many there may be, and what the first costs."""

    asked: Callable[[Vector], Query[Any]]
    units: int
    times: int
    first: int | None = None


class SettlingRule(Rule):
    """Steps that end where the run has come to rest."""

    @abstractmethod
    def rest(self, state: State) -> None:
        """Stand at the point to be measured and returned."""


@dataclass(frozen=True, kw_only=True)
class SettlingMethod(Method):
    """Shares of the budget: one query about the features, from which a majorizer sets all step lengths; the
    curvature at the end, where public numbers leave it open; the gradient there. Steps get the rest, and what
    they leave goes to the end as well."""

    steps: int
    gram_share: float = 0.1
    curvature_share: float = 0.1
    measure_share: float = 0.1
    relaxation: float = 1.5
    left: ClassVar[float]
    """Gradient left at the end, in units of the noise of the first gradient, for plans: measured on made-up
    tables of 5,000 to 80,000 records and 5 to 40 columns."""

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ParameterError("steps must be at least 1.", argument="steps")
        for name in ("gram_share", "curvature_share", "measure_share"):
            if not 0.0 < getattr(self, name) <= 0.2:
                raise ParameterError(f"{name} must be above 0 and at most 0.2.", argument=name)
        require_relaxation(self.relaxation)

    @abstractmethod
    def rule(self, majorizer: Majorized, units: int) -> SettlingRule:
        """The steps, for `units`."""

    @abstractmethod
    def planned(self, problem: Problem, units: int) -> tuple[Planned, ...]:
        """What these steps may ask, gradients first. Public."""

    def forecaster(self) -> Forecaster:
        from sottovoce.methods.settling_forecast import SettlingForecaster

        return SettlingForecaster(self)

    def run(self, ask: Queries, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        levels = self.levels(ask.problem, goal)
        state = State(ask=ask, levels=levels.untested(), w=start, watch=watch)
        aside = self.aside(ask.problem, ask.units_left, goal)
        mu = math.sqrt(ask.mu_squared(ask.units_left))
        designer, design = self.designer(ask.problem, mu), self.design(ask.problem, mu)
        try:
            majorizer = adaptive_damping(state, aside.gram, designer, design).majorizer
        except BudgetExceeded:
            return state.outcome(Stop.OUT_OF_BUDGET)
        rule = self.rule(majorizer, max(0, ask.units_left - aside.curvature - aside.gradient))
        if follow(rule, state, self.steps) is Stop.OUT_OF_BUDGET:
            return state.outcome(Stop.OUT_OF_BUDGET)
        rule.rest(state)
        stop = measure(state, levels, aside.curvature)
        outcome = state.outcome(stop)
        if stop is Stop.FINISHED and goal.tolerance is not None:
            met = outcome.certificate.meets(goal.tolerance)
            return replace(outcome, stop=Stop.CERTIFIED if met else Stop.STEPS_EXHAUSTED)
        return outcome

    def designer(self, problem: Problem, mu: float) -> Designer:
        """What compares majorizers when the whole run may cost `mu`."""
        return Designer(
            problem=problem, mu=mu, asked=self.gram_share, relaxation=self.relaxation, steps=_DESIGNED
        )

    def design(self, problem: Problem, mu: float) -> Design:
        """The majorizer whose steps leave the shortest gradient. Public."""
        return self.designer(problem, mu).steepest()

    def aside(self, problem: Problem, units: int, goal: Goal) -> SettlingReserve:
        """What is not for steps."""
        tested = self.levels(problem, goal).curvature_tested
        return SettlingReserve(
            gram=int(units * self.gram_share),
            curvature=int(units * self.curvature_share) if tested else 0,
            gradient=int(units * self.measure_share),
        )

    def levels(self, problem: Problem, goal: Goal) -> Levels:
        """One gradient test, at the end; the curvature is tested where public numbers leave it open."""
        return Levels(
            confidence=goal.confidence,
            gradient_tests=1,
            curvature_tested=curvature_in_doubt(problem, goal.tolerance),
        )


@final
@dataclass(frozen=True)
class SettlingReserve:
    """Units for the majorizer, and for the gradient and the curvature at the end."""

    gram: int
    curvature: int
    gradient: int
