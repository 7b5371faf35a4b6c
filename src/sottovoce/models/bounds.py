"""What a linear model asks of its records: the law of its loss, and bands that the loss fills.

All of it is a proposal. Bands are read off the loss at some points; where one is too narrow, contributions
are clamped and the answer is biased, but never charged too little for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from sottovoce.privacy.bounds import Bounds
from sottovoce.privacy.charges import charge, norm_above
from sottovoce.problem import Calibration
from sottovoce.trusted import requests

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.losses import Loss
    from sottovoce.trusted.laws import Law
    from sottovoce.trusted.requests import Request


@dataclass(frozen=True, kw_only=True)
class ProposedBounds(Bounds, ABC):
    """What each query will be charged, from the request that will be made for it."""

    @abstractmethod
    def vector_sum(self, w: Vector) -> Any: ...

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

    def gradient(self, w: Vector) -> float:
        return self._or_published(self.vector_sum(w), 2.0 / self.problem.n)

    def gradient_norm(self, w: Vector) -> float:
        added = self.problem.pull(w)
        return self.charged(requests.Norm(self.vector_sum(w), added))

    def hessian(self, w: Vector) -> float:
        return self._or_published(self.matrix_sum(w), self._published_hessian)

    def curvature_product(self, w: Vector) -> float:
        """That is the most an eigenvalue can move by, whatever the direction."""
        asked = requests.Product(self.matrix_sum(w), np.ones(1))
        return self._or_published(asked, self._published_hessian)

    def smallest_eigenvalue(self, w: Vector) -> float:
        asked = requests.SmallestEigenvalue(self.matrix_sum(w), self.problem.bends(w))
        return self.charged(asked)

    def score_moment(self, w: Vector) -> float:
        return self.charged(self.score_sum(w))

    def information(self, w: Vector) -> float:
        return self.charged(self.information_sum(w))

    def trials(self, w: Vector, steps: Matrix) -> float:
        return self.charged(self.step_drops(w, steps, np.linalg.norm(steps, axis=1)))

    def difference(self, w: Vector, step: Vector) -> float:
        paper = 2.0 * norm_above(step) / self.problem.n
        return self._or_published(self.line_drops(w, step, np.ones(1)), paper)

    def grid(self, w: Vector, direction: Vector, longest: float, shrink: float, count: int) -> float:
        return self.charged(
            self.line_drops(w, direction, np.asarray(longest * shrink ** np.arange(count), np.float64))
        )

    def value(self, w: Vector) -> float:
        return self.charged(self.number_sum(w))

    def _or_published(self, request: Request, paper: float) -> float:
        """What the request will cost; under published calibration, the paper's larger movement and what
        summing adds."""
        charged = self.charged(request)
        if self.calibration is Calibration.TIGHT:
            return charged
        exact = replace(self.facts, arithmetic=replace(self.arithmetic, radius=0.0))
        distance = charge(request, exact, self.relation)
        return max(charged, self._stated(distance, paper) + (charged - distance))


@final
@dataclass(frozen=True, kw_only=True)
class LinearBounds(ProposedBounds):
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
