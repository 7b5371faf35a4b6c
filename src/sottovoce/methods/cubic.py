"""`cubic`: gradient and Hessian released, a cubic model minimized, the boldest proven step taken."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.methods.base import (
    Evidence,
    Goal,
    Method,
    Rule,
    State,
    follow,
    require_relaxation,
    require_shares,
)
from sottovoce.methods.budget_schedule import BudgetSchedule, Growing, Tracking
from sottovoce.methods.cubic_model import CubicModel
from sottovoce.methods.measurement import curvature_in_doubt, measure, queries
from sottovoce.methods.steps import Step
from sottovoce.methods.stopping import Certified, Never, StoppingTest
from sottovoce.methods.turned_steps import by_hessian
from sottovoce.queries import SHORTEST_TRIAL
from sottovoce.results.certificate import Levels
from sottovoce.results.result import Outcome, Stop, TraceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.forecast import Forecaster
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer, Queries

_SHORTEST = 2.0 * SHORTEST_TRIAL
"""Steps shorter than this, in units of 1/radius, are not tried: rounding would dominate their difference."""


@final
@dataclass(frozen=True, kw_only=True)
class Cubic(Method):
    """Cubic-regularized Newton steps from noisy gradients and Hessians (Nesterov & Polyak 2006).

    The Hessian's Lipschitz constant M is a worst case: models with M/1024 ... M/4 are minimized too, all
    their decreases measured in one pass and one release, and the largest taken among those that show a
    fraction of what their model promises. Otherwise the step for M itself, which cannot rise by more than
    the noise allows. The released Hessian also tests the curvature, at no further price.

    After `steps` such steps (`free_steps` without a tolerance) the last Hessian serves on: one gradient a
    step. Without a tolerance these steps are longer by `relaxation`, because flat directions were raised to
    the noise, and the last few iterates are averaged and measured. No run asks more than `passes` queries.
    """

    name: ClassVar[str] = "cubic"
    steps: int = 3
    free_steps: int = 2
    passes: int = 20
    ladder: tuple[float, ...] = (1 / 1024, 1 / 256, 1 / 64, 1 / 16, 1 / 4)
    hessian_share: float = 0.15
    trials_share: float = 0.05
    measure_share: float = 0.05
    fraction: float = 0.1
    relaxation: float = 1.4
    averaged: int = 3
    shares: BudgetSchedule | None = None

    def __post_init__(self) -> None:
        if self.steps < 1 or self.free_steps < 1 or self.averaged < 1:
            raise ParameterError("steps, free_steps and averaged must be at least 1.", argument="steps")
        if self.passes < 3 * max(self.steps, self.free_steps) + 3:
            raise ParameterError("passes must be at least 3 for every step and 3 more.", argument="passes")
        if not self.ladder or not all(0.0 < rung < 1.0 for rung in self.ladder):
            raise ParameterError(
                "ladder must hold factors strictly between 0 and 1, for example (1/64, 1/4).",
                argument="ladder",
            )
        require_shares(self, "hessian_share", "trials_share", "measure_share", "fraction")
        require_relaxation(self.relaxation)

    def forecaster(self) -> Forecaster:
        from sottovoce.methods.cubic_forecast import CubicForecaster

        return CubicForecaster(self)

    def forms_hessians(self, problem: Problem, goal: Goal) -> bool:
        return True

    def levels(self, problem: Problem, goal: Goal) -> Levels:
        """One gradient test a visit, the curvature tested along with it."""
        return _levels(goal, self.visits(problem, goal))

    def visits(self, problem: Problem, goal: Goal) -> int:
        """Most gradients asked for before the end: three queries at a bold step, one at any other."""
        if goal.tolerance is not None:
            return self.passes - 2 * self.steps
        return self.passes - queries(problem, _levels(goal, 1)) - 2 * self.free_steps

    def run(self, ask: Queries, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        levels, visits = self.levels(ask.problem, goal), self.visits(ask.problem, goal)
        state = State(ask=ask, levels=levels, w=start, watch=watch)
        if goal.tolerance is not None:
            rule = CubicSteps(
                method=self,
                test=Certified(goal.tolerance),
                shares=self.shares or Tracking(goal.tolerance.gradient, most=2.0),
                bold=self.steps,
                passes=self.passes,
                aside=CubicReserve.of(self, ask.units_left, self.steps),
            )
            return state.outcome(follow(rule, state, visits))
        kept = int(ask.units_left * self.measure_share)
        curvature = kept if curvature_in_doubt(ask.problem, None) else 0
        rule = CubicSteps(
            method=self,
            test=Never(),
            shares=self.shares or Growing(),
            bold=self.free_steps,
            passes=self.passes - queries(ask.problem, levels),
            aside=CubicReserve.of(self, ask.units_left, self.free_steps),
            kept=kept + curvature,
            relaxation=self.relaxation,
        )
        state.levels = levels.on_the_way()
        stop = follow(rule, state, visits)
        if stop is Stop.STEPS_EXHAUSTED:
            weights = (1.0 / len(rule.recent),) * len(rule.recent)
            state.rest(np.mean(rule.recent, axis=0), weights)
            stop = measure(state, levels.at_the_end(), curvature)
        return state.outcome(stop)


def _levels(goal: Goal, tests: int) -> Levels:
    return Levels(confidence=goal.confidence, gradient_tests=tests, curvature_tested=True)


@final
@dataclass(frozen=True)
class CubicReserve:
    """Units of one Hessian and of one release of trials, fixed before the first query."""

    hessian: int
    trials: int

    @classmethod
    def of(cls, method: Cubic, units: int, steps: int) -> CubicReserve:
        return cls(int(units * method.hessian_share / steps), int(units * method.trials_share / steps))


@dataclass(kw_only=True)
class CubicSteps(Rule):
    """A gradient at every visit; at the first `bold` ones a Hessian and trial decreases too.

    `aside` is what one of these costs, `kept` units stay for the end, `recent` collects points reached."""

    method: Cubic
    test: StoppingTest
    shares: BudgetSchedule
    bold: int
    passes: int
    aside: CubicReserve
    kept: int = 0
    relaxation: float = 1.0
    visit_number: int = 0
    model: CubicModel | None = None
    hessian: Answer[Matrix] | None = None
    rung: float = 0.0
    recent: deque[Vector] = field(init=False)

    def __post_init__(self) -> None:
        self.recent = deque(maxlen=self.method.averaged)

    def advance(self, state: State) -> Stop | None:
        if not self.passes:
            return Stop.STEPS_EXHAUSTED
        held = self.kept + self.bold * (self.aside.hessian + self.aside.trials)
        left = max(0, state.ask.units_left - held)
        before = state.evidence
        visits = self.visit_number + self.passes - 2 * self.bold
        here = state.gradient(self.shares.units(state, left, self.visit_number, visits))
        self.visit_number += 1
        self.passes -= 1
        settled = self.test.gradient(here, state.problem)
        if settled and self.test.curvature(here, state.problem):
            state.record("stop", here.gradient.units)
            return self.test.verdict
        if (self.bold or settled) and self.passes:
            return self._bold_step(state, here, settled)
        if self.model is None or self.hessian is None:
            state.record("stop", here.gradient.units)
            return Stop.STEPS_EXHAUSTED
        self._steady(state.problem, before, here)
        step = self.relaxation * self.model.settled(here.gradient.value).step(self.rung)
        step_noise = by_hessian(here.gradient, self.hessian, step)
        state.record("newton step", here.gradient.units, step=Step(step, step_noise=step_noise))
        self.recent.append(state.w)
        return None

    def _steady(self, problem: Problem, before: Evidence | None, here: Evidence) -> None:
        """Where the gradient grew by more than its noise, the Hessian no longer fits: shorter steps."""
        if before is not None and here.gradient_norm > before.gradient_norm + here.gradient_noise:
            self.rung = min(problem.hessian_lipschitz, 16.0 * self.rung)

    def _bold_step(self, state: State, here: Evidence, settled: bool) -> Stop | None:
        self.bold = max(0, self.bold - 1)
        hessian, here = state.hessian(here, min(self.aside.hessian, state.ask.units_left))
        self.passes -= 1
        spent = here.gradient.units + hessian.units
        if settled and self.test.curvature(here, state.problem):
            state.record("stop", spent)
            return self.test.verdict
        noise = hessian.scale * float(np.sqrt(2.0 * state.problem.dim))
        self.model, self.hessian = CubicModel.of(here.gradient.value, hessian.value, noise), hessian
        step, paid = self._boldest(state, self.model)
        step_noise = by_hessian(here.gradient, hessian, step)
        state.record("cubic step", spent + paid, step=Step(step, paid, step_noise))
        self.recent.append(state.w)
        return None

    def _boldest(self, state: State, model: CubicModel) -> tuple[Vector, int]:
        """The trial with the largest measured decrease that its model and its noise allow, else M's step."""
        lipschitz = state.problem.hessian_lipschitz
        units = min(self.aside.trials, state.ask.units_left)
        self.rung = lipschitz
        trials = self._trials(state, model) if self.passes and units else []
        self.passes = max(0, self.passes - 1)
        if not trials:
            return model.step(lipschitz), 0
        answer = state.ask.trials(state.w, np.stack([step for step, _ in trials]), units)
        best, chosen = 0.0, None
        for per_length, (step, rung) in zip(answer.value, trials, strict=True):
            length = float(np.linalg.norm(step))
            shown = (float(per_length) - answer.scale) * length
            if shown > max(best, self.method.fraction * model.decrease(step, rung)):
                best, chosen, self.rung = shown, step, rung
        return (model.step(lipschitz) if chosen is None else chosen), answer.units

    def _trials(self, state: State, model: CubicModel) -> list[tuple[Vector, float]]:
        """A step for every rung that is long enough to be measured and ends within the public limit."""
        rungs = [rung * state.problem.hessian_lipschitz for rung in self.method.ladder]
        trials = [(model.step(rung), rung) for rung in rungs]
        return [
            (step, rung)
            for step, rung in trials
            if float(np.linalg.norm(step)) * state.problem.radius >= _SHORTEST
            and float(np.linalg.norm(state.w + step)) < state.problem.weight_limit
        ]
