"""What an oracle needs of a risk: exact answers, and how far each can move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.arrays import Matrix, Vector
    from sottovoce.privacy.bounds import Bounds
    from sottovoce.problem import Problem
    from sottovoce.queries.preconditioner import Preconditioner


class ExactLine(Protocol):
    """A risk on a line w + gamma p."""

    def decrease(self, gamma: float) -> float:
        """f(w) - f(w + gamma p). Exact: for the data's owner only."""


class ExactRisk(Protocol):
    """A mean over records of terms that one record moves by no more than `bounds` says.

    Linear models, softmax and PyTorch modules answer the same queries, so one oracle, one ledger and the
    same methods serve them all. Every answer is exact: for the data's owner, and for an Oracle to noise."""

    @property
    def n(self) -> int: ...

    @property
    def problem(self) -> Problem: ...

    @property
    def bounds(self) -> Bounds: ...

    @property
    def objective(self) -> str: ...

    @property
    def start(self) -> Vector:
        """Weights to start from, which do not depend on the data."""

    def value(self, w: Vector) -> float: ...

    def gradient(self, w: Vector) -> Vector: ...

    def limited_gradient(self, w: Vector, limit: float) -> Vector:
        """The gradient with the loss's slopes limited to `limit`, where the loss is convex."""

    def residual_bands(self, w: Vector, edges: Vector) -> Vector:
        """The part of records whose residual lies above the first edge, between two, and below the last."""

    def hessian(self, w: Vector) -> Matrix: ...

    def cut_hessian(self, w: Vector, ceiling: float) -> Matrix:
        """The Hessian with phi'' cut off at `ceiling`, of a linear model with a single output."""

    def score_moment(self, w: Vector) -> Matrix:
        """Mean of q^2 phi'^2 xx'."""

    def information(self, w: Vector) -> Matrix:
        """Mean of q^2 phi'' xx'."""

    def curvature_product(self, w: Vector, direction: Vector) -> Vector:
        """The Hessian at w times a direction."""

    def gram(self) -> Matrix: ...

    def gram_diagonal(self) -> Vector: ...

    def moments(self) -> Matrix:
        """Means of q x_j and of q x_j^2 for each column, two rows."""

    def smallest_eigenvalue(self, w: Vector) -> float: ...

    def trials(self, w: Vector, directions: Matrix) -> Vector: ...

    def along(self, w: Vector, direction: Vector) -> ExactLine: ...

    def subset(self, indices: NDArray[np.int64], n: int | None = None) -> ExactRisk:
        """The risk over these records alone, maybe none; sums are divided by `n`, or by their number."""

    def preconditioned(self, preconditioner: Preconditioner) -> ExactRisk:
        """The same risk in other coordinates, each record's influence capped."""
