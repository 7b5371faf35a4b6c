"""What noisy steps are expected to leave, by a quadratic model of the risk: excess loss and gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.arrays import Vector

if TYPE_CHECKING:
    from sottovoce.problem import Problem

_LOGISTIC = "logistic"
_TYPICAL = 0.6
"""Mean phi'' in units of its supremum, for losses without a model of their own."""

_SEVERAL_OUTPUTS = 0.3
"""The same for a softmax, whose bound 1/2 on its curvature is loose."""

_PRIOR = math.sqrt(2.0)
"""Prior standard deviation of log odds."""

_FOUND = 1.5
"""The signal to expect, in units of the signal found so far."""

_REACHED = 5.0 / 6.0
"""The mean of late iterates has gone this part of the whole way."""

_NORMAL = np.linspace(-6.0, 6.0, 241)


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
        prior = 0.5 * problem.label_reach if problem.label_reach else _PRIOR
        deviation = max(prior, _FOUND * found)
        signal = times * np.sqrt(spectrum)
        signal = signal * (deviation**2 / float(signal.sum()))
        if problem.loss == _LOGISTIC and problem.outputs == 1:
            across, along = _bends(round(10.0 * math.log(min(50.0, deviation))))
            return cls(spectrum, signal, across, along)
        part = _SEVERAL_OUTPUTS if problem.outputs > 1 else _TYPICAL
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


def movement(problem: Problem) -> float:
    """About what one record moves a gradient on the way, in units of its largest influence over n. Public."""
    return (2.0 if problem.label_reach else 1.2) * problem.slope


@lru_cache(maxsize=64)
def _bends(step: int) -> tuple[float, float]:
    """Mean phi'' of normal log odds of standard deviation e^(step/10), across and along the true weights."""
    mass = np.exp(-0.5 * _NORMAL**2)
    right = 1.0 / (1.0 + np.exp(-math.exp(step / 10.0) * _NORMAL))
    bends = right * (1.0 - right) * mass / mass.sum()
    return float(bends.sum()), float(bends @ _NORMAL**2)
