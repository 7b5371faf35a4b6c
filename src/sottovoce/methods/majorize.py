"""`majorize`: one noisy query about the features bounds the Hessian everywhere; then steps, no tuning."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from sottovoce.errors import BudgetExceeded, ParameterError
from sottovoce.methods.adaptive_damping import adaptive_damping
from sottovoce.methods.base import Goal, Method, Rule, State, follow, require_relaxation, require_shares
from sottovoce.methods.budget_schedule import BudgetSchedule, Growing, Tracking
from sottovoce.methods.cubic_model import minimize_cubic
from sottovoce.methods.designs import Designer
from sottovoce.methods.measurement import curvature_in_doubt, measure
from sottovoce.methods.saddles import LOOK_SHARE, escaped, starts_at_saddle
from sottovoce.methods.steps import Step
from sottovoce.methods.stopping import Certified, Never, StoppingTest
from sottovoce.methods.turned_steps import by_hessian
from sottovoce.results.certificate import Levels
from sottovoce.results.result import Outcome, Stop, TraceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.arrays import Vector
    from sottovoce.methods.designs import Design
    from sottovoce.methods.forecast import Forecaster
    from sottovoce.methods.steps import StepRule
    from sottovoce.problem import Problem
    from sottovoce.queries import Queries


_LATE = 8
"""Power of a point's number in the mean."""


