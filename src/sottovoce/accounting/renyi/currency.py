"""Renyi divergence at one order as a currency, and the order that suits a plan."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, final

from sottovoce.accounting.budget import Budget
from sottovoce.accounting.checks import positive, whole
from sottovoce.accounting.currency import (
    SLACK,
    UNITS_PER_ONE,
    Currency,
    Units,
    amount_of,
    mu_squared_of,
    unpriced,
)
from sottovoce.accounting.events import (
    Draw,
    Event,
    GaussianEvent,
    PureEvent,
    SubsampledGaussianEvent,
)
from sottovoce.accounting.renyi import exchange
from sottovoce.errors import ParameterError


@final
@dataclass(frozen=True)
class Renyi(Currency):
    """Counts Renyi divergence at one order, fixed beforehand (Feldman & Zrnic 2021)."""

    order: float
    name: ClassVar[str] = "renyi"

    def __post_init__(self) -> None:
        order = positive("order", self.order)
        if order <= 1.0:
            raise ParameterError(
                f"a Renyi order must be above 1, got {order:g}. best_order finds a good one."
            )
        object.__setattr__(self, "order", order)

    @property
    def declared(self) -> tuple[str, float | None]:
        return self.name, self.order

    @property
    def label(self) -> str:
        return f"Renyi divergence (order {self.order:g})"

    def cost(self, event: Event) -> Fraction:
        order = Fraction(self.order)
        match event:
            case GaussianEvent():
                return exchange.gaussian(order, mu_squared_of(event))
            case PureEvent():
                return exchange.pure(order, Fraction(event.epsilon))
            case SubsampledGaussianEvent():
                return exchange.batched(
                    order, mu_squared_of(event), event.batch, event.population, event.draw
                )
            case _:
                raise unpriced(event)

    def worth(self, epsilon: float, delta: float) -> float:
        return exchange.renyi_of(self.order, epsilon, delta)

    def epsilon(self, units: Units, delta: float) -> float:
        """Past the rounding of the three terms of `exchange.epsilon_of_renyi`, each at most their sum."""
        value = math.nextafter(float(amount_of(units)), math.inf)
        found = exchange.epsilon_of_renyi(self.order, value, delta)
        return found + 1e-14 * (found + 2.0 * value + 1.0)

    def mu_squared(self, units: Units) -> float:
        return float(2 * amount_of(units) / Fraction(self.order) * (1 - SLACK))

    def pure_epsilon(self, units: Units) -> float:
        value = float(amount_of(units) * (1 - SLACK))
        return max(value, math.sqrt(2.0 * value / self.order) * (1.0 - 2.0**-49))

    def multiplier(self, units: Units, batch: int, population: int, draw: Draw = Draw.FIXED) -> float:
        sizes = whole("batch", batch), whole("population", population)
        return _multiplier(self, whole("units", units), *sizes, draw)


@lru_cache(maxsize=1024)
def _multiplier(currency: Renyi, units: Units, batch: int, population: int, draw: Draw) -> float:
    """Bisection on mu^2, of which the price is an increasing function."""
    if batch > population:
        raise ParameterError(f"batch={batch} exceeds population={population}.")
    order, allowed = Fraction(currency.order), Fraction(units, UNITS_PER_ONE)

    def fits(mu_squared: float) -> bool:
        return exchange.batched(order, Fraction(mu_squared), batch, population, draw) <= allowed

    low = currency.mu_squared(units)
    high = 2.0 * low
    while fits(high):
        low, high = high, 2.0 * high
    while high > low * (1.0 + 2.0**-22):
        middle = math.sqrt(low * high)
        if fits(middle):
            low = middle
        else:
            high = middle
    # A little more noise than needed, so that rounding of sensitivity * multiplier cannot raise the price.
    return (1.0 + 2.0**-40) / math.sqrt(low)


# Small orders suit large epsilon, large ones small epsilon.
ORDERS: tuple[int, ...] = (*range(2, 65), 80, 96, 128, 160, 192, 256, 512, 1024, 2048, 4096)


def best_order(budget: Budget, plan: Iterable[tuple[Event, int]]) -> int:
    """The order of the grid `ORDERS` at which the planned (event, times) fill the least part of the cap.

    The order must not depend on data or on answers, so the plan is made of public numbers."""
    planned = [(event, whole("times", times)) for event, times in plan]
    if not planned:
        raise ParameterError("plan is empty. Pass at least one (event, times).")
    filled: dict[int, Fraction] = {}
    for order in ORDERS:
        currency = Renyi(order)
        try:
            cap = currency.cap(budget)
        except ParameterError:
            continue
        spent = sum(times * currency.price(event) for event, times in planned)
        filled[order] = Fraction(spent, cap)
    if not filled:
        raise ParameterError(
            f"no Renyi order up to {ORDERS[-1]} can express epsilon={budget.epsilon:g}, "
            f"delta={budget.delta:g}. Raise epsilon, or use a gdp ledger."
        )
    return min(filled, key=lambda order: filled[order])
