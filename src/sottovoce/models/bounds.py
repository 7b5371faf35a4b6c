"""What a model asks of its records, and what each query will be charged for.

All of it is a proposal: laws and bands that a loss fills, read off it at some points. Where one is too
narrow, contributions are clamped and the answer is biased, but never charged too little for. What a query
costs is worked out here for plans, from the request that will be made for it; where records are summed, it is
worked out again."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from sottovoce.accounting.relations import Relation
from sottovoce.errors import TIGHT, ParameterError
from sottovoce.privacy.sensitivity import Facts, norm_above, sensitivity
from sottovoce.problem import Calibration
from sottovoce.trusted import requests

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.losses import Loss
    from sottovoce.privacy.rounding import Arithmetic
    from sottovoce.problem import Problem
    from sottovoce.trusted.laws import Law
    from sottovoce.trusted.requests import Request


@dataclass(frozen=True, kw_only=True)
class Bounds(ABC):
    """Requests at known weights, which are public when they are asked about, and how far each answer moves.

    Under published calibration gradient, Hessian and line search take the paper's larger figures, with
    B_g = B_H = 1, and are refused where those are too small; the other queries are not the paper's."""

    problem: Problem
    arithmetic: Arithmetic
    calibration: Calibration = Calibration.TIGHT
    relation: Relation = Relation.REPLACE_ONE

    @abstractmethod
    def limited(self, limit: float) -> Self:
        """The bounds of the same risk with the loss's slopes limited to `limit`."""

    @abstractmethod
    def vector_sum(self, w: Vector) -> Any: ...

    @abstractmethod
    def vector_change(self, w: Vector, step: Vector) -> Any: ...

    @abstractmethod
    def number_sum(self, w: Vector) -> Any: ...

    @abstractmethod
    def matrix_sum(self, w: Vector) -> Any: ...

    @abstractmethod
    def information_sum(self, w: Vector) -> Any: ...

    @abstractmethod
    def score_sum(self, w: Vector) -> Any: ...

    @abstractmethod
    def step_drops(self, w: Vector, steps: Matrix, divisors: Vector) -> Any: ...

    @abstractmethod
    def line_drops(self, w: Vector, direction: Vector, lengths: Vector) -> Any: ...

    @abstractmethod
    def residual_shares(self, w: Vector, edges: Vector) -> Any: ...

    def product_sum(self, w: Vector, direction: Vector) -> Any:
        return requests.Product(self.matrix_sum(w), direction)

    def gradient(self, w: Vector) -> float:
        """l2 movement of the gradient."""
        return self._or_published(self.vector_sum(w), 2.0 / self.problem.n)

    def gradient_change(self, w: Vector, step: Vector) -> float:
        """l2 movement of the gradient at w + p less that at w."""
        return self.charged(self.vector_change(w, step))

    def gradient_norm(self, w: Vector) -> float:
        """Movement of the gradient's norm: at most the gradient's own."""
        return self.charged(requests.Norm(self.vector_sum(w), self.problem.penalty_gradient(w)))

    def hessian(self, w: Vector) -> float:
        """Frobenius movement of the Hessian."""
        return self._or_published(self.matrix_sum(w), self._published_hessian)

    def curvature_product(self, w: Vector) -> float:
        """l2 movement of the Hessian times a unit vector: the most an eigenvalue can move by, whichever."""
        return self._or_published(self.product_sum(w, np.ones(1)), self._published_hessian)

    def smallest_eigenvalue(self, w: Vector) -> float:
        """Movement of the smallest eigenvalue of the Hessian."""
        return self.charged(
            requests.SmallestEigenvalue(self.matrix_sum(w), self.problem.penalty_curvature(w))
        )

    def score_moment(self, w: Vector) -> float:
        """Frobenius movement of (1/n) sum ss', s what a record or a person adds to the gradient."""
        return self.charged(self.score_sum(w))

    def information(self, w: Vector) -> float:
        """Frobenius movement of (1/n) sum q^2 phi'' xx', phi'' >= 0."""
        return self.charged(self.information_sum(w))

    def trials(self, w: Vector, steps: Matrix) -> float:
        """l2 movement of (f(w) - f(w + p_j)) / ||p_j|| over the rows p_j of `steps`."""
        return self.charged(self.step_drops(w, steps, np.linalg.norm(steps, axis=1)))

    def difference(self, w: Vector, step: Vector) -> float:
        """Movement of f(w) - f(w + gamma p) for every 0 < gamma <= 1: the longest step's bound covers all."""
        paper = 2.0 * norm_above(step) / self.problem.n
        return self._or_published(self.line_drops(w, step, np.ones(1)), paper)

    def grid(self, w: Vector, direction: Vector, longest: float, shrink: float, count: int) -> float:
        """l2 movement of f(w) - f(w + gamma_i p), gamma_i = longest shrink^i, i < count."""
        lengths = np.asarray(longest * shrink ** np.arange(count), np.float64)
        return self.charged(self.line_drops(w, direction, lengths))

    def value(self, w: Vector) -> float:
        """Movement of f(w)."""
        return self.charged(self.number_sum(w))

    def gram(self) -> float:
        """Frobenius movement of X'X/n."""
        return self.charged(requests.Gram())

    def gram_diagonal(self) -> float:
        """l2 movement of the diagonal of X'X/n."""
        return self.charged(requests.Squares())

    def moments(self, balance: float) -> float:
        """l2 movement of column means and f times mean squares; f = sqrt(balance) influence / energy."""
        return self.charged(requests.Moments(balance, None))

    def charged(self, request: Request) -> float:
        """What such a request will cost."""
        return sensitivity(request, self.facts, self.relation)

    @cached_property
    def facts(self) -> Facts:
        """The public facts of such records, for what will be charged."""
        problem = self.problem
        return Facts(
            n=problem.n,
            radius=problem.radius,
            weight=problem.weight,
            lightest=problem.lightest,
            influence=problem.influence,
            energy=problem.energy,
            target_reach=problem.label_reach,
            arithmetic=self.arithmetic,
            persons=problem.unit != "record",
            outputs=problem.outputs,
        )

    @property
    def _published_hessian(self) -> float:
        return 2.0 * math.sqrt(self.problem.dim) / self.problem.n

    def require_calibrated(self) -> None:
        """Refuse published calibration where a run might reach weights that need more than the paper says.

        The gradient's true movement grows with the weights, up to 2 slope R / n."""
        worst = 2.0 * self.problem.slope * self.problem.influence / self.problem.n
        self._stated(worst, 2.0 / self.problem.n)

    def _or_published(self, request: Request, paper: float) -> float:
        """What the request will cost; under published calibration, the paper's larger movement and what
        summing adds."""
        charged = self.charged(request)
        if self.calibration is Calibration.TIGHT:
            return charged
        exact = replace(self.facts, arithmetic=replace(self.arithmetic, radius=0.0))
        distance = sensitivity(request, exact, self.relation)
        return max(charged, self._stated(distance, paper) + (charged - distance))

    def _stated(self, tight: float, paper: float) -> float:
        """The movement to charge for: the tight one, or the paper's where that is at least as large."""
        if self.calibration is Calibration.TIGHT:
            return tight
        if paper < tight * (1.0 - 1e-9):
            raise ParameterError(
                f"the paper's sensitivity {paper:.3g} is below the true {tight:.3g} for this loss and "
                'radius, so its noise would not be private. Use calibration="tight".',
                advice=(TIGHT,),
            )
        return max(paper, tight)


