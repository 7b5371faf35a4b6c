"""How long to follow a noisy gradient: the damping with the least expected excess loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from sottovoce.arrays import Vector

_DAMPINGS = np.concatenate([[1e-9], np.exp(np.linspace(np.log(1e-4), np.log(1e4), 81))])
"""Dampings that are compared, in units of the largest curvature of the loss."""

_REACHED = 5.0 / 6.0
"""The mean of the last third of the iterates has gone this part of the whole way."""


@final
@dataclass(frozen=True)
class Outlook:
    """What is believed of a risk: eigenvalues of the second moments of its rows, and signal along each.

    `signal` is the prior variance of the linear predictor along each direction; `across` and `along` are the
    mean phi'' in directions across and along the weights sought."""

    spectrum: Vector
    signal: Vector
    across: float
    along: float

    @property
    def at_stake(self) -> float:
        """Excess loss of weights 0, by the quadratic model."""
        return 0.5 * self.across * float(self.signal.sum())


@final
@dataclass(frozen=True)
class Course:
    """`steps` steps -c (U S + L)^-1 g~ and the mean of their last third: U the loss's largest phi''."""

    steps: int
    relaxation: float
    curvature: float

    def flow(self, damping: Vector | float, spectrum: Vector | float = 1.0) -> Vector:
        """Step lengths added up along a direction of that eigenvalue: c K / (U s + L)."""
        return np.asarray(self.steps * self.relaxation / (self.curvature * spectrum + damping))

    def excess(self, outlook: Outlook, noise: float, damping: Vector) -> Vector:
        """Expected excess loss for each damping L; `noise` is the sd of one answer for the whole budget.

        Along a direction of eigenvalue s, t = c K/(U s + L): what is not reached decays as exp(-h s t), and
        noise leaves noise t/(1 + h s t/2) in the weights, between adding up in flat directions and being
        forgotten in steep ones. h is `along` for the signal and `across` for the noise."""
        flow = self.flow(damping[:, None], outlook.spectrum)
        missed = np.exp(-2.0 * _REACHED * outlook.along * outlook.spectrum * flow)
        bend = outlook.across * outlook.spectrum
        left = noise * flow / (1.0 + 0.5 * bend * flow)
        return np.asarray(0.5 * (outlook.across * outlook.signal * missed + bend * left**2).sum(axis=1))

    def best(self, outlook: Outlook, noise: float) -> tuple[float, float]:
        """The damping with the least expected excess, and that excess."""
        dampings = self.curvature * _DAMPINGS
        expected = self.excess(outlook, noise, dampings)
        place = int(np.argmin(expected))
        return float(dampings[place]), float(expected[place])
