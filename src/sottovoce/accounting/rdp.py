"""Renyi differential privacy at one order: what each mechanism costs.

Exact values are fractions; what needs floating point is rounded up."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

# dp-accounting takes differences of exp(1/multiplier^2) that lose all digits for larger multipliers.
RELIABLE_MULTIPLIER = 1000.0
# Covers dp-accounting's rounding up to there: tests see at most 1e-10.
SUBSAMPLED_SLACK = 1e-8
_BITS = 24


def gaussian(order: Fraction, mu_squared: Fraction) -> Fraction:
    """A Gaussian answer with mu = sensitivity/scale: order mu^2/2, exactly."""
    return order * mu_squared / 2


def pure(order: Fraction, epsilon: Fraction) -> Fraction:
    """An epsilon-DP answer: min(epsilon, order epsilon^2/2) (Bun & Steinke 2016)."""
    return min(epsilon, order * epsilon * epsilon / 2)


def batched(order: Fraction, mu_squared: Fraction, batch: int, population: int) -> Fraction:
    """A Gaussian answer from a batch of fixed size: the amplified price or the plain one, the less.

    The plain price is valid too: neighbouring populations give the same mixture over batches, and each pair
    of batches is a pair of neighbours. Several Gaussian answers from one batch are one with the sum of
    their mu^2 (paper: 1/sigma^2 = 1/sigma_g^2 + 1/sigma_H^2)."""
    plain = gaussian(order, mu_squared)
    if batch == population or mu_squared > 10_000:
        return plain
    if mu_squared * Fraction(RELIABLE_MULTIPLIER) ** 2 <= 1:
        multiplier = RELIABLE_MULTIPLIER
    else:
        multiplier = grid_below(1.0 / math.sqrt(float(mu_squared)) * (1.0 - 2.0**-50))
    return min(plain, Fraction(subsampled(float(order), multiplier, batch, population)))


def grid_below(multiplier: float) -> float:
    """The multiplier rounded down to 24 bits: rounding in scale/sensitivity then cannot change a price."""
    mantissa, exponent = math.frexp(multiplier)
    return math.ldexp(math.floor(math.ldexp(mantissa, _BITS)), exponent - _BITS)


@lru_cache(maxsize=4096)
def subsampled(order: float, multiplier: float, batch: int, population: int) -> float:
    """Upper bound for noise of sd `multiplier` times the sensitivity on a batch without replacement.

    Wang, Balle & Kasiviswanathan 2019, theorem 27, for replaced records, by dp-accounting, whose
    GaussianDpEvent has sensitivity 1 in its Renyi accountant (and 2 in its PLD accountant)."""
    from dp_accounting import GaussianDpEvent, NeighboringRelation, SampledWithoutReplacementDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant([order], NeighboringRelation.REPLACE_ONE)
    accountant.compose(SampledWithoutReplacementDpEvent(population, batch, GaussianDpEvent(multiplier)))
    return float(accountant.rdp[0]) * (1.0 + SUBSAMPLED_SLACK)
