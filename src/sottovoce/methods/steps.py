"""Step rules: how far to go along a noisy gradient or a direction of negative curvature."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.methods.base import Evidence, State
    from sottovoce.methods.noise_propagation import StepNoise
    from sottovoce.methods.paper.constants import Curve


@final
@dataclass(frozen=True)
class Step:
    """A move, and what was paid to choose its length.

    `step_noise` is how noise enters it and what it does to noise that was there; None where the move is a
    number times the gradient, a number that is taken as given."""

    vector: Vector
    units: int = 0
    step_noise: StepNoise | None = None


class StepRule(ABC):
    """Turns noisy answers into a step; may ask for more, at a price, but never sees data."""

    @abstractmethod
    def gradient_step(self, state: State, here: Evidence) -> Step:
        """The step to take where the gradient is large."""

    def curvature_step(self, state: State, here: Evidence, direction: Vector, eigenvalue: float) -> Step:
        """Along a unit direction of negative curvature, length 2|lambda~|/M: there the cubic bound on the
        decrease is largest."""
        return Step(direction * (2.0 * abs(eigenvalue) / state.problem.hessian_lipschitz))


@final
@dataclass(frozen=True)
class ShortStep(StepRule):
    """The paper's steps: 1/G along the negative noisy gradient, 2|lambda~|/M along negative curvature.

    Without a `curve` the constants G and M are the problem's own."""

    curve: Curve | None = None

    def gradient_step(self, state: State, here: Evidence) -> Step:
        curve = self.curve or state.problem
        return Step(-here.gradient.value / curve.smoothness)

    def curvature_step(self, state: State, here: Evidence, direction: Vector, eigenvalue: float) -> Step:
        curve = self.curve or state.problem
        return Step(direction * (2.0 * abs(eigenvalue) / curve.hessian_lipschitz))
