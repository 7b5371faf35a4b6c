"""How far one record moves gradient, Hessian and value of a linear model and of softmax."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from sottovoce.accounting.relations import Relation
from sottovoce.privacy import sensitivity
from sottovoce.privacy.bounds import Bounds, norm_above

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.losses import Loss


@final
@dataclass(frozen=True, kw_only=True)
class LinearBounds(Bounds):
    """One output: phi of a margin y<x, w> or of a residual <x, w> - y."""

    loss: Loss

    def limited(self, limit: float) -> LinearBounds:
        """Those of the limited loss: its slope is smaller, and rounding of margins counts by its phi''."""
        loss = self.loss.limited(limit)
        problem = replace(self.problem, slope=loss.slope, curvature_high=loss.curvature_high)
        return replace(self, loss=loss, problem=problem)

    def gradient_moves(self, w: Vector) -> float:
        problem, norm = self.problem, norm_above(w)
        public = {"radius": problem.radius, "target_reach": problem.label_reach, **self._tables}
        if problem.is_uncapped:
            return sensitivity.gradient_at(self.loss, weight_norm=norm, weight=problem.weight, **public)
        return sensitivity.capped_gradient_at(
            self.loss, weight_norm=norm, influence=problem.influence, **public
        )

    def slope_at(self, w: Vector) -> float:
        reach = self.problem.radius * norm_above(w) + self.problem.label_reach
        return min(self.loss.slope, self.loss.slope_within(reach * (1.0 + 2.0**-40)))

    def hessian_moves(self) -> float:
        return sensitivity.hessian(
            curvature_low=self.problem.curvature_low,
            curvature_high=self.problem.curvature_high,
            radius=self.problem.root_energy,
            **self._tables,
        )

    def eigenvalue_moves(self) -> float:
        return sensitivity.smallest_eigenvalue(
            curvature_low=self.problem.curvature_low,
            curvature_high=self.problem.curvature_high,
            radius=self.problem.root_energy,
            **self._tables,
        )

    def value_moves(self, weight_norm: float) -> float:
        return sensitivity.value_at(
            self.loss,
            weight_norm=weight_norm,
            radius=self.problem.radius,
            **self._tables,
            target_reach=self.problem.label_reach,
            weight=self.problem.weight,
            least_weight=self.loss.least_relative * self.problem.lightest,
        )

    def highest(self, weight_norm: float) -> float:
        return self.loss.value_within(self.problem.radius * weight_norm + self.problem.label_reach)


@final
@dataclass(frozen=True, kw_only=True)
class SoftmaxBounds(Bounds):
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

    def gradient_moves(self, w: Vector) -> float:
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

    def hessian_moves(self) -> float:
        return softmax_hessian(radius=self.problem.root_energy, **self._tables)

    def eigenvalue_moves(self) -> float:
        return softmax_eigenvalue(radius=self.problem.root_energy, **self._tables)

    def value_moves(self, weight_norm: float) -> float:
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
