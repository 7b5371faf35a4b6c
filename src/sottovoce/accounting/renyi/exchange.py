"""Exchange of Renyi divergence and zCDP with (epsilon, delta).

A mechanism is rho-zCDP when its Renyi divergence is at most order * rho at every order above 1."""

from __future__ import annotations

import math
from fractions import Fraction

from sottovoce.accounting.checks import positive
from sottovoce.accounting.events import Draw
from sottovoce.accounting.gdp import largest
from sottovoce.accounting.renyi.poisson import sampled_gaussian
from sottovoce.accounting.renyi.subsampling import subsampled_gaussian
from sottovoce.errors import ParameterError

# Absolute error allowed for in the logarithm of delta.
LOG_SLACK = 1e-10


def rho_published(epsilon: float, delta: float) -> float:
    """The paper's zCDP budget: (sqrt(epsilon + log 1/delta) - sqrt(log 1/delta))^2.

    Written as a quotient so that small epsilon does not cancel. Not the largest: see `rho_tight`."""
    epsilon, tail = positive("epsilon", epsilon), -math.log(_probability(delta))
    return (epsilon / (math.sqrt(epsilon + tail) + math.sqrt(tail))) ** 2


def delta_tight(rho: float, epsilon: float) -> float:
    """The smallest delta that Renyi divergences order * rho give at epsilon (Canonne, Kamath & Steinke 2020).

    delta = min over orders of exp((order-1)(order rho - epsilon)) (1 - 1/order)^order / (order - 1)."""
    return math.exp(min(0.0, _log_delta(positive("rho", rho), positive("epsilon", epsilon)) + LOG_SLACK))


def rho_tight(epsilon: float, delta: float) -> float:
    """The largest rho, rounded down, for which rho-zCDP implies (epsilon, delta)-DP by `delta_tight`."""
    epsilon, target = positive("epsilon", epsilon), math.log(_probability(delta)) - LOG_SLACK
    return largest(lambda rho: _log_delta(rho, epsilon) <= target, rho_published(epsilon, delta))


def epsilon_of_renyi(order: float, value: float, delta: float) -> float:
    """The epsilon, at delta, of Renyi divergence `value` at `order`.

    epsilon = value + log(1 - 1/order) - log(delta order)/(order - 1), and never below 0
    (Canonne, Kamath & Steinke 2020, proposition 12)."""
    return max(0.0, positive("value", value) - _discount(order, delta))


def renyi_of(order: float, epsilon: float, delta: float) -> float:
    """The largest Renyi divergence, rounded down, that gives (epsilon, delta) at `order`.

    Refused where none does: a low order needs a large epsilon or delta."""
    epsilon = positive("epsilon", epsilon)
    discount = _discount(order, delta)
    value = (epsilon + discount) - 1e-14 * (epsilon + abs(discount) + 1.0)
    if value <= 0.0:
        raise ParameterError(
            f"Renyi order {order:g} cannot express epsilon={epsilon:g}, delta={delta:g}. "
            "Take a higher order; best_order finds one."
        )
    return value


def _log_delta(rho: float, epsilon: float) -> float:
    """The minimum over t = order - 1 of t((1+t) rho - epsilon) + t log(t/(1+t)) - log(1+t).

    It is convex in t, so bisection on its derivative finds the minimum; any t is valid."""
    low, high = -700.0, math.log(max(1.0, (epsilon + 1.0) / (2.0 * rho)))
    for _ in range(60):
        middle = 0.5 * (low + high)
        t = math.exp(middle)
        if (2.0 * t + 1.0) * rho - epsilon - math.log1p(1.0 / t) < 0.0:
            low = middle
        else:
            high = middle
    t = math.exp(high)
    return t * ((1.0 + t) * rho - epsilon - math.log1p(1.0 / t)) - math.log1p(t)


def _discount(order: float, delta: float) -> float:
    if positive("order", order) <= 1.0:
        raise ParameterError(f"a Renyi order must be above 1, got {order:g}.")
    return math.log(_probability(delta) * order) / (order - 1.0) - math.log1p(-1.0 / order)


def _probability(delta: float) -> float:
    if positive("delta", delta) >= 1.0:
        raise ParameterError(f"delta must lie strictly between 0 and 1, got {delta:g}.", argument="delta")
    return float(delta)


_BITS = 24
# Beyond, with noise below a tenth of the sensitivity, amplification is not worth computing.
_LARGEST_MU_SQUARED = 100
_SMALLEST_MU_SQUARED = 2.0**-100


def gaussian(order: Fraction, mu_squared: Fraction) -> Fraction:
    """A Gaussian answer with mu = sensitivity/scale: order mu^2/2, exactly."""
    return order * mu_squared / 2


def pure(order: Fraction, epsilon: Fraction) -> Fraction:
    """An epsilon-DP answer: min(epsilon, order epsilon^2/2) (Bun & Steinke 2016)."""
    return min(epsilon, order * epsilon * epsilon / 2)


def batched(
    order: Fraction, mu_squared: Fraction, batch: int, population: int, draw: Draw = Draw.FIXED
) -> Fraction:
    """A Gaussian answer from a secret batch: the amplified price or the plain one, the less.

    The plain price is valid too: neighbouring populations give the same mixture over batches, and each pair
    of batches is a pair of neighbours. Several Gaussian answers from one batch are one with the sum of
    their mu^2 (paper: 1/sigma^2 = 1/sigma_g^2 + 1/sigma_H^2)."""
    plain = gaussian(order, mu_squared)
    if batch == population or mu_squared > _LARGEST_MU_SQUARED:
        return plain
    amplified = subsampled_gaussian if draw is Draw.FIXED else sampled_gaussian
    return min(plain, Fraction(amplified(float(order), grid_above(mu_squared), batch, population)))


def grid_above(mu_squared: Fraction) -> float:
    """mu^2 rounded up to 24 bits: rounding in sensitivity/scale then cannot change an amplified price."""
    mantissa, exponent = math.frexp(max(float(mu_squared), _SMALLEST_MU_SQUARED))
    rounded = math.ldexp(math.ceil(math.ldexp(mantissa, _BITS)), exponent - _BITS)
    return rounded if rounded >= mu_squared else rounded * (1.0 + 2.0 ** (1 - _BITS))
