"""`opt`: the paper's Algorithm 1 with short steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from sottovoce.certificate import Levels
from sottovoce.errors import ParameterError
from sottovoce.methods.descent import CurvatureDescent
from sottovoce.methods.loop import Goal, Method, Walk, follow
from sottovoce.methods.steps import ShortStep
from sottovoce.methods.stopping import Certified
from sottovoce.result import Outcome, Tolerance, TraceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.arrays import Vector
    from sottovoce.queries import Problem, Questions


@final
@dataclass(frozen=True, kw_only=True)
class NoiseShare:
    """How much noise the decrease analysis tolerates (paper: c_1, c_2, c in eq. bounded_noise)."""

    gradient: float = 0.1
    curvature_gradient: float = 1.0 / 12.0
    curvature: float = 0.1

    def __post_init__(self) -> None:
        if not (0.0 < self.gradient < 0.5 and 0.0 < self.curvature_gradient and 0.0 < self.curvature):
            raise ParameterError("noise shares must be positive, the gradient's below 1/2.")
        if self.curvature_gradient + self.curvature >= 1.0 / 3.0:
            raise ParameterError("curvature_gradient + curvature must stay below 1/3.")

    def short_decrease(self, problem: Problem, tolerance: Tolerance) -> float:
        """Least decrease of a short step (paper: MIN_DEC of Lemma short_dec)."""
        assert tolerance.curvature is not None
        by_gradient = (1.0 - 2.0 * self.gradient) / (2.0 * problem.smoothness) * tolerance.gradient**2
        room = 1.0 / 3.0 - self.curvature_gradient - self.curvature
        by_curvature = 2.0 * room * tolerance.curvature**3 / problem.hessian_lipschitz**2
        return min(by_gradient, by_curvature)


@final
@dataclass(frozen=True, kw_only=True)
class Opt(Method):
    """Steps 1/G along -g~ while the gradient is large, 2|lambda~|/M along negative curvature otherwise.

    T = ceil(gap / MIN_DEC) visits at most, the gap a public bound on f(start) - inf f. A share of the budget
    is kept for a few Hessians, the rest divided over the T gradients."""

    name: ClassVar[str] = "opt"
    noise: NoiseShare = NoiseShare()
    curvature_share: float = 0.2
    hessians: int = 4

    def run(self, ask: Questions, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        if goal.tolerance is None:
            raise ParameterError('method "opt" needs a tolerance, for example Tolerance(gradient=0.03).')
        problem = ask.problem
        visits = math.ceil(problem.gap(start) / self.noise.short_decrease(problem, goal.tolerance))
        levels = Levels(confidence=goal.confidence, gradient_tests=visits, curvature_tested=True)
        walk = Walk(ask=ask, levels=levels, w=start, watch=watch)
        curvature_units = int(ask.units_left * self.curvature_share) // self.hessians
        rule = CurvatureDescent(
            step=ShortStep(),
            test=Certified(goal.tolerance, levels),
            gradient_units=(ask.units_left - self.hessians * curvature_units) // visits,
            curvature_units=curvature_units,
        )
        return walk.outcome(follow(rule, walk, visits))
