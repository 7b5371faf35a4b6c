"""What a softmax asks of its records: limits and spans that its formula fills.

All of it is a proposal. Where one is too narrow, contributions are clamped and the answer is biased, but
never charged too little for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn, final

from sottovoce.errors import ParameterError
from sottovoce.models.bounds import Bounds
from sottovoce.privacy.sensitivity import norm_above
from sottovoce.privacy.softmax_sensitivity import SPREAD
from sottovoce.trusted import requests
from sottovoce.trusted.bands import Span

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector

SLOPE = math.nextafter(math.sqrt(2.0), 2.0)
"""sup ||p - e_y||: all belief in a wrong class."""

ROUND_UP = 1.0 + 2.0**-40
"""Outweighs the rounding of the formula and of the kernels' probabilities."""

CURVATURE = SPREAD
"""Largest eigenvalue of diag(p) - pp', at two classes of chance 1/2."""

THIRD = 0.2722
"""sup of the third derivative along a unit direction: 2 sqrt2 times the logistic loss's 1/(6 sqrt3)."""


BEND = SLOPE
"""sup of the third derivative along (u, u, v) over the second along (u, u), v a unit vector.

It is E (u - Eu)^2 (v - Ev), and no entry of v is further from their mean than the widest of them apart."""


@final
@dataclass(frozen=True, kw_only=True)
class SoftmaxBounds(Bounds):
    """K outputs at once, weights class by class. `limit`: p - e_y is shortened to it where it is longer."""

    limit: float = math.inf

    def limited(self, limit: float) -> SoftmaxBounds:
        return replace(self, limit=limit)

    def vector_sum(self, w: Vector) -> requests.ClassVector:
        return requests.ClassVector(w, min(self.limit, self._longest(w)))

    def vector_change(self, w: Vector, step: Vector) -> NoReturn:
        raise ParameterError("changes of a gradient are asked of models with a single output.")

    def number_sum(self, w: Vector) -> requests.ClassNumber:
        """log K + sqrt2 R ||W|| at most."""
        highest = self.problem.value_at_zero + self.problem.slope * self.problem.radius * norm_above(w)
        return requests.ClassNumber(w, Span(0.0, highest * ROUND_UP))

    def matrix_sum(self, w: Vector) -> requests.ClassMatrix:
        return requests.ClassMatrix(w)

    def information_sum(self, w: Vector) -> requests.ClassInformation:
        return requests.ClassInformation(w)

    def score_sum(self, w: Vector) -> requests.ClassScores:
        return requests.ClassScores(w, self._longest(w))

    def step_drops(self, w: Vector, steps: Matrix, divisors: Vector) -> requests.ClassSteps:
        return requests.ClassSteps(SLOPE, w, steps, divisors)

    def line_drops(self, w: Vector, direction: Vector, lengths: Vector) -> requests.ClassLine:
        return requests.ClassLine(SLOPE, w, direction, lengths)

    def residual_shares(self, w: Vector, edges: Vector) -> NoReturn:
        raise ParameterError("residuals are counted of a linear model of a numeric target only.")

    def _longest(self, w: Vector) -> float:
        """By how far apart two classes' weights lie: near W = 0 no class can be certain."""
        classes = w.reshape(self.problem.outputs, -1)
        spread = max(norm_above(a - b) for a in classes for b in classes)
        reach = self.problem.radius * spread + 2.0 * self.arithmetic.margin_error(norm_above(w))
        return longest_residual(reach, self.problem.outputs)


def longest_residual(reach: float, classes: int) -> float:
    """sup ||p - e_y|| where no two scores are further apart than `reach`.

    Two probabilities differ at most by the factor e^reach. Such p are mixtures of those with two distinct
    entries only, k of them e^reach times the rest, and a convex function is largest at one of these."""
    ratio = math.exp(-reach * ROUND_UP)
    largest = 0.0
    for high in range(classes):
        top = 1.0 / (high + (classes - high) * ratio) if high else 1.0 / classes
        low = top * ratio if high else top
        squares = high * top * top + (classes - high) * low * low
        largest = max(largest, squares + 1.0 - 2.0 * low)
    return min(SLOPE, math.sqrt(largest) * ROUND_UP)
