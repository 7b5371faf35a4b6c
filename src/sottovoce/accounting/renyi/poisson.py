"""Renyi divergence of a Gaussian answer on a secret Poisson batch, when one record is zeroed out.

Every record is in the batch with chance q, by itself. Given the others, the answer is N(s, 1) without the
record and, with it, N(s, 1) with chance 1 - q and N(s + mu, 1) with chance q, in units of the noise: so the
divergence is that of the mixture (1 - q) N(0, 1) + q N(mu, 1) and N(0, 1), in whichever order is larger.
Mironov, Talwar & Zhang 2019 show that it is the mixture's from N(0, 1), at every order, and give its moments.
"""

from __future__ import annotations

import math
from functools import lru_cache

from sottovoce.accounting.renyi.subsampling import between_whole_orders, log_binomials


@lru_cache(maxsize=4096)
def sampled_gaussian(order: float, mu_squared: float, batch: int, population: int) -> float:
    """The divergence at `order` for q = batch/population, exact at whole orders but for the last digits."""
    return between_whole_orders(order, lambda whole: _log_moment(whole, mu_squared, batch, population))


def _log_moment(order: int, mu_squared: float, batch: int, population: int) -> float:
    """log of sum over j of C(order, j) (1 - q)^(order - j) q^j e^{mu^2 j(j-1)/2}.

    Without the exponentials the sum is 1, so it is 1 plus the sum of the same with e^x - 1: nothing
    cancels, and the terms 0 and 1 are gone."""
    log_rate, log_rest = math.log(batch / population), math.log1p(-batch / population)
    logs = []
    for j, log_choices in enumerate(log_binomials(order)[2:], start=2):
        exponent = mu_squared * j * (j - 1) / 2.0
        log_growth = exponent + math.log(-math.expm1(-exponent))
        logs.append(log_choices + j * log_rate + (order - j) * log_rest + log_growth)
    if not logs:
        return 0.0
    largest = max(0.0, *logs)
    total = math.fsum(math.exp(value - largest) for value in logs)
    return math.log1p(total) if largest == 0.0 else largest + math.log(math.exp(-largest) + total)
