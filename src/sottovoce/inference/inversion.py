"""Intervals where the Hessian is lost in its noise: all values that a test does not reject.

With r(eta) = g + H eta and M(eta) = sigma^2 I + V/n + (s^2/2)(||eta||^2 I + eta eta') + k^2 H eta eta'H, r at
the true eta has covariance M there, k as in `estimate`. A value b of a term c eta stays unless
min{r'M^-1 r : c eta = b} exceeds the quantile.
Nothing is inverted, so a flat direction of H is no trouble. As eta grows along a unit vector v the statistic
tends to (2/s^2)(|Hv|^2 - (v'Hv)^2/2), whose minimum is (lambda/s)^2, lambda the smallest absolute eigenvalue
of H: below the quantile the set is unbounded along v, both ways, and so is every term that is not constant
along it. A public bound on the size of all terms ends that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy import linalg, optimize

from sottovoce.arrays import Matrix, Vector
from sottovoce.inference.estimate import OneStep

_FARTHEST = 1e4
"""Where a search for an end gives up, in units of the first guess at the width."""

_TOLERANCE = 0.01


@final
@dataclass(frozen=True, eq=False)
class Inversion:
    """The test for each of `terms`, rows that together fix eta; none is further from 0 than its limit."""

    estimate: OneStep
    terms: Matrix
    limits: Vector

    @cached_property
    def centre(self) -> Vector:
        """The terms before the step."""
        return np.asarray(self.terms @ self.estimate.findings.weights)

    @cached_property
    def _solver(self) -> Matrix:
        """eta of the terms' moves."""
        return np.asarray(np.linalg.inv(self.estimate.direction(self.terms)))

    @cached_property
    def _units(self) -> Vector:
        """A first guess at the width of each term: damped where the Hessian is flat."""
        values, vectors = np.linalg.eigh(self.estimate.hessian)
        floor = max(self.estimate.findings.hessian_scale, 1e-12 * float(np.abs(values).max()))
        inverse = (vectors / np.maximum(np.abs(values), floor)) @ vectors.T
        covariance = inverse @ self.estimate.still @ inverse
        found = np.einsum("ij,jk,ik->i", rows := self.estimate.direction(self.terms), covariance, rows)
        return np.asarray(np.sqrt(found))

    def statistic(self, eta: Vector) -> tuple[float, Vector]:
        """r'M^-1 r and its gradient 2(1 - k^2 y'H eta) H y - s^2 (||y||^2 eta + (y'eta) y), y = M^-1 r."""
        estimate = self.estimate
        turned, change = estimate.hessian @ eta, estimate.change**2
        residual = estimate.gradient + turned
        chance = estimate.still + estimate.noise(eta) + change * np.outer(turned, turned)
        factor = linalg.cho_factor(chance, check_finite=False)
        y = linalg.cho_solve(factor, residual, check_finite=False)
        shrink = estimate.findings.hessian_scale**2 * (float(y @ y) * eta + float(y @ eta) * y)
        slope = 2.0 * (1.0 - change * float(y @ turned)) * (estimate.hessian @ y) - shrink
        return float(residual @ y), np.asarray(slope)

    @cached_property
    def best(self) -> Vector:
        """Terms of least statistic: the estimate, in the middle of every interval."""
        start = self.centre + self.estimate.direction(self.terms) @ self.estimate.damped_step
        return self._minimized(start, None)[1]

    def is_bounded(self, quantile: float) -> bool:
        return self.estimate.ratio**2 > quantile or bool(np.isfinite(self.limits).any())

    def least(self, place: int, value: float, start: Vector) -> tuple[float, Vector]:
        """Least statistic where one term has this value, and the terms there."""
        moved = start.copy()
        moved[place] = value
        return self._minimized(moved, place)

    def _minimized(self, start: Vector, fixed: int | None) -> tuple[float, Vector]:
        units, free = self._units, np.arange(start.size) != (-1 if fixed is None else fixed)
        if not free.any():
            return self.statistic(self._solver @ (start - self.centre))[0], start

        def scaled(x: Vector) -> tuple[float, Vector]:
            terms = start.copy()
            terms[free] = x * units[free]
            value, slope = self.statistic(self._solver @ (terms - self.centre))
            return value, np.asarray((self._solver.T @ slope)[free] * units[free])

        bound = self.limits[free] / units[free]
        found = optimize.minimize(
            scaled,
            np.clip(start[free] / units[free], -bound, bound),
            jac=True,
            method="L-BFGS-B",
            bounds=np.column_stack([-bound, bound]),
            options={"maxiter": 300, "ftol": 1e-8},
        )
        terms = start.copy()
        terms[free] = found.x * units[free]
        return float(found.fun), terms

    def end(self, place: int, side: int, quantile: float) -> float:
        """The last value on this side that is not rejected; infinite where none is.

        The root of the statistic is about linear away from the estimate, which tells where to look next."""
        if not self.is_bounded(quantile):
            return side * math.inf
        inside, terms = float(self.best[place]), self.best
        limit = side * float(self.limits[place])
        if side * inside >= side * limit:
            return limit
        reach = 1.5 * math.sqrt(quantile) * float(self._units[place])
        under, over = self._excess(self.least(place, inside, terms)[0], quantile), 0.0
        while True:
            outside = inside + side * reach
            if side * outside >= side * limit:
                outside = limit
            statistic, reached = self.least(place, outside, terms)
            over = self._excess(statistic, quantile)
            if over > 0.0:
                break
            if outside == limit:
                return limit
            inside, terms, under, reach = outside, reached, over, 2.0 * reach
            if reach > _FARTHEST * float(self._units[place]):
                return side * math.inf
        while abs(outside - inside) > _TOLERANCE * abs(outside - float(self.best[place])):
            part = min(0.9, max(0.1, -under / (over - under)))
            middle = inside + part * (outside - inside)
            statistic, reached = self.least(place, middle, terms)
            excess = self._excess(statistic, quantile)
            if excess > 0.0:
                outside, over = middle, excess
                under *= 0.5
            else:
                inside, terms, under = middle, reached, excess
                over *= 0.5
        return outside

    @staticmethod
    def _excess(statistic: float, quantile: float) -> float:
        return math.sqrt(max(0.0, statistic)) - math.sqrt(quantile)
