"""`dp-gd`: noisy gradient descent, then private selection among its iterates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

from sottovoce.errors import ParameterError
from sottovoce.methods.base import Evidence, Goal, Method, Rule, State, follow
from sottovoce.methods.paper.descent import CurvatureDescent
from sottovoce.methods.steps import ShortStep
from sottovoce.methods.stopping import Certified, Never
from sottovoce.results.certificate import Levels
from sottovoce.results.result import Outcome, Stop, TraceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.arrays import Vector
    from sottovoce.methods.forecast import Forecaster
    from sottovoce.problem import Problem
    from sottovoce.queries import Queries


@final
@dataclass(frozen=True, kw_only=True)
class Remember(Rule):
    """Follow another rule and keep the evidence of every point it visits."""

    rule: Rule
    seen: list[Evidence] = field(default_factory=list)

    def advance(self, state: State) -> Stop | None:
        stop = self.rule.advance(state)
        assert state.evidence is not None
        self.seen.append(state.evidence)
        return stop


@final
@dataclass(frozen=True, kw_only=True)
class Select(Rule):
    """Measure candidates afresh, one a visit, and stop at the first certified one; else the best is kept."""

    candidates: list[Evidence]
    test: Certified
    gradient_units: int
    curvature_units: int
    measured: list[Evidence] = field(default_factory=list)

    def advance(self, state: State) -> Stop | None:
        candidate = self.candidates[len(self.measured)]
        state.w, state.place = candidate.w, candidate.place
        here = state.gradient(self.gradient_units)
        spent = here.gradient.units
        if self.test.gradient(here, state.problem) and not self.test.curvature(here, state.problem):
            spent += state.smallest_eigenvalue(here, self.curvature_units).units
            assert state.evidence is not None
            here = state.evidence
        state.record("selection", spent)
        self.measured.append(here)
        if self.test.gradient(here, state.problem) and self.test.curvature(here, state.problem):
            return self.test.verdict
        state.evidence = min(self.measured, key=lambda evidence: evidence.gradient_norm)
        return None


@final
@dataclass(frozen=True, kw_only=True)
class GradientDescent(Method):
    """`steps` short steps on a share of the budget, then fresh gradient and curvature queries at the iterates
    whose noisy gradients were shortest: a union over candidates fixed before the run (Wang & Xu 2019)."""

    name: ClassVar[str] = "dp-gd"
    needs_tolerance: ClassVar[bool] = True
    steps: int = 50
    candidates: int = 5
    descent_share: float = 0.5
    curvature_share: float = 0.2

    def __post_init__(self) -> None:
        if self.steps < 1 or self.candidates < 1:
            raise ParameterError("steps and candidates must be at least 1.")
        for name in ("descent_share", "curvature_share"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ParameterError(f"{name} must lie strictly between 0 and 1.", argument=name)

    def forecaster(self) -> Forecaster:
        from sottovoce.methods.gradient_descent_forecast import DescentForecaster

        return DescentForecaster(self)

    def run(self, ask: Queries, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        tolerance = self.require_tolerance(goal)
        levels = self.levels(ask.problem, goal)
        state = State(ask=ask, levels=levels.untested(), w=start, watch=watch)
        units = self.step_units(ask.units_left)
        descent = Remember(
            rule=CurvatureDescent(step=ShortStep(), test=Never(), gradient_units=units, curvature_units=1)
        )
        stop = follow(descent, state, self.steps)
        if stop is Stop.OUT_OF_BUDGET:
            return state.outcome(stop)
        best = sorted(descent.seen, key=lambda evidence: evidence.gradient_norm)[: self.candidates]
        gradient, curvature = self.selection_units(ask.units_left, len(best), levels.curvature_tested)
        state.levels = levels
        selection = Select(
            candidates=best,
            test=Certified(tolerance),
            gradient_units=gradient,
            curvature_units=curvature,
        )
        return state.outcome(follow(selection, state, len(best)))

    def forms_hessians(self, problem: Problem, goal: Goal) -> bool:
        return goal.tolerance is not None and self.levels(problem, goal).curvature_tested

    def levels(self, problem: Problem, goal: Goal) -> Levels:
        """A test for every candidate; a descent cut short is certified by public numbers alone."""
        assert goal.tolerance is not None
        assert goal.tolerance.curvature is not None
        tested = problem.curvature_floor < -goal.tolerance.curvature
        return Levels(confidence=goal.confidence, gradient_tests=self.candidates, curvature_tested=tested)

    def step_units(self, left: int) -> int:
        """What the gradient of each step costs."""
        return int(left * self.descent_share) // self.steps

    def selection_units(self, left: int, candidates: int, curvature_tested: bool) -> tuple[int, int]:
        """What a candidate's gradient and curvature cost, all candidates sharing what is left."""
        each = left // candidates
        curvature = int(each * self.curvature_share) if curvature_tested else 0
        return each - curvature, curvature
