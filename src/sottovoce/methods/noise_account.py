"""The account of a run's noise: every step that the loop records is entered here, whatever method took it.

Steps along gradients are numbers times them, steps by a Hessian have directions of their own, which turn from
step to step: then matrices are multiplied in place of numbers. What chose a length, a damping or the last
point is taken as given, and of a mini-batch the noise counts, not the chance that drew it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from sottovoce.methods.noise_propagation import NO_STEP, UNFOLLOWED, StepNoise, StepRecord, noise_along
from sottovoce.methods.turned_steps import turned_noise
from sottovoce.results.inference.coefficient_noise import CoefficientNoise

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.methods.steps import Step
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer

_KEPT = 20_000_000
"""Most numbers kept of all steps, 160 MB; where there would be more, a step is kept by its length alone."""

_LIKELY = 0.1
"""Curvature of a direction to expect: this part of the largest of all, divided among a row's entries."""


class Place(NamedTuple):
    """After how many steps a run stands where it does: at the last of these points, or at a mean of the last
    few by their weights."""

    steps: int = 0
    weights: tuple[float, ...] = (1.0,)


START = Place()


@final
@dataclass
class NoiseAccount:
    """How noise entered each step, and the curvature that gradients showed on the way."""

    step_noises: list[StepNoise] = field(default_factory=list)
    seen: StepRecord = field(default_factory=lambda: StepRecord(np.ones(1)))
    room: int = _KEPT
    complete: bool = True

    def add(self, problem: Problem, gradient: Answer[Vector] | None, step: Step) -> None:
        """A step, and the gradient at the point where it was taken; without one nothing is known of it."""
        if gradient is None:
            self.complete = False
            return
        step_noise = step.step_noise or _along(gradient, step.vector)
        mean = float(np.mean(step_noise.lengths))
        self.seen.add(gradient, step.vector, step_noise.at_once * mean * step.vector.size)
        self.step_noises.append(_of_one_output(step_noise, problem))
        self.room -= _numbers(self.step_noises[-1])
        if self.room < 0:
            self.step_noises = [kept.even for kept in self.step_noises]

    def left(self, problem: Problem, place: Place) -> CoefficientNoise:
        """About what is left of all noise in the weights at that place."""
        if not place.steps:
            return CoefficientNoise(reason=NO_STEP)
        if not self.complete:
            return CoefficientNoise(reason=UNFOLLOWED)
        most = problem.smoothness
        bend = np.full(1, self.seen.multiple(_LIKELY * most / problem.widest_row, most))
        taken = [
            step_noise._replace(curvature=bend) if step_noise.curvature is None else step_noise
            for step_noise in self.step_noises[: place.steps]
        ]
        weights = [0.0] * (place.steps - len(place.weights)) + list(place.weights)
        basis, columns = taken[0].basis, problem.columns
        if any(step_noise.basis is not basis for step_noise in taken) or (
            basis is not None and len(basis) > columns
        ):
            return turned_noise(taken, weights, problem)
        if basis is None:
            taken[0] = taken[0]._replace(lengths=np.broadcast_to(taken[0].lengths, columns))
        return noise_along(basis, taken, weights, problem.outputs)


def _along(gradient: Answer[Vector], step: Vector) -> StepNoise:
    """A step that is a number times the gradient."""
    length = float(np.linalg.norm(step)) / max(float(np.linalg.norm(gradient.value)), 1e-300)
    return StepNoise(np.full(1, length), gradient.scale, None)


def _of_one_output(step_noise: StepNoise, problem: Problem) -> StepNoise:
    """Lengths that differ from weight to weight, as those of each column over all outputs."""
    if step_noise.basis is not None or step_noise.lengths.size <= problem.columns:
        return step_noise
    blocks = step_noise.lengths.reshape(problem.outputs, -1)
    return step_noise._replace(lengths=np.sqrt(np.mean(blocks**2, axis=0)))


def _numbers(step_noise: StepNoise) -> int:
    return step_noise.lengths.size + (0 if step_noise.basis is None else step_noise.basis.size)
