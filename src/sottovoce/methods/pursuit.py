"""Steps by a majorizer whose damping follows the signal that was found."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.methods.designs import Design, Designer
from sottovoce.methods.majorizers import Majorized, MajorizerShape
from sottovoce.methods.second_moments import SecondMoments
from sottovoce.methods.steps import Step, StepRule

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.loop import Evidence, Walk
    from sottovoce.questions import Answer


@final
@dataclass
class Pursuit(StepRule):
    """A majorizer damped by the least expected excess loss, given the signal in the weights so far.

    `moments` are the features' second moments as far as they were released, and `noise` is the variance that
    noise has left in the linear predictor; without moments the damping stays as designed."""

    designer: Designer
    design: Design
    majorizer: Majorized
    moments: SecondMoments | None = None
    noise: float = 0.0

    def gradient_step(self, walk: Walk, here: Evidence) -> Step:
        rule = replace(self.majorizer, damping=self.design.damping)
        if self.moments is not None:
            found = math.sqrt(max(0.0, self.moments.variance(self._blocks(walk.w)) - self.noise))
            spectrum, bound = self.moments.spectrum, self.majorizer.curvature
            rule = replace(rule, damping=self.designer.damping(self.design, spectrum, bound, found))
            self.noise += rule.noise_left(here.gradient.scale, self.moments.matrix)
        return rule.gradient_step(walk, here)

    def _blocks(self, w: Vector) -> Matrix:
        return w.reshape(-1, self.majorizer.curvature.size)


def pursuit(walk: Walk, units: int, designer: Designer, design: Design) -> Pursuit:
    """Ask the one question of the design and build the step rule; the scalar shape asks nothing."""
    problem, relaxation = walk.problem, designer.relaxation
    match design.shape:
        case MajorizerShape.DENSE:
            gram = walk.ask.gram(units)
            walk.record("gram", gram.units)
            majorizer = Majorized.above_gram(gram, problem, relaxation)
            return Pursuit(designer, design, majorizer, _moments(gram))
        case MajorizerShape.DIAGONAL:
            squares = walk.ask.gram_diagonal(units)
            walk.record("gram diagonal", squares.units)
            return Pursuit(designer, design, Majorized.above_squares(squares, problem, relaxation))
        case MajorizerShape.SCALAR:
            return Pursuit(designer, design, Majorized.above_rows(problem, relaxation))


def _moments(gram: Answer[Matrix]) -> SecondMoments:
    """Second moments freed of noise, as if columns were alike but for what stands out."""
    columns = len(gram.value)
    return SecondMoments.of(gram, np.full(columns, max(float(np.trace(gram.value)), 0.0) / columns))
