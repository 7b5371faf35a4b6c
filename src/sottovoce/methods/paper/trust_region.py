"""`tr`, `tr-b`: DP-TR with an explicit second-order check; gradient and Hessian at every visit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

from sottovoce.methods.base import Rule, State
from sottovoce.methods.paper.constants import Curve
from sottovoce.methods.paper.phases import Batch, PaperMethod, Schedule
from sottovoce.methods.paper.subproblem import minimize_in_ball
from sottovoce.methods.steps import Step
from sottovoce.methods.turned_steps import by_hessian

if TYPE_CHECKING:
    from sottovoce.methods.base import Goal
    from sottovoce.methods.stopping import StoppingTest
    from sottovoce.problem import Problem
    from sottovoce.queries import Derivatives
    from sottovoce.results.result import Stop, Tolerance


@final
@dataclass(frozen=True, kw_only=True)
class TrustRegion(Rule):
    """Minimize the quadratic model of the noisy answers in a ball of fixed radius, exactly."""

    radius: float
    test: StoppingTest
    gradient_units: int
    curvature_units: int
    ask: Derivatives | None = None

    def advance(self, state: State) -> Stop | None:
        here = state.gradient(self.gradient_units, self.ask)
        hessian, here = state.hessian(here, self.curvature_units, self.ask)
        spent = here.gradient.units + hessian.units
        if self.test.gradient(here, state.problem) and self.test.curvature(here, state.problem):
            state.record("stop", spent)
            return self.test.verdict
        step = minimize_in_ball(here.gradient.value, hessian.value, self.radius)
        step_noise = by_hessian(here.gradient, hessian, step)
        state.record("trust region", spent, step=Step(step, step_noise=step_noise))
        return None


@dataclass(frozen=True, kw_only=True)
class TrustRegionMethod(PaperMethod):
    """T = ceil(6 sqrt(M) gap / alpha^1.5) visits, alpha the gradient's tolerance as the user gave it.

    The radius is sqrt(alpha/M), or the paper's alpha/M under published calibration."""

    def forms_hessians(self, problem: Problem, goal: Goal) -> bool:
        return True

    def visits(self, curve: Curve, asked: Tolerance, target: Tolerance, gap: float) -> int:
        return math.ceil(6.0 * math.sqrt(curve.hessian_lipschitz / asked.gradient**3) * gap)

    def rule(
        self,
        frame: Schedule,
        test: StoppingTest,
        gradient_units: int,
        curvature_units: int,
        search_units: int | None,
    ) -> TrustRegion:
        assert frame.goal.tolerance is not None
        ratio = frame.goal.tolerance.gradient / frame.curve.hessian_lipschitz
        return TrustRegion(
            radius=ratio if frame.is_published else math.sqrt(ratio),
            test=test,
            gradient_units=gradient_units,
            curvature_units=curvature_units,
        )

    def _hessians(self, frame: Schedule) -> int:
        return 1


@final
@dataclass(frozen=True, kw_only=True)
class Tr(TrustRegionMethod):
    """DP-TR over all records."""

    name: ClassVar[str] = "tr"


@final
@dataclass(frozen=True, kw_only=True)
class TrBatch(TrustRegionMethod):
    """DP-TR on mini-batches."""

    name: ClassVar[str] = "tr-b"
    batch: Batch | None = field(default_factory=Batch)
