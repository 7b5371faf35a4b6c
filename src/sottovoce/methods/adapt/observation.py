"""A noisy gradient as a posterior takes it in: where it was asked, and how the risk bends there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from sottovoce.arrays import Matrix, Vector

_LONGEST = 0.5
"""Most that one answer scales the weights by, less 1."""


@final
@dataclass(frozen=True)
class SecantCurvature:
    """h across and along the weights for every hypothesis; `highest` bounds it."""

    across: Vector
    along: Vector
    highest: float


class GradientObservation(NamedTuple):
    """A noisy gradient at u, its noise, and the curvatures from u to the weights under each hypothesis."""

    u: Matrix
    answer: Matrix
    scale: float
    curve: SecantCurvature


@final
@dataclass(frozen=True)
class Along:
    """What a gradient at u says along u, per square of the predictor there: `seen` with variance `noise`,
    and how the risk bends along and across u under each hypothesis."""

    seen: float
    noise: float
    bends: Vector
    across: Vector

    @property
    def pulled(self) -> Vector:
        """By how much H^-1 g misjudges the length of u, which noise hardly hides."""
        away = self.seen / self.bends - self.seen / self.across
        return np.asarray(np.clip(away, -_LONGEST, _LONGEST))

    def spread(self, outputs: int) -> Vector:
        """The variance, in units of u^2, that taking this in adds."""
        return self.noise * np.maximum(self.bends**-2.0 - self.across**-2.0, 0.0) * outputs


def contradiction(answers: Sequence[GradientObservation], u: Matrix) -> float:
    """How far noisy gradients contradict that u minimizes a convex risk, in standard errors.

    Gradients of a convex risk are monotone, so that each taken at u_i satisfies <g_i, u_i - u> >= 0 if u is
    the minimizer, whatever the Hessian is. Minus these products, by their precisions, is summed over the last
    k answers; the largest standardized sum over all k counts, so that many weak hints add up."""
    gaps = [(observation.u - u, observation) for observation in reversed(answers)]
    against = np.cumsum(
        [-float(np.vdot(gap, observation.answer)) / observation.scale**2 for gap, observation in gaps]
    )
    precision = np.cumsum([float(np.vdot(gap, gap)) / observation.scale**2 for gap, observation in gaps])
    return float(np.max(against / np.sqrt(np.maximum(precision, 1e-300))))
