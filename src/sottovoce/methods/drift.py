"""`drift`: noisy gradient descent that tells a saddle by how far it moves away from it, at no charge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.methods.settling import Planned, SettlingMethod, SettlingRule, beyond_noise
from sottovoce.queries import Gradient
from sottovoce.results.result import Stop

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.methods.base import State
    from sottovoce.methods.majorizers import Majorized
    from sottovoce.problem import Problem


@final
@dataclass(frozen=True, kw_only=True)
class Drift(SettlingMethod):
    """Noise alone leaves a saddle (Avdiukhin et al. 2024), and how far the weights move tells that it did
    (Tao et al. 2025, Gauss-PSGD).

    Every step is -c Q^{-1} g~, so the way from an anchor is the sum of the gradients released since, in the
    coordinates of the majorizer Q. On flat ground that sum is noise of known variance; on a slope, or where
    the risk bends down, it grows beyond. While it does the anchor follows; where it has not for `patience`
    steps the run rests, at the mean of the points since. No query looks for the saddle."""

    name: ClassVar[str] = "drift"
    left: ClassVar[float] = 0.2
    steps: int = 160
    patience: int = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.patience < 1:
            raise ParameterError("patience must be at least 1.", argument="patience")

    def rule(self, majorizer: Majorized, units: int) -> DriftSteps:
        return DriftSteps(majorizer=majorizer, units=units // self.steps, patience=self.patience)

    def planned(self, problem: Problem, units: int) -> tuple[Planned, ...]:
        return (Planned(Gradient, units // self.steps, self.steps),)


@final
@dataclass(kw_only=True)
class DriftSteps(SettlingRule):
    """`way` is the sum of gradients since the anchor, `variance` that of its noise."""

    majorizer: Majorized
    units: int
    patience: int
    points: list[Vector] = field(default_factory=list)
    way: Vector | float = 0.0
    variance: float = 0.0

    def advance(self, state: State) -> Stop | None:
        here = state.gradient(self.units)
        self.way = self.way + here.gradient.value
        self.variance += here.gradient.scale**2
        left = beyond_noise(float(np.sum(self.way**2)), self.variance, state.w.size)
        if left:
            self.way, self.variance, self.points = 0.0, 0.0, []
        elif len(self.points) >= self.patience:
            state.record("rest", here.gradient.units)
            return Stop.FINISHED
        step = self.majorizer.gradient_step(state, here)
        state.record("gradient step" if left else "within noise", here.gradient.units, step=step)
        self.points.append(state.w)
        return None

    def rest(self, state: State) -> None:
        count = len(self.points)
        if count:
            state.rest(np.mean(self.points, axis=0), (1.0 / count,) * count)
