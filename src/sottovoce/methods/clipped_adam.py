"""`ClippedAdam`: mini-batch steps for networks, with a clip that is found on the way and nothing to set.

Each step is Adam's (Kingma & Ba 2015) on a noisy mean of clipped gradients of a secret batch. Noise adds its
known variance to every mean square, which is taken off again (Tang, Shpilevskiy & Lecuyer 2023). The clip
follows a quantile of gradient norms by a count that is released with each gradient (Andrew, Thakkar, McMahan
& Ramaswamy 2021); where it starts is read off a histogram of norms. Adam's steps do not depend on the unit of
the gradient, so a rate serves all clips.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from sottovoce.accounting.events import Draw, QueryKind, SubsampledGaussianEvent
from sottovoce.accounting.renyi.exchange import rho_published
from sottovoce.errors import BudgetExceeded, ParameterError
from sottovoce.methods.base import Goal, Method, State
from sottovoce.methods.steps import Step
from sottovoce.queries import ClippedGradient, GradientBands
from sottovoce.queries.clipped import EDGES, HIGHEST, LOWEST
from sottovoce.report.progress import Pace
from sottovoce.results.certificate import Levels
from sottovoce.results.result import Outcome, Stop, TraceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.accounting import Budget, Event
    from sottovoce.arrays import Vector
    from sottovoce.problem import Problem
    from sottovoce.queries import Derivatives, Queries

STEP = "step"

OPENING = 0.01
"""Part of the budget for the histogram of gradient norms at the start."""

UNCLIPPED = 0.95
"""Share of examples that are to be left whole. Lower ones bias what is predicted: at a half, mistakes count
alike however wrong they are, and probabilities drift to 0 and 1."""

FOLLOWING = 0.2
"""How fast the clip follows the share: its logarithm moves by this times how far the share is off."""

DOUBTED = 0.05
"""Noise of the share beyond which the clip follows it more slowly, so that noise alone moves it little."""

MOMENTUM, SQUARES = 0.9, 0.99
FADING = 0.3
"""Last part of the steps, in which their lengths fall."""

SMALLEST, LARGEST = 0.02, 0.25
"""Sizes of weights are taken to lie between these: biases may start at 0, factors of a normalization at 1."""

TAIL = 0.5
"""Last part of the steps whose points are averaged."""

FEWEST, MOST = 100, 200
"""Steps, where their number is not given."""


@final
@dataclass(frozen=True, kw_only=True)
class ClippedAdam(Method):
    """`steps` steps, the batches reading all examples `passes` times together. A weight whose gradient stands
    out of the noise moves by `rate` s / sqrt(steps) a step, s the size of its layer's weights at the start:
    where noise alone moved it, it would end about `rate` s away, however many steps there are. A start that
    allows for how many inputs a layer has, as that of PyTorch does, so allows for how much noise they add up.

    With `steps=0` there are n / sqrt(weights), 100 at least and 200 at most: the length of a step's noise, in
    units of the clip, is in proportion to sqrt(steps weights) / n.

    The point returned is the mean over the last half. With `interruptible`, an interruption from the keyboard
    ends the run there, with what was released; otherwise it goes up, for a run that is resumed."""

    name: ClassVar[str] = "clipped-adam"
    steps: int = 0
    passes: float = 20.0
    rate: float = 3.0
    interruptible: bool = True

    def __post_init__(self) -> None:
        if self.steps < 0 or not (0.0 < self.passes < math.inf and 0.0 < self.rate < math.inf):
            raise ParameterError(
                "passes and rate must be above 0, and steps no less than 0.", argument="steps"
            )

    def settled(self, problem: Problem) -> ClippedAdam:
        """The same with a number of steps."""
        if self.steps:
            return self
        return replace(self, steps=min(MOST, max(FEWEST, round(problem.n / math.sqrt(problem.dim)))))

    def batch(self, n: int) -> int:
        """Examples in a batch."""
        return min(n, max(1, round(self.passes * n / self.steps)))

    def require_possible(self, problem: Problem, goal: Goal) -> None:
        if not problem.clipped:
            raise ParameterError('method "clipped-adam" trains PyTorch modules. Use method="auto" here.')
        if goal.tolerance is not None:
            raise ParameterError('method "clipped-adam" certifies no tolerance. Leave it out.')

    def pace(self, problem: Problem) -> Pace:
        settled = self.settled(problem)
        return Pace(settled.steps, STEP, settled.batch(problem.n) / problem.n)

    def amplified(
        self, problem: Problem, start: Vector, goal: Goal, budget: Budget
    ) -> list[tuple[Event, int]]:
        settled = self.settled(problem)
        size = settled.batch(problem.n)
        rho = rho_published(budget.epsilon, budget.delta)
        scale = max(0.5, size / problem.n * math.sqrt(2.0 * settled.steps / rho))
        draw = Draw.under(budget.relation)
        event = SubsampledGaussianEvent(
            QueryKind.GRADIENT, 1.0, scale, problem.dim + 1, 0.0, size, problem.n, draw
        )
        return [(event, settled.steps)]

    def run(self, ask: Queries, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        levels = Levels(confidence=goal.confidence, gradient_tests=1, curvature_tested=False)
        state = State(ask=ask, levels=levels, w=start, watch=watch)
        settled = self.settled(ask.problem)
        adam: AdamState | None = None
        stop = Stop.FINISHED
        try:
            opening = max(1, int(ask.units_left * OPENING))
            bands = ask.ask(GradientBands(start), opening)
            state.record("gradient norms", bands.units)
            units = ask.units_left // settled.steps
            batches = ask.batched(settled.batch(ask.problem.n))
            adam = AdamState(settled, batches, units, first_clip(bands.value, bands.scale), start)
            for _ in range(settled.steps):
                adam.advance(state)
        except BudgetExceeded:
            stop = Stop.OUT_OF_BUDGET
        except KeyboardInterrupt:
            if adam is None or not self.interruptible:
                raise
            stop = Stop.INTERRUPTED
        if adam is not None:
            state.w = ask.problem.within_limit(adam.mean)
        outcome = state.outcome(stop)
        return outcome if adam is None else adam.told(outcome)


def first_clip(shares: Vector, scale: float) -> float:
    """The lowest edge above which no more examples than may be clipped are counted, beyond noise."""
    above = np.cumsum(shares[:-1])
    doubt = 3.0 * scale * np.sqrt(np.arange(1.0, above.size + 1.0))
    few = above <= np.maximum(1.0 - UNCLIPPED, doubt)
    return float(EDGES[max(0, int(np.argmin(few)) - 1)] if not few.all() else EDGES[-1])


def sizes(start: Vector, problem: Problem) -> Vector:
    """For each weight the root mean square of its layer's weights at the start, which is public."""
    layers = np.split(start, np.cumsum(problem.layers)[:-1])
    found = [min(LARGEST, max(SMALLEST, float(np.sqrt(np.mean(layer**2))))) for layer in layers]
    return np.repeat(found, problem.layers)


