"""What a limit on slopes costs a logistic model, by a model of its records: calibrated Gaussian log odds.

Suppose the log odds of the records are normal with standard deviation T and labels follow them. Then the mean
curvature along and across the weights, how overconfident the minimizer becomes when slopes are cut off at a
limit, and what part of the pull is left, are integrals in one variable. They steer a method; no bound and no
guarantee rests on them.
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

_GRID = np.linspace(-6.0, 6.0, 601)
_MASS = np.exp(-0.5 * _GRID**2) / np.exp(-0.5 * _GRID**2).sum()
_SCALES = np.exp(np.linspace(-0.2, 2.2, 97))
_STEPS_PER_E = 10
_SMALLEST = 0.1
_LARGEST = 50.0


@final
@dataclass(frozen=True)
class LogOdds:
    """`across` and `along`: mean phi'' of the true weights for directions across and along them.

    For each of `LIMITS`: `bias`, the excess loss of the minimizer with slopes cut off there, and `kept`, the
    part of the mean slope that is left."""

    across: float
    along: float
    bias: Vector
    kept: Vector


def log_odds(deviation: float) -> LogOdds:
    """The integrals at the nearest of ten values of T a factor of e."""
    held = min(_LARGEST, max(_SMALLEST, deviation))
    return _at(round(math.log(held) * _STEPS_PER_E))


@lru_cache(maxsize=128)
def _at(step: int) -> LogOdds:
    t = math.exp(step / _STEPS_PER_E) * _GRID
    right = _sigmoid(t)
    bends = right * (1.0 - right)
    lowest = _loss(1.0, t, right)
    bias, kept = np.zeros(LIMITS.size), np.ones(LIMITS.size)
    whole = float(_MASS @ (2.0 * bends))
    for place, limit in enumerate(LIMITS):
        if limit < 1.0:
            bias[place] = _loss(_scale_of_minimizer(t, right, limit), t, right) - lowest
            cut = right * np.minimum(1.0 - right, limit) + (1.0 - right) * np.minimum(right, limit)
            kept[place] = float(_MASS @ cut) / whole
    return LogOdds(float(_MASS @ bends), float(_MASS @ (bends * _GRID**2)), bias, kept)


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
