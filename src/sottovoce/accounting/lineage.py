"""What a chain of runs promises together: the guarantee of a result covers every run it was computed from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import final

from sottovoce.accounting.budget import REPLACE_ONE, Budget
from sottovoce.accounting.currency import LATTICE_SHARE, Currency, Gdp, Renyi
from sottovoce.accounting.lattice import LATTICE_PER_ONE, lattice_cap


@final
@dataclass(frozen=True, kw_only=True)
class Preset:
    """One run as it was allowed before it asked anything: its name, its budget and what it was counted in.

    `currency` is empty where it is not known, for results that were saved before it was kept."""

    run: str
    epsilon: float
    delta: float
    relation: str = REPLACE_ONE
    currency: str = ""
    order: float | None = None

    @property
    def budget(self) -> Budget:
        return Budget(self.epsilon, self.delta)


def composed(presets: tuple[Preset, ...]) -> tuple[float, float]:
    """The (epsilon, delta) of everything the runs released, each run counted once.

    In one currency their allowances add up, for gdp mu = sqrt(sum mu_i^2); (epsilon, delta) is read off at
    the smallest delta, so that no run's epsilon is undercut. Where currency or relation differ, or where that
    is smaller, epsilons and deltas add up. What several runs give is rounded up to the digits printed.

    From the presets, never from what was spent. A budget chosen in the light of an earlier run makes this an
    odometer: then the cap of the ledger, which is fixed beforehand, is what holds."""
    distinct = tuple(dict.fromkeys(presets))
    if len(distinct) == 1:
        return distinct[0].epsilon, distinct[0].delta
    added = (
        sum((_as_typed(preset.epsilon) for preset in distinct), Decimal(0)),
        sum((_as_typed(preset.delta) for preset in distinct), Decimal(0)),
    )
    summed = _summed(distinct)
    epsilon, delta = added if summed[0] > added[0] or summed[1] > added[1] else map(Decimal, summed)
    return _rounded_up(epsilon, 6), _rounded_up(min(delta, Decimal(1)), 3)


def _summed(presets: tuple[Preset, ...]) -> tuple[float, float]:
    """The sum of allowances read as (epsilon, delta), and the lattice of all runs priced at that epsilon.

    A run's lattice moves its law by a total variation v_i of at most (delta_i/1000)/(1 + e^epsilon_i). All
    move the chain's by at most their sum, which at the chain's epsilon costs (1 + e^epsilon) sum v_i."""
    kinds = {(preset.currency, preset.order, preset.relation) for preset in presets}
    currency = _currency(*kinds.pop()[:2])
    if kinds or currency is None:
        return math.inf, math.inf
    smallest = float(Fraction(min(preset.delta for preset in presets)) * (1 - LATTICE_SHARE))
    epsilon = currency.epsilon(sum(currency.cap(preset.budget) for preset in presets), smallest)
    variation = sum(lattice_cap(preset.budget) + 1 for preset in presets) / LATTICE_PER_ONE
    try:
        return epsilon, smallest + (1.0 + math.exp(epsilon)) * variation * (1.0 + 1e-12)
    except OverflowError:
        return epsilon, math.inf


def _currency(name: str, order: float | None) -> Currency | None:
    if name == Gdp.name and order is None:
        return Gdp()
    return Renyi(order) if name == Renyi.name and order is not None else None


def _as_typed(number: float) -> Decimal:
    """The shortest decimal that is this float: 0.1 + 0.2 is 0.3, not the last digit's excess rounded up."""
    return Decimal(repr(number))


def _rounded_up(value: Decimal, digits: int) -> float:
    last = Decimal((0, (1,), value.adjusted() - digits + 1))
    return float(value.quantize(last, rounding=ROUND_CEILING)) if value else 0.0
