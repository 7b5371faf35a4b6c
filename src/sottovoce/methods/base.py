"""The one loop every method runs: visit a point, ask, then move or stop."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sottovoce.errors import MAJORIZE, Advice, BudgetExceeded, ParameterError
from sottovoce.methods.noise_account import START, NoiseAccount, Place
from sottovoce.problem import LARGEST_MATRIX, Calibration
from sottovoce.results.certificate import Certificate, Levels, norm_bound, scalar_margin, spectral_margin
from sottovoce.results.result import Outcome, Stop, Tolerance, TraceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.accounting import Budget, Event
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.forecast import Forecaster
    from sottovoce.methods.steps import Step
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer, Derivatives, Queries
    from sottovoce.report.progress import Pace


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What the user asked for; `tolerance` is resolved, or None: spend it all on a good model."""

    tolerance: Tolerance | None
    confidence: float
    calibration: Calibration = Calibration.TIGHT
    budget: Budget | None = None


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Noisy answers taken at one point: all that a test or a certificate is made from.

    `level` is the probability with which the gradient's bound may be wrong, taken before it was asked for. A
    batch's answers speak of the batch, so they decide steps, take no level and certify nothing. `place` tells
    which steps led here."""

    w: Vector
    gradient: Answer[Vector]
    level: float = 0.0
    place: Place = START
    smallest_eigenvalue: float | None = None
    eigenvalue_margin: float = 0.0
    hessian: Answer[Matrix] | None = None
    norm: Answer[float] | None = None

    @property
    def gradient_norm(self) -> float:
        return float(np.linalg.norm(self.gradient.value))

    @property
    def gradient_noise(self) -> float:
        """Root mean square length of what noise and sampling added to the gradient."""
        return math.hypot(math.sqrt(self.w.size) * self.gradient.scale, self.gradient.sampling)

    @property
    def certain_margin(self) -> float | None:
        """How far below the noisy eigenvalue the true one may lie, where that is bounded."""
        known = self.smallest_eigenvalue is not None and math.isfinite(self.eigenvalue_margin)
        return self.eigenvalue_margin if known else None

    def gradient_bound(self, problem: Problem) -> tuple[float, bool]:
        """Upper bound on the gradient norm here, and whether the answer lies below the noise floor."""
        bound, floor = math.inf, False
        if self.norm is not None:
            bound = max(0.0, self.norm.value) + scalar_margin(self.norm.scale, self.level)
        elif not self.gradient.sampling:
            bound, floor = norm_bound(self.gradient_norm, self.gradient.scale, problem.dim, self.level)
        return min(bound, problem.gradient_ceiling(self.w)), floor

    def curvature_bound(self, problem: Problem) -> float:
        """Lower bound on the smallest Hessian eigenvalue here."""
        if self.smallest_eigenvalue is None:
            return problem.curvature_floor
        return max(problem.curvature_floor, self.smallest_eigenvalue - self.eigenvalue_margin)

    def certificate(self, problem: Problem, confidence: float) -> Certificate:
        bound, floor = self.gradient_bound(problem)
        return Certificate(
            gradient_norm_at_most=bound,
            curvature_at_least=self.curvature_bound(problem),
            confidence=confidence,
            below_noise_floor=floor,
            clipped=problem.clipped,
        )


@dataclass(kw_only=True)
class State:
    """The state of one run: where it stands and which steps led there, what it saw there, the trace of what
    was released, and the account of the noise of its steps."""

    ask: Queries
    levels: Levels
    w: Vector
    watch: Callable[[TraceRow], None]
    evidence: Evidence | None = None
    trace: list[TraceRow] = field(default_factory=list)
    place: Place = START
    account: NoiseAccount = field(default_factory=NoiseAccount)

    @property
    def problem(self) -> Problem:
        return self.ask.problem

    def gradient(self, units: int, ask: Derivatives | None = None) -> Evidence:
        """Ask for the gradient here, of all records or through `ask`; it becomes this point's evidence."""
        level = self.levels.take_gradient() if ask is None else 0.0
        answer = (ask or self.ask).gradient(self.w, units)
        self.evidence = Evidence(w=self.w, gradient=answer, level=level, place=self.place)
        return self.evidence

    def hessian(
        self, here: Evidence, units: int, ask: Derivatives | None = None
    ) -> tuple[Answer[Matrix], Evidence]:
        """Ask for the Hessian here; its smallest eigenvalue joins the evidence."""
        answer = (ask or self.ask).hessian(here.w, units)
        margin = math.inf
        if not answer.sampling:
            margin = spectral_margin(answer.scale, self.problem.dim, self.levels.take_curvature())
        here = replace(here, hessian=answer)
        return answer, self._curvature(here, float(np.linalg.eigvalsh(answer.value)[0]), margin)

    def rayleigh(self, here: Evidence, value: float) -> Evidence:
        """A noisy curvature along one direction joins the evidence: it guides, and bounds nothing."""
        return self._curvature(here, value, math.inf)

    def smallest_eigenvalue(self, here: Evidence, units: int) -> Answer[float]:
        """Ask for the smallest eigenvalue alone, which joins the evidence: less noise, no direction."""
        answer = self.ask.smallest_eigenvalue(here.w, units)
        self._curvature(here, answer.value, scalar_margin(answer.scale, self.levels.take_curvature()))
        return answer

    def _curvature(self, here: Evidence, eigenvalue: float, margin: float) -> Evidence:
        self.evidence = replace(here, smallest_eigenvalue=eigenvalue, eigenvalue_margin=margin)
        return self.evidence

    def record(self, kind: str, units: int, *, step: Step | None = None) -> None:
        """Append what this visit released to the trace, then take the step."""
        seen = self.evidence if self.evidence is not None and self.evidence.w is self.w else None
        row = TraceRow(
            kind=kind,
            gradient_norm=None if seen is None else seen.gradient_norm,
            curvature=None if seen is None else seen.smallest_eigenvalue,
            step_length=None if step is None else float(np.linalg.norm(step.vector)),
            mu_squared=self.ask.mu_squared(units),
            gradient_noise=None if seen is None else seen.gradient_noise,
            curvature_margin=None if seen is None else seen.certain_margin,
        )
        self.trace.append(row)
        self.watch(row)
        if step is not None:
            self.account.add(self.problem, None if seen is None else seen.gradient, step)
            self.w = self.problem.within_limit(self.w + step.vector)
            self.place = Place(self.place.steps + 1)

    def rest(self, w: Vector, weights: tuple[float, ...]) -> None:
        """Stand at a mean of the last points reached, which have these weights in it."""
        self.w, self.place = w, Place(self.place.steps, weights)

    def outcome(self, stop: Stop) -> Outcome:
        """The last measured point with what is known there, or what is public where nothing was measured."""
        seen, confidence = self.evidence, self.levels.confidence
        w = self.w if seen is None else seen.w
        certificate = Certificate(
            gradient_norm_at_most=self.problem.gradient_ceiling(w),
            curvature_at_least=self.problem.curvature_floor,
            confidence=confidence,
            clipped=self.problem.clipped,
        )
        return Outcome(
            weights=w,
            stop=stop,
            certificate=certificate if seen is None else seen.certificate(self.problem, confidence),
            trace=tuple(self.trace),
            gradient=None if seen is None or not seen.level else seen.gradient,
            hessian=None if seen is None else seen.hessian,
            tests=max(1, self.levels.gradient_tests),
            noise=self.account.left(self.problem, self.place if seen is None else seen.place),
        )


