"""SoftmaxRisk: several classes at once, with one joint budget."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.data.partitioned import Parts, gathered
from sottovoce.data.persons import MOST_ROWS
from sottovoce.data.records import Records
from sottovoce.data.sealed import Sealed
from sottovoce.errors import ParameterError
from sottovoce.kernels import passes as kernels
from sottovoce.kernels import persons
from sottovoce.kernels import softmax as softmax_kernels
from sottovoce.privacy.rounding import Arithmetic
from sottovoce.problem import Problem, insist_matrix_fits
from sottovoce.regularizers import L2, Regularizer
from sottovoce.risks.bounds import SoftmaxBounds
from sottovoce.risks.features import FeatureSums
from sottovoce.risks.linear import checked_weights
from sottovoce.risks.reshaped import ReshapedRisk

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sottovoce.arrays import Matrix, Vector
    from sottovoce.data.rows import Rows
    from sottovoce.questions.geometry import Geometry

SLOPE = math.nextafter(math.sqrt(2.0), 2.0)
"""sup ||p - e_y||: all belief in a wrong class."""

CURVATURE = 0.5
"""Largest eigenvalue of diag(p) - pp', at two classes of chance 1/2."""

THIRD = 0.2722
"""sup of the third derivative along a unit direction: 2 sqrt2 times the logistic loss's 1/(6 sqrt3)."""


BEND = SLOPE
"""sup of the third derivative along (u, u, v) over the second along (u, u), v a unit vector.

It is E (u - Eu)^2 (v - Ev), and no entry of v is further from their mean than the widest of them apart."""


