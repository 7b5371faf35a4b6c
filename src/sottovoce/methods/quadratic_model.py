"""What noisy steps are expected to leave, by a quadratic model of the risk: excess loss and gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.methods.logistic_model import log_odds
from sottovoce.methods.mean_curvature import LOGISTIC, SEVERAL_OUTPUTS, TYPICAL, prior_deviation

if TYPE_CHECKING:
    from sottovoce.problem import Problem

_FOUND = 1.5
"""The signal to expect, in units of the signal found so far."""

_REACHED = 5.0 / 6.0
"""The mean of late iterates has gone this part of the whole way."""


@final
@dataclass(frozen=True)
class QuadraticModel:
    """What is believed of a risk: eigenvalues of its rows' second moments, and the signal along each.

    `signal` is the prior variance of the linear predictor along each direction; `across` and `along` are the
    mean phi'' in directions across and along the weights sought."""

    spectrum: Vector
    signal: Vector
    across: float
    along: float

    @classmethod
    def expected(
        cls, problem: Problem, spectrum: Vector, found: float = 0.0, times: Vector | float = 1.0
    ) -> QuadraticModel:
        """Before anything, or after a signal of standard deviation `found`, is seen; it goes with the root of
        each eigenvalue, of which there are `times`. Public."""
        deviation = max(prior_deviation(problem), _FOUND * found)
        signal = times * np.sqrt(spectrum)
        signal = signal * (deviation**2 / float(signal.sum()))
        if problem.loss == LOGISTIC and problem.outputs == 1:
            bends = log_odds(deviation)
            return cls(spectrum, signal, bends.curvature, bends.along)
        part = SEVERAL_OUTPUTS if problem.outputs > 1 else TYPICAL
        return cls(spectrum, signal, part * problem.curvature_high, part * problem.curvature_high)

    def excess(self, travelled: Vector, noise: Vector | float) -> Vector:
        """Expected excess loss after step lengths that sum to `travelled` along each direction (last axis).

        `noise` is the sd of one answer for the whole budget; a direction may stand for m alike, with sqrt(m)
        times the noise. What is not reached decays as exp(-h s t), and noise leaves noise t/(1 + h s t/2) in
        the weights, between adding up in flat directions and being forgotten in steep ones. h is `along` for
        the signal and `across` for the noise."""
        missed, left = self._remaining(travelled, noise)
        bend = self.across * self.spectrum
        return np.asarray(0.5 * (self.across * self.signal * missed + bend * left**2).sum(axis=-1))

    def steepness(self, travelled: Vector, noise: Vector | float) -> Vector:
        """Expected squared norm of the gradient, by the same model: what is left times its bend, squared."""
        missed, left = self._remaining(travelled, noise)
        bend = self.across * self.spectrum
        return np.asarray((self.across * bend * self.signal * missed + (bend * left) ** 2).sum(axis=-1))

    def _remaining(self, travelled: Vector, noise: Vector | float) -> tuple[Vector, Vector]:
        """The part of the squared signal that was not reached, and the sd of noise in the weights."""
        missed = np.exp(-2.0 * _REACHED * self.along * self.spectrum * travelled)
        return missed, noise * travelled / (1.0 + 0.5 * self.across * self.spectrum * travelled)
