"""Functions that a law may call besides those of `math`: of their arguments alone, without a branch, finite.

They are pure by review and need not be right: what a law returns is clamped.

e^x = 2^k e^r with |r| <= log(2)/2 and Taylor's polynomial of degree 12 for e^r, off by less than 2e-16.
log(m) = 2 artanh(s) with s = (m - 1) / (m + 1), |s| <= 1/3; artanh(s)/s is taken as a polynomial of s^2
that interpolates it at Chebyshev's points in [0, 1/9], off by less than 2e-16.
"""

from __future__ import annotations

import numpy as np

_LEAST = -700.0
"""e^-700 is still a normal number, and far below any rounding of what it is added to."""

_LOG2_HIGH = 6.93147180369123816490e-01
_LOG2_LOW = 1.90821492927058770002e-10

_FRACTION = 2**52 - 1
_ONE = 1023 << 52
"""Bits of a float64: those after the binary point, and the exponent of 1."""


def decay(t: float) -> float:
    """exp(-|t|); that of 700 where t is beyond it or no number."""
    quotient, r, power = reduced(t)
    return (quotient * r + 1.0) * power


def fading(t: float) -> float:
    """1 - exp(-|t|), to a few units in the last place of its own value.

    1 - 2^k e^r = (1 - 2^k) - 2^k (e^r - 1): the first difference is exact, and 0 for k = 0."""
    quotient, r, power = reduced(t)
    return (1.0 - power) - power * (quotient * r)


def reduced(t: float) -> tuple[float, float, float]:
    """(e^r - 1)/r, r and 2^k with exp(-|t|) = 2^k e^r."""
    x = -abs(t)
    x = x if x >= _LEAST else _LEAST
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
    bits = np.int64((np.int64(k) + 1023) << 52)
    power: float = bits.view(np.float64)
    return p, r, power


def log_sum(z: float) -> float:
    """log(1 + z) for z from 0 to 1e307, to a few units in the last place of its own value; else that of 0
    or of 1e307.

    1 + z = 2^k m with m in [1, 2), and log(m) = 2 artanh((m - 1)/(m + 1)). For k = 0, m - 1 is z itself."""
    z = z if z >= 0.0 else 0.0
    z = z if z <= 1e307 else 1e307
    whole = np.float64(1.0 + z).view(np.int64)
    k = (whole >> 52) - 1023
    m = np.int64((whole & _FRACTION) | _ONE).view(np.float64)
    rest = z if k == 0 else m - 1.0
    return float(k * _LOG2_HIGH + (k * _LOG2_LOW + twice_artanh(rest / (m + 1.0))))


def log_unit(e: float) -> float:
    """log(1 + e) for e in [0, 1]: `log_sum` without its powers of two."""
    return twice_artanh(e / (2.0 + e))


def twice_artanh(s: float) -> float:
    q = s * s
    p = 0.084353503305486046991
    p = p * q + 0.051613346352495409549
    p = p * q + 0.067511712358785501992
    p = p * q + 0.076866374381790011452
    p = p * q + 0.09091130554209873149
    p = p * q + 0.11111106278964856303
    p = p * q + 0.14285714338330497512
    p = p * q + 0.19999999999780064358
    p = p * q + 0.33333333333333484276
    p = p * q + 1.0
    return 2.0 * s * p
