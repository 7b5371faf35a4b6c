"""Gradient steps where the gradient is large, negative-curvature steps where it is not (Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.methods.lanczos import DENSE_LIMIT, smallest_pair
from sottovoce.methods.loop import Evidence, Rule, Walk

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.steps import StepRule
    from sottovoce.methods.stopping import StoppingTest
    from sottovoce.queries import Derivatives
    from sottovoce.result import Stop


@final
@dataclass(frozen=True, kw_only=True)
class CurvatureDescent(Rule):
    """Algorithm 1 of the paper with the step rule, the test and the prices as parts.

    The Hessian is asked for only where the gradient passed its test and the curvature is not yet settled.
    `ask` answers in place of the walk's own questions: mini-batches. Where a gradient looks short enough but
    is too noisy to pass, `confirm_units` buy a second look; 0 buys none."""

    step: StepRule
    test: StoppingTest
    gradient_units: int
    curvature_units: int
    ask: Derivatives | None = None
    confirm_units: int = 0

    def visit(self, walk: Walk) -> Stop | None:
        here = walk.gradient(self.gradient_units, self.ask)
        spent = here.gradient.units
        if self.confirm_units and self.test.unsure(here, walk.problem):
            here = walk.gradient(min(self.confirm_units, walk.ask.units_left), self.ask)
            spent += here.gradient.units
        if not self.test.gradient(here, walk.problem):
            self._follow_gradient(walk, here, spent)
            return None
        if self.test.curvature(here, walk.problem):
            walk.record("stop", spent)
            return self.test.verdict
        hessian, here = walk.hessian(here, self.curvature_units, self.ask)
        spent += hessian.units
        if self.test.curvature(here, walk.problem):
            walk.record("stop", spent)
            return self.test.verdict
        if not self.test.saddle(here, walk.problem):
            self._follow_gradient(walk, here, spent)
            return None
        direction, eigenvalue = downhill(hessian.value, here.gradient.value)
        step = self.step.curvature_step(walk, here, direction, eigenvalue)
        walk.record("negative curvature", spent + step.units, step=step.vector)
        return None

    def _follow_gradient(self, walk: Walk, here: Evidence, spent: int) -> None:
        step = self.step.gradient_step(walk, here)
        walk.record("gradient step", spent + step.units, step=step.vector)


def downhill(hessian: Matrix, gradient: Vector) -> tuple[Vector, float]:
    """Unit eigenvector p of the smallest eigenvalue, signed so that <p, g~> <= 0, and that eigenvalue."""
    if len(hessian) > DENSE_LIMIT:
        eigenvalue, direction = smallest_pair(hessian)
    else:
        values, vectors = np.linalg.eigh(hessian)
        eigenvalue, direction = float(values[0]), vectors[:, 0]
    if float(direction @ gradient) > 0.0:
        direction = -direction
    return direction, eigenvalue
