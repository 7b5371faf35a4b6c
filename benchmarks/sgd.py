"""How much noise DP-SGD needs: dp-accounting's privacy loss distributions, for either kind of neighbour."""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.optimize import brentq

REPLACE = "replace one"
ADD_OR_REMOVE = "add or remove one"
FINEST = 1e-4
"""Step of the discretized privacy loss where noise is ample; wider where it is not. Rounding is up."""
SLACK = 1e-3


def spent(multiplier: float, delta: float, chance: float, steps: int, promise: str) -> float:
    """Epsilon of `steps` Poisson batches whose sum of vectors of norm at most 1 gets this noise.

    Replaced: q N(1) + (1-q) N(0) against q N(-1) + (1-q) N(0). Added or removed: against N(0) alone."""
    import dp_accounting as accounting
    from dp_accounting.pld import PLDAccountant

    relations = accounting.NeighboringRelation
    relation = {REPLACE: relations.REPLACE_ONE, ADD_OR_REMOVE: relations.ADD_OR_REMOVE_ONE}[promise]
    batch = accounting.PoissonSampledDpEvent(chance, accounting.GaussianDpEvent(multiplier))
    accountant = PLDAccountant(relation, FINEST * max(1.0, 1.0 / multiplier**2))
    return float(accountant.compose(batch, steps).get_epsilon(delta))


@lru_cache
def noise_scale(epsilon: float, delta: float, chance: float, steps: int, promise: str) -> float:
    """The smallest noise on a batch's sum that keeps the promise, to one part in a thousand."""

    def excess(logarithm: float) -> float:
        return math.log(spent(math.exp(logarithm), delta, chance, steps, promise) / epsilon)

    high = 3.0
    while excess(high) > 0.0:
        high += 1.0
    low = high - 0.5
    while excess(low) <= 0.0:
        low, high = low - 0.5, low
    found = float(brentq(excess, low, high, xtol=SLACK / 4.0))
    return math.exp(found + SLACK / 2.0)
