"""Second moments of the rows in learned coordinates, freed of as much noise as a noisy matrix allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
from scipy import linalg

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.questions import Answer

_HIDDEN = 1.25
"""True eigenvalues may lie this many edges of the noise above the estimate."""


@final
@dataclass(frozen=True, eq=False)
class SecondMoments:
    """An estimate S of the weighted second moments, and `hidden`, by how much the true ones may exceed it.

    Symmetric noise of scale s has eigenvalues up to the edge s sqrt(2d). The noisy matrix minus the expected
    diagonal keeps its eigenvalues beyond the edge, each at (e + sqrt(e^2 - edge^2))/2, the size a true one
    must have to appear at e, and loses the others."""

    matrix: Matrix
    hidden: float

    @classmethod
    def of(cls, noisy: Answer[Matrix], expected: Vector) -> SecondMoments:
        edge = noisy.scale * math.sqrt(2.0 * expected.size)
        values, vectors = linalg.eigh(noisy.value - np.diag(expected))
        freed = np.sign(values) * (np.abs(values) + np.sqrt(np.maximum(values**2 - edge**2, 0.0))) / 2.0
        freed = np.where(np.abs(values) > edge, freed, 0.0)
        estimate = np.diag(expected) + (vectors * freed) @ vectors.T
        values, vectors = linalg.eigh(estimate)
        return cls((vectors * np.maximum(values, 0.0)) @ vectors.T, _HIDDEN * edge)

    @cached_property
    def spectrum(self) -> Vector:
        """Eigenvalues, none below a millionth of their mean."""
        values = linalg.eigvalsh(self.matrix)
        return np.asarray(np.maximum(values, 1e-6 * max(float(values.mean()), 1e-300)))

    def variance(self, blocks: Matrix) -> float:
        """Variance of the linear predictors u'z of the rows of `blocks`, averaged over them."""
        return max(0.0, float(np.einsum("ki,ij,kj->", blocks, self.matrix, blocks)) / len(blocks))
