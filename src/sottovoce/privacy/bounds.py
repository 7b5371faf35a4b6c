"""Sensitivities of queries as computed: the mathematical bound plus what floating point adds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sottovoce.accounting.relations import Relation
from sottovoce.errors import TIGHT, ParameterError
from sottovoce.privacy import sensitivity
from sottovoce.privacy.charges import Facts, charge
from sottovoce.problem import Calibration
from sottovoce.trusted import requests

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.privacy.rounding import Arithmetic
    from sottovoce.problem import Problem
    from sottovoce.trusted.requests import Request


@dataclass(frozen=True, kw_only=True)
class Bounds(ABC):
    """How far each computed answer can move between neighbours: Delta + 2E, from public numbers.

    Every method takes the weights at which the query is asked, because they are public when it is asked.
    Under published calibration gradient, Hessian and line search take the paper's larger figures, with
    B_g = B_H = 1, and are refused where those are too small; the other queries are not the paper's."""

    problem: Problem
    arithmetic: Arithmetic
    calibration: Calibration = Calibration.TIGHT
    relation: Relation = Relation.REPLACE_ONE

    @abstractmethod
    def gradient(self, w: Vector) -> float:
        """l2 movement of the gradient."""

    def limited(self, limit: float) -> Bounds:
        """The bounds of the same risk with the loss's slopes limited to `limit`."""
        raise ParameterError("slopes are limited of linear models only; clip gradients lower instead.")

    @abstractmethod
    def gradient_norm(self, w: Vector) -> float:
        """Movement of the gradient's norm: at most the gradient's own."""

    @abstractmethod
    def hessian(self, w: Vector) -> float:
        """Frobenius movement of the Hessian."""

    @abstractmethod
    def curvature_product(self, w: Vector) -> float:
        """l2 movement of the Hessian times a unit vector."""

    @abstractmethod
    def smallest_eigenvalue(self, w: Vector) -> float:
        """Movement of the smallest eigenvalue of the Hessian."""

    @abstractmethod
    def score_moment(self, w: Vector) -> float:
        """Frobenius movement of (1/n) sum ss', s what a record or a person adds to the gradient."""

    @abstractmethod
    def information(self, w: Vector) -> float:
        """Frobenius movement of (1/n) sum q^2 phi'' xx', phi'' >= 0."""

    @abstractmethod
    def trials(self, w: Vector, steps: Matrix) -> float:
        """l2 movement of (f(w) - f(w + p_j)) / ||p_j|| over the rows p_j of `steps`."""

    @abstractmethod
    def difference(self, w: Vector, step: Vector) -> float:
        """Movement of f(w) - f(w + gamma p) for every 0 < gamma <= 1: the longest step's bound covers all."""

    @abstractmethod
    def grid(self, w: Vector, direction: Vector, longest: float, shrink: float, count: int) -> float:
        """l2 movement of f(w) - f(w + gamma_i p), gamma_i = longest shrink^i, i < count."""

    @abstractmethod
    def value(self, w: Vector) -> float:
        """Movement of f(w)."""

    def mean(self, *, diameter: float, norm: float) -> float:
        """l2 movement of a mean of terms, each read off its record, no longer than `norm` and no two farther
        apart than `diameter`: for queries about labels and other facts that no weights enter."""
        distance = sensitivity.mean(diameter=diameter, norm=norm, **self._tables)
        return distance + 2.0 * self.arithmetic.mean(norm)

    def gram(self) -> float:
        """Frobenius movement of X'X/n."""
        return self.charged(requests.Gram())

    def gram_diagonal(self) -> float:
        """l2 movement of the diagonal of X'X/n."""
        return self.charged(requests.Squares())

    def moments(self, balance: float) -> float:
        """l2 movement of column means and f times mean squares; f = sqrt(balance) influence / energy."""
        return self.charged(requests.Moments(balance, None))

    def means(self) -> float:
        """l2 movement of column means."""
        return self.charged(requests.Means())

    def charged(self, request: Request) -> float:
        """What such a request will cost."""
        return charge(request, self.facts, self.relation)

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

    @property
    def _tables(self) -> dict[str, Any]:
        """What a movement depends on besides the risk: how many records, and which tables are neighbours."""
        return {"n": self.problem.n, "relation": self.relation}
