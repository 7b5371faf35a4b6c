"""Public constants of a risk whose terms are clipped one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

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
