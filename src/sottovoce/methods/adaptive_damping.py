"""Steps by a majorizer whose damping follows the signal that was found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.methods.designs import Design, Designer
from sottovoce.methods.majorizers import Majorized, MajorizerShape
from sottovoce.methods.mean_curvature import mean_curvature
from sottovoce.methods.noise_propagation import StepNoise, StepRecord, noise_along
from sottovoce.methods.steps import Step, StepRule

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.base import Evidence, State
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer
    from sottovoce.results.inference.coefficient_noise import CoefficientNoise


@final
@dataclass
class AdaptiveDamping(StepRule):
    """A majorizer damped by the least expected excess loss, given the signal in the weights so far.

    `spectrum` are the second moments of the features along the majorizer's basis, as far as a release showed
    them, and `noise` is the variance that noise has left in the linear predictor; without a spectrum the
    damping stays as designed. `passed` has the damping of each step and the scale of its gradient."""

    designer: Designer
    design: Design
    majorizer: Majorized
    spectrum: Vector | None = None
    noise: float = 0.0
    passed: list[tuple[float, float]] = field(default_factory=list)
    record: StepRecord = field(init=False)

    def __post_init__(self) -> None:
        self.record = StepRecord(self.majorizer.curvature)

    def gradient_step(self, state: State, here: Evidence) -> Step:
        rule = replace(self.majorizer, damping=self.design.damping)
        if self.spectrum is not None:
            seen = self.majorizer.variance(state.w, self.spectrum)
            found = math.sqrt(max(0.0, seen - self.noise))
            damping = self.designer.damping(self.design, self.spectrum, self.majorizer.curvature, found)
            rule = replace(rule, damping=damping)
            self.noise += rule.noise_left(here.gradient.scale, self.spectrum)
        step = rule.gradient_step(state, here)
        trace = state.problem.outputs * float(rule.lengths.sum())
        self.record.add(here.gradient, step.vector, trace)
        self.passed.append((rule.damping, here.gradient.scale))
        return step

    def noise_left(self, problem: Problem, w: Vector, weights: Sequence[float]) -> CoefficientNoise:
        """About what the noise of all steps leaves in the mean w of the points they led to.

        Without second moments the curvature is taken for a multiple of the majorizer's."""
        rule = self.majorizer
        if self.spectrum is None:
            bend = self.record.multiple(rule.likely, 1.0) * rule.curvature
        else:
            deviation = math.sqrt(rule.variance(w, self.spectrum))
            bend = mean_curvature(problem, deviation) * self.spectrum
        step_noises = [
            StepNoise(replace(rule, damping=damping).lengths, scale, bend) for damping, scale in self.passed
        ]
        return noise_along(rule.basis, step_noises, weights, problem.outputs)


def adaptive_damping(state: State, units: int, designer: Designer, design: Design) -> AdaptiveDamping:
    """Ask the one query of the design and build the step rule; the scalar shape asks nothing."""
    problem, relaxation = state.problem, designer.relaxation
    match design.shape:
        case MajorizerShape.DENSE:
            gram = state.ask.gram(units)
            state.record("gram", gram.units)
            majorizer = Majorized.above_gram(gram, problem, relaxation)
            return AdaptiveDamping(designer, design, majorizer, seen_through_noise(gram, majorizer))
        case MajorizerShape.DIAGONAL:
            squares = state.ask.gram_diagonal(units)
            state.record("gram diagonal", squares.units)
            return AdaptiveDamping(designer, design, Majorized.above_squares(squares, problem, relaxation))
        case MajorizerShape.SCALAR:
            return AdaptiveDamping(designer, design, Majorized.above_rows(problem, relaxation))


def seen_through_noise(gram: Answer[Matrix], majorizer: Majorized) -> Vector:
    """Second moments along the eigenvectors of a noisy Gram matrix.

    Noise of scale s has eigenvalues up to the edge s sqrt(2d). One beyond it, e, is that of a true one
    (e + sqrt(e^2 - edge^2))/2; the others share what is left of the trace, which has little noise."""
    assert majorizer.basis is not None
    values = np.einsum("ij,ij->j", majorizer.basis, gram.value @ majorizer.basis)
    edge = gram.scale * math.sqrt(2.0 * values.size)
    clear = values > edge
    freed = 0.5 * (values + np.sqrt(np.maximum(values**2 - edge**2, 0.0)))
    total = max(float(np.trace(gram.value)), gram.scale * math.sqrt(values.size))
    left = max(total - float(freed[clear].sum()), 1e-4 * total)
    return np.where(clear, freed, left / max(1, int(np.count_nonzero(~clear))))
