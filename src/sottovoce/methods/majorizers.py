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
from scipy import linalg

from sottovoce.methods.steps import ShortStep, Step, StepRule
from sottovoce.problem import matrix_fits

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.loop import Evidence, Walk
    from sottovoce.problem import Problem
    from sottovoce.questions import Answer

_FAILURE = 8.0
"""Minus the logarithm of the probability that a lifted answer is not above the true one."""


class MajorizerShape(enum.StrEnum):
    """What is asked about the features to build the majorizer."""

    DENSE = "the Gram matrix"
    DIAGONAL = "the mean square of every column"
    SCALAR = "nothing: the largest curvature a row can have"


def shape_for(problem: Problem, mu: float) -> MajorizerShape:
    """The majorizer worth `mu` for its one question, from public numbers alone.

    Dense noise has spectral norm about sqrt2 R^2 sqrt(2d) / (n mu) against a mean eigenvalue of at most
    R^2/d: worth it while d^(3/2) <= n mu / 2. The diagonal costs a factor k, the most nonzeros in a row, and
    a margin of a few standard deviations: worth it while k times both is below half of R^2."""
    columns = problem.columns
    if matrix_fits(columns) and columns**1.5 <= problem.n * mu / 2.0:
        return MajorizerShape.DENSE
    noise = math.sqrt(2.0) / (problem.n * mu)
    if problem.widest_row * (1.0 / columns + noise * diagonal_lift(columns)) < 0.5:
        return MajorizerShape.DIAGONAL
    return MajorizerShape.SCALAR


def spectral_lift(columns: int) -> float:
    """No eigenvalue of symmetric noise of scale 1 exceeds this: sqrt(2d) + 4, but for probability e^-8."""
    return math.sqrt(2.0 * columns) + math.sqrt(2.0 * _FAILURE)


def diagonal_lift(columns: int) -> float:
    """None of d independent standard normals exceeds this: sqrt(2 (log d + 8)), but for probability e^-8."""
    return math.sqrt(2.0 * (math.log(columns) + _FAILURE))


@final
@dataclass(frozen=True)
class Majorized(StepRule):
    """-c Q^{-1} g~ with Q above every Hessian, dense, by its Cholesky factor.

    For 0 < c < 2 the risk falls by c (1 - c/2) ||g||^2, less c^2/2 ||noise||^2, in the norm of Q^{-1}."""

    factor: Matrix
    relaxation: float = 1.0

    @classmethod
    def above(cls, gram: Answer[Matrix], problem: Problem, relaxation: float = 1.0) -> Majorized:
        """Q = U (S_+ + s (sqrt(2d) + 4) I) + sup r'' I, from the noisy Gram matrix S."""
        values, vectors = np.linalg.eigh(gram.value)
        lift = gram.scale * spectral_lift(problem.columns)
        data_part = problem.curvature_high * ((vectors * np.maximum(values, 0.0)) @ vectors.T)
        shift = problem.curvature_high * lift + problem.regularizer.curvature_high
        matrix = data_part + shift * np.eye(problem.columns)
        return cls(linalg.cholesky(matrix, lower=True), relaxation)

    def gradient_step(self, walk: Walk, here: Evidence) -> Step:
        blocks = here.gradient.value.reshape(-1, len(self.factor))
        return Step(-self.relaxation * linalg.cho_solve((self.factor, True), blocks.T).T.ravel())


@final
@dataclass(frozen=True)
class DiagonallyMajorized(StepRule):
    """-c g~ / q with diag(q) above every Hessian: no matrix is formed."""

    curvature: Vector
    relaxation: float = 1.0

    @classmethod
    def above(cls, squares: Answer[Vector], problem: Problem, relaxation: float = 1.0) -> DiagonallyMajorized:
        """q = U k (diag(S)_+ + margin) + sup r'', k the declared most nonzeros in a row.

        (x'v)^2 <= k sum x_j^2 v_j^2 for a row with k nonzeros; without the k a diagonal is no bound."""
        margin = squares.scale * diagonal_lift(problem.columns)
        bound = problem.widest_row * (np.maximum(squares.value, 0.0) + margin)
        return cls(problem.curvature_high * bound + problem.regularizer.curvature_high, relaxation)

    def gradient_step(self, walk: Walk, here: Evidence) -> Step:
        blocks = here.gradient.value.reshape(-1, self.curvature.size)
        return Step((-self.relaxation * blocks / self.curvature).ravel())


@final
@dataclass(frozen=True)
class ScalarMajorized(StepRule):
    """-c g~ / G, G the Lipschitz constant of the gradient."""

    relaxation: float = 1.0

    def gradient_step(self, walk: Walk, here: Evidence) -> Step:
        return Step(self.relaxation * ShortStep().gradient_step(walk, here).vector)


def majorizer(walk: Walk, units: int, relaxation: float) -> StepRule:
    """Ask the one question that pays and build the step rule; the scalar shape asks nothing."""
    match shape_for(walk.problem, math.sqrt(walk.ask.mu_squared(units))):
        case MajorizerShape.DENSE:
            gram = walk.ask.gram(units)
            walk.record("gram", gram.units)
            return Majorized.above(gram, walk.problem, relaxation)
        case MajorizerShape.DIAGONAL:
            squares = walk.ask.gram_diagonal(units)
            walk.record("gram diagonal", squares.units)
            return DiagonallyMajorized.above(squares, walk.problem, relaxation)
        case MajorizerShape.SCALAR:
            return ScalarMajorized(relaxation)
