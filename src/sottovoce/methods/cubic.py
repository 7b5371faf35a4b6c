"""`cubic`: gradient and Hessian released, a cubic model minimized, the boldest proven step taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from sottovoce.certificate import Levels
from sottovoce.errors import ParameterError
from sottovoce.methods.cubic_model import CubicModel
from sottovoce.methods.loop import Goal, Method, Rule, Walk, follow
from sottovoce.methods.measurement import measure
from sottovoce.methods.shares import Growing, Shares, Tracking
from sottovoce.methods.stopping import Certified, Never, StoppingTest
from sottovoce.queries import LARGEST_MATRIX
from sottovoce.result import Outcome, Stop, TraceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.arrays import Vector
    from sottovoce.queries import Questions

SHORTEST_TRIAL = 2e-6
"""Steps shorter than this, in units of 1/radius, are not tried: rounding would dominate their difference."""


@final
@dataclass(frozen=True, kw_only=True)
class Cubic(Method):
    """Cubic-regularized Newton steps from noisy gradients and Hessians (Nesterov & Polyak 2006).

    The Hessian's Lipschitz constant M is a worst case: models with M/1024 ... M/4 are minimized too, all
    their decreases measured in one pass and one release, and the largest taken among those that show a
    fraction of what their model promises. Otherwise the step for M itself, which cannot rise by more than
    the noise allows. The released Hessian also tests the curvature, at no further price. At most `steps`
    steps are taken towards a tolerance, `free_steps` without one: three passes each, twenty in all."""

    name: ClassVar[str] = "cubic"
    steps: int = 9
    free_steps: int = 6
    ladder: tuple[float, ...] = (1 / 1024, 1 / 256, 1 / 64, 1 / 16, 1 / 4)
    hessian_share: float = 0.4
    trials_share: float = 0.1
    measure_share: float = 0.05
    fraction: float = 0.1
    shares: Shares | None = None

    def __post_init__(self) -> None:
        if self.steps < 1 or self.free_steps < 1:
            raise ParameterError("steps and free_steps must be at least 1.")
        if not self.ladder or not all(0.0 < rung < 1.0 for rung in self.ladder):
            raise ParameterError(
                "ladder must hold factors strictly between 0 and 1, for example (1/64, 1/4)."
            )
        for name in ("hessian_share", "trials_share", "measure_share", "fraction"):
            if not 0.0 < getattr(self, name) < 0.5:
                raise ParameterError(f"{name} must lie strictly between 0 and 0.5.")

    def run(self, ask: Questions, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        if ask.problem.dim > LARGEST_MATRIX:
            raise ParameterError(
                f'method "cubic" forms a Hessian and takes at most {LARGEST_MATRIX} weights, not '
                f'{ask.problem.dim}. Use method="majorize".'
            )
        levels = Levels(confidence=goal.confidence, gradient_tests=self.steps + 1, curvature_tested=True)
        walk = Walk(ask=ask, levels=levels, w=start, watch=watch)
        if goal.tolerance is not None:
            rule = CubicSteps(
                method=self,
                test=Certified(goal.tolerance, levels),
                shares=self.shares or Tracking(goal.tolerance.gradient, most=2.0),
                visits=self.steps + 1,
            )
            return walk.outcome(follow(rule, walk, self.steps + 1))
        kept = int(ask.units_left * self.measure_share)
        rule = CubicSteps(
            method=self, test=Never(), shares=self.shares or Growing(), visits=self.free_steps, kept=2 * kept
        )
        walk.levels = levels.on_the_way()
        stop = follow(rule, walk, self.free_steps)
        if stop is Stop.STEPS_EXHAUSTED:
            stop = measure(walk, levels.at_the_end(), kept)
        return walk.outcome(stop)


@dataclass(kw_only=True)
class CubicSteps(Rule):
    """One gradient, one Hessian and one release of trial decreases a visit. `kept` units stay for the end."""

    method: Cubic
    test: StoppingTest
    shares: Shares
    visits: int
    kept: int = 0
    visit_number: int = 0

    def visit(self, walk: Walk) -> Stop | None:
        left = walk.ask.units_left - self.kept
        share = left // max(1, self.visits - self.visit_number)
        for_hessian, for_trials = (
            int(share * self.method.hessian_share),
            int(share * self.method.trials_share),
        )
        for_gradient = left - for_hessian - for_trials
        here = walk.gradient(self.shares.units(walk, for_gradient, self.visit_number, self.visits))
        self.visit_number += 1
        spent = here.gradient.units
        settled = self.test.gradient(here, walk.problem)
        if settled and self.test.curvature(here, walk.problem):
            walk.record("stop", spent)
            return self.test.verdict
        hessian, here = walk.hessian(here, for_hessian)
        spent += hessian.units
        if settled and self.test.curvature(here, walk.problem):
            walk.record("stop", spent)
            return self.test.verdict
        noise = hessian.scale * float(np.sqrt(2.0 * walk.problem.dim))
        model = CubicModel.of(here.gradient.value, hessian.value, noise)
        step, paid = self._boldest(walk, model, for_trials)
        walk.record("cubic step", spent + paid, step=step)
        return None

    def _boldest(self, walk: Walk, model: CubicModel, units: int) -> tuple[Vector, int]:
        """The trial with the largest measured decrease that its model and its noise allow, else M's step."""
        lipschitz = walk.problem.hessian_lipschitz
        rungs = [rung * lipschitz for rung in self.method.ladder]
        trials = [(model.step(rung), rung) for rung in rungs]
        limit = walk.problem.weight_limit
        trials = [
            (step, rung)
            for step, rung in trials
            if float(np.linalg.norm(step)) * walk.problem.radius >= SHORTEST_TRIAL
            and float(np.linalg.norm(walk.w + step)) < limit
        ]
        if not trials:
            return model.step(lipschitz), 0
        answer = walk.ask.trials(walk.w, np.stack([step for step, _ in trials]), units)
        best, chosen = 0.0, None
        for per_length, (step, rung) in zip(answer.value, trials, strict=True):
            length = float(np.linalg.norm(step))
            shown = (float(per_length) - answer.scale) * length
            if shown > max(best, self.method.fraction * model.decrease(step, rung)):
                best, chosen = shown, step
        return (model.step(lipschitz) if chosen is None else chosen), answer.units