@final
class SoftmaxRisk(FeatureSums):
    """f(W) = (1/n) sum log(sum_k exp(<x_i, w_k>)) - <x_i, w_y> + r(W), for K declared labels, K at least 3.

    Gradient: (1/n) sum (p_i - e_y) x_i' + r'. Hessian: (1/n) sum (diag(p_i) - p_i p_i') (x) x_i x_i' + r''.
    Each term counts the record's sample weight, 1 if none were given.
    W has shape (K, columns) and travels as a vector of length dim = K * columns, class by class; intercepts,
    the last entry of each class, are never regularized. Two labels belong to a margin loss: use Risk.

    Every method returns the exact number: it is for the data's owner and outside any privacy guarantee.
    To release something, ask `minimize`."""

    def __init__(self, records: Records, regularizer: Regularizer = L2(0.0)) -> None:  # noqa: B008
        if not isinstance(records, Records) or not isinstance(regularizer, Regularizer):
            raise ParameterError(
                "SoftmaxRisk takes Records.from_arrays(X, y, labels=...) and a regularizer such as L2(1e-3)."
            )
        if records.labels is None or len(records.labels) < 3:
            declared = "a target" if records.labels is None else "two"
            raise ParameterError(
                f"softmax needs three or more labels; the records declare {declared}. "
                "Use Risk with a margin loss such as losses.Logistic() for two labels."
            )
        self._records = records
        self._regularizer = regularizer
        self._classes = len(records.labels)

    @property
    def dim(self) -> int:
        """Entries of W: classes times columns."""
        return self._classes * self._records.dim

    @property
    def start(self) -> Vector:
        """Zeros: where a run starts unless told otherwise."""
        return np.zeros(self.dim)

    @property
    def objective(self) -> str:
        """What is minimized, in words. Public."""
        mean = self._records.mean
        return (
            f"{mean if mean == 'mean' else f'{mean} of the'} softmax loss of {self._classes} classes plus "
            f"{self._regularizer!r}, rows of norm at most {self._records.radius:g}"
        )

    @cached_property
    def problem(self) -> Problem:
        """The public constants: all a method may know."""
        return Problem(
            n=self.n,
            dim=self.dim,
            outputs=self._classes,
            radius=self._records.radius,
            slope=SLOPE,
            curvature_low=0.0,
            curvature_high=CURVATURE,
            third=THIRD,
            bend=BEND,
            value_at_zero=math.nextafter(math.log(self._classes), math.inf),
            intercept=self._records.intercept,
            nonzeros=self._records.nonzeros,
            regularizer=self._regularizer,
            constant=self._records.constant,
            column_groups=self._records.column_groups,
            indicators=self._records.indicators,
            **self._records.counting,
            likelihood=True,
            limitable=True,
        )

    @cached_property
    def bounds(self) -> SoftmaxBounds:
        """How far each answer can move when one record is replaced, rounding included."""
        arithmetic = Arithmetic(
            n=self.n,
            dim=self.dim,
            block_length=self._records._rows.block_length,
            radius=self._records.radius,
            function_ulps=64 + self._classes,
            weight=self.problem.weight,
            terms=None if self._records.persons is None else MOST_ROWS,
            summands=self._records.dim,
        )
        return SoftmaxBounds(problem=self.problem, arithmetic=arithmetic)

    def value(self, w: Vector) -> float:
        """f(W). Exact: for the data's owner only."""
        weights = self._weights(w)
        return softmax_kernels.value(self._records._rows, weights) / self.n + self._penalty(weights)

    def gradient(self, w: Vector) -> Vector:
        """Gradient of f at W. Exact: for the data's owner only."""
        weights = self._weights(w)
        total = softmax_kernels.gradient(self._records._rows, weights)
        return (total / self.n + self._pull(weights)).ravel()

    def limited_gradient(self, w: Vector, limit: float) -> Vector:
        """Gradient with every p - e_y shortened to `limit` where it is longer. For the data's owner only."""
        weights = self._weights(w)
        total = softmax_kernels.limited_gradient(self._records._rows, weights, limit)
        return (total / self.n + self._pull(weights)).ravel()

    def residual_bands(self, w: Vector, edges: Vector) -> Vector:
        """Refused: classes have no residuals."""
        raise ParameterError("residuals are counted of a linear model of a numeric target only.")

    def value_and_gradient(self, w: Vector) -> tuple[float, Vector]:
        """The numbers of `value` and `gradient` in one pass. Exact: for the data's owner only."""
        weights = self._weights(w)
        value, total = softmax_kernels.value_and_gradient(self._records._rows, weights)
        return value / self.n + self._penalty(weights), (total / self.n + self._pull(weights)).ravel()

    def hessian(self, w: Vector) -> Matrix:
        """Hessian of f at W, symmetric to the last bit. Exact: for the data's owner only."""
        weights = self._weights(w)
        insist_matrix_fits(self.dim)
        matrix = softmax_kernels.hessian(self._records._rows, weights) / self.n
        curvature = np.zeros_like(weights)
        self._penalized(curvature)[:] = self._regularizer.curvature(self._penalized(weights))
        matrix[np.diag_indices(self.dim)] += curvature.ravel()
        return matrix

    def score_moment(self, w: Vector) -> Matrix:
        """(1/n) sum s s', s a record's q (p - e_y) (x) x or the sum of a person's. For the owner only."""
        insist_matrix_fits(self.dim)
        rows, people, weights = self._records._rows, self._records.persons, self._weights(w)
        if people is None:
            return softmax_kernels.score_moment(rows, weights) / self.n
        return persons.softmax_score_moment(gathered(rows), people, weights) / self.n

    def information(self, w: Vector) -> Matrix:
        """(1/n) sum q^2 (diag(p) - pp') (x) xx'. Exact: for the data's owner only."""
        insist_matrix_fits(self.dim)
        return softmax_kernels.information(self._records._rows, self._weights(w)) / self.n

    def curvature_product(self, w: Vector, direction: Vector) -> Vector:
        """Hessian of f at W times a direction. Exact: for the data's owner only."""
        return self.hessian(w) @ self._weights(direction, "direction").ravel()

    def gram(self) -> Matrix:
        """X'X/n, columns by columns, without the regularizer. Exact: for the data's owner only."""
        insist_matrix_fits(self._records.dim)
        return kernels.gram(self._records._rows) / self.n

    def trials(self, w: Vector, directions: Matrix) -> Vector:
        """f(W) - f(W + P_j) for each row of `directions`, in one pass. Exact: for the data's owner only."""
        weights = self._weights(w)
        if np.ndim(directions) != 2 or len(directions) < 1:
            raise ParameterError(f"directions must have shape (J, {self.dim}) with J at least 1.")
        steps = np.stack([self._weights(p, "each direction") for p in directions])
        relief: Vector = np.array([self._penalty(weights) - self._penalty(weights + p) for p in steps])
        return softmax_kernels.trials(self._records._rows, weights, steps) / self.n + relief

    def along(self, w: Vector, direction: Vector) -> SoftmaxLine:
        """f on the line W + gamma P, with the scores computed once. Exact: for the data's owner only."""
        return SoftmaxLine(self, self._weights(w), self._weights(direction, "direction"))

    def _weights(self, w: Vector, name: str = "w") -> Matrix:
        return checked_weights(w, self.dim, self._records.radius, name).reshape(self._classes, -1)

    def _penalized(self, weights: Matrix) -> Matrix:
        return weights[:, :-1] if self._records.intercept else weights

    def reshaped(self, geometry: Geometry) -> ReshapedRisk:
        """This risk in the geometry's coordinates, each record's influence capped; records are not copied."""
        return ReshapedRisk.of(self, geometry)

    def reweighted(self, rule: Callable[[Rows], Vector]) -> SoftmaxRisk:
        """Other record weights, no regularizer: the data's part of a risk that has both."""
        return SoftmaxRisk(self._records.reweighted(rule))

    def subset(self, indices: NDArray[np.int64], n: int | None = None) -> SoftmaxRisk:
        """The risk over the records at these increasing positions alone. Exact: for the data's owner only."""
        return SoftmaxRisk(self._records.subset(indices, n), self._regularizer)

    def _penalty(self, weights: Matrix) -> float:
        return self._regularizer.value(self._penalized(weights).ravel())

    def _pull(self, weights: Matrix) -> Matrix:
        pull = np.zeros_like(weights)
        self._penalized(pull)[:] = self._regularizer.gradient(self._penalized(weights))
        return pull

    def __repr__(self) -> str:
        return (
            f"SoftmaxRisk(n={self.n}, dim={self.dim}, classes={self._classes}, "
            f"regularizer={self._regularizer!r})"
        )


