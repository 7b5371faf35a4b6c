"""The one loop every method runs: visit a point, ask, then move or stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sottovoce.certificate import Certificate, Levels, norm_bound, scalar_margin, spectral_margin
from sottovoce.errors import BudgetExceeded
from sottovoce.result import Outcome, Stop, Tolerance, TraceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.arrays import Matrix, Vector
    from sottovoce.queries import Answer, Problem, Questions


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What the user asked for; `tolerance` is resolved, or None: spend it all on a good model."""

    tolerance: Tolerance | None
    confidence: float


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Noisy answers taken at one point: all that a test or a certificate is made from."""

    w: Vector
    gradient: Answer[Vector]
    smallest_eigenvalue: float | None = None
    eigenvalue_margin: float = 0.0

    @property
    def gradient_norm(self) -> float:
        return float(np.linalg.norm(self.gradient.value))

    def certificate(self, problem: Problem, levels: Levels) -> Certificate:
        bound, floor = norm_bound(self.gradient_norm, self.gradient.scale, problem.dim, levels.gradient)
        curvature = problem.curvature_floor
        if self.smallest_eigenvalue is not None:
            curvature = max(curvature, self.smallest_eigenvalue - self.eigenvalue_margin)
        return Certificate(
            gradient_norm_at_most=min(bound, problem.gradient_ceiling(self.w)),
            curvature_at_least=curvature,
            confidence=levels.confidence,
            below_noise_floor=floor,
        )


@dataclass(kw_only=True)
class Walk:
    """The state of one run: where it stands, what it saw there, and the trace of what was released."""

    ask: Questions
    levels: Levels
    w: Vector
    watch: Callable[[TraceRow], None]
    evidence: Evidence | None = None
    curvature_tests: int = 0
    trace: list[TraceRow] = field(default_factory=list)

    @property
    def problem(self) -> Problem:
        return self.ask.problem

    def gradient(self, units: int) -> Evidence:
        """Ask for the gradient here; the answer becomes the evidence for this point."""
        self.evidence = Evidence(w=self.w, gradient=self.ask.gradient(self.w, units))
        return self.evidence

    def hessian(self, here: Evidence, units: int) -> tuple[Answer[Matrix], Evidence]:
        """Ask for the Hessian here; its smallest eigenvalue joins the evidence."""
        answer = self.ask.hessian(here.w, units)
        margin = spectral_margin(answer.scale, self.problem.dim, self._next_level())
        return answer, self._curvature(here, float(np.linalg.eigvalsh(answer.value)[0]), margin)

    def smallest_eigenvalue(self, here: Evidence, units: int) -> Answer[float]:
        """Ask for the smallest eigenvalue alone, which joins the evidence: less noise, no direction."""
        answer = self.ask.smallest_eigenvalue(here.w, units)
        self._curvature(here, answer.value, scalar_margin(answer.scale, self._next_level()))
        return answer

    def _next_level(self) -> float:
        self.curvature_tests += 1
        return self.levels.curvature(self.curvature_tests)

    def _curvature(self, here: Evidence, eigenvalue: float, margin: float) -> Evidence:
        self.evidence = replace(here, smallest_eigenvalue=eigenvalue, eigenvalue_margin=margin)
        return self.evidence

    def record(self, kind: str, units: int, *, step: Vector | None = None) -> None:
        """Append what this visit released to the trace, then take the step."""
        seen = self.evidence if self.evidence is not None and self.evidence.w is self.w else None
        row = TraceRow(
            kind=kind,
            gradient_norm=None if seen is None else seen.gradient_norm,
            curvature=None if seen is None else seen.smallest_eigenvalue,
            step_length=None if step is None else float(np.linalg.norm(step)),
            mu_squared=self.ask.mu_squared(units),
        )
        self.trace.append(row)
        self.watch(row)
        if step is not None:
            self.w = self.problem.within_limit(self.w + step)

    def outcome(self, stop: Stop) -> Outcome:
        """The last measured point with its certificate, or what is public where nothing was measured."""
        if self.evidence is None:
            certificate = Certificate(
                gradient_norm_at_most=self.problem.gradient_ceiling(self.w),
                curvature_at_least=self.problem.curvature_floor,
                confidence=self.levels.confidence,
            )
            return Outcome(weights=self.w, stop=stop, certificate=certificate, trace=tuple(self.trace))
        certificate = self.evidence.certificate(self.problem, self.levels)
        return Outcome(weights=self.evidence.w, stop=stop, certificate=certificate, trace=tuple(self.trace))


class Rule(ABC):
    """What is done at one point."""

    @abstractmethod
    def visit(self, walk: Walk) -> Stop | None:
        """Ask at `walk.w`, then record a step and return None, or return why to stop."""


def follow(rule: Rule, walk: Walk, visits: int) -> Stop:
    """Visit points until the rule stops, the visits run out, or the ledger refuses."""
    for _ in range(visits):
        try:
            stop = rule.visit(walk)
        except BudgetExceeded:
            return Stop.OUT_OF_BUDGET
        if stop is not None:
            return stop
    return Stop.STEPS_EXHAUSTED


class Method(ABC):
    """An optimizer: frozen configuration, run against questions, never against data."""

    name: ClassVar[str]

    @abstractmethod
    def run(self, ask: Questions, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        """Spend at most what `ask` allows and return a point, why it stopped, and a certificate."""
