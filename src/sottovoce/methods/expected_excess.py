"""What a budget can reach: the expected excess loss of the best estimate from noisy gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.arrays import Vector

if TYPE_CHECKING:
    from sottovoce.queries import Queries, Query


@final
@dataclass(frozen=True)
class ExpectedExcess:
    """What is believed of a risk: eigenvalues of the second moments of its rows, and signal along each.

    `signal` is the prior variance of the linear predictor along each, `curvature` the mean phi''."""

    spectrum: Vector
    signal: Vector
    curvature: float

    @property
    def at_stake(self) -> float:
        """Excess loss of weights 0, by the quadratic model."""
        return 0.5 * self.curvature * float(self.signal.sum())

    def excess(self, noise: float) -> float:
        """Expected excess loss when all gradients together have noise of sd `noise` in each entry.

        Along a direction of eigenvalue s the answer tells the weight up to noise/(h s), h the curvature: a
        variance r = noise^2/(h^2 s) of the predictor. Of a prior variance v the best estimate (Wiener) leaves
        v r/(v + r), and each unit of that costs h/2."""
        left = noise**2 / (self.curvature**2 * self.spectrum)
        return 0.5 * self.curvature * float((self.signal * left / (self.signal + left)).sum())


def sensitivity_of(ask: Queries, query: Query[Vector]) -> float:
    """How far one record moves the answer, read off a price, whose units are (sensitivity / scale)^2."""
    scale = ask.problem.slope * ask.problem.influence / ask.problem.n
    return scale * math.sqrt(ask.mu_squared(ask.price(query, scale)))
