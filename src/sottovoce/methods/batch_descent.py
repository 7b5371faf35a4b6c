"""`descent-b`: many mini-batch steps with momentum, looks at the curvature on the way, a measured end."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from sottovoce.accounting.events import Draw, QueryKind, SubsampledGaussianEvent
from sottovoce.accounting.renyi.exchange import rho_published
from sottovoce.errors import BudgetExceeded, ParameterError
from sottovoce.methods.base import Goal, Method, Rule, State, follow, require_shares
from sottovoce.methods.curvature import curvature_of
from sottovoce.methods.measurement import measure
from sottovoce.methods.noise_propagation import StepNoise
from sottovoce.methods.step_sizes import Adaptive, Average, StepSize
from sottovoce.methods.steps import Step
from sottovoce.methods.stopping import Certified
from sottovoce.results.certificate import Levels
from sottovoce.results.result import Outcome, Stop, TraceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.accounting import Budget, Event
    from sottovoce.arrays import Vector
    from sottovoce.methods.base import Evidence
    from sottovoce.methods.curvature import Bend
    from sottovoce.methods.forecast import Forecaster
    from sottovoce.problem import Problem
    from sottovoce.queries import Derivatives, Queries

SMALLEST_BATCH = 500

SQUARES = 0.99
"""How much of the mean of squared gradients a step keeps: about a hundred steps' worth."""

FADING = 0.3
"""Last part of the steps, in which their lengths fall."""


