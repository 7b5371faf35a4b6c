"""Public constants and sensitivities of a risk whose terms are clipped one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, final

from sottovoce.autodiff.bounds import ConstantBounds
from sottovoce.errors import ParameterError
from sottovoce.privacy.charges import norm_above
from sottovoce.problem import Problem

if TYPE_CHECKING:
    from sottovoce.arrays import Vector

CLIPPING = (
    "each example's gradient, curvature and difference of losses is clipped, so the run follows a clipped "
    "risk: no step is proven to decrease the loss you wrote, and no bound is on its own gradient or Hessian"
)
DECLARED = (
    "steps are planned from constants that were declared or guessed from the clips (smoothness, Lipschitz "
    "Hessian, loss at the start): where they are too small, so is what the paper promises about them"
)
FOUND = (
    "each example's gradient is clipped to a length that is found privately on the way, so the run follows a "
    "clipped risk: no step is proven to decrease the loss you wrote"
)
PRODUCTS = (
    "curvature was searched by noisy products, which can find a direction that bends down but cannot show "
    "that there is none: the certified curvature is the clip alone"
)


@final
@dataclass(frozen=True, kw_only=True)
class ClippedProblem(Problem):
    """Constants of a mean of clipped terms: `slope` is the gradient's clip, `curvature_high` the Hessian's.

    The radius is 1: an example moves the model's derivatives by no more than the clips, whatever its size.
    `declared_smoothness` and `third` (paper: G and M) are the user's word, used for step lengths alone.
    `declared`: whether the clips are; otherwise nothing is answered but gradients clipped as asked."""

    declared_smoothness: float
    declared: bool = True
    clipped: bool = True

    @property
    def smoothness(self) -> float:
        return max(self.declared_smoothness + self.regularizer.curvature_high, 0.0)

    @property
    def caveats(self) -> tuple[str, ...]:
        if not self.declared:
            return (FOUND,)
        return (CLIPPING, DECLARED, PRODUCTS) if self.matrix_free else (CLIPPING, DECLARED)

    def gap(self, start: Vector) -> float:
        """The declared bound on an example's loss at the start, and the regularizer there."""
        return self.value_at_zero + self.regularizer.value(start)


@final
@dataclass(frozen=True, kw_only=True)
class ClippedBounds(ConstantBounds):
    """Terms of norm at most c move their mean by 2c/n. Floating point adds what summing them adds.

    A term depends on its example, its place and the public weights alone, and it is clipped in float64 after
    all rounding, so only the sum can err: `Arithmetic` with one block covers n terms in any order."""

    problem: ClippedProblem

    def gradient_sensitivity(self, w: Vector) -> float:
        self._require_declared()
        longest = self.problem.slope
        return self.relation.distance(diameter=2.0 * longest, norm=longest) / self.problem.n

    def clipped_gradient(self, w: Vector, clip: float, weight: float) -> float:
        """Gradients of norm at most `clip` beside `clip` `weight` times +-1/2: as one vector no longer than
        clip sqrt(1 + weight^2/4), that may point anywhere."""
        longest = clip * math.hypot(1.0, weight / 2.0) * (1.0 + 2.0**-40)
        distance = self.relation.distance(diameter=2.0 * longest, norm=longest) / self.problem.n
        rounding = self.arithmetic.gradient(
            slope=longest,
            curvature=0.0,
            weight_norm=0.0,
            added=norm_above(self.problem.regularizer.gradient(w)),
        )
        return distance + 2.0 * rounding

    def hessian_sensitivity(self) -> float:
        self._require_on_matrices()
        return self._curvature_sensitivity

    def eigenvalue_sensitivity(self) -> float:
        """No eigenvalue moves further than the Hessian does, in Frobenius norm."""
        return self.hessian_sensitivity()

    def value_sensitivity(self, weight_norm: float) -> float:
        return self.highest(weight_norm) / self.problem.n

    def highest(self, weight_norm: float) -> float:
        self._require_declared()
        return self.problem.value_at_zero

    def curvature_product(self, w: Vector) -> float:
        """Each example's product with a unit vector is clipped by itself, before the mean."""
        distance = self._curvature_sensitivity
        rounding = self.arithmetic.hessian(
            curvature=self.problem.curvature_high, third=0.0, weight_norm=0.0, added=self._pull(w)
        )
        return (distance + 2.0 * rounding) * (1.0 + 2.0**-40)

    def gram(self) -> NoReturn:
        raise _no_gram()

    def gram_diagonal(self) -> NoReturn:
        raise _no_gram()

    def moments(self, balance: float) -> NoReturn:
        raise _no_gram()

    @property
    def _curvature_sensitivity(self) -> float:
        self._require_declared()
        longest = self.problem.curvature_high
        return self.relation.distance(diameter=2.0 * longest, norm=longest) / self.problem.n

    def _require_declared(self) -> None:
        if not self.problem.declared:
            raise ParameterError(
                "this is asked of clipped terms, and no clips were declared. Declare them: "
                "TorchRisk(..., gradient_clip=1.0, curvature_clip=1.0). Or take fit_torch, which finds one."
            )

    def _pull(self, w: Vector) -> float:
        return float(abs(self.problem.regularizer.curvature(w)).max(initial=0.0))

    def _require_on_matrices(self) -> None:
        if self.problem.matrix_free:
            raise ParameterError(
                f"a Hessian of {self.problem.dim} weights is not formed; its products with vectors are. Use "
                'method="opt", "opt-ls", "opt-b" or "descent-b", or TorchRisk(..., curvature="matrix").'
            )


def _no_gram() -> ParameterError:
    return ParameterError(
        "a PyTorch module has no Gram matrix to majorize its Hessian by. "
        'Use method="descent-b", "opt-ls" or, for few weights, "cubic".'
    )