@final
@dataclass(frozen=True, kw_only=True)
class LinearBounds(Bounds):
    """One output: phi of a margin y<x, w> or of a residual <x, w> - y."""

    loss: Loss
    _reached: tuple[bytes, tuple[float, float]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    def limited(self, limit: float) -> LinearBounds:
        """Those of the limited loss."""
        loss = self.loss.limited(limit)
        return replace(self, loss=loss, problem=replace(self.problem, slope=loss.slope))

    def vector_sum(self, w: Vector) -> requests.VectorSum:
        band = self.loss.slope_band(*self._interval(w))
        return requests.VectorSum(self._law, band, w)

    def vector_change(self, w: Vector, step: Vector) -> requests.VectorChange:
        """No weights between w and w + p are longer than the longer of these; phi' changes by no more than
        from its least to its largest."""
        reached = self._interval(max(w, w + step, key=norm_above))
        band = self.loss.slope_band(*reached)
        limit = float(band.hi.max() - band.lo.min())
        return requests.VectorChange(self._law, self.loss.curvature_span(*reached), limit, w, step)

    def number_sum(self, w: Vector) -> requests.NumberSum:
        span = self.loss.value_span(*self._interval(w))
        return requests.NumberSum(self._law, span, w)

    def matrix_sum(self, w: Vector) -> requests.MatrixSum:
        span = self.loss.curvature_span(*self._interval(w))
        return requests.MatrixSum(self._law, span, w)

    def information_sum(self, w: Vector) -> requests.InformationSum:
        span = self.loss.curvature_span(*self._interval(w))
        return requests.InformationSum(self._law, span._replace(low=max(span.low, 0.0)), w)

    def score_sum(self, w: Vector) -> requests.ScoreSum:
        return requests.ScoreSum(self._law, self.vector_sum(w).band, w)

    def step_drops(self, w: Vector, steps: Matrix, divisors: Vector) -> requests.StepDrops:
        return requests.StepDrops(self._law, self._steepest, w, steps, divisors)

    def line_drops(self, w: Vector, direction: Vector, lengths: Vector) -> requests.LineDrops:
        return requests.LineDrops(self._law, self._steepest, w, direction, lengths)

    def residual_shares(self, w: Vector, edges: Vector) -> requests.ResidualShares:
        return requests.ResidualShares(self._law, w, edges)

    @property
    def _law(self) -> Law:
        return self.loss.law

    @property
    def _steepest(self) -> float:
        """sup|phi'| of the heavier class, over its weight."""
        return self.loss.slope / self._law.heaviest * (1.0 + 2.0**-50)

    def _interval(self, w: Vector) -> tuple[float, float]:
        """Every t at these weights; kept, since value, gradient and Hessian are asked at the same ones."""
        given, held = w.tobytes(), self._reached
        if held is None or held[0] != given:
            held = given, self.facts.reach(self._law, w).interval
            object.__setattr__(self, "_reached", held)
        return held[1]
