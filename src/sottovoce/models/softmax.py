"""SoftmaxRisk: several classes at once, with one joint budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, final

from sottovoce.data.records import Records
from sottovoce.errors import ParameterError
from sottovoce.kernels.softmax_sums import SoftmaxSums
from sottovoce.models.over_sums import RiskOverSums
from sottovoce.models.preconditioned import PreconditionedRisk
from sottovoce.models.protocol import cached_property
from sottovoce.models.softmax_bounds import BEND, CURVATURE, SLOPE, THIRD, SoftmaxBounds
from sottovoce.problem import Problem
from sottovoce.regularizers import L2, Regularizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.arrays import Vector
    from sottovoce.queries.preconditioner import Preconditioner


@final
class SoftmaxRisk(RiskOverSums):
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
    def records(self) -> Records:
        return self._records

    @property
    def regularizer(self) -> Regularizer:
        return self._regularizer

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
            dim=self._classes * self._records.dim,
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
    def sums(self) -> SoftmaxSums:
        """The records behind bounded sums."""
        return SoftmaxSums(self._records)

    @cached_property
    def bounds(self) -> SoftmaxBounds:
        """How far each answer can move when one record is replaced, rounding included."""
        return SoftmaxBounds(problem=self.problem, arithmetic=self.sums.arithmetic)

    def value_and_gradient(self, w: Vector) -> tuple[float, Vector]:
        """`value` and `gradient` in one pass, to rounding the same. Exact: for the data's owner only."""
        w = self._weights(w)
        asked = self.bounds.number_sum(w), self.bounds.vector_sum(w)
        value, gradient = self.sums.value_and_gradient(*asked)
        return value + self.problem.penalty(w), gradient + self.problem.penalty_gradient(w)

    def preconditioned(self, preconditioner: Preconditioner) -> PreconditionedRisk:
        """This risk in other coordinates, each record's influence capped; records are not copied."""
        return PreconditionedRisk.of(self, preconditioner)

    def subset(self, indices: NDArray[np.int64], n: int | None = None) -> SoftmaxRisk:
        """The risk over the records at these increasing positions alone. Exact: for the data's owner only."""
        return SoftmaxRisk(self._records.subset(indices, n), self._regularizer)

    def __repr__(self) -> str:
        return (
            f"SoftmaxRisk(n={self.n}, dim={self.dim}, classes={self._classes}, "
            f"regularizer={self._regularizer!r})"
        )
