"""What a logistic model looks like on the way to its weights, by a model of its records: Gaussian log odds.

Suppose the log odds of the records are normal with standard deviation T and labels follow them. Then the mean
curvature between any part of the way and its end, along the weights and across them, with slopes limited or
not, and how overconfident the minimizer becomes where they are cut off, are integrals in one variable. They
steer a method; no bound and no guarantee rests on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.losses import Logistic, Loss
from sottovoce.losses.unbiased import LEAST_LIMIT

LIMITS = np.array([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.125, 0.1, 0.08, 0.0625])
"""Limits that are compared, in units of the largest slope."""

_LOSSES = [Logistic().limited(limit) for limit in LIMITS]

_MISSPECIFIED = 0.002
"""What a limit of 1/2 costs where the model is wrong, in parts of what the best weights gain over weights 0;
it falls with the square of 1 - limit. Chosen from exact minimizers on Adult, Covertype and IJCNN1: excess
.00029, .00033 and .0005 at limit 1/2, .1 to .15 % of that gain; .00005, .00006 and .00014 at 3/4."""

NORMAL = np.linspace(-6.0, 6.0, 241)
MASS = np.exp(-0.5 * NORMAL**2) / np.exp(-0.5 * NORMAL**2).sum()
"""A standard normal variable in 241 points."""

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
    """`curvature` and `along`: mean phi'' at the true weights, across them and along them. `bias`, for each
    of `LIMITS`: the excess loss to expect of the minimizer with slopes limited there. Under this model it is
    0 down to 1/2, where limiting is weighing by predictions; but models are never right."""

    curvature: float
    along: float
    bias: Vector


@final
@dataclass(frozen=True)
class Secants:
    """Mean curvature from a part of the way to its end, for each of `LIMITS` in the last axis: `across` the
    weights sought, and `along` them, the change of the slope over the way that is left."""

    across: Matrix
    along: Matrix


def log_odds(deviation: float) -> LogOdds:
    """The integrals at the nearest of ten values of T a factor of e."""
    return _at(_step(deviation))


def secants(deviation: Vector | float, reached: Vector | float) -> Secants:
    """From weights that are `reached` times the true ones, at the nearest twentieth; many ways at once."""
    steps = np.rint(np.log(np.clip(deviation, _SMALLEST, _LARGEST)) * _STEPS_PER_E).astype(int) - _FIRST_STEP
    parts = np.clip(np.rint(np.multiply(reached, _PARTS)), 0, _FARTHEST).astype(int)
    missing = np.isnan(_SECANTS[steps, parts, 0, 0])
    if missing.any():
        for step, part in {*zip(steps[missing].tolist(), parts[missing].tolist(), strict=True)}:
            _SECANTS[step, part] = _between(step + _FIRST_STEP, part)
    found = _SECANTS[steps, parts]
    return Secants(found[..., 0, :], found[..., 1, :])


def _step(deviation: float) -> int:
    return round(math.log(min(_LARGEST, max(_SMALLEST, deviation))) * _STEPS_PER_E)


_FIRST_STEP, _LAST_STEP = _step(_SMALLEST), _step(_LARGEST)
_SECANTS = np.full((_LAST_STEP - _FIRST_STEP + 1, _FARTHEST + 1, 2, LIMITS.size), np.nan)
"""Found so far: by the step of T, the part of the way, across or along, and the limit."""


@lru_cache(maxsize=128)
def _at(step: int) -> LogOdds:
    t = math.exp(step / _STEPS_PER_E) * NORMAL
    right = _sigmoid(t)
    lowest = _loss(1.0, t, right)
    bias = _MISSPECIFIED * (_loss(0.0, t, right) - lowest) * ((1.0 - LIMITS) / 0.5) ** 2
    wrong = _sigmoid(-np.outer(_SCALES, t))
    for place, limit in enumerate(LIMITS):
        if limit < LEAST_LIMIT:
            bias[place] += _loss(_scale_of_minimizer(wrong, t, right, limit), t, right) - lowest
    bends = MASS * right * (1.0 - right)
    return LogOdds(float(bends.sum()), float(bends @ NORMAL**2), bias)


def _between(step: int, part: int) -> Matrix:
    deviation = math.exp(step / _STEPS_PER_E)
    t, reached = deviation * NORMAL, part / _PARTS
    right = _sigmoid(t)
    places = np.linspace(reached, 1.0, 9)
    weights = np.full(places.size, 1.0 / (places.size - 1))
    weights[[0, -1]] /= 2.0
    way = np.outer(places, t)
    across = np.array([2.0 * weights @ (right * loss.second(way)) @ MASS for loss in _LOSSES])
    change = np.array([_pull(loss, reached, t, right) - _pull(loss, 1.0, t, right) for loss in _LOSSES])
    return np.stack([across, change / ((1.0 - reached) * deviation**2)])


def _pull(loss: Loss, scale: float, t: Vector, right: Vector) -> float:
    """How the limited loss pulls along the true log odds, at `scale` times them.

    The law is even: margins t of one label are as frequent as margins -t of the other, here as above."""
    return float(-2.0 * (right * loss.first(scale * t) * t) @ MASS)


def _scale_of_minimizer(wrong: Matrix, t: Vector, right: Vector, limit: float) -> float:
    """By how much the minimizer stretches the true log odds with slopes cut off: where its slope is 0."""
    ahead = np.flatnonzero(np.minimum(wrong, limit) @ (right * t * MASS) <= 0.0)
    return float(_SCALES[ahead[0] if ahead.size else -1])


def _loss(scale: float, t: Vector, right: Vector) -> float:
    """Mean logistic loss of log odds `scale` times the true ones."""
    losses = right * np.logaddexp(0.0, -scale * t) + (1.0 - right) * np.logaddexp(0.0, scale * t)
    return float(MASS @ losses)


def _sigmoid(t: Vector) -> Vector:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(t, -500.0, 500.0))))
