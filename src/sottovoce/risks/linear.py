"""Risk: the empirical risk of a linear model and its derivatives, exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.partitioned import Parts, gathered
from sottovoce.data.persons import MOST_ROWS
from sottovoce.data.records import Label, Records
from sottovoce.data.rows import Rows
from sottovoce.data.sealed import Sealed
from sottovoce.errors import ParameterError
from sottovoce.kernels import passes as kernels
from sottovoce.kernels import persons
from sottovoce.kernels.warming import warm_for
from sottovoce.losses import Kind, Loss
from sottovoce.losses.weighted import class_weighted
from sottovoce.privacy.bounds import Bounds
from sottovoce.privacy.rounding import Arithmetic
from sottovoce.problem import Problem, insist_matrix_fits
from sottovoce.questions.geometry import Geometry
from sottovoce.regularizers import L2, Regularizer
from sottovoce.risks.bounds import LinearBounds
from sottovoce.risks.features import FeatureSums
from sottovoce.risks.reshaped import ReshapedRisk

_LARGEST_REACH = 1e100
"""Most that the entries of w may sum to, alone or times the radius: no square or sum over rows overflows."""


@final
class Risk(FeatureSums):
    """f(w) = (1/n) sum q_i phi(t_i) + r(w), with t = y<x, w> (margin loss) or t = <x, w> - y (residual loss);
    of a count phi(t_i) - y_i t_i, with t = <x, w> less the logarithm of its bound.

    Gradient: (1/n) sum q_i phi'(t_i) dt_i/dw + r'(w). Hessian: (1/n) sum q_i phi''(t_i) x_i x_i' + r''(w).
    q_i is the record's sample weight, 1 if none were given.
    w has shape (dim,); the intercept, its last entry, is never regularized. `class_weights` = {label: weight}
    are declared constants that multiply the losses of their records; the mean still divides by n.

    Every method returns the exact number: it is for the data's owner and outside any privacy guarantee.
    To release something, ask `minimize`."""

    def __init__(
        self,
        records: Records,
        loss: Loss,
        regularizer: Regularizer = L2(0.0),  # noqa: B008 - L2 is frozen
        *,
        class_weights: Mapping[Label, float] | None = None,
    ) -> None:
        if not isinstance(records, Records):
            raise ParameterError(
                "records must be a Records object. Build it with Records.from_arrays(X, y, ...)."
            )
        if not isinstance(loss, Loss) or not isinstance(regularizer, Regularizer):
            raise ParameterError(
                "loss and regularizer must be objects such as losses.Logistic() and regularizers.L2(1e-3)."
            )
        if loss.kind is Kind.MARGIN and (records.labels is None or len(records.labels) != 2):
            declared = "a target" if records.labels is None else f"{len(records.labels)} labels"
            raise ParameterError(
                f"loss {loss.name!r} takes margins, which need two labels; the records declare {declared}. "
                "Declare labels=(negative, positive), or choose a loss that fits."
            )
        if loss.kind is Kind.RESIDUAL and records.target is None:
            raise ParameterError(
                f"loss {loss.name!r} takes residuals, which need a target; the records declare labels. "
                "Declare target=(low, high), or choose a margin loss such as 'logistic'."
            )
        if loss.kind is Kind.COUNT and records.target != (0.0, 1.0):
            raise ParameterError(
                f"loss {loss.name!r} takes counts over their declared bound: pass y = count / high with "
                "target=(0, 1), or use PrivateRegressor, or a schema whose target is a count."
            )
        self._records = records
        self._loss = class_weighted(loss, records.labels, class_weights)
        self._regularizer = regularizer
        warm_for(records._rows)

    @property
    def loss(self) -> Loss:
        return self._loss

    @property
    def dim(self) -> int:
        return self._records.dim

    @property
    def start(self) -> Vector:
        """Zeros: where a run starts unless told otherwise."""
        return np.zeros(self.dim)

    @property
    def objective(self) -> str:
        """What is minimized, in words. Public."""
        mean, radius = self._records.mean, self._records.radius
        return f"{mean} of {self._loss!r} plus {self._regularizer!r}, rows of norm at most {radius:g}"

    @cached_property
    def problem(self) -> Problem:
        """The public constants: all a method may know."""
        return Problem.linear(
            n=self.n,
            dim=self.dim,
            radius=self._records.radius,
            loss=self._loss,
            regularizer=self._regularizer,
            target=self._records.target,
            intercept=self._records.intercept,
            nonzeros=self._records.nonzeros,
            constant=self._records.constant,
            column_groups=self._records.column_groups,
            indicators=self._records.indicators,
            **self._records.counting,
        )

    @cached_property
    def bounds(self) -> Bounds:
        """How far each answer can move when one record is replaced, rounding included."""
        arithmetic = Arithmetic(
            n=self.n,
            dim=self.dim,
            block_length=self._records._rows.block_length,
            radius=self._records.radius,
            target_reach=max(self.problem.label_reach, abs(self._loss.shift)),
            weight=self.problem.weight,
            terms=None if self._records.persons is None else MOST_ROWS,
        )
        return LinearBounds(problem=self.problem, arithmetic=arithmetic, loss=self._loss)

    def value(self, w: Vector) -> float:
        """f(w). Exact: for the data's owner only."""
        w = self._weights(w)
        return kernels.value(self._records._rows, self._loss, w) / self.n + self._penalty(w)

    def gradient(self, w: Vector) -> Vector:
        """Gradient of f at w. Exact: for the data's owner only."""
        w = self._weights(w)
        return kernels.gradient(self._records._rows, self._loss, w) / self.n + self._pull(w)

    def limited_gradient(self, w: Vector, limit: float) -> Vector:
        """Gradient with the loss's slopes limited to `limit`. Exact: for the data's owner only."""
        w, loss = self._weights(w), self._loss.limited(limit)
        return kernels.gradient(self._records._rows, loss, w) / self.n + self._pull(w)

    def residual_bands(self, w: Vector, edges: Vector) -> Vector:
        """(1/n) sum q_i over records with |t_i| above edges[0], between two edges, and below the last.

        Exact: for the data's owner only."""
        return kernels.residual_bands(self._records._rows, self._loss, self._weights(w), edges) / self.n

    def value_and_gradient(self, w: Vector) -> tuple[float, Vector]:
        """The numbers of `value` and `gradient` in one pass. Exact: for the data's owner only."""
        w = self._weights(w)
        value, gradient = kernels.value_and_gradient(self._records._rows, self._loss, w)
        return value / self.n + self._penalty(w), gradient / self.n + self._pull(w)

    def hessian(self, w: Vector) -> Matrix:
        """Hessian of f at w, symmetric to the last bit. Exact: for the data's owner only."""
        w = self._weights(w)
        insist_matrix_fits(self.dim)
        matrix = kernels.hessian(self._records._rows, self._loss, w) / self.n
        penalized = np.arange(self._penalized(w).size)
        matrix[penalized, penalized] += self._regularizer.curvature(self._penalized(w))
        return matrix

    def score_moment(self, w: Vector) -> Matrix:
        """(1/n) sum ss', s a record's q phi' x or the sum of a person's. Exact: for the data's owner only."""
        insist_matrix_fits(self.dim)
        rows, people, weights = self._records._rows, self._records.persons, self._weights(w)
        if people is None:
            return kernels.score_moment(rows, self._loss, weights) / self.n
        return persons.score_moment(gathered(rows), people, self._loss, weights) / self.n

    def information(self, w: Vector) -> Matrix:
        """(1/n) sum q_i^2 phi''(t_i) x_i x_i'. Exact: for the data's owner only."""
        insist_matrix_fits(self.dim)
        return kernels.information(self._records._rows, self._loss, self._weights(w)) / self.n

    def curvature_product(self, w: Vector, direction: Vector) -> Vector:
        """Hessian of f at w times a direction. Exact: for the data's owner only."""
        return self.hessian(w) @ self._weights(direction, "direction")

    def gram(self) -> Matrix:
        """(1/n) sum q_i x_i x_i', symmetric to the last bit. Exact: for the data's owner only."""
        insist_matrix_fits(self.dim)
        return kernels.gram(self._records._rows) / self.n

    def trials(self, w: Vector, directions: Matrix) -> Vector:
        """f(w) - f(w + p_j) for each row p_j of `directions`, in one pass. Exact: for the data's owner only.

        Summed as differences row by row: a difference of two sums would lose what short steps gain."""
        w = self._weights(w)
        if np.ndim(directions) != 2 or len(directions) < 1:
            raise ParameterError(f"directions must have shape (J, {self.dim}) with J at least 1.")
        steps = np.stack([self._weights(p, "each direction") for p in directions])
        relief: Vector = np.array([self._penalty(w) - self._penalty(w + p) for p in steps])
        return kernels.trials(self._records._rows, self._loss, w, steps) / self.n + relief

    def along(self, w: Vector, direction: Vector) -> Line:
        """f on the line w + gamma p, with the margins computed once. Exact: for the data's owner only."""
        return Line(self, self._weights(w), self._weights(direction, "direction"))

    def reshaped(self, geometry: Geometry) -> ReshapedRisk:
        """This risk in the geometry's coordinates, each record's influence capped; records are not copied."""
        return ReshapedRisk.of(self, geometry)

    def reweighted(self, rule: Callable[[Rows], Vector]) -> Risk:
        """Other record weights, no regularizer: the data's part of a risk that has both."""
        return Risk(self._records.reweighted(rule), self._loss)

    def subset(self, indices: NDArray[np.int64], n: int | None = None) -> Risk:
        """The risk over the records at these increasing positions alone. Exact: for the data's owner only."""
        return Risk(self._records.subset(indices, n), self._loss, self._regularizer)

    def _weights(self, w: Any, name: str = "w") -> Vector:
        return checked_weights(w, self.dim, self._records.radius, name)

    def _penalized(self, w: Vector) -> Vector:
        return w[:-1] if self._records.intercept else w

    def _penalty(self, w: Vector) -> float:
        return self._regularizer.value(self._penalized(w))

    def _pull(self, w: Vector) -> Vector:
        pull = np.zeros_like(w)
        self._penalized(pull)[:] = self._regularizer.gradient(self._penalized(w))
        return pull

    def __repr__(self) -> str:
        return f"Risk(n={self.n}, dim={self.dim}, loss={self._loss!r}, regularizer={self._regularizer!r})"


