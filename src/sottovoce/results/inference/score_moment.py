"""The second moment of scores from a noisy answer, drawn towards the Hessian as far as noise blurs it.

Where a model holds the moment is V = H, or c H with one dispersion c, as in quasi-likelihood. An answer V +
noise has, beside its part c H along H (least squares), a rest R of q = m(m+1)/2 - 1 coordinates, in each of
which noise has sd s. By James' and Stein's rule the part max(0, 1 - q s^2 / |R|^2) of R is kept: all of it
where records show that V has another shape, nothing where R is no longer than noise makes it. If negative
eigenvalues were set to 0 and nothing else, the noise in the others would be left and variances overstated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from sottovoce.arrays import Matrix, Vector


@final
@dataclass(frozen=True, eq=False)
class ScoreMoment:
    """V, of which the part `kept` of what is not along `hessian` was kept; `scale` is the noise's."""

    value: Matrix
    hessian: Matrix
    kept: float
    scale: float

    @classmethod
    def of(cls, answer: Matrix, scale: float, values: Vector, vectors: Matrix) -> ScoreMoment:
        """Along the columns of `vectors`, where the Hessian has these `values`; 0 in other directions."""
        size = max(float(values @ values), 1e-300)
        inside = vectors.T @ answer @ vectors
        level = max(float(values @ np.diag(inside)) / size, 0.0)
        rest = inside - level * np.diag(values)
        blur = (0.5 * len(values) * (len(values) + 1) - 1.0) * scale**2
        kept = max(0.0, 1.0 - blur / max(float(np.sum(rest**2)), 1e-300)) if blur else 1.0
        found, turn = np.linalg.eigh(level * np.diag(values) + kept * rest)
        along = vectors @ turn
        value = np.asarray((along * np.maximum(found, 0.0)) @ along.T)
        return cls(value, np.asarray((vectors * values) @ vectors.T), kept, scale)

    def strays(self, a: Matrix) -> Vector:
        """Variance of a'Va for the rows a: whole along the Hessian, in what is kept of the rest as much less
        as if R had been drawn from what was seen of it."""
        size = max(float(np.sum(self.hessian**2)), 1e-300)
        along = np.einsum("ij,jk,ik->i", a, self.hessian, a) ** 2 / size
        whole = np.einsum("ij,ij->i", a, a) ** 2
        return np.asarray(self.scale**2 * (along + self.kept * (whole - along)))
