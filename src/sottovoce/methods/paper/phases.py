"""The frame of the paper's methods: how many visits, in how many phases, at what price, tested how."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, final

from sottovoce.accounting.events import Draw, QueryKind, SubsampledGaussianEvent
from sottovoce.accounting.renyi.exchange import rho_published
from sottovoce.errors import BudgetExceeded, ParameterError
from sottovoce.methods.base import Goal, Method, Rule, State, follow
from sottovoce.methods.paper.constants import PUBLISHED_GAP, PUBLISHED_SLACK, Curve
from sottovoce.methods.paper.gap import Gap, PublicGap
from sottovoce.methods.paper.pricing import Screened, Sufficient, priced
from sottovoce.methods.stopping import Certified, Promising, StoppingTest, WithinNoise
from sottovoce.problem import Calibration
from sottovoce.queries import Gradient, Hessian
from sottovoce.results.certificate import Levels
from sottovoce.results.result import Outcome, Stop, Tolerance, TraceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.accounting import Budget, Event
    from sottovoce.arrays import Vector
    from sottovoce.methods.forecast import Forecaster
    from sottovoce.methods.paper.descent import CurvatureDescent
    from sottovoce.methods.paper.trust_region import TrustRegion
    from sottovoce.problem import Problem
    from sottovoce.queries import Queries


@final
@dataclass(frozen=True, kw_only=True)
class Batch:
    """Part of the records a mini-batch reads."""

    fraction: float = 0.01

    def __post_init__(self) -> None:
        if not 0.0 < self.fraction <= 1.0:
            raise ParameterError("a batch's fraction lies in (0, 1].")

    def size(self, n: int) -> int:
        return max(1, round(self.fraction * n))


@final
@dataclass(frozen=True, kw_only=True)
class Schedule:
    """What one run of a paper method is made from: public numbers, fixed before the first query."""

    goal: Goal
    target: Tolerance
    curve: Curve
    levels: Levels
    curvature_tested: bool
    phases: list[tuple[int, float]]
    """Visits of each phase (paper: T_1 and T, or T alone), and the share it may use with all before it."""

    @property
    def is_published(self) -> bool:
        return self.goal.calibration is Calibration.PUBLISHED


@dataclass(frozen=True, kw_only=True)
class PaperMethod(Method):
    """T = ceil(gap / MIN_DEC) visits at most, in one phase or two, over all records or mini-batches.

    With `first_share`, ceil(sqrt(T)) visits on that share of the budget come first; the T visits then start
    where they ended, on all that is left. Tight calibration buys what each visit needs and stops at the first
    certified point. Published calibration is the paper's: rho-zCDP divided over T visits, and a test on noisy
    answers with both tolerances divided by 1.1."""

    published: ClassVar[bool] = True
    needs_tolerance: ClassVar[bool] = True
    queries: ClassVar[int] = 2
    """Queries of one visit that share the published budget."""

    gap: Gap = field(default_factory=PublicGap)
    batch: Batch | None = None
    first_share: float | None = None
    accuracy: float = 0.4

    def __post_init__(self) -> None:
        if self.first_share is not None and not 0.0 < self.first_share < 1.0:
            raise ParameterError("first_share must lie strictly between 0 and 1.", argument="first_share")
        if not 0.0 < self.accuracy < 1.0:
            raise ParameterError("accuracy must lie strictly between 0 and 1.", argument="accuracy")

    def forecaster(self) -> Forecaster:
        from sottovoce.methods.paper.forecast import PaperForecaster

        return PaperForecaster(self)

    def forms_hessians(self, problem: Problem, goal: Goal) -> bool:
        """Published calibration asks for matrices; else, where it matters, a look does."""
        if goal.calibration is Calibration.PUBLISHED:
            return True
        return goal.tolerance is not None and not problem.matrix_free and _in_doubt(problem, goal.tolerance)

    @abstractmethod
    def visits(self, curve: Curve, asked: Tolerance, target: Tolerance, gap: float) -> int:
        """Most visits the analysis needs (paper: T) for what was `asked`, tested as `target`."""

    @abstractmethod
    def rule(
        self,
        frame: Schedule,
        test: StoppingTest,
        gradient_units: int,
        curvature_units: int,
        search_units: int | None,
    ) -> CurvatureDescent | TrustRegion:
        """What is done at one point."""

    def run(self, ask: Queries, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        self.tolerances(goal)
        published = goal.calibration is Calibration.PUBLISHED
        gap, paid = (PUBLISHED_GAP, 0) if published else self.gap.bound(ask, start)
        frame = self.frame(ask.problem, goal, gap)
        state = State(ask=ask, levels=frame.levels, w=start, watch=watch)
        if paid:
            state.record("value", paid)
        return state.outcome(self._follow(frame, state))

    def frame(self, problem: Problem, goal: Goal, gap: float) -> Schedule:
        """The run's public numbers, from a bound on f(start) - inf f; the paper has its own bound."""
        published = goal.calibration is Calibration.PUBLISHED
        asked, target = self.tolerances(goal)
        assert target.curvature is not None
        curve = Curve.of(problem, goal.calibration)
        phases = self._phases(self.visits(curve, asked, target, PUBLISHED_GAP if published else gap))
        curvature_tested = published or _in_doubt(problem, target)
        levels = Levels(
            confidence=goal.confidence,
            gradient_tests=2 * sum(visits for visits, _ in phases),
            curvature_tested=curvature_tested,
        )
        return Schedule(
            goal=goal,
            target=target,
            curve=curve,
            levels=levels,
            curvature_tested=curvature_tested,
            phases=phases,
        )

    def amplified(
        self, problem: Problem, start: Vector, goal: Goal, budget: Budget
    ) -> list[tuple[Event, int]]:
        """The first phase's gradients, at noise that would spend about all: rho = 2 (m/n)^2 T / sigma^2."""
        if self.batch is None or goal.tolerance is None:
            return []
        visits, _ = self.frame(problem, goal, problem.gap(start)).phases[0]
        size = self.batch.size(problem.n)
        rho = rho_published(budget.epsilon, budget.delta)
        scale = max(0.5, size / problem.n * math.sqrt(2.0 * self.queries * visits / rho))
        draw = Draw.under(budget.relation)
        event = SubsampledGaussianEvent(
            QueryKind.GRADIENT, 1.0, scale, problem.dim, 0.0, size, problem.n, draw
        )
        return [(event, visits)]

    def _follow(self, frame: Schedule, state: State) -> Stop:
        total, stop = state.ask.units_left, Stop.STEPS_EXHAUSTED
        for visits, share in frame.phases:
            kept = total - int(total * share)
            try:
                rule = self._published_rule(frame, state, visits, share) if frame.is_published else None
            except BudgetExceeded:
                return Stop.OUT_OF_BUDGET
            stop = follow(rule or self._tight_rule(frame, state, visits, kept), state, visits)
            if stop not in (Stop.STEPS_EXHAUSTED, Stop.OUT_OF_BUDGET):
                return stop
        return stop

    def _phases(self, visits: int) -> list[tuple[int, float]]:
        if self.first_share is None:
            return [(visits, 1.0)]
        return [(optimistic(visits), self.first_share), (visits, 1.0)]

    def tolerances(self, goal: Goal) -> tuple[Tolerance, Tolerance]:
        """What was asked, and what noisy answers are held to: the same, or the paper's, divided by 1.1."""
        wanted = self.require_tolerance(goal)
        assert wanted.curvature is not None
        if goal.calibration is Calibration.TIGHT:
            return wanted, wanted
        return wanted, Tolerance(
            gradient=wanted.gradient / PUBLISHED_SLACK, curvature=wanted.curvature / PUBLISHED_SLACK
        )

    def prices(self, frame: Schedule, visits: int, kept: int) -> Sufficient:
        """What the visits of one phase may spend under tight calibration."""
        return Sufficient(
            tolerance=frame.target,
            levels=frame.levels,
            visits=visits,
            hessians=self._hessians(frame),
            kept=kept,
            accuracy=self.accuracy,
        )

    def _tight_rule(self, frame: Schedule, state: State, visits: int, kept: int) -> Rule:
        prices = self.prices(frame, visits, kept)
        whole = priced(self.rule(frame, Certified(frame.target), 1, 1, None), prices)
        if self.batch is None:
            return whole
        ask = state.ask.batched(self.batch.size(state.problem.n))
        glance = replace(self.rule(frame, Promising(frame.target), 1, 1, None), ask=ask)
        half = kept + (state.ask.units_left - kept) // 2
        return Screened(batch=priced(glance, replace(prices, kept=half)), whole=whole)

    def _hessians(self, frame: Schedule) -> int:
        """Matrices to set budget aside for."""
        return 2 if frame.curvature_tested else 0

    def _published_rule(self, frame: Schedule, state: State, visits: int, share: float) -> Rule:
        """Every query at the paper's noise, rho the share of the budget not yet spent."""
        test = WithinNoise(frame.target, slack=1.0)
        if self.batch is not None:
            ask = state.ask.batched(self.batch.size(state.problem.n))
            units = self.published_batch_units(state.ask.units_left, visits, share)
            return replace(self.rule(frame, test, units, units, None), ask=ask)
        budget = frame.goal.budget
        assert budget is not None
        spent = sum(row.mu_squared for row in state.trace) / 2.0
        whole = rho_published(budget.epsilon, budget.delta)
        rho = max(share * whole - spent, whole * (1.0 - (self.first_share or 0.0)))
        return self.rule(frame, test, *self.published_units(state.ask, state.w, visits, rho))

    def published_units(self, ask: Queries, w: Vector, visits: int, rho: float) -> tuple[int, int, int]:
        """What a gradient, a Hessian and a search cost if T visits are rho-zCDP together.

        sigma^2 = queries * T / (2 rho) for every query, in the paper's sensitivities."""
        sigma = math.sqrt(self.queries * visits / (2.0 * rho))
        n, dim = ask.problem.n, ask.problem.dim
        return (
            ask.price(Gradient(w), 2.0 / n * sigma),
            ask.price(Hessian(w), 2.0 * math.sqrt(dim) / n * sigma),
            ask.search_price(1.0 / sigma),
        )

    def published_batch_units(self, left: int, visits: int, share: float) -> int:
        """What each query to a mini-batch costs: equal parts."""
        return max(1, int(left * share) // (self.queries * visits))


def _in_doubt(problem: Problem, tolerance: Tolerance) -> bool:
    assert tolerance.curvature is not None
    return problem.curvature_floor < -tolerance.curvature


def optimistic(visits: int) -> int:
    """Visits that often do where the analysis asks for T: ceil(sqrt(T)), the paper's T_1."""
    return math.ceil(math.sqrt(visits))
