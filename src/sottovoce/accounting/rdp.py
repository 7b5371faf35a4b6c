"""Renyi differential privacy at one order: what each mechanism costs.

Exact values are fractions; what needs floating point is rounded up."""

from __future__ import annotations

import math
from fractions import Fraction

from sottovoce.accounting.events import Draw
from sottovoce.accounting.poisson import sampled_gaussian
from sottovoce.accounting.subsampling import subsampled_gaussian

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