class Rule(ABC):
    """What is done at one point."""

    @abstractmethod
    def advance(self, state: State) -> Stop | None:
        """Ask at `state.w`, then record a step and return None, or return why to stop."""


def follow(rule: Rule, state: State, visits: int) -> Stop:
    """Visit points until the rule stops, the visits run out, or the ledger refuses."""
    for _ in range(visits):
        try:
            stop = rule.advance(state)
        except BudgetExceeded:
            return Stop.OUT_OF_BUDGET
        if stop is not None:
            return stop
    return Stop.STEPS_EXHAUSTED


class Method(ABC):
    """An optimizer: frozen configuration, run against queries, never against data."""

    name: ClassVar[str]
    published: ClassVar[bool] = False
    needs_tolerance: ClassVar[bool] = False
    """Whether the paper calibrates this method, so that calibration="published" means something."""

    def amplified(
        self, problem: Problem, start: Vector, goal: Goal, budget: Budget
    ) -> list[tuple[Event, int]]:
        """The mini-batch queries planned, for which a Renyi order is chosen; none for other methods."""
        return []

    def forms_hessians(self, problem: Problem, goal: Goal) -> bool:
        """Whether a run may ask for a Hessian as a matrix, or for its smallest eigenvalue."""
        return False

    def pace(self, problem: Problem) -> Pace | None:
        """How many steps are planned, for whoever watches; None where that depends on answers."""
        return None

    def forecaster(self) -> Forecaster:
        """What a budget buys of this method, from its own prices, without data."""
        raise ParameterError("a plan is made for the methods of the registry; pass one of their names.")

    def require_tolerance(self, goal: Goal) -> Tolerance:
        """The tolerance of a run that cannot do without."""
        if goal.tolerance is None:
            raise ParameterError(
                f'method "{self.name}" needs a tolerance, for example Tolerance(gradient=0.03).',
                argument="tolerance",
                advice=(Advice("tolerance", "0.03", "Tolerance(gradient=0.03)"),),
            )
        return goal.tolerance

    def require_possible(self, problem: Problem, goal: Goal) -> None:
        """Refuse, before anything is charged, what public numbers already rule out."""
        if problem.forms_matrices or not self.forms_hessians(problem, goal):
            return
        if problem.matrix_free:
            raise ParameterError(
                f'method "{self.name}" forms a Hessian; here only its products with vectors are. '
                'Use method="opt", "opt-ls", "opt-b" or "descent-b", or curvature="matrix".'
            )
        raise ParameterError(
            f'method "{self.name}" forms a Hessian and takes at most {LARGEST_MATRIX} weights, not '
            f'{problem.dim}. Use method="majorize".',
            advice=(MAJORIZE,),
        )

    @abstractmethod
    def run(self, ask: Queries, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        """Spend at most what `ask` allows and return a point, why it stopped, and a certificate."""


def require_shares(method: Method, *names: str) -> None:
    """Refuse parts of the budget that leave less than half of it for the rest."""
    for name in names:
        if not 0.0 < getattr(method, name) < 0.5:
            raise ParameterError(f"{name} must lie strictly between 0 and 0.5.", argument=name)


def require_relaxation(relaxation: float) -> None:
    """Refuse steps longer than twice those of a majorizer."""
    if not 0.0 < relaxation < 2.0:
        raise ParameterError(
            "relaxation must lie strictly between 0 and 2, else steps need not descend.",
            argument="relaxation",
        )
