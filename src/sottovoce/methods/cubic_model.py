"""The cubic model of a risk, minimized globally from one eigendecomposition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy import optimize

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector

_TINY = 1e-150


@final
@dataclass(frozen=True)
class CubicModel:
    """g'p + p'Hp/2 + (M/6) ||p||^3 for any M > 0, with H as eigenvalues (ascending) and eigenvectors."""

    gradient: Vector
    values: Vector
    vectors: Matrix

    @classmethod
    def of(cls, gradient: Vector, hessian: Matrix, noise: float = 0.0) -> CubicModel:
        """Eigenvalues that lie within `noise` of 0 are raised to it: their sign and size are unknown, and a
        step divided by one of them would be noise magnified. Those below -noise are truly negative."""
        values, vectors = np.linalg.eigh(hessian)
        values = np.where(np.abs(values) < noise, noise, values)
        order = np.argsort(values)
        return cls(vectors.T[order] @ gradient, values[order], vectors[:, order])

    def step(self, lipschitz: float) -> Vector:
        """The global minimizer: (H + (M/2) r) p = -g with r = ||p|| and H + (M/2) r positive semidefinite.

        With (M/2) r = max(0, -lambda_1) + shift, 1/||p(shift)|| = 1/r is solved for shift >= 0: p shortens as
        r grows. Hard case: even at 0 p is shorter than r, because g has no part along the lowest
        eigenvectors; then one of them is added."""
        sunk = max(0.0, -float(self.values[0]))
        least = 2.0 * sunk / lipschitz
        gaps = self.values + sunk
        most = math.sqrt(float(np.linalg.norm(self.gradient)) * lipschitz / 2.0)
        if most <= _TINY:
            return self._completed(np.zeros_like(self.gradient), least)

        def excess(shift: float) -> float:
            length = float(np.linalg.norm(self.gradient / (gaps + shift)))
            return 1.0 / length - 1.0 / (least + 2.0 * shift / lipschitz)

        low = 1e-3 * most
        while excess(low) > 0.0:
            low *= 1e-3
            if low < _TINY * max(1.0, most):
                return self._completed(self._above_bottom(gaps), least)
        shift = most if excess(most) <= 0.0 else optimize.brentq(excess, low, most, xtol=1e-300, rtol=1e-14)
        return self.vectors @ (-self.gradient / (gaps + float(shift)))

    def settled(self, gradient: Vector) -> CubicModel:
        """The model for another gradient nearby, every eigenvalue by its size: none is worth leaving for."""
        sizes = np.abs(self.values)
        order = np.argsort(sizes)
        vectors = self.vectors[:, order]
        return CubicModel(vectors.T @ gradient, sizes[order], vectors)

    def decrease(self, step: Vector, lipschitz: float) -> float:
        """How far the model falls along a step."""
        parts = self.vectors.T @ step
        quadratic = self.gradient @ parts + 0.5 * self.values @ (parts * parts)
        return -float(quadratic) - lipschitz / 6.0 * float(np.linalg.norm(step)) ** 3

    def _above_bottom(self, gaps: Vector) -> Vector:
        """The part of p outside the lowest eigenvectors, where H + (M/2) r is not singular."""
        clear = gaps > 1e-12 * float(np.abs(self.values).max())
        parts = np.zeros_like(self.gradient)
        parts[clear] = -self.gradient[clear] / gaps[clear]
        return parts

    def _completed(self, parts: Vector, radius: float) -> Vector:
        """Along the lowest eigenvector, downhill if it slopes at all, up to length `radius`."""
        missing = math.sqrt(max(0.0, radius**2 - float(parts @ parts)))
        completed = parts.copy()
        completed[0] += -missing if self.gradient[0] > 0.0 else missing
        return self.vectors @ completed


def minimize_cubic(gradient: Vector, hessian: Matrix, lipschitz: float) -> Vector:
    """The global minimizer of g'p + p'Hp/2 + (M/6) ||p||^3: a Lipschitz Hessian makes this a bound on the
    risk, so an exact g and H could not fail to descend."""
    return CubicModel.of(gradient, hessian).step(lipschitz)
