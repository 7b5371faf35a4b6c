"""The logistic and sigmoid losses in one compiled pass each; NumPy makes ten, as costly as the products.

With e = exp(-|t|) in (0, 1] nothing overflows or cancels: 1/(1 + e^t) is e/(1 + e) or 1/(1 + e), and
log(1 + e^-t) = max(-t, 0) + log(1 + e). The exponential is e^x = 2^k e^r with |r| <= log(2)/2 and Taylor's
polynomial of degree 12, off by less than 2e-16; log(1 + e) = 2 artanh(e/(2 + e)), whose series in s^2 <= 1/9
ends where it is off by less than 1e-17. Derivatives are clamped as everywhere.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.losses import Logistic, Loss, Sigmoid
from sottovoce.products_compiled import compiled

_LEAST = -700.0
"""e^-700 is still a normal number, and far below any rounding of what it is added to."""

_LOG2_HIGH = 6.93147180369123816490e-01
_LOG2_LOW = 1.90821492927058770002e-10


@compiled(reorder=False)
def _decay(t: float) -> float:
    """exp(-|t|)."""
    x = max(-abs(t), _LEAST)
    k = np.floor(x * 1.4426950408889634 + 0.5)
    r = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = np.int64((np.int64(k) + 1023) << 52)
    result: float = p * power.view(np.float64)
    return result


@compiled(reorder=False)
def _log_one_plus(e: float) -> float:
    """log(1 + e) for e within [0, 1]."""
    s = e / (2.0 + e)
    q = s * s
    p = 1.0 / 33.0
    p = p * q + 1.0 / 31.0
    p = p * q + 1.0 / 29.0
    p = p * q + 1.0 / 27.0
    p = p * q + 1.0 / 25.0
    p = p * q + 1.0 / 23.0
    p = p * q + 1.0 / 21.0
    p = p * q + 1.0 / 19.0
    p = p * q + 1.0 / 17.0
    p = p * q + 1.0 / 15.0
    p = p * q + 1.0 / 13.0
    p = p * q + 1.0 / 11.0
    p = p * q + 1.0 / 9.0
    p = p * q + 1.0 / 7.0
    p = p * q + 1.0 / 5.0
    p = p * q + 1.0 / 3.0
    p = p * q + 1.0
    return 2.0 * s * p


@compiled(reorder=False)
def _logistic_value(t: Any, value: Any) -> None:
    for i in range(t.size):
        value[i] = max(-t[i], 0.0) + _log_one_plus(_decay(t[i]))


@compiled(reorder=False)
def _logistic_first(t: Any, first: Any) -> None:
    for i in range(t.size):
        e = _decay(t[i])
        first[i] = max(-(e if t[i] >= 0.0 else 1.0) / (1.0 + e), -1.0)


@compiled(reorder=False)
def _logistic_both(t: Any, value: Any, first: Any) -> None:
    for i in range(t.size):
        e = _decay(t[i])
        value[i] = max(-t[i], 0.0) + _log_one_plus(e)
        first[i] = max(-(e if t[i] >= 0.0 else 1.0) / (1.0 + e), -1.0)


@compiled(reorder=False)
def _sigmoid_value(t: Any, value: Any) -> None:
    for i in range(t.size):
        e = _decay(t[i])
        share = 1.0 / (1.0 + e)
        value[i] = min((e if t[i] >= 0.0 else 1.0) * share, 1.0)


@compiled(reorder=False)
def _sigmoid_first(t: Any, first: Any) -> None:
    for i in range(t.size):
        e = _decay(t[i])
        share = 1.0 / (1.0 + e)
        first[i] = max(-e * share * share, -0.25)


@compiled(reorder=False)
def _sigmoid_both(t: Any, value: Any, first: Any) -> None:
    for i in range(t.size):
        e = _decay(t[i])
        share = 1.0 / (1.0 + e)
        value[i] = min((e if t[i] >= 0.0 else 1.0) * share, 1.0)
        first[i] = max(-e * share * share, -0.25)


_FUNCTIONS = {
    Logistic: (_logistic_value, _logistic_first, _logistic_both),
    Sigmoid: (_sigmoid_value, _sigmoid_first, _sigmoid_both),
}


@final
class CompiledLaw:
    """Values and slopes of a loss that has compiled functions; the rest is the loss's own."""

    def __init__(self, loss: Loss) -> None:
        self._loss = loss
        self._value, self._first, self._both = _FUNCTIONS[type(loss)]

    def second(self, t: Vector) -> Vector:
        return self._loss.second(t)

    def value(self, t: Vector) -> Vector:
        value = np.empty_like(t)
        self._value(t, value)
        return value

    def first(self, t: Vector) -> Vector:
        first = np.empty_like(t)
        self._first(t, first)
        return first

    def value_and_first(self, t: Vector) -> tuple[Vector, Vector]:
        value, first = np.empty_like(t), np.empty_like(t)
        self._both(t, value, first)
        return value, first


def is_known(loss: Loss) -> bool:
    """Whether the loss has compiled functions."""
    return type(loss) in _FUNCTIONS
