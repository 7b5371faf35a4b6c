"""Sensitivities from the constants of a problem, where whoever computes enforces them: clipped examples."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.privacy import sensitivity
from sottovoce.privacy.bounds import Bounds
from sottovoce.privacy.charges import norm_above
from sottovoce.privacy.rounding import gamma

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector


@dataclass(frozen=True, kw_only=True)
class ConstantBounds(Bounds, ABC):
    """A model adds how far one example moves its gradient, Hessian and value (Delta); the rest follows."""

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

    def _public_change(self, w: Vector, step: Vector) -> float:
        """Bound on the regularizer's values that enter a difference along this step."""
        regularizer = self.problem.regularizer
        return regularizer.value(w) + regularizer.value(w + step) + regularizer.value(w - step)
