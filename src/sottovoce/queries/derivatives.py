"""Queries about the derivatives of a risk at one point."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar, final

from sottovoce.accounting.events import QueryKind
from sottovoce.arrays import Matrix, Vector
from sottovoce.errors import ParameterError
from sottovoce.problem import require_matrix_fits
from sottovoce.queries import arguments
from sottovoce.queries.base import AtWeights, Form
from sottovoce.trusted import requests

if TYPE_CHECKING:
    from sottovoce.models.bounds import Bounds
    from sottovoce.problem import Problem

T = TypeVar("T")


@final
@dataclass(frozen=True)
class Gradient(AtWeights[Vector]):
    kind = QueryKind.GRADIENT

    def length(self, problem: Problem) -> int:
        return problem.dim

    def sensitivity(self, bounds: Bounds) -> float:
        return bounds.gradient(self.w)

    def request(self, bounds: Bounds) -> Any:
        return bounds.vector_sum(self.w)

    def public(self, problem: Problem) -> Any:
        return problem.penalty_gradient(self.w)

    def term(self, problem: Problem) -> float:
        return problem.slope * problem.influence


class _OfMatrix(AtWeights[T]):
    """A query that a risk answers by forming its Hessian."""

    def admitted(self, problem: Problem) -> Self:
        require_matrix_fits(problem.dim)
        return super().admitted(problem)


@final
@dataclass(frozen=True)
class LimitedGradient(AtWeights[Vector]):
    """The gradient with the slopes of a convex loss limited (`Loss.limited`): less noise, another objective,
    though with the same minimizer where a logistic model is right and `limit` at least 1/2.

    Of several outputs it is the vector of all slopes that is shortened to that length."""

    limit: float
    kind = QueryKind.GRADIENT

    def admitted(self, problem: Problem) -> Self:
        if problem.matrix_free or not problem.limitable:
            raise ParameterError("slopes can be limited only of a convex loss without class weights.")
        if not 1e-6 * problem.slope <= self.limit <= problem.slope:
            raise ParameterError("limit must be above 0 and at most the slope of the loss.", argument="limit")
        return super().admitted(problem)

    def length(self, problem: Problem) -> int:
        return problem.dim

    def sensitivity(self, bounds: Bounds) -> float:
        return bounds.limited(self.limit).gradient(self.w)

    def request(self, bounds: Bounds) -> Any:
        return bounds.limited(self.limit).vector_sum(self.w)

    def public(self, problem: Problem) -> Any:
        return problem.penalty_gradient(self.w)


class _OfCurvature(AtWeights[T]):
    def term(self, problem: Problem) -> float:
        return max(problem.curvature_low, problem.curvature_high) * problem.energy


@final
@dataclass(frozen=True)
class Hessian(_OfMatrix[Matrix], _OfCurvature[Matrix]):
    """(1/n) sum q phi'' zz', of a single output with phi'' cut off at `ceiling`: less noise where phi'' is
    mostly far below its largest value, and a matrix that is never above the whole one."""

    ceiling: float = math.inf
    kind = QueryKind.HESSIAN
    form = Form.SYMMETRIC

    def admitted(self, problem: Problem) -> Self:
        cut = self.ceiling < math.inf
        if cut and (problem.matrix_free or problem.outputs > 1):
            raise ParameterError("phi'' can be cut off only of a linear model with a single output.")
        if not self.ceiling > 0.0:
            raise ParameterError(
                "ceiling, the largest phi'' that counts, must be above 0.", argument="ceiling"
            )
        return super().admitted(problem)

    def length(self, problem: Problem) -> int:
        return problem.dim

    def sensitivity(self, bounds: Bounds) -> float:
        return bounds.hessian(self.w) if self.ceiling == math.inf else bounds.charged(self._cut(bounds))

    def request(self, bounds: Bounds) -> Any:
        return bounds.matrix_sum(self.w) if self.ceiling == math.inf else self._cut(bounds)

    def _cut(self, bounds: Any) -> Any:
        asked = bounds.matrix_sum(self.w)
        return replace(asked, span=asked.span.below(self.ceiling))

    def public(self, problem: Problem) -> Any:
        return problem.penalty_curvature(self.w)


@final
@dataclass(frozen=True)
class CurvatureProduct(_OfCurvature[Vector]):
    """The Hessian at w times `direction`, taken at length 1."""

    direction: Vector
    kind = QueryKind.CURVATURE_PRODUCT

    def length(self, problem: Problem) -> int:
        return problem.dim

    def admitted(self, problem: Problem) -> Self:
        if not problem.matrix_free:
            require_matrix_fits(problem.dim)
        return replace(
            super().admitted(problem), direction=arguments.unit_vector(self.direction, problem.dim)
        )

    def sensitivity(self, bounds: Bounds) -> float:
        return bounds.curvature_product(self.w)

    def request(self, bounds: Bounds) -> Any:
        return bounds.product_sum(self.w, self.direction)

    def public(self, problem: Problem) -> Any:
        return problem.penalty_curvature_along(self.w, self.direction)


class _NumberAtWeights(AtWeights[float]):
    form = Form.NUMBER

    def length(self, problem: Problem) -> int:
        return 1


@final
@dataclass(frozen=True)
class GradientNorm(_NumberAtWeights):
    kind = QueryKind.GRADIENT_NORM

    def request(self, bounds: Bounds) -> Any:
        return requests.Norm(bounds.vector_sum(self.w), bounds.problem.penalty_gradient(self.w))


@final
@dataclass(frozen=True)
class SmallestEigenvalue(_OfMatrix[float], _NumberAtWeights):
    kind = QueryKind.EIGENVALUE

    def request(self, bounds: Bounds) -> Any:
        return requests.SmallestEigenvalue(
            bounds.matrix_sum(self.w), bounds.problem.penalty_curvature(self.w)
        )


@final
@dataclass(frozen=True)
class Value(_NumberAtWeights):
    kind = QueryKind.VALUE

    def request(self, bounds: Bounds) -> Any:
        return bounds.number_sum(self.w)

    def public(self, problem: Problem) -> Any:
        return problem.penalty(self.w)
