"""A risk over bounded sums: what it proposes is answered there, and its public penalty is added."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, final

import numpy as np

from sottovoce.data.sealed import Sealed
from sottovoce.errors import ParameterError
from sottovoce.kernels.sums import checked_weights
from sottovoce.problem import require_matrix_fits
from sottovoce.trusted import requests

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.autodiff.sums import ExampleSums
    from sottovoce.kernels.softmax_sums import SoftmaxSums
    from sottovoce.kernels.sums import LinearSums
    from sottovoce.models.bounds import Bounds
    from sottovoce.problem import Problem


class RiskOverSums(Sealed, ABC):
    """f(w) = a mean over records + r(w).

    Every method returns the exact number: it is for the data's owner and outside any privacy guarantee."""

    @property
    @abstractmethod
    def problem(self) -> Problem:
        """The public constants: all a method may know."""

    @property
    @abstractmethod
    def bounds(self) -> Bounds:
        """What is asked of the records, and how far each answer can move when one of them is replaced."""

    @property
    @abstractmethod
    def sums(self) -> LinearSums | SoftmaxSums | ExampleSums:
        """The records behind bounded sums."""

    @property
    def n(self) -> int:
        """Number of records, or of persons."""
        return self.sums.n

    @property
    def dim(self) -> int:
        """Entries of w."""
        return self.sums.dim

    @property
    def start(self) -> Vector:
        """Zeros: where a run starts unless told otherwise."""
        return np.zeros(self.dim)

    def value(self, w: Vector) -> float:
        """f(w). Exact: for the data's owner only."""
        w = self._weights(w)
        return float(self.sums.answer(self.bounds.number_sum(w)) + self.problem.penalty(w))

    def gradient(self, w: Vector) -> Vector:
        """Gradient of f at w. Exact: for the data's owner only."""
        w = self._weights(w)
        return np.asarray(self.sums.answer(self.bounds.vector_sum(w)) + self.problem.penalty_gradient(w))

    def gradient_change(self, w: Vector, step: Vector) -> Vector:
        """Gradient at w + step less that at w, row by row. Exact: for the data's owner only."""
        w, step = self._weights(w), self._weights(step, "step")
        moved = self.problem.penalty_gradient(self._weights(w + step)) - self.problem.penalty_gradient(w)
        return np.asarray(self.sums.answer(self.bounds.vector_change(w, step)) + moved)

    def limited_gradient(self, w: Vector, limit: float) -> Vector:
        """Gradient with the loss's slopes limited to `limit`. Exact: for the data's owner only."""
        w = self._weights(w)
        return np.asarray(
            self.sums.answer(self.bounds.limited(limit).vector_sum(w)) + self.problem.penalty_gradient(w)
        )

    def residual_bands(self, w: Vector, edges: Vector) -> Vector:
        """(1/n) sum q_i over records with |t_i| above edges[0], between two edges, and below the last.

        Exact: for the data's owner only."""
        if not self.problem.label_reach:
            raise ParameterError("residuals are counted of a linear model of a numeric target only.")
        return np.asarray(self.sums.answer(self.bounds.residual_shares(self._weights(w), edges)))

    def hessian(self, w: Vector) -> Matrix:
        """Hessian of f at w, symmetric to the last bit. Exact: for the data's owner only."""
        w = self._weights(w)
        require_matrix_fits(self.dim)
        return np.asarray(self.sums.answer(self.bounds.matrix_sum(w)) + self.problem.penalty_curvature(w))

    def score_moment(self, w: Vector) -> Matrix:
        """(1/n) sum ss', s a record's q phi' x or the sum of a person's. Exact: for the data's owner only."""
        return np.asarray(self.sums.answer(self.bounds.score_sum(self._weights(w))))

    def information(self, w: Vector) -> Matrix:
        """(1/n) sum q_i^2 phi''(t_i) x_i x_i'. Exact: for the data's owner only."""
        return np.asarray(self.sums.answer(self.bounds.information_sum(self._weights(w))))

    def curvature_product(self, w: Vector, direction: Vector) -> Vector:
        """Hessian of f at w times a direction. Exact: for the data's owner only."""
        return np.asarray(self.hessian(w) @ self._weights(direction, "direction"))

    def gram(self) -> Matrix:
        """(1/n) sum q_i x_i x_i', symmetric to the last bit. Exact: for the data's owner only."""
        return np.asarray(self.sums.answer(requests.Gram()))

    def gram_diagonal(self) -> Vector:
        """Diagonal of `gram`: each column's mean square. Exact: for the data's owner only."""
        return np.asarray(self.sums.answer(requests.Squares()))

    def moments(self) -> Matrix:
        """Means of q x_j and of q x_j^2 for each column, two rows. Exact: for the data's owner only."""
        return np.stack([self.sums.answer(requests.Means()), self.sums.answer(requests.Squares())])

    def smallest_eigenvalue(self, w: Vector) -> float:
        """Smallest eigenvalue of the Hessian at w, by a dense solver. Exact: for the data's owner only."""
        w = self._weights(w)
        asked = requests.SmallestEigenvalue(self.bounds.matrix_sum(w), self.problem.penalty_curvature(w))
        return float(self.sums.answer(asked))

    def trials(self, w: Vector, directions: Matrix) -> Vector:
        """f(w) - f(w + p_j) for each row p_j of `directions`, in one pass. Exact: for the data's owner only.

        Summed as differences row by row: a difference of two sums would lose what short steps gain."""
        w = self._weights(w)
        if np.ndim(directions) != 2 or len(directions) < 1:
            raise ParameterError(
                f"directions must have shape (J, {self.dim}) with J at least 1.", argument="directions"
            )
        steps = np.stack([self._weights(p, "each direction") for p in directions])
        drops = self.sums.answer(self.bounds.step_drops(w, steps, np.ones(len(steps))))
        return np.asarray(drops + self.problem.penalty_decrease(w, steps))

    def along(self, w: Vector, direction: Vector) -> Line:
        """f on the line w + gamma p, with the margins computed once. Exact: for the data's owner only."""
        return Line(self, self._weights(w), self._weights(direction, "direction"))

    def _weights(self, w: Any, name: str = "w") -> Vector:
        return checked_weights(w, self.dim, self.problem.radius, name)


@final
class Line(Sealed):
    """f on the line w + gamma p: two margins a row are kept, so each length costs one pass over n numbers.

    For rows in parts nothing is kept: each length is one pass over the parts."""

    def __init__(self, risk: RiskOverSums, w: Vector, direction: Vector) -> None:
        self._risk = risk
        self._w = w
        self._direction = direction
        self._fall = risk.sums.falls(risk.bounds.line_drops(w, direction, np.ones(1)))

    def decrease(self, gamma: float) -> float:
        """f(w) - f(w + gamma p), summed as differences row by row. Exact: for the data's owner only."""
        with np.errstate(over="ignore", invalid="ignore"):
            end = self._w + float(gamma) * self._direction
        end = self._risk._weights(end, "w + gamma * direction")
        problem = self._risk.problem
        return self._fall(float(gamma)) + problem.penalty(self._w) - problem.penalty(end)

    def __repr__(self) -> str:
        return f"Line({self._risk!r})"
