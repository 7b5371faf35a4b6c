"""How the noise of accelerated steps reaches the weights returned: linearised, in learned coordinates.

With v <- m v - l (g(u + m v) + e), u <- u + v, the noise of a step goes on in every later one. Along a
direction of curvature h, an error in u or v is followed backwards: if phi is what the mean of the last points
owes to v, it owes -l phi to the noise e, and m (1 - l h) phi to the v before. Which direction has which
curvature is known of a few at most, so every coordinate is given the mean over the expected spectrum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.results.inference.coefficient_noise import LARGEST_KEPT, CoefficientNoise

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.queries import Preconditioner

_AT_ONCE = 512
"""Columns whose coordinates are formed at once."""


def momentum_variance(
    length: float, momentum: float, scales: Sequence[float], weights: Sequence[float], curvature: Vector
) -> Vector:
    """What noise of these scales leaves in the mean of the points by their weights, for each curvature."""
    left, place, speed = np.zeros_like(curvature), np.zeros_like(curvature), np.zeros_like(curvature)
    for scale, weight in zip(reversed(scales), reversed(weights), strict=True):
        place = place + weight
        owed = place + speed
        left = left + (length * scale * owed) ** 2
        place = place - length * curvature * owed
        speed = momentum * (1.0 - length * curvature) * owed
    return left


def in_user_weights(preconditioner: Preconditioner, variance: float, outputs: int) -> CoefficientNoise:
    """The same variance in every coordinate u, what outputs share taken off, as noise of w = M'u."""
    columns = preconditioner.columns
    sd = math.sqrt(variance * (1.0 - 1.0 / outputs if outputs > 1 else 1.0))
    lengths = np.concatenate(
        [
            np.linalg.norm(
                preconditioner.to_coordinates(np.eye(min(_AT_ONCE, columns - start), columns, start)), axis=1
            )
            for start in range(0, columns, _AT_ONCE)
        ]
    )
    covariance = (
        sd**2 * (preconditioner.matrix.T @ preconditioner.matrix) if columns <= LARGEST_KEPT else None
    )
    return CoefficientNoise(np.tile(sd * lengths, outputs), covariance, "")
