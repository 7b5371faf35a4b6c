"""Matrices above every Hessian, from one noisy answer about the features: dense, diagonal or a single number.

The loss has phi'' <= U, so U X'X/n plus the regularizer's largest curvature lies above the Hessian at every
w, convex or not, and any matrix above X'X/n will do (Boehning & Lindsay 1988). With several outputs the same
matrix serves each block of weights. A noisy answer is lifted until it lies above the true one with
probability at least 1 - e^-8; a failure costs utility, never privacy.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.methods.noise_propagation import StepNoise
from sottovoce.methods.steps import Step, StepRule

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.base import Evidence, State
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer

_FAILURE = 8.0
"""Minus the logarithm of the probability that a lifted answer is not above the true one."""


class MajorizerShape(enum.StrEnum):
    """What is asked about the features to build the majorizer."""

    DENSE = "the Gram matrix"
    DIAGONAL = "the mean square of every column"
    SCALAR = "nothing: the largest curvature a row can have"


def spectral_lift(columns: int) -> float:
    """No eigenvalue of symmetric noise of scale 1 exceeds this: sqrt(2d) + 4, but for probability e^-8."""
    return math.sqrt(2.0 * columns) + math.sqrt(2.0 * _FAILURE)


def diagonal_lift(columns: int) -> float:
    """None of d independent standard normals exceeds this: sqrt(2 (log d + 8)), but for probability e^-8."""
    return math.sqrt(2.0 * (math.log(columns) + _FAILURE))


@final
@dataclass(frozen=True, eq=False)
class Majorized(StepRule):
    """-c (Q + L)^{-1} g~ with Q above every Hessian, by Q's eigenvalues in a `basis`, or by its diagonal.

    For 0 < c < 2 the risk falls by c (1 - c/2) ||g||^2, less c^2/2 ||noise||^2, in the norm of (Q + L)^{-1}:
    a damping L >= 0 only puts the matrix further above. `likely` is what to expect of the Hessian near a
    minimizer as a multiple of Q."""

    curvature: Vector
    basis: Matrix | None = None
    relaxation: float = 1.0
    damping: float = 0.0
    likely: float = 0.6

    @classmethod
    def above_gram(cls, gram: Answer[Matrix], problem: Problem, relaxation: float = 1.0) -> Majorized:
        """Q = U (S_+ + s (sqrt(2d) + 4) I) + sup r'' I, from the noisy Gram matrix S."""
        values, vectors = np.linalg.eigh(gram.value)
        lift = gram.scale * spectral_lift(problem.columns)
        bound = np.maximum(values, 0.0) + lift
        return cls(_with_penalty(bound, problem), vectors, relaxation)

    @classmethod
    def above_squares(cls, squares: Answer[Vector], problem: Problem, relaxation: float = 1.0) -> Majorized:
        """q = U k (diag(S)_+ + margin) + sup r'', k the declared most nonzeros in a row.

        (x'v)^2 <= k sum x_j^2 v_j^2 for a row with k nonzeros; without the k a diagonal is no bound."""
        margin = squares.scale * diagonal_lift(problem.columns)
        bound = problem.widest_row * (np.maximum(squares.value, 0.0) + margin)
        return cls(_with_penalty(bound, problem), None, relaxation, likely=0.6 / problem.widest_row)

    @classmethod
    def above_rows(cls, problem: Problem, relaxation: float = 1.0) -> Majorized:
        """Q = G I, G the Lipschitz constant of the gradient: no row bends the risk more."""
        rows = np.full(problem.columns, problem.smoothness)
        return cls(rows, None, relaxation, likely=0.1 / problem.widest_row)

    @property
    def lengths(self) -> Vector:
        """c / (Q + L) along each direction."""
        return np.asarray(self.relaxation / (self.curvature + self.damping))

    def gradient_step(self, state: State, here: Evidence) -> Step:
        step_noise = StepNoise(self.lengths, here.gradient.scale, self.likely * self.curvature, self.basis)
        return Step(self.along(here.gradient.value), step_noise=step_noise)

    def along(self, gradient: Vector) -> Vector:
        """-c (Q + L)^{-1} times a gradient."""
        blocks = gradient.reshape(-1, self.curvature.size)
        if self.basis is None:
            return np.asarray((-blocks * self.lengths).ravel())
        return np.asarray((-((blocks @ self.basis) * self.lengths) @ self.basis.T).ravel())

    def variance(self, w: Vector, spectrum: Vector) -> float:
        """Variance of the linear predictor, averaged over outputs, for second moments along the basis."""
        blocks = w.reshape(-1, self.curvature.size)
        turned = blocks if self.basis is None else blocks @ self.basis
        return float(np.mean(turned**2, axis=0) @ spectrum)

    def noise_left(self, scale: float, spectrum: Vector) -> float:
        """c^2 s^2 tr((Q + L)^-2 S): what noise of scale s adds to that variance."""
        return (self.relaxation * scale) ** 2 * float(spectrum @ (self.curvature + self.damping) ** -2.0)


def _with_penalty(bound: Vector, problem: Problem) -> Vector:
    """U times a bound of the features' second moments, plus sup r''."""
    return np.asarray(problem.curvature_high * bound + problem.regularizer.curvature_high)
