"""Step rules: how far to go along a noisy gradient or a direction of negative curvature."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy import linalg

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.loop import Evidence, Walk
    from sottovoce.queries import Answer, Problem


@final
@dataclass(frozen=True)
class Step:
    """A move, and what was paid to choose its length."""

    vector: Vector
    units: int = 0


class StepRule(ABC):
    """Turns noisy answers into a step; may ask for more, at a price, but never sees data."""

    @abstractmethod
    def gradient_step(self, walk: Walk, here: Evidence) -> Step:
        """The step to take where the gradient is large."""

    def curvature_step(self, walk: Walk, here: Evidence, direction: Vector, eigenvalue: float) -> Step:
        """Along a unit direction of negative curvature, length 2|lambda~|/M: there the cubic bound on the
        decrease is largest."""
        return Step(direction * (2.0 * abs(eigenvalue) / walk.problem.hessian_lipschitz))


@final
class ShortStep(StepRule):
    """The paper's step 1/G along the negative noisy gradient."""

    def gradient_step(self, walk: Walk, here: Evidence) -> Step:
        return Step(-here.gradient.value / walk.problem.smoothness)


@final
@dataclass(frozen=True)
class Majorized(StepRule):
    """-Q^{-1} g~ with Q above every Hessian: f falls by ||g||^2/2 - ||noise||^2/2 in the norm of Q^{-1}."""

    factor: Matrix

    @classmethod
    def above(cls, gram: Answer[Matrix], problem: Problem) -> Majorized:
        """Q = U (S_+ + s (sqrt(2d) + 4) I) + sup r'' I, from the noisy Gram matrix S; one block per output.

        S_+ + s(sqrt(2d)+4) is above X'X/n with probability at least 1 - e^-8 and phi'' <= U, so Q majorizes
        the Hessian at every w, convex or not. A failure costs utility, never privacy."""
        values, vectors = np.linalg.eigh(gram.value)
        lift = gram.scale * (np.sqrt(2.0 * problem.columns) + 4.0)
        data_part = problem.curvature_high * ((vectors * np.maximum(values, 0.0)) @ vectors.T)
        shift = problem.curvature_high * lift + problem.regularizer.curvature_high
        return cls(linalg.cholesky(data_part + shift * np.eye(problem.columns), lower=True))

    def gradient_step(self, walk: Walk, here: Evidence) -> Step:
        blocks = here.gradient.value.reshape(-1, len(self.factor))
        return Step(-linalg.cho_solve((self.factor, True), blocks.T).T.ravel())
