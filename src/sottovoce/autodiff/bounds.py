"""What is asked of clipped examples, and what each query will be charged for: the declared clips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, final

from sottovoce.autodiff.problem import ClippedProblem
from sottovoce.errors import ParameterError
from sottovoce.models.bounds import Bounds
from sottovoce.privacy.sensitivity import norm_above
from sottovoce.trusted.bands import Span
from sottovoce.trusted.example_requests import (
    ClippedGradients,
    ClippedHessians,
    ClippedLosses,
    ClippedProducts,
    GradientChanges,
    LossLine,
    LossSteps,
)

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector


@final
@dataclass(frozen=True, kw_only=True)
class ClippedBounds(Bounds):
    """Of a PyTorch module: each request names the clip that was declared for it."""

    problem: ClippedProblem

    def limited(self, limit: float) -> NoReturn:
        raise ParameterError("slopes are limited of linear models only; clip gradients lower instead.")

    def vector_sum(self, w: Vector) -> ClippedGradients:
        return ClippedGradients(w, self._declared.slope)

    def vector_change(self, w: Vector, step: Vector) -> GradientChanges:
        """No gradient changes by more than twice its clip, nor, where the clip of curvature L is right, by
        more than L ||p||."""
        clip, curvature = self._declared.slope, self._declared.curvature_high
        return GradientChanges(w, step, clip, min(2.0 * clip, curvature * norm_above(step)))

    def number_sum(self, w: Vector) -> ClippedLosses:
        return ClippedLosses(w, Span(0.0, self._declared.value_at_zero))

    def matrix_sum(self, w: Vector) -> ClippedHessians:
        if self.problem.matrix_free:
            raise ParameterError(
                f"a Hessian of {self.problem.dim} weights is not formed; its products with vectors are. Use "
                'method="opt", "opt-ls", "opt-b" or "descent-b", or TorchRisk(..., curvature="matrix").'
            )
        return ClippedHessians(w, self._declared.curvature_high)

    def product_sum(self, w: Vector, direction: Vector) -> ClippedProducts:
        return ClippedProducts(w, direction, self._declared.curvature_high)

    def step_drops(self, w: Vector, steps: Matrix, divisors: Vector) -> LossSteps:
        return LossSteps(self._declared.slope, w, steps, divisors)

    def line_drops(self, w: Vector, direction: Vector, lengths: Vector) -> LossLine:
        return LossLine(self._declared.slope, w, direction, lengths)

    def information_sum(self, w: Vector) -> NoReturn:
        raise _no_rows()

    def score_sum(self, w: Vector) -> NoReturn:
        raise _no_rows()

    def residual_shares(self, w: Vector, edges: Vector) -> NoReturn:
        raise ParameterError("residuals are counted of a linear model of a numeric target only.")

    def gram(self) -> NoReturn:
        raise _no_rows()

    @property
    def _declared(self) -> ClippedProblem:
        if not self.problem.declared:
            raise ParameterError(
                "this is asked of clipped terms, and no clips were declared. Declare them: "
                "TorchRisk(..., gradient_clip=1.0, curvature_clip=1.0). Or take fit_torch, which finds one."
            )
        return self.problem


def _no_rows() -> ParameterError:
    return ParameterError(
        "a PyTorch module has no rows, so no Gram matrix and no matrix of scores. "
        'Use method="descent-b", "opt-ls" or, for few weights, "cubic".'
    )