def checked_weights(w: Any, dim: int, radius: float, name: str = "w") -> Vector:
    """w in float64, once its shape is right and no product with a row can overflow."""
    given = np.asarray(w)
    if given.dtype.kind not in "biuf" or given.shape != (dim,):
        raise ParameterError(f"{name} must hold {dim} real numbers, in one dimension.")
    weights = np.ascontiguousarray(given, dtype=np.float64)
    with np.errstate(over="ignore"):
        reach = np.abs(weights).sum() * max(1.0, radius)
    if not reach <= _LARGEST_REACH:
        raise ParameterError(
            f"{name} must be finite, in sum and times the radius at most {_LARGEST_REACH:g}."
        )
    return weights


@final
class Line(Sealed):
    """f on the line w + gamma p: two margins a row are kept, so each length costs one pass over n numbers.

    For rows in parts nothing is kept: each length is one pass over the parts."""

    def __init__(self, risk: Risk, w: Vector, direction: Vector) -> None:
        self._risk = risk
        self._w = w
        self._direction = direction
        rows = risk.records._rows
        if not isinstance(rows, Parts):
            self._margins = kernels.Margins(rows, risk.loss, w, direction)

    def decrease(self, gamma: float) -> float:
        """f(w) - f(w + gamma p), summed as differences row by row. Exact: for the data's owner only."""
        with np.errstate(over="ignore", invalid="ignore"):
            end = self._w + float(gamma) * self._direction
        end = self._risk._weights(end, "w + gamma * direction")
        total = self._total(float(gamma))
        return total / self._risk.n + self._risk._penalty(self._w) - self._risk._penalty(end)

    def _total(self, gamma: float) -> float:
        rows, loss = self._risk.records._rows, self._risk.loss
        if isinstance(rows, Parts):
            return float(kernels.trials(rows, loss, self._w, gamma * self._direction[None])[0])
        return self._margins.decrease(gamma)

    def __repr__(self) -> str:
        return f"Line({self._risk!r})"