@final
@dataclass(frozen=True, kw_only=True)
class Majorize(Method):
    """Release S = X'X/n once, then w -= c (Q + L)^{-1} g~ with Q = U (S_+ + lift) + sup r'' above Hessians.

    Whether S is released, its diagonal, or nothing and Q is a number, follows from what each promises.
    With a tolerance every visited point is tested, at a level fixed beforehand, and the run stops at the
    first certified one; where only the curvature is in doubt it is paid for, and a cubic step leaves a
    saddle; L is 0. Without a tolerance L and the number of steps, `steps` or more, are those with the least
    expected excess loss; all are taken, late iterates averaged, and what is left measures that
    point. Shares of the budget are `shares`, or the rule that won benchmarks/budget.py."""

    name: ClassVar[str] = "majorize"
    steps: int = 15
    gram_share: float = 0.1
    curvature_share: float = 0.05
    measure_share: float = 0.05
    relaxation: float = 1.5
    shares: BudgetSchedule | None = None

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ParameterError("steps must be at least 1.", argument="steps")
        require_shares(self, "gram_share", "curvature_share", "measure_share")
        require_relaxation(self.relaxation)

    def forecaster(self) -> Forecaster:
        from sottovoce.methods.majorize_forecast import MajorizeForecaster

        return MajorizeForecaster(self)

    def run(self, ask: Queries, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        levels = self.levels(ask.problem, goal)
        state = State(ask=ask, levels=levels, w=start, watch=watch)
        aside = MajorizeReserve.of(self, ask.units_left, levels.curvature_tested)
        mu = math.sqrt(ask.mu_squared(ask.units_left))
        designer, design = self.designer(ask.problem, mu), self.design(ask.problem, mu, goal)
        try:
            step = adaptive_damping(state, aside.gram, designer, design)
        except BudgetExceeded:
            return state.outcome(Stop.OUT_OF_BUDGET)
        if goal.tolerance is not None:
            rule = Majorization(
                step=step.majorizer,
                test=Certified(goal.tolerance),
                shares=self.shares or Tracking(goal.tolerance.gradient),
                visits=self.steps + 1,
                curvature_units=aside.curvature,
            )
            return state.outcome(follow(rule, state, self.steps + 1))
        try:
            if aside.look and starts_at_saddle(state, aside.look):
                return escaped(state, goal)
        except BudgetExceeded:
            return state.outcome(Stop.OUT_OF_BUDGET)
        rule = Majorization(
            step=step,
            test=Never(),
            shares=self.shares or Growing(),
            visits=design.steps,
            curvature_units=aside.curvature,
            kept=aside.measured,
        )
        state.levels = replace(levels, gradient_tests=design.steps + 1).on_the_way()
        stop = follow(rule, state, design.steps)
        if stop is Stop.STEPS_EXHAUSTED:
            state.rest(rule.mean, tuple(rule.weights))
            stop = measure(state, levels.at_the_end(), aside.curvature)
            noise = step.noise_left(state.problem, state.w, rule.weights)
            return replace(state.outcome(stop), noise=noise)
        return state.outcome(stop)

    def designer(self, problem: Problem, mu: float) -> Designer:
        """What compares majorizers when the whole run may cost `mu`."""
        return Designer(
            problem=problem, mu=mu, asked=self.gram_share, relaxation=self.relaxation, steps=self.steps
        )

    def design(self, problem: Problem, mu: float, goal: Goal) -> Design:
        """The majorizer and the steps that a run with this goal starts with. Public."""
        designer = self.designer(problem, mu)
        return designer.best() if goal.tolerance is None else designer.steepest()

    def levels(self, problem: Problem, goal: Goal) -> Levels:
        """A gradient test at every visit; the curvature is tested where public numbers leave it open."""
        return Levels(
            confidence=goal.confidence,
            gradient_tests=self.steps + 1,
            curvature_tested=curvature_in_doubt(problem, goal.tolerance),
        )


@final
@dataclass(frozen=True)
class MajorizeReserve:
    """Units set aside for the majorizer, one look at the curvature and the last measurement; `look` those of
    each of two queries that tell whether a run starts at a saddle."""

    gram: int
    curvature: int
    measured: int
    look: int

    @classmethod
    def of(cls, method: Majorize, units: int, curvature_tested: bool) -> MajorizeReserve:
        return cls(
            gram=int(units * method.gram_share),
            curvature=int(units * method.curvature_share) if curvature_tested else 0,
            measured=int(units * method.measure_share),
            look=int(units * LOOK_SHARE) if curvature_tested else 0,
        )


@dataclass(kw_only=True)
class Majorization(Rule):
    """One gradient a visit; a step by the majorizer, or the end, or a way out of a saddle.

    `kept` units stay for the end of the run. `mean` is that of the points reached, each weighing the eighth
    power of its number: about that of their last fifth; `weights` are these weights."""

    step: StepRule
    test: StoppingTest
    shares: BudgetSchedule
    visits: int
    curvature_units: int
    kept: int = 0
    visit_number: int = 0
    mean: Vector = field(default_factory=lambda: np.zeros(1))
    weights: list[float] = field(default_factory=list)

    def advance(self, state: State) -> Stop | None:
        left = state.ask.units_left - self.curvature_units - self.kept
        here = state.gradient(self.shares.units(state, left, self.visit_number, self.visits))
        self.visit_number += 1
        spent = here.gradient.units
        if not self.test.gradient(here, state.problem):
            state.record("gradient step", spent, step=self.step.gradient_step(state, here))
            weight = (_LATE + 1.0) / (self.visit_number + _LATE)
            self.mean = self.mean + (state.w - self.mean) * weight
            self.weights = [*((1.0 - weight) * earlier for earlier in self.weights), weight]
            return None
        if self.test.curvature(here, state.problem):
            state.record("stop", spent)
            return self.test.verdict
        if not self.curvature_units:
            state.record("stop", spent)
            return Stop.STEPS_EXHAUSTED
        hessian, here = state.hessian(here, self._curvature_price(state))
        spent += hessian.units
        if self.test.curvature(here, state.problem):
            state.record("stop", spent)
            return self.test.verdict
        step = minimize_cubic(here.gradient.value, hessian.value, state.problem.hessian_lipschitz)
        state.record(
            "cubic step", spent, step=Step(step, step_noise=by_hessian(here.gradient, hessian, step))
        )
        return None

    def _curvature_price(self, state: State) -> int:
        """The units set aside for one Hessian, then as many again for a later one, within what is left."""
        units = min(self.curvature_units, state.ask.units_left)
        self.curvature_units = min(self.curvature_units, (state.ask.units_left - units) // 2)
        return units
