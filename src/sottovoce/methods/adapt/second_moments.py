"""Second moments of the rows in learned coordinates, freed of as much noise as a noisy matrix allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np
from scipy import linalg

from sottovoce.methods.adapt.coordinates import LONGEST, above_zero, beyond_chance
from sottovoce.methods.expected_excess import ExpectedExcess

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.adapt.coordinates import Coordinates, Prior
    from sottovoce.queries import Answer

_CLEAR = 1.4
"""Eigenvalues count from this many edges of the noise on."""

_NEVER_EXACT = 1e-3
"""The least part that errors of the expected diagonal are taken for."""

_USUALLY_LOST, _TAILS = 0.15, 0.01
"""Part of the trace that the shortest cap takes from normal rows (.13 to .16 for 20 to 8 columns), and excess
loss in units of U T^2 where it takes twice that: .001 to .009 on made-up skewed and heavy-tailed rows."""

_FLOOR = 0.8
"""No eigenvalue is taken for less than this part of the edge, or of what the diagonal alone gives."""


@final
@dataclass(frozen=True, eq=False)
class SecondMoments:
    """An estimate of the weighted second moments: eigenvalues `spectrum`, eigenvectors `vectors` (columns).

    Symmetric noise of scale s has eigenvalues up to the edge s sqrt(2d). Of the noisy matrix minus its
    likely diagonal an eigenvalue e beyond it is kept at sqrt(e^2 - edge^2), by which the squared error is
    least: noise lengthens a true one and turns its vector away. `edge` is what may still be hidden,
    `error` the mean square of what the estimate may miss of an entry."""

    spectrum: Vector
    vectors: Matrix
    edge: float
    error: float

    @classmethod
    def of(cls, noisy: Answer[Matrix], expected: Vector, errors: Vector) -> SecondMoments:
        """From a noisy matrix, and what its diagonal was expected to be with what standard errors; those are
        taken for less where its diagonal strays no farther from that than by chance."""
        edge = noisy.scale * math.sqrt(2.0 * expected.size)
        gap = np.diag(noisy.value) - expected
        seen = float(np.mean(gap**2)) - noisy.scale**2 * beyond_chance(expected.size)
        trust = min(1.0, math.sqrt(max(seen, 0.0) / float(np.mean(errors**2))))
        sharp, told = (max(trust, _NEVER_EXACT) * errors) ** -2.0, noisy.scale**-2.0
        mean = (sharp * expected + told * np.diag(noisy.value)) / (sharp + told)
        expected = above_zero(mean, (sharp + told) ** -0.5)
        values, vectors = linalg.eigh(noisy.value - np.diag(expected))
        freed = np.sign(values) * np.sqrt(np.maximum(values**2 - (_CLEAR * edge) ** 2, 0.0))
        values, vectors = linalg.eigh(np.diag(expected) + (vectors * freed) @ vectors.T)
        alone = expected @ vectors**2
        floor = np.minimum(_FLOOR * edge, _FLOOR * alone) + 1e-3 * float(expected.mean())
        return cls(np.maximum(values, floor), vectors, edge, 0.5 * noisy.scale**2)


def widened(
    chosen: Coordinates, found: SecondMoments, gram: Answer[Matrix], prior: Prior, precision: float
) -> tuple[Coordinates, SecondMoments]:
    """Coordinates with a longer cap where rows have long tails, and the second moments to expect there.

    What caps take from the trace, known without them from the squares, shows in `gram`. Long rows are those
    that a line fits worst: where more is taken than from normal rows, weights without them are expected to
    lose `_TAILS` of h T^2 for each time that more, falling as the fourth power of the cap. Noise grows with
    its square; `precision` is n mu of all gradients together."""
    whole = float(chosen.diagonal.sum()) / chosen.counted
    error = math.hypot(gram.scale * math.sqrt(chosen.diagonal.size), float(np.linalg.norm(chosen.errors)))
    lost = 1.0 - (float(np.trace(gram.value)) + 2.0 * error) / whole
    signal = found.spectrum * (prior.deviation**2 / float(found.spectrum.sum()))
    noise = prior.movement * chosen.preconditioner.cap / precision
    costs = ExpectedExcess(found.spectrum, signal, prior.curvature).excess(noise)
    biased = _TAILS * prior.curvature * prior.deviation**2 * max(0.0, lost / _USUALLY_LOST - 1.0)
    longest = LONGEST * math.sqrt(whole) / chosen.preconditioner.cap
    factor = min(math.pow(2.0 * biased / costs, 1.0 / 6.0), longest)
    if factor <= 1.0:
        return chosen, found
    grown = (1.0 - lost / factor**2) / (1.0 - lost)
    longer = replace(chosen.preconditioner, cap=factor * chosen.preconditioner.cap)
    chosen = replace(chosen, preconditioner=longer, counted=min(1.0, grown * chosen.counted))
    return chosen, replace(found, spectrum=grown * found.spectrum)
