"""How far one record moves gradient, Hessian and value of softmax, whose formula the kernels hold."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn, final

from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError
from sottovoce.privacy import sensitivity
from sottovoce.privacy.bounds import ConstantBounds
from sottovoce.privacy.charges import norm_above
from sottovoce.trusted import requests

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector

SLOPE = math.nextafter(math.sqrt(2.0), 2.0)
"""sup ||p - e_y||: all belief in a wrong class."""

CURVATURE = 0.5
"""Largest eigenvalue of diag(p) - pp', at two classes of chance 1/2."""

THIRD = 0.2722
"""sup of the third derivative along a unit direction: 2 sqrt2 times the logistic loss's 1/(6 sqrt3)."""


BEND = SLOPE
"""sup of the third derivative along (u, u, v) over the second along (u, u), v a unit vector.

It is E (u - Eu)^2 (v - Ev), and no entry of v is further from their mean than the widest of them apart."""


@final
@dataclass(frozen=True, kw_only=True)
class SoftmaxBounds(ConstantBounds):
    """K outputs at once, weights class by class.

    Rounding is as for one output with the norm of all weights: errors of the K scores of a row add up in l2
    to gamma R ||W||, and the map from scores to probabilities never stretches by more than 1/2.
    `limit`: p - e_y is shortened to it where it is longer."""

    limit: float = math.inf

    def limited(self, limit: float) -> SoftmaxBounds:
        """One record gives r x' with ||r|| <= limit: it moves the gradient by 2 C limit / n at most.

        Shortening is the projection on a ball: no error in p - e_y is larger afterwards, so rounding is that
        of the whole slope, and a length, a quotient and a product more."""
        ulps = 2 * self.arithmetic.function_ulps
        return replace(self, limit=limit, arithmetic=replace(self.arithmetic, function_ulps=ulps))

    def vector_sum(self, w: Vector) -> requests.ClassVector:
        return requests.ClassVector(w, min(self.limit, SLOPE))

    def number_sum(self, w: Vector) -> requests.ClassNumber:
        return requests.ClassNumber(w)

    def matrix_sum(self, w: Vector) -> requests.ClassMatrix:
        return requests.ClassMatrix(w)

    def information_sum(self, w: Vector) -> requests.ClassInformation:
        return requests.ClassInformation(w)

    def score_sum(self, w: Vector) -> requests.ClassScores:
        return requests.ClassScores(w)

    def step_drops(self, w: Vector, steps: Matrix, divisors: Vector) -> requests.ClassSteps:
        return requests.ClassSteps(w, steps, divisors)

    def line_drops(self, w: Vector, direction: Vector, lengths: Vector) -> requests.ClassLine:
        return requests.ClassLine(w, direction, lengths)

    def residual_shares(self, w: Vector, edges: Vector) -> NoReturn:
        raise ParameterError("residuals are counted of a linear model of a numeric target only.")

    def gradient_sensitivity(self, w: Vector) -> float:
        """By how far apart two classes' weights lie: near W = 0 no class can be certain."""
        classes = w.reshape(self.problem.outputs, -1)
        return softmax_gradient_at(
            spread=max(norm_above(a - b) for a in classes for b in classes),
            classes=self.problem.outputs,
            radius=self.problem.radius,
            **self._tables,
            influence=self.problem.influence,
            limit=self.limit,
        )

    def hessian_sensitivity(self) -> float:
        return softmax_hessian(radius=self.problem.root_energy, **self._tables)

    def eigenvalue_sensitivity(self) -> float:
        return softmax_eigenvalue(radius=self.problem.root_energy, **self._tables)

    def value_sensitivity(self, weight_norm: float) -> float:
        highest = self.problem.weight * self.highest(weight_norm)
        return sensitivity.value(highest=highest, lowest=0.0, **self._tables)

    def highest(self, weight_norm: float) -> float:
        """log K + sqrt2 R ||W||."""
        return self.problem.value_at_zero + self.problem.slope * self.problem.radius * weight_norm


def softmax_gradient(*, radius: float, n: int, relation: Relation = Relation.REPLACE_ONE) -> float:
    """Softmax gradient, l2: 2 sqrt2 R / n: one record gives (p - e_y) x' and ||p - e_y|| <= sqrt2."""
    return sensitivity.terms(longest=math.sqrt(2.0) * radius, n=n, relation=relation)


def softmax_gradient_at(
    *,
    spread: float,
    classes: int,
    radius: float,
    n: int,
    influence: float | None = None,
    limit: float = math.inf,
    relation: Relation = Relation.REPLACE_ONE,
) -> float:
    """Softmax gradient at weights whose rows satisfy ||w_j - w_k|| <= spread, l2: 2 C sup||p - e_y|| / n.

    C bounds what a record counts times its length, R where nothing is said; `limit` bounds ||p - e_y||, too.

    Two probabilities differ at most by the factor e^s, s = R spread. Such p are mixtures of those with only
    two distinct entries, k of them e^s times the rest, and a convex function is largest at one of these."""
    ratio = math.exp(-radius * spread * sensitivity.ROUND_UP)
    largest = 0.0
    for high in range(classes):
        top = 1.0 / (high + (classes - high) * ratio) if high else 1.0 / classes
        low = top * ratio if high else top
        squares = high * top * top + (classes - high) * low * low
        largest = max(largest, squares + 1.0 - 2.0 * low)
    longest = min(limit, min(2.0, largest) ** 0.5) * (radius if influence is None else influence)
    return sensitivity.terms(longest=longest, n=n, relation=relation)


def softmax_hessian(*, radius: float, n: int, relation: Relation = Relation.REPLACE_ONE) -> float:
    """Softmax Hessian, Frobenius: R^2 / (sqrt2 n).

    One record gives A (x) xx', A = diag(p) - pp' positive semidefinite. With S = sum p^2 and sum p^3 >= S^2,
    ||A||_F^2 = S - 2 sum p^3 + S^2 <= S - S^2 <= 1/4; two semidefinite terms are at most sqrt2 / 2 apart."""
    return sensitivity.mean(diameter=math.sqrt(0.5) * radius**2, norm=0.5 * radius**2, n=n, relation=relation)


def softmax_eigenvalue(*, radius: float, n: int, relation: Relation = Relation.REPLACE_ONE) -> float:
    """Any eigenvalue of the softmax Hessian: R^2 / (2n).

    A difference of semidefinite terms has spectral norm at most the larger of the two, ||A|| <= 1/2."""
    return sensitivity.mean(diameter=0.5 * radius**2, norm=0.5 * radius**2, n=n, relation=relation)
