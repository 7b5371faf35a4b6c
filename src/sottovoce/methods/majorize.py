"""`majorize`: one noisy Gram matrix majorizes the Hessian everywhere; then Newton-like steps, nothing to tune."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from sottovoce.certificate import Levels
from sottovoce.errors import BudgetExceeded, ParameterError
from sottovoce.methods.descent import CurvatureDescent
from sottovoce.methods.loop import Goal, Method, Walk, follow
from sottovoce.methods.steps import Majorized, ShortStep, StepRule
from sottovoce.methods.stopping import Certified, Never
from sottovoce.result import Outcome, Stop, TraceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.arrays import Vector
    from sottovoce.queries import Questions


@final
@dataclass(frozen=True, kw_only=True)
class Majorize(Method):
    """Release S = X'X/n once, then w -= Q^{-1} g~ with Q = U (S_+ + lift) + sup r''.

    With a tolerance every visited point is tested, at a level fixed beforehand, and the run stops at the
    first certified one. Without, the steps are taken and what is left measures the final point."""

    name: ClassVar[str] = "majorize"
    steps: int = 15
    gram_share: float = 0.1
    curvature_share: float = 0.05

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ParameterError("steps must be at least 1.")
        for name in ("gram_share", "curvature_share"):
            if not 0.0 < getattr(self, name) < 0.5:
                raise ParameterError(f"{name} must lie strictly between 0 and 0.5.")

    def run(self, ask: Questions, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        wanted = 0.0 if goal.tolerance is None else -(goal.tolerance.curvature or 0.0)
        curvature_tested = ask.problem.curvature_floor < wanted
        levels = Levels(
            confidence=goal.confidence, gradient_tests=self.steps + 1, curvature_tested=curvature_tested
        )
        walk = Walk(ask=ask, levels=levels, w=start, watch=watch)
        curvature_units = int(ask.units_left * self.curvature_share)
        try:
            step = self._step_rule(walk)
        except BudgetExceeded:
            return walk.outcome(Stop.OUT_OF_BUDGET)
        reserved = curvature_units if curvature_tested else 0
        rule = CurvatureDescent(
            step=step,
            test=Never() if goal.tolerance is None else Certified(goal.tolerance, levels),
            gradient_units=(ask.units_left - reserved) // (self.steps + 1),
            curvature_units=curvature_units,
        )
        if goal.tolerance is not None:
            return walk.outcome(follow(rule, walk, self.steps + 1))
        stop = follow(rule, walk, self.steps)
        if stop is Stop.STEPS_EXHAUSTED:
            stop = measure(walk, reserved)
        return walk.outcome(stop)

    def _step_rule(self, walk: Walk) -> StepRule:
        """The dense majorizer, or 1/G where its noise would drown it: d^(3/2) > n mu / 2."""
        units = int(walk.ask.units_left * self.gram_share)
        problem = walk.problem
        if problem.columns**1.5 > problem.n * walk.ask.mu_squared(units) ** 0.5 / 2.0:
            return ShortStep()
        gram = walk.ask.gram(units)
        walk.record("gram", gram.units)
        return Majorized.above(gram, problem)


def measure(walk: Walk, curvature_units: int) -> Stop:
    """Spend what is left on the final point, so that the certificate speaks of the weights returned."""
    try:
        here = walk.gradient(walk.ask.units_left - curvature_units)
        spent = here.gradient.units
        if curvature_units:
            spent += walk.smallest_eigenvalue(here, curvature_units).units
    except BudgetExceeded:
        return Stop.OUT_OF_BUDGET
    walk.record("measurement", spent)
    return Stop.FINISHED
