"""Sensitivities of queries as computed: the mathematical bound plus what floating point adds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError
from sottovoce.privacy import sensitivity
from sottovoce.privacy.charges import Facts, charge, norm_above
from sottovoce.privacy.rounding import gamma
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

    @property
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
                'radius, so its noise would not be private. Use calibration="tight".'
            )
        return max(paper, tight)

    @property
    def _tables(self) -> dict[str, Any]:
        """What a movement depends on besides the risk: how many records, and which tables are neighbours."""
        return {"n": self.problem.n, "relation": self.relation}

    def _public_change(self, w: Vector, step: Vector) -> float:
        """Bound on the regularizer's values that enter a difference along this step."""
        regularizer = self.problem.regularizer
        return regularizer.value(w) + regularizer.value(w + step) + regularizer.value(w - step)


@dataclass(frozen=True, kw_only=True)
class ConstantBounds(Bounds, ABC):
    """From the constants of a problem, where kernels enforce them: softmax, whose formula is theirs, and
    clipped examples. A model adds how far one record moves its gradient, Hessian and value (Delta)."""

    @abstractmethod
    def gradient_sensitivity(self, w: Vector) -> float:
        """Delta of the gradient at w, l2."""

    def slope_at(self, w: Vector) -> float:
        """Largest |phi'| that a record can have at w."""
        return self.problem.slope

    @abstractmethod
    def hessian_sensitivity(self) -> float:
        """Delta of the Hessian, Frobenius."""

    @abstractmethod
    def eigenvalue_sensitivity(self) -> float:
        """Delta of the smallest eigenvalue of the Hessian."""

    @abstractmethod
    def value_sensitivity(self, weight_norm: float) -> float:
        """Delta of the mean loss at weights of this norm."""

    @abstractmethod
    def highest(self, weight_norm: float) -> float:
        """Largest loss of one record at weights of this norm."""

    def gradient(self, w: Vector) -> float:
        """l2 movement of the gradient."""
        distance = self._stated(self.gradient_sensitivity(w), 2.0 / self.problem.n)
        return distance + 2.0 * self.arithmetic.gradient(
            slope=self.problem.slope,
            curvature=self._curvature,
            weight_norm=norm_above(w),
            added=norm_above(self.problem.regularizer.gradient(w)),
        )

    def gradient_norm(self, w: Vector) -> float:
        """Movement of the gradient's norm: at most the gradient's own."""
        return self.gradient_sensitivity(w) + 2.0 * self.arithmetic.gradient_norm(
            slope=self.problem.slope,
            curvature=self._curvature,
            weight_norm=norm_above(w),
            added=norm_above(self.problem.regularizer.gradient(w)),
        )

    def hessian(self, w: Vector) -> float:
        """Frobenius movement of the Hessian."""
        return self._stated(self.hessian_sensitivity(), self._published_hessian) + self._hessian_rounding(w)

    def curvature_product(self, w: Vector) -> float:
        """l2 movement of the Hessian times a unit vector, a sum of `dim`: at most the spectral movement.

        That is the most an eigenvalue can move by: ||P - Q|| <= max(||P||, ||Q||) for semidefinite terms, and
        at most (U + L) R^2 for others."""
        distance = self._stated(
            self.eigenvalue_sensitivity(), self._published_hessian
        ) + self._hessian_rounding(w)
        size = (
            self._curvature * self.problem.energy
            + norm_above(self.problem.regularizer.curvature(w))
            + distance
        )
        return (distance + 2.0 * gamma(self.problem.dim + 16.0) * size) * (1.0 + 2.0**-40)

    def _hessian_rounding(self, w: Vector) -> float:
        return 2.0 * self.arithmetic.hessian(
            curvature=self._curvature,
            third=self.problem.third,
            weight_norm=norm_above(w),
            added=norm_above(self.problem.regularizer.curvature(w)),
        )

    def smallest_eigenvalue(self, w: Vector) -> float:
        """Movement of the smallest eigenvalue of the Hessian."""
        return self.eigenvalue_sensitivity() + 2.0 * self.arithmetic.smallest_eigenvalue(
            curvature=self._curvature,
            third=self.problem.third,
            weight_norm=norm_above(w),
            added=norm_above(self.problem.regularizer.curvature(w)),
        )

    def score_moment(self, w: Vector) -> float:
        """Frobenius movement of (1/n) sum q^2 phi'^2 xx': one record gives at most (sup|phi'| influence)^2.

        phi'^2 follows the margin at rate 2 sup|phi'| sup|phi''|, and doubles the relative error of phi'. A
        person's score lies in the hull of row scores; it is a sum that is squared, which errs twice more."""
        slope, steepest = self.slope_at(w), self.problem.slope
        often = 2.0 if self.problem.unit == "record" else 4.0
        rounding = self._moment_rounding(w, often * steepest**2, 2.0 * steepest * self._curvature)
        return self._moment(slope**2) + 2.0 * rounding

    def information(self, w: Vector) -> float:
        """Frobenius movement of (1/n) sum q^2 phi'' xx', phi'' >= 0: one record gives U influence^2."""
        highest = self.problem.curvature_high
        return self._moment(highest) + 2.0 * self._moment_rounding(w, highest, self.problem.third)

    def _moment(self, factor: float) -> float:
        """Movement of a mean of f q^2 xx', f at most `factor`, or as much in the norm of several outputs."""
        return sensitivity.second_moment(largest=factor * self.problem.influence**2, **self._tables)

    def _moment_rounding(self, w: Vector, largest: float, rate: float) -> float:
        """E of such a mean: that of a Hessian whose terms count once more."""
        often = self.problem.weight
        return self.arithmetic.hessian(
            curvature=often * largest, third=often * rate, weight_norm=norm_above(w)
        )

    def trials(self, w: Vector, steps: Matrix) -> float:
        """l2 movement of (f(w) - f(w + p_j)) / ||p_j|| over the rows p_j of `steps`."""
        distance = sensitivity.normalized_trials(
            slope=self.problem.slope, radius=self.problem.influence, count=len(steps), **self._tables
        )
        lengths = np.linalg.norm(steps, axis=1)
        return distance + 2.0 * self.arithmetic.normalized_trials(
            slope=self.problem.slope,
            highest=self.highest(norm_above(w) + float(np.max(lengths))),
            weight_norm=norm_above(w),
            step_norms=[float(length) for length in lengths],
            added=[self._public_change(w, step) for step in steps],
        )

    def difference(self, w: Vector, step: Vector) -> float:
        """Movement of f(w) - f(w + gamma p) for every 0 < gamma <= 1: the longest step's bound covers all."""
        distance = sensitivity.value_difference(
            slope=self.problem.slope,
            radius=self.problem.influence,
            **self._tables,
            step_norm=norm_above(step),
        )
        distance = self._stated(distance, 2.0 * norm_above(step) / self.problem.n)
        return distance + 2.0 * self._difference_error(w, step)

    def grid(self, w: Vector, direction: Vector, longest: float, shrink: float, count: int) -> float:
        return self.line(w, direction, np.asarray(longest * shrink ** np.arange(count), np.float64))

    def line(self, w: Vector, direction: Vector, lengths: Vector) -> float:
        """l2 movement of f(w) - f(w + gamma_i p) over the lengths gamma_i: as one step of all of them."""
        distance = sensitivity.value_difference(
            slope=self.problem.slope,
            radius=self.problem.influence,
            **self._tables,
            step_norm=norm_above(direction) * norm_above(lengths),
        )
        error = self._difference_error(w, float(np.max(lengths)) * direction)
        return distance + 2.0 * math.sqrt(lengths.size) * error

    def value(self, w: Vector) -> float:
        """Movement of f(w)."""
        norm = norm_above(w)
        return self.value_sensitivity(norm) + 2.0 * self.arithmetic.value(
            highest=self.highest(norm),
            slope=self.problem.slope,
            weight_norm=norm,
            added=self.problem.regularizer.value(w),
        )

    def _difference_error(self, w: Vector, step: Vector) -> float:
        return self.arithmetic.difference(
            slope=self.problem.slope,
            highest=self.highest(norm_above(w) + norm_above(step)),
            weight_norm=norm_above(w),
            step_norm=norm_above(step),
            added=self._public_change(w, step),
        )

    @property
    def _curvature(self) -> float:
        return max(self.problem.curvature_low, self.problem.curvature_high)
