"""Risk: the empirical risk of a linear model and its derivatives, exact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data.records import Label, Records
from sottovoce.errors import ParameterError
from sottovoce.kernels.sums import LinearSums
from sottovoce.losses import Kind, Loss
from sottovoce.losses.weighted import class_weighted
from sottovoce.models.bounds import LinearBounds
from sottovoce.models.over_sums import RiskOverSums
from sottovoce.models.preconditioned import PreconditionedRisk
from sottovoce.models.protocol import cached_property
from sottovoce.models.warming import warm_for
from sottovoce.problem import Problem
from sottovoce.queries.preconditioner import Preconditioner
from sottovoce.regularizers import L2, Regularizer


@final
class Risk(RiskOverSums):
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
                "records must be a Records object. Build it with Records.from_arrays(X, y, ...).",
                argument="records",
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
    def records(self) -> Records:
        return self._records

    @property
    def regularizer(self) -> Regularizer:
        return self._regularizer

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
    def sums(self) -> LinearSums:
        """The records behind bounded sums."""
        return LinearSums(self._records)

    @cached_property
    def bounds(self) -> LinearBounds:
        """What is asked of the records, and how far each answer can move when one of them is replaced."""
        return LinearBounds(problem=self.problem, arithmetic=self.sums.arithmetic, loss=self._loss)

    def value_and_gradient(self, w: Vector) -> tuple[float, Vector]:
        """`value` and `gradient` in one pass, to rounding the same. Exact: for the data's owner only."""
        w = self._weights(w)
        asked = self.bounds.number_sum(w), self.bounds.vector_sum(w)
        value, gradient = self.sums.value_and_gradient(*asked)
        return value + self.problem.penalty(w), gradient + self.problem.penalty_gradient(w)

    def preconditioned(self, preconditioner: Preconditioner) -> PreconditionedRisk:
        """This risk in other coordinates, each record's influence capped; records are not copied."""
        return PreconditionedRisk.of(self, preconditioner)

    def subset(self, indices: NDArray[np.int64], n: int | None = None) -> Risk:
        """The risk over the records at these increasing positions alone. Exact: for the data's owner only."""
        return Risk(self._records.subset(indices, n), self._loss, self._regularizer)

    def __repr__(self) -> str:
        return f"Risk(n={self.n}, dim={self.dim}, loss={self._loss!r}, regularizer={self._regularizer!r})"
