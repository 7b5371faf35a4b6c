"""Exponential and logarithm in compiled code, without a branch, so that several go side by side.

e^x = 2^k e^r with |r| <= log(2)/2 and Taylor's polynomial of degree 12 for e^r, off by less than 2e-16.
log(1 + e) = 2 artanh(s) with s = e / (2 + e) in [0, 1/3], and s^2 <= 1/9 leaves less than 2e-17 beyond s^31.
"""

from __future__ import annotations

import numpy as np

from sottovoce.kernels.compiled.jit import compiled

_LEAST = -700.0
"""e^-700 is still a normal number, and far below any rounding of what it is added to."""

_LOG2_HIGH = 6.93147180369123816490e-01
_LOG2_LOW = 1.90821492927058770002e-10


@compiled()
def decay(t: float) -> float:
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


@compiled()
def log_within(e: float) -> float:
    """log(1 + e) for e in [0, 1]."""
    s = e / (2.0 + e)
    z = s * s
    p = 1.0 / 31.0
    p = p * z + 1.0 / 29.0
    p = p * z + 1.0 / 27.0
    p = p * z + 1.0 / 25.0
    p = p * z + 1.0 / 23.0
    p = p * z + 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 1.0 / 5.0
    p = p * z + 1.0 / 3.0
    p = p * z + 1.0
    result: float = 2.0 * s * p
    return result
