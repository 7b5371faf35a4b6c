"""The end of a run without a tolerance: pay to know the weights that are returned.

Methods that learn coordinates first and train in them all end so: what is certified is the user's own risk.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.errors import BudgetExceeded, ParameterError
from sottovoce.methods.base import Goal, Method, State
from sottovoce.methods.noise_propagation import UNACCOUNTED
from sottovoce.results.certificate import Levels, norm_bound, scalar_margin
from sottovoce.results.inference.coefficient_noise import CoefficientNoise
from sottovoce.results.result import Outcome, Stop, TraceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.arrays import Vector
    from sottovoce.methods.forecast import Forecaster, QueryNoise
    from sottovoce.planning.dry_run import DryRun
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer, Queries
    from sottovoce.queries.preconditioner import Preconditioner
    from sottovoce.results.result import Tolerance

_TYPICAL = 4.0
"""Gradient norm, in standard deviations of one noisy entry, at which two ways to measure are compared."""


def measure(state: State, levels: Levels, curvature_units: int) -> Stop:
    """Spend what is left on the present point, so that the certificate speaks of the weights returned."""
    state.levels = levels
    try:
        left = state.ask.units_left - curvature_units
        scalar = left // 2 if scalar_pays(state.problem.dim, levels.gradient) else 0
        here = state.gradient(left - scalar)
        spent = here.gradient.units
        if scalar:
            norm = state.ask.gradient_norm(state.w, scalar)
            spent += norm.units
            here = replace(here, norm=norm)
            state.evidence = here
        if curvature_units:
            spent += state.smallest_eigenvalue(here, curvature_units).units
    except BudgetExceeded:
        return Stop.OUT_OF_BUDGET
    state.record("measurement", spent)
    return Stop.FINISHED


def queries(problem: Problem, levels: Levels) -> int:
    """How many queries `measure` asks: the gradient, its norm where that pays, the curvature in doubt."""
    return 1 + scalar_pays(problem.dim, levels.at_the_end().gradient) + curvature_in_doubt(problem, None)


def curvature_in_doubt(problem: Problem, tolerance: Tolerance | None) -> bool:
    """Whether the structural floor leaves the wanted curvature open and a Hessian can be formed at all."""
    wanted = 0.0 if tolerance is None else -(tolerance.curvature or 0.0)
    return problem.curvature_floor < wanted and problem.forms_matrices


def scalar_pays(dim: int, level: float) -> bool:
    """Whether half the price for the gradient's norm alone bounds it better than the whole for all entries.

    The norm's noise does not grow with d, that of the vector does: it pays from some hundred entries on."""
    vector, _ = norm_bound(math.sqrt(dim + _TYPICAL**2), 1.0, dim, level)
    return _TYPICAL + math.sqrt(2.0) * scalar_margin(1.0, level) < vector


class LearnedDescent(ABC):
    """Steps in coordinates that were learned; `noise` is about what their noise leaves in the weights."""

    noise: CoefficientNoise
    left: Callable[[State, Goal], Outcome] | None = None
    """How the run goes on, where an inspection ended the steps before their time."""

    @abstractmethod
    def followed(self, state: State, kept: int) -> Vector:
        """Take the steps, leaving `kept` units; the weights they end at, in the user's coordinates."""

    @property
    @abstractmethod
    def trained(self) -> str:
        """Which risk the steps followed, in words."""


@dataclass(frozen=True, kw_only=True)
class LearnedMethod(Method):
    """Shares of the budget: moments, second moments, a test of the curvature, and a last measurement of the
    user's own risk at the weights returned, of which the certificate speaks. Gradients get the rest."""

    steps: int = 30
    moments_share: float = 0.04
    gram_share: float = 0.04
    curvature_share: float = 0.05
    measure_share: float = 0.03

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ParameterError("steps must be at least 1.", argument="steps")
        for name in ("moments_share", "gram_share", "curvature_share", "measure_share"):
            if not 0.0 < getattr(self, name) <= 0.2:
                raise ParameterError(f"{name} must be above 0 and at most 0.2.", argument=name)

    @abstractmethod
    def prepared(self, state: State, whole: int, kept: int) -> LearnedDescent:
        """Ask for what the steps need to know: of `whole` units `kept` are for the end."""

    @abstractmethod
    def taken(self, problem: Problem) -> int:
        """How many gradients a run asks for. Public."""

    def forms_gram(self, problem: Problem) -> bool:
        """Whether second moments are asked for as a matrix. Public."""
        return True

    def beside(self, dry_run: DryRun) -> list[QueryNoise]:
        """Queries on the way other than gradients, as a plan dry_run them."""
        return []

    def forecaster(self) -> Forecaster:
        from sottovoce.methods.learned_forecast import LearnedForecaster

        return LearnedForecaster(self)

    def run(self, ask: Queries, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        levels = self.levels(ask.problem, goal)
        state = State(ask=ask, levels=levels, w=start, watch=watch)
        whole = ask.units_left
        curvature = int(whole * self.curvature_share) if levels.curvature_tested else 0
        kept = curvature + int(whole * self.measure_share)
        try:
            descent = self.prepared(state, whole, kept)
            state.w = descent.followed(state, kept)
        except BudgetExceeded:
            return replace(state.outcome(Stop.OUT_OF_BUDGET), noise=CoefficientNoise(reason=UNACCOUNTED))
        if descent.left is not None:
            return descent.left(state, goal)
        stop = measure(state, levels, curvature)
        outcome = state.outcome(stop)
        if stop is Stop.FINISHED and goal.tolerance is not None:
            met = outcome.certificate.meets(goal.tolerance)
            stop = Stop.CERTIFIED if met else Stop.STEPS_EXHAUSTED
        return replace(outcome, stop=stop, trained=descent.trained, noise=descent.noise)

    def require_possible(self, problem: Problem, goal: Goal) -> None:
        if problem.matrix_free or problem.clipped:
            raise ParameterError(
                f"method {self.name!r} learns coordinates of a table's columns; this risk has none. "
                "Use 'dp-gd'."
            )

    def levels(self, problem: Problem, goal: Goal) -> Levels:
        """One gradient test, at the end; the curvature is tested where public numbers leave it open."""
        return Levels(
            confidence=goal.confidence,
            gradient_tests=1,
            curvature_tested=curvature_in_doubt(problem, goal.tolerance),
        )


def in_learned_coordinates(preconditioner: Preconditioner) -> str:
    """Which risk the steps followed, in words."""
    return (
        f"; trained in learned coordinates, where a record of length rho counts "
        f"min(1, C/rho, {preconditioner.ceiling:g} C^2/rho^2), C = {preconditioner.cap:.4g}"
    )


def note(state: State, kind: str, answer: Answer[Vector], there: Vector) -> None:
    """A row of the trace: the gradient as asked, in learned coordinates; the step in user's weights."""
    row = TraceRow(
        kind=kind,
        gradient_norm=float(np.linalg.norm(answer.value)),
        step_length=float(np.linalg.norm(there - state.w)),
        mu_squared=state.ask.mu_squared(answer.units),
        gradient_noise=math.sqrt(answer.value.size) * answer.scale,
    )
    state.trace.append(row)
    state.watch(row)
    state.w = state.problem.within_limit(there)