@final
@dataclass(frozen=True, kw_only=True)
class BatchDescent(Method):
    """`steps` steps along noisy gradients of secret batches, with momentum and a length that fades at last.

    For models of thousands of weights, where a Hessian is out of reach and many cheap steps beat a few dear
    ones. A batch holds `fraction` of the records; with few records there are no more steps than read them
    `passes` times, as beyond a dozen passes more hardly lower the noise that adds up. `step_size` sets how
    far a step goes. Between `looks` equal parts the curvature is looked at on a batch `look_batch` times as
    large, and where it is clearly negative a step of length 2|lambda~|/M follows that direction.
    `measure_share` of the budget, twice, measures the end. None is looked at where none can be asked for."""

    name: ClassVar[str] = "descent-b"
    steps: int = 1200
    fraction: float = 0.01
    passes: float = 20.0
    momentum: float = 0.9
    step_size: StepSize = field(default_factory=Adaptive)
    looks: int = 2
    look_share: float = 0.05
    look_batch: int = 3
    measure_share: float = 0.05

    def __post_init__(self) -> None:
        if self.steps < 1 or self.looks < 1 or self.look_batch < 1:
            raise ParameterError("steps, looks and look_batch must be at least 1.", argument="steps")
        require_shares(self, "look_share", "measure_share")
        if not (0.0 < self.fraction <= 1.0 and 0.0 <= self.momentum < 1.0):
            raise ParameterError("fraction lies in (0, 1] and momentum in [0, 1).")
        if not (isinstance(self.step_size, StepSize) and 0.0 < self.passes < math.inf):
            raise ParameterError(
                "passes must be positive, and step_size a StepSize such as Adaptive(rate=0.05).",
                argument="passes",
            )

    def batch(self, n: int) -> int:
        """Records in a batch: a part of all, but enough for a mean to mean something."""
        return min(n, max(SMALLEST_BATCH, round(self.fraction * n)))

    def planned(self, n: int) -> int:
        """Steps of a run on so many records."""
        return min(self.steps, max(self.looks, round(self.passes * n / self.batch(n))))

    def forecaster(self) -> Forecaster:
        from sottovoce.methods.batch_descent_forecast import BatchForecaster

        return BatchForecaster(self)

    def amplified(
        self, problem: Problem, start: Vector, goal: Goal, budget: Budget
    ) -> list[tuple[Event, int]]:
        size, steps = self.batch(problem.n), self.planned(problem.n)
        rho = rho_published(budget.epsilon, budget.delta)
        scale = max(0.5, size / problem.n * math.sqrt(2.0 * steps / rho))
        draw = Draw.under(budget.relation)
        event = SubsampledGaussianEvent(
            QueryKind.GRADIENT, 1.0, scale, problem.dim, 0.0, size, problem.n, draw
        )
        return [(event, steps)]

    def run(self, ask: Queries, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        if not ask.problem.shows_curvature and self.looks > 1:
            return self.fitted(ask.problem).run(ask, start, goal, watch)
        levels = Levels(confidence=goal.confidence, gradient_tests=2, curvature_tested=True)
        state = State(ask=ask, levels=levels, w=start, watch=watch)
        size, steps = self.batch(ask.problem.n), self.planned(ask.problem.n)
        units, look_units, kept = self.prices(ask.units_left, steps)
        rolling = Rolling(method=self, ask=ask.batched(size), units=units, start=start, steps=steps)
        look = Look(
            ask=ask.batched(min(ask.problem.n, self.look_batch * size)),
            gradient_units=units,
            units=look_units,
            threshold=0.0 if goal.tolerance is None else goal.tolerance.curvature or 0.0,
        )
        stop = Stop.STEPS_EXHAUSTED
        for part in range(self.looks):
            if part:
                stop = follow(look, state, 1)
                rolling.forget()
            if stop is Stop.STEPS_EXHAUSTED:
                stop = follow(rolling, state, (part + 1) * steps // self.looks - rolling.taken)
            if stop is not Stop.STEPS_EXHAUSTED:
                return state.outcome(stop)
        return state.outcome(self._end(state, goal, look, kept))

    def fitted(self, problem: Problem) -> BatchDescent:
        """This method, without looks where the curvature cannot be asked for."""
        return self if problem.shows_curvature else replace(self, looks=1)

    def prices(self, total: int, steps: int) -> tuple[int, int, int]:
        """Units of a batch's gradient, of a look at the curvature, and of each measurement at the end."""
        look, kept = int(total * self.look_share), int(total * self.measure_share)
        return (total - (self.looks - 1) * look - 2 * kept) // (steps + self.looks - 1), look, kept

    def _end(self, state: State, goal: Goal, look: Look, kept: int) -> Stop:
        """Measure where the descent ended, and compare with what was asked for."""
        if goal.tolerance is None or not state.problem.matrix_free:
            stop = measure(state, state.levels, kept if state.problem.forms_matrices else 0)
        else:
            stop = replace(look, units=kept).measure(state)
        if stop is Stop.OUT_OF_BUDGET or goal.tolerance is None:
            return stop
        assert state.evidence is not None
        test = Certified(goal.tolerance)
        if not test.gradient(state.evidence, state.problem):
            return Stop.STEPS_EXHAUSTED
        if test.curvature(state.evidence, state.problem):
            return Stop.CERTIFIED
        searched = state.problem.matrix_free and not test.saddle(state.evidence, state.problem)
        return Stop.WITHIN_NOISE if searched else Stop.STEPS_EXHAUSTED


@dataclass(kw_only=True)
class Rolling(Rule):
    """One step a visit, along running means of the gradients seen; at the end lengths fall evenly to 0.

    A running mean x <- keep x + (1 - keep) g~ starts at 0, so it is divided by 1 - keep^t."""

    method: BatchDescent
    ask: Derivatives
    units: int
    start: Vector
    steps: int
    taken: int = 0
    since: int = 0
    gradient: Vector = field(init=False)
    squares: Vector = field(init=False)

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start the means afresh: what was seen before a leap says nothing about where it led."""
        self.since = 0
        self.gradient, self.squares = np.zeros_like(self.start), np.zeros_like(self.start)

    def advance(self, state: State) -> Stop | None:
        here = state.gradient(self.units, self.ask)
        keep = self.method.momentum
        self.gradient = keep * self.gradient + (1.0 - keep) * here.gradient.value
        self.squares = SQUARES * self.squares + (1.0 - SQUARES) * here.gradient.value**2
        self.since += 1
        seen = Average(
            gradient=self.gradient / (1.0 - keep**self.since),
            squares=self.squares / (1.0 - SQUARES**self.since),
            scale=here.gradient.scale,
            noise=here.gradient_noise,
            start=self.start,
            steps=self.steps,
        )
        fade = min(1.0, (1.0 - self.taken / self.steps) / FADING)
        self.taken += 1
        step = fade * self.method.step_size.step(state.problem, seen)
        state.record("batch step", here.gradient.units, step=Step(step, step_noise=self._passage(seen, step)))
        return None

    def _passage(self, seen: Average, step: Vector) -> StepNoise:
        """Lengths per unit of the mean gradient, taken as given; what momentum holds back arrives soon after,
        so that a step passes on noise as one without would."""
        mean = np.where(seen.gradient == 0.0, 1.0, seen.gradient)
        keep = self.method.momentum
        return StepNoise(-step / mean, seen.scale, None, at_once=(1.0 - keep) / (1.0 - keep**self.since))


@final
@dataclass(frozen=True, kw_only=True)
class Look(Rule):
    """Curvature on a larger batch, and a step along it where it is negative beyond noise and tolerance."""

    ask: Derivatives
    gradient_units: int
    units: int
    threshold: float

    def advance(self, state: State) -> Stop | None:
        bend, here = self._look(state)
        direction, curvature = bend.downhill(here.gradient.value)
        spent = here.gradient.units + bend.units
        if curvature < -self.threshold - 2.0 * bend.noise:
            length = 2.0 * abs(curvature) / state.problem.hessian_lipschitz
            step = bend.passed(Step(direction * length), curvature)
            state.record("negative curvature", spent, step=step)
        else:
            state.record("look", spent)
        return None

    def measure(self, state: State) -> Stop:
        """A last look, where no matrix could certify, then all records' gradient for all that is left."""
        try:
            bend, here = self._look(state)
        except BudgetExceeded:
            return Stop.OUT_OF_BUDGET
        state.record("look", here.gradient.units + bend.units)
        assert here.smallest_eigenvalue is not None
        stop = measure(state, state.levels, 0)
        if stop is not Stop.OUT_OF_BUDGET:
            assert state.evidence is not None
            state.rayleigh(state.evidence, here.smallest_eigenvalue)
        return stop

    def _look(self, state: State) -> tuple[Bend, Evidence]:
        here = state.gradient(self.gradient_units, self.ask)
        return curvature_of(state.problem).look(state, here, self.units, self.ask)
