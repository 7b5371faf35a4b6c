"""Robust losses of the residual t in compiled passes, of u = t/scale, and that of counts; neither weighted
nor clamped.

No formula cancels: 1 - e^-z comes from `fading` and log(1 + z) from `log_sum`, both to a few units in the
last place of their own value; log cosh t = log(1 + (1 - e)^2 / 4e)/2 with e = e^{-2|t|}.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.data.compiled.jit import compiled
from sottovoce.kernels.compiled.exponential import decay, fading, log_sum
from sottovoce.kernels.compiled.twins import CAUCHY, GEMAN_MCCLURE, LOG_COSH, POISSON, PSEUDO_HUBER, Twin

_LOG2 = 0.6931471805599453

_SQUARED = 1e150
"""A |u| whose square is a float, and past which 1 + u^2 = u^2 to the last digit."""

_LARGEST = 1e300
"""A larger |t| counts as this one: over any scale it is still a float."""


@compiled()
def tangent(twin: Twin, t: Any, values: Any, slopes: Any) -> None:
    """phi(t_i) and phi'(t_i)."""
    c, square = twin.scale, twin.scale * twin.scale
    if twin.family == PSEUDO_HUBER:
        for i in range(t.size):
            s = t[i]
            u = _cut(s / c)
            root, size = np.sqrt(1.0 + u * u), min(abs(s), _LARGEST)
            values[i] = min(size / (1.0 + root), c) * size
            slopes[i] = s / root
    elif twin.family == LOG_COSH:
        for i in range(t.size):
            s = t[i]
            e, fall = fading(2.0 * s)
            values[i] = max(0.5 * log_sum(0.25 * fall * (fall / e)), abs(s) - _LOG2)
            slope = fall / (1.0 + e)
            slopes[i] = slope if s >= 0.0 else -slope
    elif twin.family == CAUCHY:
        for i in range(t.size):
            size = min(abs(t[i]), _LARGEST) / c
            u = _cut(t[i] / c)
            growth = 1.0 + u * u
            # log(1 + u^2) = 2 log(1 + |u| (|u|/(1 + sqrt(1 + u^2)))): the square may pass the largest float.
            values[i] = square * log_sum(min(size / (1.0 + np.sqrt(growth)), 1.0) * size)
            slopes[i] = c * (u / growth)
    elif twin.family == GEMAN_MCCLURE:
        for i in range(t.size):
            u = _cut(t[i] / c)
            inverse = 1.0 / (1.0 + u * u)
            values[i] = 0.5 * square * min(u * u * inverse, 1.0)
            slopes[i] = c * (u * inverse * inverse)
    elif twin.family == POISSON:
        for i in range(t.size):
            s = min(t[i], _LARGEST)
            e, fall = fading(2.0 * s if s > 0.0 else s)
            values[i] = e if s <= 0.0 else 1.0 + 1.5 * s - 0.25 * fall
            slopes[i] = e if s <= 0.0 else 1.0 + 0.5 * fall
    else:
        for i in range(t.size):
            u = _cut(t[i] / c)
            e, fall = fading(u * u)
            values[i] = 0.5 * square * fall
            slopes[i] = c * (_short(u) * e)


@compiled()
def curvatures(twin: Twin, t: Any, out: Any) -> None:
    """phi''(t_i)."""
    if twin.family == LOG_COSH:
        for i in range(t.size):
            e = decay(2.0 * t[i])
            share = 1.0 / (1.0 + e)
            out[i] = 4.0 * e * share * share
        return
    if twin.family == POISSON:
        for i in range(t.size):
            out[i] = decay(2.0 * t[i] if t[i] > 0.0 else t[i])
        return
    for i in range(t.size):
        out[i] = _cut(t[i] / twin.scale)
    if twin.family == PSEUDO_HUBER:
        for i in range(t.size):
            inverse = 1.0 / np.sqrt(1.0 + out[i] * out[i])
            out[i] = inverse * inverse * inverse
    elif twin.family == CAUCHY:
        for i in range(t.size):
            inverse = 1.0 / (1.0 + out[i] * out[i])
            out[i] = (2.0 * inverse - 1.0) * inverse
    elif twin.family == GEMAN_MCCLURE:
        for i in range(t.size):
            inverse = 1.0 / (1.0 + out[i] * out[i])
            out[i] = (4.0 * inverse - 3.0) * inverse * inverse
    else:
        for i in range(t.size):
            u = _short(out[i])
            out[i] = (1.0 - 2.0 * u * u) * decay(u * u)


@compiled()
def _cut(u: float) -> float:
    """u with |u| at most 1e150."""
    return min(max(u, -_SQUARED), _SQUARED)


@compiled()
def _short(u: float) -> float:
    """u with |u| at most 30, past which e^{-u^2} is zero next to 1."""
    return min(max(u, -30.0), 30.0)
