"""How the noise of each step reaches the weights returned: linearised, from public and released numbers.

A step u <- u - P (g(u) + e), e of known scale, passes on what was there by I - P H, H the Hessian on the way.
Steps share a basis in which P is diagonal, and H nearly so: along a direction the noise of step k reaches the
mean of the last m points as p_k (1/m) sum over these points of the product of 1 - p h over steps in between.
H is not released: it is the mean of phi'' that the size of the linear predictor suggests, times released
second moments, or where none were asked for the curvature that successive gradients show. Hence approximate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from sottovoce.results.inference.coefficient_noise import CoefficientNoise

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.queries import Answer

UNACCOUNTED = "the run was cut short before the noise of its steps was added up"
UNFOLLOWED = "a step was taken where no gradient was asked for"
NO_STEP = "no step was taken: these are the weights that the run started from"


class StepNoise(NamedTuple):
    """One step along each direction: its length p per unit of gradient, the noise's sd, and the curvature h.

    A curvature of None is not known yet, and contracts nothing. Directions are the columns of `basis`, or
    those that all steps of a run share. `beside` is the variance along each of what answers other than the
    gradient added; `at_once` the part of a gradient that its own step follows, where momentum keeps the rest
    for later ones."""

    lengths: Vector
    scale: float
    curvature: Vector | None
    basis: Matrix | None = None
    beside: Vector | float = 0.0
    at_once: float = 1.0

    @property
    def added(self) -> Vector:
        """Variance that this step adds along each direction."""
        return np.asarray((self.scale * self.lengths) ** 2 + self.beside)

    @property
    def kept(self) -> Vector:
        """1 - p h: what is left along each direction of all that was there before."""
        return np.ones_like(self.lengths) if self.curvature is None else 1.0 - self.lengths * self.curvature

    @property
    def even(self) -> StepNoise:
        """As long in all directions: as much noise added, at the mean of the curvatures."""
        length = math.sqrt(float(np.mean(self.lengths**2)))
        bend = None if self.curvature is None else np.full(1, float(np.mean(self.curvature)))
        beside = float(np.mean(self.beside))
        return StepNoise(np.full(1, length), self.scale, bend, None, beside, self.at_once)


def variances(step_noises: Sequence[StepNoise], weights: Sequence[Vector | float]) -> Vector:
    """What noise leaves along each direction in the mean of the points after each step, by their weights."""
    left = np.zeros_like(step_noises[0].lengths)
    reaching = np.zeros_like(left)
    for step_noise, weight in zip(reversed(step_noises), reversed(weights), strict=True):
        reaching = reaching + weight
        left = left + step_noise.added * reaching**2
        reaching = reaching * step_noise.kept
    return left


def noise_along(
    basis: Matrix | None,
    step_noises: Sequence[StepNoise],
    weights: Sequence[Vector | float],
    outputs: int,
    *,
    centred: bool = False,
) -> CoefficientNoise:
    """Noise in the weights of steps along the columns of `basis`, one output's weights by directions, or
    along each weight if there is none.

    What outputs have in common does not move a softmax: nothing contracts its noise, unless it is `centred`
    away."""
    if not step_noises:
        return CoefficientNoise(reason=NO_STEP)
    found = variances(step_noises, weights)
    common = np.zeros_like(found)
    if outputs > 1 and not centred:
        flat = [step_noise._replace(curvature=None) for step_noise in step_noises]
        common = variances(flat, weights)
    return CoefficientNoise.along(basis, found, outputs, common)


@final
@dataclass
class StepRecord:
    """What gradients that steps followed show of the curvature, as a multiple of a `metric`.

    Along a step s = -P g~ the gradient changes by <dg, s> = s'Hs, plus noise of mean scale^2 tr P; the metric
    is a matrix, or a diagonal, of one output."""

    metric: Matrix | Vector
    curved: float = 0.0
    moved: float = 0.0
    doubt: float = 0.0
    last: tuple[Answer[Vector], Vector, float] | None = None

    def add(self, gradient: Answer[Vector], step: Vector, trace: float) -> None:
        """A gradient, the step -P g~ it led to, and tr P."""
        if self.last is not None:
            before, way, expected = self.last
            spread = _spread(before), _spread(gradient)
            self.curved += float((gradient.value - before.value) @ way) - spread[0] * expected
            self.moved += self._measured(way)
            self.doubt += sum(spread) * float(way @ way)
        self.last = gradient, step, trace

    def multiple(self, prior: float, most: float) -> float:
        """H in units of the metric, at least 0 and at most `most`: what was seen, and the prior with an sd
        of a quarter of itself, each as far as it is certain."""
        if not self.moved:
            return prior
        seen, doubt = self.curved / self.moved, max(self.doubt / self.moved**2, 1e-300)
        trust = (0.25 * prior) ** 2 / ((0.25 * prior) ** 2 + doubt)
        return min(max(0.0, trust * seen + (1.0 - trust) * prior), most)

    def _measured(self, way: Vector) -> float:
        blocks = way.reshape(-1, len(self.metric))
        turned = blocks * self.metric if self.metric.ndim == 1 else blocks @ self.metric
        return float(np.vdot(blocks, turned))


def _spread(gradient: Answer[Vector]) -> float:
    """Mean variance of an entry, by noise and by the chance of a batch."""
    return gradient.scale**2 + gradient.sampling**2 / gradient.value.size
