"""Gaussian differential privacy: mu, and its exact exchange with (epsilon, delta).

A mechanism is mu-GDP when telling neighbours apart is no easier than telling N(0, 1) from N(mu, 1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from sottovoce.accounting.checks import nonnegative, positive
from sottovoce.errors import ParameterError

# Relative error allowed for in `delta_of`; tests against 60-digit arithmetic see less than a tenth of it.
DELTA_SLACK = 1e-10
SMALLEST_DELTA = 1e-290
_NARROW = 1.0 / 32.0
_FAR = 4.0
_FRACTIONS = 30


def delta_of(mu: float, epsilon: float) -> float:
    """The delta of mu-GDP at epsilon: Phi(a) - e^epsilon Phi(b), a, b = -epsilon/mu +- mu/2.

    As b^2 = a^2 + 2 epsilon, both terms share exp(-a^2/2): delta = exp(-a^2/2)/2 times a difference of
    scaled error functions, which neither overflows nor cancels."""
    mu, epsilon = positive("mu", mu), nonnegative("epsilon", epsilon)
    upper = -epsilon / mu + mu / 2.0
    lower = -epsilon / mu - mu / 2.0
    peak = 0.5 * math.exp(-0.5 * upper * upper)
    if upper > 0.0 and mu >= _NARROW:
        return 0.5 * math.erfc(-upper / math.sqrt(2.0)) - peak * erfcx(-lower / math.sqrt(2.0))
    return peak * _erfcx_drop(-upper / math.sqrt(2.0), mu / math.sqrt(2.0))


def erfcx(x: float) -> float:
    """exp(x^2) erfc(x) for x above -1, to some units in the last place: without SciPy, slow to load.

    Near zero the rounding error of x^2, exact by Dekker's splitting, is put right; from 4 on Laplace's
    continued fraction x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...))) has converged after thirty terms."""
    if x >= _FAR:
        value = x
        for k in range(_FRACTIONS, 0, -1):
            value = x + 0.5 * k / value
        return 1.0 / (math.sqrt(math.pi) * value)
    square, large = x * x, x * (2.0**27 + 1.0)
    high = large - (large - x)
    low = x - high
    lost = ((high * high - square) + 2.0 * high * low) + low * low
    return math.exp(square) * math.erfc(x) * (1.0 + lost)


def log_normal(x: float) -> float:
    """log Phi(x), for x of either sign."""
    if x > 0.0:
        return math.log1p(-0.5 * math.erfc(x / math.sqrt(2.0)))
    return math.log(0.5 * erfcx(-x / math.sqrt(2.0))) - 0.5 * x * x


def _erfcx_drop(start: float, width: float) -> float:
    """erfcx(start) - erfcx(start + width), without cancellation when the width is small.

    There it is the integral of -erfcx'(x) = 2/sqrt(pi) - 2 x erfcx(x) by three Gauss-Legendre nodes."""
    if width * math.sqrt(2.0) >= _NARROW:
        return erfcx(start) - erfcx(start + width)
    middle, reach = start + width / 2.0, width / 2.0 * math.sqrt(0.6)
    slopes = [2.0 / math.sqrt(math.pi) - 2.0 * x * erfcx(x) for x in (middle - reach, middle, middle + reach)]
    return width * (5.0 * slopes[0] + 8.0 * slopes[1] + 5.0 * slopes[2]) / 18.0


def mu_of(epsilon: float, delta: float) -> float:
    """The largest mu, rounded down, for which mu-GDP implies (epsilon, delta)-DP.

    delta_of grows with mu, so bisection finds it; the slack keeps the answer below the exact one."""
    return _mu_of(nonnegative("epsilon", epsilon), _usable(delta) * (1.0 - DELTA_SLACK))


@lru_cache(maxsize=64)
def _mu_of(epsilon: float, target: float) -> float:
    return largest(lambda mu: delta_of(mu, epsilon) <= target, 1.0)


def largest(fits: Callable[[float], bool], low: float) -> float:
    """The largest float that fits, if all smaller ones do: from `low` by factors of 2, then by bisection."""
    while not fits(low):
        low /= 2.0
    while fits(2.0 * low):
        low *= 2.0
    high = 2.0 * low
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def epsilon_of(mu: float, delta: float) -> float:
    """The smallest epsilon, rounded up, for which mu-GDP implies (epsilon, delta)-DP; may be 0."""
    mu, target = positive("mu", mu), _usable(delta) * (1.0 - DELTA_SLACK)
    if delta_of(mu, 0.0) <= target:
        return 0.0
    low, high = 0.0, mu * mu
    while delta_of(mu, high) > target:
        low, high = high, 2.0 * high + mu
    while low < (middle := 0.5 * (low + high)) < high:
        if delta_of(mu, middle) <= target:
            high = middle
        else:
            low = middle
    return high


def mu_of_pure(epsilon: float) -> float:
    """The smallest mu, rounded up, that covers every epsilon-DP mechanism: -2 Phi^{-1}(1/(1 + e^epsilon)).

    The trade-off curve of epsilon-DP is two chords of the convex Gaussian curve through that corner."""
    from scipy.special import erfinv, ndtri_exp

    epsilon = positive("epsilon", epsilon)
    if epsilon < 1.0:
        mu = 2.0 * math.sqrt(2.0) * float(erfinv(math.tanh(epsilon / 2.0)))
    else:
        mu = -2.0 * float(ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon))))
    return mu * (1.0 + 1e-13)


def _usable(delta: float) -> float:
    delta = positive("delta", delta)
    if not SMALLEST_DELTA <= delta < 1.0:
        raise ParameterError(
            f"delta={delta:g} must lie between {SMALLEST_DELTA:g} and 1. "
            "Take it well below one over the number of records."
        )
    return delta
