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
from scipy import linalg

from sottovoce.arrays import Matrix, Vector
from sottovoce.inference.boxed import Derivatives, minimized
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

    def statistic(self, eta: Vector) -> tuple[float, Vector, Matrix]:
        """S = r'M^-1 r, its gradient and its Hessian.

        S is the maximum of 2y'r - y'My over y, at y = M^-1 r. With P(eta) y = (y'M)_eta / 2 the gradient is
        2 (Hy - P y) and the Hessian 2 A'M^-1 A - B, A = H - dM y / d eta, B = d^2 y'My / d eta^2."""
        estimate = self.estimate
        hessian, change, square = estimate.hessian, estimate.change**2, estimate.findings.hessian_scale**2
        turned = hessian @ eta
        residual = estimate.gradient + turned
        chance = estimate.still + estimate.noise(eta) + change * np.outer(turned, turned)
        factor = linalg.cho_factor(chance, check_finite=False)
        y = linalg.cho_solve(factor, residual, check_finite=False)
        bent, along, hidden = hessian @ y, float(y @ eta), float(y @ turned)
        slope = 2.0 * (1.0 - change * hidden) * bent - square * (float(y @ y) * eta + along * y)
        same = np.eye(eta.size)
        moves = (1.0 - change * hidden) * hessian - change * np.outer(turned, bent)
        moves -= 0.5 * square * (2.0 * np.outer(y, eta) + along * same + np.outer(eta, y))
        curves = square * (float(y @ y) * same + np.outer(y, y)) + 2.0 * change * np.outer(bent, bent)
        bend = 2.0 * moves.T @ linalg.cho_solve(factor, moves, check_finite=False) - curves
        return float(residual @ y), np.asarray(slope), np.asarray(bend)

    @cached_property
    def best(self) -> Vector:
        """Terms of least statistic: the estimate, in the middle of every interval."""
        start = self.centre + self.estimate.direction(self.terms) @ self.estimate.damped_step
        return self._minimized(start, None)[1]

    def is_bounded(self, quantile: float) -> bool:
        return self.estimate.ratio**2 > quantile or bool(np.isfinite(self.limits).any())

    @cached_property
    def _origins(self) -> tuple[Vector, ...]:
        """Where searches start: the estimate, before the step, and as far from 0 along the two flattest
        directions as limits let both ways."""
        values, vectors = np.linalg.eigh(self.estimate.hessian)
        flattest = vectors[:, np.argsort(np.abs(values))[:2]]
        moves = (self.estimate.direction(self.terms) @ flattest).T
        ends = np.where(np.isfinite(self.limits), self.limits, 10.0 * self._units)
        farthest = [move * float(np.min(ends / np.maximum(np.abs(move), 1e-300))) for move in moves]
        out = [sign * move for move in farthest for sign in (1.0, -1.0)]
        return self.best, self.centre, *out

    def least(
        self, place: int, value: float, start: Vector, quantile: float = -math.inf
    ) -> tuple[float, Vector]:
        """Least statistic where one term has this value, and the terms there.

        It has more than one valley: none is taken for the least before searches from `start` and from all
        origins ended above the quantile."""
        found = (math.inf, start)
        for origin in (start, *self._origins):
            moved = origin.copy()
            moved[place] = value
            found = min(found, self._minimized(moved, place), key=lambda ended: ended[0])
            if found[0] <= quantile:
                break
        return found

    def _minimized(self, start: Vector, fixed: int | None) -> tuple[float, Vector]:
        free = np.arange(start.size) != (-1 if fixed is None else fixed)
        units = self._units[free]
        moves = self._solver[:, free] * units

        def scaled(x: Vector) -> Derivatives:
            terms = start.copy()
            terms[free] = x * units
            value, slope, bend = self.statistic(self._solver @ (terms - self.centre))
            return value, moves.T @ slope, moves.T @ bend @ moves

        value, found = minimized(scaled, start[free] / units, self.limits[free] / units)
        terms = start.copy()
        terms[free] = found * units
        return value, terms

    def end(self, place: int, side: int, quantile: float) -> float:
        """The last value on this side that is not rejected; infinite where none is.

        The root of the statistic is about linear away from the estimate, which tells where to look next."""
        if not self.is_bounded(quantile):
            return side * math.inf
        inside, terms = float(self.best[place]), self.best
        limit = side * float(self.limits[place])
        if side * inside >= side * limit or self._reaches(place, limit, quantile):
            return limit
        reach = 1.5 * math.sqrt(quantile) * float(self._units[place])
        under, over = self._excess(self.least(place, inside, terms, quantile)[0], quantile), 0.0
        while True:
            outside = inside + side * reach
            if side * outside >= side * limit:
                outside = limit
            statistic, reached = self.least(place, outside, terms, quantile)
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
            statistic, reached = self.least(place, middle, terms, quantile)
            excess = self._excess(statistic, quantile)
            if excess > 0.0:
                outside, over = middle, excess
                under *= 0.5
            else:
                inside, terms, under = middle, reached, excess
                over *= 0.5
        return outside

    def _reaches(self, place: int, limit: float, quantile: float) -> bool:
        """Whether a search from the estimate already keeps the limit itself: then nothing is looked for."""
        moved = self.best.copy()
        moved[place] = limit
        return math.isfinite(limit) and self._minimized(moved, place)[0] <= quantile

    @staticmethod
    def _excess(statistic: float, quantile: float) -> float:
        return math.sqrt(max(0.0, statistic)) - math.sqrt(quantile)
