"""What a logistic model looks like on the way to its weights, by a model of its records: Gaussian log odds.

Suppose the log odds of the records are normal with standard deviation T and labels follow them. Then the mean
curvature between any part of the way and its end, along the weights and across them, with slopes cut off at a
limit or not, and how overconfident the minimizer becomes by the limit, are integrals in one variable. They
steer a method; no bound and no guarantee rests on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from sottovoce.arrays import Vector

LIMITS = np.array([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.125, 0.1, 0.08, 0.0625])
"""Limits that are compared, in units of the largest slope."""

_GRID = np.linspace(-6.0, 6.0, 241)
_MASS = np.exp(-0.5 * _GRID**2) / np.exp(-0.5 * _GRID**2).sum()
_SCALES = np.exp(np.linspace(-0.2, 2.2, 97))
_STEPS_PER_E = 10
_SMALLEST = 0.1
_LARGEST = 50.0
_PARTS = 20
_FARTHEST = 19
"""Curvature at the end itself is taken over its last twentieth."""


@final
@dataclass(frozen=True)
class LogOdds:
    """`curvature`: mean phi'' at the true weights. `bias`, for each of `LIMITS`: the excess loss of the
    minimizer with slopes cut off there."""

    curvature: float
    bias: Vector


@final
@dataclass(frozen=True)
class Secants:
    """Mean curvature from a part of the way to its end, for each of `LIMITS`: `across` the weights sought,
    and `along` them, the change of the slope over the way that is left."""

    across: Vector
    along: Vector


def log_odds(deviation: float) -> LogOdds:
    """The integrals at the nearest of ten values of T a factor of e."""
    return _at(_step(deviation))


def secants(deviation: float, reached: float) -> Secants:
    """From weights that are `reached` times the true ones, at the nearest twentieth."""
    return _between(_step(deviation), min(_FARTHEST, max(0, round(reached * _PARTS))))


def _step(deviation: float) -> int:
    return round(math.log(min(_LARGEST, max(_SMALLEST, deviation))) * _STEPS_PER_E)


@lru_cache(maxsize=128)
def _at(step: int) -> LogOdds:
    t = math.exp(step / _STEPS_PER_E) * _GRID
    right = _sigmoid(t)
    lowest = _loss(1.0, t, right)
    bias = np.zeros(LIMITS.size)
    for place, limit in enumerate(LIMITS):
        if limit < 1.0:
            bias[place] = _loss(_scale_of_minimizer(t, right, limit), t, right) - lowest
    return LogOdds(float(_MASS @ (right * (1.0 - right))), bias)


@lru_cache(maxsize=4096)
def _between(step: int, part: int) -> Secants:
    deviation = math.exp(step / _STEPS_PER_E)
    t, reached = deviation * _GRID, part / _PARTS
    right = _sigmoid(t)
    places = np.linspace(reached, 1.0, 9)
    weights = np.full(places.size, 1.0 / (places.size - 1))
    weights[[0, -1]] /= 2.0
    wrong = _sigmoid(-np.outer(places, t))
    bends = wrong * (1.0 - wrong)
    across = np.empty(LIMITS.size)
    for place, limit in enumerate(LIMITS):
        counted = right * (wrong < limit) + (1.0 - right) * (1.0 - wrong < limit)
        across[place] = weights @ (bends * counted) @ _MASS
    change = np.array([_pull(reached, t, right, limit) - _pull(1.0, t, right, limit) for limit in LIMITS])
    return Secants(across, change / ((1.0 - reached) * deviation**2))


def _pull(scale: float, t: Vector, right: Vector, limit: float) -> float:
    """How the limited loss pulls along the true log odds, at `scale` times them."""
    wrong = _sigmoid(-scale * t)
    slopes = right * np.minimum(wrong, limit) - (1.0 - right) * np.minimum(1.0 - wrong, limit)
    return float((slopes * t) @ _MASS)


def _scale_of_minimizer(t: Vector, right: Vector, limit: float) -> float:
    """By how much the minimizer of the limited loss stretches the true log odds: where its slope is 0."""
    wrong = _sigmoid(-np.outer(_SCALES, t))
    pull = right * np.minimum(wrong, limit) - (1.0 - right) * np.minimum(1.0 - wrong, limit)
    ahead = np.flatnonzero((pull * t) @ _MASS <= 0.0)
    return float(_SCALES[ahead[0] if ahead.size else -1])


def _loss(scale: float, t: Vector, right: Vector) -> float:
    """Mean logistic loss of log odds `scale` times the true ones."""
    losses = right * np.logaddexp(0.0, -scale * t) + (1.0 - right) * np.logaddexp(0.0, scale * t)
    return float(_MASS @ losses)


def _sigmoid(t: Vector) -> Vector:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(t, -500.0, 500.0))))
