"""Second moments of the rows in learned coordinates, freed of as much noise as a noisy matrix allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy import linalg

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.questions import Answer

_CLEAR = 1.4
"""Eigenvalues count from this many edges of the noise on."""

_FLOOR = 0.5
"""No eigenvalue is taken for less than this part of the edge, or of the mean if that is less."""


@final
@dataclass(frozen=True, eq=False)
class SecondMoments:
    """An estimate of the weighted second moments: eigenvalues `spectrum`, eigenvectors `vectors` (columns).

    Symmetric noise of scale s has eigenvalues up to the edge s sqrt(2d). Of the noisy matrix minus the
    expected diagonal an eigenvalue e beyond it is kept at sqrt(e^2 - edge^2), by which the squared error is
    least: noise lengthens a true one and turns its vector away. `edge` is what may still be hidden,
    `error` the mean square of what the estimate may miss of an entry."""

    spectrum: Vector
    vectors: Matrix
    edge: float
    error: float

    @classmethod
    def of(cls, noisy: Answer[Matrix], expected: Vector) -> SecondMoments:
        edge = noisy.scale * math.sqrt(2.0 * expected.size)
        values, vectors = linalg.eigh(noisy.value - np.diag(expected))
        freed = np.sign(values) * np.sqrt(np.maximum(values**2 - (_CLEAR * edge) ** 2, 0.0))
        values, vectors = linalg.eigh(np.diag(expected) + (vectors * freed) @ vectors.T)
        mean = float(expected.mean())
        floor = min(_FLOOR * edge, _FLOOR * mean) + 1e-3 * mean
        return cls(np.maximum(values, floor), vectors, edge, 0.5 * noisy.scale**2)
