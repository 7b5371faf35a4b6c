"""Gradient steps where the gradient is large, negative-curvature steps where it is not (Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.methods.loop import Rule, Walk

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.steps import StepRule
    from sottovoce.methods.stopping import StoppingTest
    from sottovoce.result import Stop


@final
@dataclass(frozen=True, kw_only=True)
class CurvatureDescent(Rule):
    """Algorithm 1 of the paper with the step rule, the test and the prices as parts.

    The Hessian is asked for only where the gradient passed its test and the curvature is not yet settled."""

    step: StepRule
    test: StoppingTest
    gradient_units: int
    curvature_units: int

    def visit(self, walk: Walk) -> Stop | None:
        here = walk.gradient(self.gradient_units)
        spent = here.gradient.units
        if not self.test.gradient(here, walk.problem):
            step = self.step.gradient_step(walk, here)
            walk.record("gradient step", spent + step.units, step=step.vector)
            return None
        if self.test.curvature(here, walk.problem):
            walk.record("stop", spent)
            return self.test.verdict
        hessian, here = walk.hessian(here, self.curvature_units)
        spent += hessian.units
        if self.test.curvature(here, walk.problem):
            walk.record("stop", spent)
            return self.test.verdict
        direction, eigenvalue = downhill(hessian.value, here.gradient.value)
        step = self.step.curvature_step(walk, here, direction, eigenvalue)
        walk.record("negative curvature", spent + step.units, step=step.vector)
        return None


def downhill(hessian: Matrix, gradient: Vector) -> tuple[Vector, float]:
    """Unit eigenvector p of the smallest eigenvalue, signed so that <p, g~> <= 0, and that eigenvalue."""
    values, vectors = np.linalg.eigh(hessian)
    direction: Vector = vectors[:, 0]
    if float(direction @ gradient) > 0.0:
        direction = -direction
    return direction, float(values[0])