@final
class SoftmaxLine(Sealed):
    """f on the line W + gamma P: two scores a row and class are kept, where rows are at hand."""

    def __init__(self, risk: SoftmaxRisk, weights: Matrix, direction: Matrix) -> None:
        self._risk = risk
        self._weights = weights
        self._direction = direction
        rows = risk.records._rows
        if not isinstance(rows, Parts) and not rows.streamed:
            self._here, self._moves = softmax_kernels.scores_along(rows, weights, direction)

    def decrease(self, gamma: float) -> float:
        """f(W) - f(W + gamma P), summed as differences row by row. Exact: for the data's owner only."""
        with np.errstate(over="ignore", invalid="ignore"):
            end = (self._weights + float(gamma) * self._direction).ravel()
        reached = self._risk._weights(end, "w + gamma * direction")
        total = self._total(float(gamma))
        return total / self._risk.n + self._risk._penalty(self._weights) - self._risk._penalty(reached)

    def _total(self, gamma: float) -> float:
        rows = self._risk.records._rows
        if isinstance(rows, Parts) or rows.streamed:
            return float(softmax_kernels.trials(rows, self._weights, gamma * self._direction[None])[0])
        return softmax_kernels.decrease(rows, self._here, self._moves, gamma)

    def __repr__(self) -> str:
        return f"SoftmaxLine({self._risk!r})"
