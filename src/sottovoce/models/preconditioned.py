"""PreconditionedRisk: a risk in the coordinates of a preconditioner, each record's influence capped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.models.over_sums import RiskOverSums
from sottovoce.models.protocol import cached_property
from sottovoce.queries.preconditioner import Preconditioner
from sottovoce.regularizers import Regularizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.arrays import Matrix, Vector
    from sottovoce.kernels.softmax_sums import SoftmaxSums
    from sottovoce.kernels.sums import LinearSums
    from sottovoce.models.bounds import LinearBounds
    from sottovoce.models.linear import Risk
    from sottovoce.models.softmax import SoftmaxRisk
    from sottovoce.models.softmax_bounds import SoftmaxBounds
    from sottovoce.problem import Problem


@final
@dataclass(frozen=True, eq=False)
class PreconditionedPenalty(Regularizer):
    """r(M'u): the user's penalty on w = M'u; if `free`, the last weight of each output is not penalized.

    Gradient M r'(w), Hessian M diag(r''(w)) M', which is a matrix and not a diagonal."""

    name: ClassVar[str] = "preconditioned"
    base: Regularizer
    preconditioner: Preconditioner
    free: bool

    def value(self, w: Vector) -> float:
        return self.base.value(self._penalized(self._blocks(w)).ravel())

    def gradient(self, w: Vector) -> Vector:
        blocks = self._blocks(w)
        gradient = np.zeros_like(blocks)
        self._penalized(gradient)[:] = self.base.gradient(self._penalized(blocks))
        return self.preconditioner.to_coordinates(gradient.ravel())

    def curvature(self, w: Vector) -> Matrix:
        """M diag(r''(w)) M'."""
        blocks = self._blocks(w)
        curvatures = np.zeros_like(blocks)
        self._penalized(curvatures)[:] = self.base.curvature(self._penalized(blocks))
        return self.preconditioner.conjugated(np.diag(curvatures.ravel()))

    def majorant(self) -> Matrix:
        """M diag(sup r'') M', for the weights of one output: no Hessian of the penalty exceeds it."""
        curvatures = np.full((1, self.preconditioner.columns), max(0.0, self.base.curvature_high))
        curvatures[:, curvatures.shape[1] - self.free :] = 0.0
        return self.preconditioner.conjugated(np.diag(curvatures[0]))

    @property
    def curvature_low(self) -> float:
        return min(0.0, self.base.curvature_low) * self.preconditioner.norm**2

    @property
    def curvature_high(self) -> float:
        return max(0.0, self.base.curvature_high) * self.preconditioner.norm**2

    @property
    def third(self) -> float:
        return self.base.third * self.preconditioner.norm**3

    def _blocks(self, u: Vector) -> Matrix:
        return self.preconditioner.to_user(u).reshape(-1, self.preconditioner.columns)

    def _penalized(self, blocks: Matrix) -> Matrix:
        return blocks[:, :-1] if self.free else blocks


@final
class PreconditionedRisk(RiskOverSums):
    """f(u) = (1/n) sum q_i omega_i phi(t_i) + r(w), w = M'u: margins of whole records, influence capped.

    With z = M x: gradient (1/n) sum q omega phi' z + M r'(w), Hessian (1/n) sum q omega phi'' zz' + M r'' M'.
    Sums are made over the x as they are held and then multiplied by M; beyond them there are only n weights.

    Every method returns the exact number: it is for the data's owner and outside any privacy guarantee."""

    def __init__(
        self,
        inner: Risk | SoftmaxRisk,
        preconditioner: Preconditioner,
        penalty: PreconditionedPenalty,
        sums: LinearSums | SoftmaxSums,
    ) -> None:
        self._inner = inner
        self._preconditioner = preconditioner
        self._penalty = penalty
        self._sums = sums

    @classmethod
    def of(cls, risk: Risk | SoftmaxRisk, preconditioner: Preconditioner) -> PreconditionedRisk:
        """Measure every record once; the weights are kept, nothing else."""
        sums = risk.sums.preconditioned(preconditioner)
        free = risk.records.intercept
        penalty = PreconditionedPenalty(risk.regularizer.strength, risk.regularizer, preconditioner, free)
        return cls(risk, preconditioner, penalty, sums)

    @property
    def sums(self) -> LinearSums | SoftmaxSums:
        """The records behind bounded sums, in the preconditioner's coordinates."""
        return self._sums

    @property
    def objective(self) -> str:
        """What is minimized, in words. Public."""
        cap, ceiling = self._preconditioner.cap, self._preconditioner.ceiling
        return (
            f"{self._inner.objective}; a record of length rho in the preconditioner's "
            f"coordinates counts min(1, C/rho, {ceiling:g} C^2/rho^2), C = {cap:g}"
        )

    @cached_property
    def problem(self) -> Problem:
        """The public constants: all a method may know."""
        user, preconditioner = self._inner.problem, self._preconditioner
        return replace(
            user,
            n=self._sums.n,
            radius=preconditioner.longest(user.radius),
            influence_cap=user.weight * preconditioner.cap,
            energy_cap=user.weight * preconditioner.ceiling * preconditioner.cap**2,
            lightest=0.0,
            intercept=False,
            nonzeros=None,
            constant=None,
            column_groups=None,
            indicators=(),
            regularizer=self._penalty,
        )

    @cached_property
    def bounds(self) -> LinearBounds | SoftmaxBounds:
        """What is asked of the records, and how far each answer can move when one of them is replaced."""
        return replace(self._inner.bounds, problem=self.problem, arithmetic=self._sums.arithmetic)

    def subset(self, indices: NDArray[np.int64], n: int | None = None) -> PreconditionedRisk:
        """The risk over the records at these increasing positions alone. Exact: for the data's owner only."""
        return PreconditionedRisk(
            self._inner, self._preconditioner, self._penalty, self._sums.subset(indices, n)
        )

    def preconditioned(self, preconditioner: Preconditioner) -> PreconditionedRisk:
        """Refused: a record's influence is capped once."""
        raise ParameterError(
            "this risk has a preconditioner already. Precondition the risk as the user gave it."
        )

    def __repr__(self) -> str:
        return f"PreconditionedRisk({self._inner!r})"