@final
@dataclass
class AdamState:
    """Steps with their running means, the clip, and the mean of the points in the tail."""

    method: ClippedAdam
    ask: Derivatives
    units: int
    clip: float
    start: Vector
    taken: int = 0
    gradient: Vector = field(init=False)
    squares: Vector = field(init=False)
    mean: Vector = field(init=False)
    rates: Vector = field(init=False)

    def __post_init__(self) -> None:
        self.rates = self.method.rate / math.sqrt(self.method.steps) * sizes(self.start, self.ask.problem)
        self.gradient, self.squares = np.zeros_like(self.start), np.zeros_like(self.start)
        self.mean = self.start

    def advance(self, state: State) -> None:
        """Ask at `state.w`, step, move the clip."""
        query = ClippedGradient(state.w, self.clip)
        answer = self.ask.ask(query, self.units)
        seen, variance = answer.value[:-1], answer.scale**2
        self.gradient = MOMENTUM * self.gradient + (1.0 - MOMENTUM) * seen
        self.squares = SQUARES * self.squares + (1.0 - SQUARES) * (seen**2 - variance)
        self.taken += 1
        squares = np.maximum(self.squares / (1.0 - SQUARES**self.taken), max(variance, 1e-200))
        steps = self.method.steps
        fade = min(1.0, (1.0 - (self.taken - 1) / steps) / FADING)
        rates = fade / (1.0 - MOMENTUM**self.taken) * self.rates
        state.record(STEP, answer.units, step=Step(-rates * self.gradient / np.sqrt(squares)))
        tail = max(1, self.taken - int((1.0 - TAIL) * steps))
        self.mean = self.mean + (state.w - self.mean) / tail
        gain = FOLLOWING * min(1.0, DOUBTED / query.unclipped_noise(answer.scale))
        moved = gain * (UNCLIPPED - query.unclipped(answer.value))
        self.clip = min(HIGHEST, max(LOWEST, self.clip * math.exp(min(1.0, max(-1.0, moved)))))

    def told(self, outcome: Outcome) -> Outcome:
        """The outcome with the steps taken and the clip reached, in words."""
        said = f", each example's gradient clipped to a length found on the way, {self.clip:.3g} at last"
        return replace(outcome, trained=said)
