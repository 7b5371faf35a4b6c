"""ReshapedRisk: a risk in the coordinates of a geometry, each record's influence capped."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from scipy import linalg

from sottovoce.data.sealed import Sealed
from sottovoce.errors import ParameterError
from sottovoce.kernels import influence
from sottovoce.privacy.rounding import StretchedArithmetic
from sottovoce.questions.geometry import Geometry
from sottovoce.regularizers import Regularizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.arrays import Matrix, Vector
    from sottovoce.privacy.bounds import Bounds
    from sottovoce.problem import Problem
    from sottovoce.risks.linear import Risk
    from sottovoce.risks.protocol import ExactLine
    from sottovoce.risks.softmax import SoftmaxRisk


@final
@dataclass(frozen=True, eq=False)
class ReshapedPenalty(Regularizer):
    """r(M'u): the user's penalty on w = M'u; if `free`, the last weight of each output is not penalized.

    Gradient M r'(w), Hessian M diag(r''(w)) M', which is a matrix and not a diagonal."""

    name: ClassVar[str] = "reshaped"
    base: Regularizer
    geometry: Geometry
    free: bool

    def value(self, w: Vector) -> float:
        return self.base.value(self._penalized(self._blocks(w)).ravel())

    def gradient(self, w: Vector) -> Vector:
        blocks = self._blocks(w)
        pull = np.zeros_like(blocks)
        self._penalized(pull)[:] = self.base.gradient(self._penalized(blocks))
        return self.geometry.to_coordinates(pull.ravel())

    def curvature(self, w: Vector) -> Matrix:
        """M diag(r''(w)) M'."""
        blocks = self._blocks(w)
        bends = np.zeros_like(blocks)
        self._penalized(bends)[:] = self.base.curvature(self._penalized(blocks))
        return self.geometry.conjugated(np.diag(bends.ravel()))

    def majorant(self) -> Matrix:
        """M diag(sup r'') M', for the weights of one output: no Hessian of the penalty exceeds it."""
        bends = np.full((1, self.geometry.columns), max(0.0, self.base.curvature_high))
        bends[:, bends.shape[1] - self.free :] = 0.0
        return self.geometry.conjugated(np.diag(bends[0]))

    @property
    def curvature_low(self) -> float:
        return min(0.0, self.base.curvature_low) * self.geometry.norm**2

    @property
    def curvature_high(self) -> float:
        return max(0.0, self.base.curvature_high) * self.geometry.norm**2

    @property
    def third(self) -> float:
        return self.base.third * self.geometry.norm**3

    def _blocks(self, u: Vector) -> Matrix:
        return self.geometry.to_user(u).reshape(-1, self.geometry.columns)

    def _penalized(self, blocks: Matrix) -> Matrix:
        return blocks[:, :-1] if self.free else blocks


@final
class ReshapedRisk(Sealed):
    """f(u) = (1/n) sum q_i omega_i phi(t_i) + r(w), w = M'u: margins of whole records, influence capped.

    With z = M x: gradient (1/n) sum q omega phi' z + M r'(w), Hessian (1/n) sum q omega phi'' zz' + M r'' M'.
    Sums are made over the x as they are held and then multiplied by M; beyond them there are only n weights.

    Every method returns the exact number: it is for the data's owner and outside any privacy guarantee."""

    def __init__(self, inner: Risk | SoftmaxRisk, geometry: Geometry, penalty: ReshapedPenalty) -> None:
        self._inner = inner
        self._geometry = geometry
        self._penalty = penalty

    @classmethod
    def of(cls, risk: Risk | SoftmaxRisk, geometry: Geometry) -> ReshapedRisk:
        """Measure every record once; the weights are kept, nothing else."""
        records = risk.records
        if not isinstance(geometry, Geometry) or geometry.columns != records.dim:
            raise ParameterError(f"geometry must be a Geometry of the records' {records.dim} columns.")
        penalty = ReshapedPenalty(risk.regularizer.strength, risk.regularizer, geometry, records.intercept)
        rule = partial(influence.counts, geometry=geometry, radius=records.radius)
        return cls(risk.reweighted(rule), geometry, penalty)

    @property
    def n(self) -> int:
        return self._inner.n

    @property
    def start(self) -> Vector:
        """Zeros: where a run starts unless told otherwise."""
        return self._inner.start

    @property
    def objective(self) -> str:
        """What is minimized, in words. Public."""
        cap, ceiling = self._geometry.cap, self._geometry.ceiling
        return (
            f"{self._inner.objective} plus {self._penalty.base!r}; a record of length rho in the geometry's "
            f"coordinates counts min(1, C/rho, {ceiling:g} C^2/rho^2), C = {cap:g}"
        )

    @cached_property
    def problem(self) -> Problem:
        """The public constants: all a method may know."""
        user, geometry = self._inner.problem, self._geometry
        return replace(
            user,
            radius=geometry.longest(user.radius),
            influence_cap=user.weight * geometry.cap,
            energy_cap=user.weight * geometry.ceiling * geometry.cap**2,
            lightest=0.0,
            intercept=False,
            nonzeros=None,
            constant=None,
            column_groups=None,
            indicators=(),
            regularizer=self._penalty,
        )

    @cached_property
    def bounds(self) -> Bounds:
        """How far each answer can move when one record is replaced, rounding included."""
        user = self._inner.bounds
        facts = {field.name: getattr(user.arithmetic, field.name) for field in fields(user.arithmetic)}
        arithmetic = StretchedArithmetic(**facts, stretch=self._geometry.stretch)
        return replace(user, problem=self.problem, arithmetic=arithmetic)

    def value(self, w: Vector) -> float:
        """f(u). Exact: for the data's owner only."""
        return self._inner.value(self._user(w)) + self._penalty.value(w)

    def gradient(self, w: Vector) -> Vector:
        """Gradient of f at u. Exact: for the data's owner only."""
        data = self._geometry.to_coordinates(self._inner.gradient(self._user(w)))
        return data + self._penalty.gradient(w)

    def limited_gradient(self, w: Vector, limit: float) -> Vector:
        """Gradient with the loss's slopes limited to `limit`. Exact: for the data's owner only."""
        data = self._geometry.to_coordinates(self._inner.limited_gradient(self._user(w), limit))
        return data + self._penalty.gradient(w)

    def residual_bands(self, w: Vector, edges: Vector) -> Vector:
        """Of the margins at u, by what records count here. Exact: for the data's owner only."""
        return self._inner.residual_bands(self._user(w), edges)

    def hessian(self, w: Vector) -> Matrix:
        """Hessian of f at u, symmetric to the last bit. Exact: for the data's owner only."""
        data = self._geometry.conjugated(self._inner.hessian(self._user(w)))
        return data + self._penalty.curvature(w)

    def score_moment(self, w: Vector) -> Matrix:
        """(1/n) sum q^2 omega^2 phi'^2 zz'. Exact: for the data's owner only."""
        return self._geometry.conjugated(self._inner.score_moment(self._user(w)))

    def information(self, w: Vector) -> Matrix:
        """(1/n) sum q^2 omega^2 phi'' zz'. Exact: for the data's owner only."""
        return self._geometry.conjugated(self._inner.information(self._user(w)))

    def curvature_product(self, w: Vector, direction: Vector) -> Vector:
        """Hessian of f at u times a direction. Exact: for the data's owner only."""
        return np.asarray(self.hessian(w) @ np.asarray(direction, dtype=np.float64))

    def gram(self) -> Matrix:
        """(1/n) sum q omega zz'. Exact: for the data's owner only."""
        return self._geometry.conjugated(self._inner.gram())

    def gram_diagonal(self) -> Vector:
        """Diagonal of `gram`. Exact: for the data's owner only."""
        geometry = self._geometry
        if geometry.is_mixed:
            return np.diag(self.gram()).copy()
        squares = self._inner.gram_diagonal()
        if geometry.shift is not None:
            assert geometry.constant is not None
            crossed = self._inner.gram_column(geometry.constant)
            held = crossed[geometry.constant]
            squares = squares - 2.0 * geometry.shift * crossed + geometry.shift**2 * held
        return np.asarray(squares * geometry.scale**2)

    def moments(self) -> Matrix:
        """Means of q omega z_j and of q omega z_j^2, two rows. Exact: for the data's owner only."""
        means = self._geometry.to_coordinates(self._inner.moments()[0])
        return np.stack([means, self.gram_diagonal()])

    def smallest_eigenvalue(self, w: Vector) -> float:
        """Smallest eigenvalue of the Hessian at u. Exact: for the data's owner only."""
        return float(linalg.eigvalsh(self.hessian(w), subset_by_index=(0, 0))[0])

    def trials(self, w: Vector, directions: Matrix) -> Vector:
        """f(u) - f(u + p_j) for each row p_j, in one pass. Exact: for the data's owner only."""
        steps = np.stack([self._user(p) for p in directions])
        relief = np.array([self._penalty.value(w) - self._penalty.value(w + p) for p in directions])
        return np.asarray(self._inner.trials(self._user(w), steps) + relief)

    def along(self, w: Vector, direction: Vector) -> ReshapedLine:
        """f on the line u + gamma p. Exact: for the data's owner only."""
        line = self._inner.along(self._user(w), self._user(direction))
        return ReshapedLine(line, self._penalty, np.asarray(w), np.asarray(direction))

    def subset(self, indices: NDArray[np.int64], n: int | None = None) -> ReshapedRisk:
        """The risk over the records at these increasing positions alone. Exact: for the data's owner only."""
        return ReshapedRisk(self._inner.subset(indices, n), self._geometry, self._penalty)

    def reshaped(self, geometry: Geometry) -> ReshapedRisk:
        """Refused: a record's influence is capped once."""
        raise ParameterError("this risk has a geometry already. Reshape the risk as the user gave it.")

    def _user(self, u: Any) -> Vector:
        return self._geometry.to_user(np.asarray(u, dtype=np.float64))

    def __repr__(self) -> str:
        return f"ReshapedRisk({self._inner!r})"


@final
class ReshapedLine(Sealed):
    """f on the line u + gamma p: the inner line, and the penalty at its ends."""

    def __init__(self, inner: ExactLine, penalty: ReshapedPenalty, u: Vector, direction: Vector) -> None:
        self._inner = inner
        self._penalty = penalty
        self._u = u
        self._direction = direction

    def decrease(self, gamma: float) -> float:
        """f(u) - f(u + gamma p). Exact: for the data's owner only."""
        relief = self._penalty.value(self._u) - self._penalty.value(self._u + gamma * self._direction)
        return self._inner.decrease(gamma) + relief

    def __repr__(self) -> str:
        return f"ReshapedLine({self._inner!r})"
