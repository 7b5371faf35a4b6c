"""What a ledger counts in, and what every event costs in it.

Prices are whole units of 2^-50, rounded up and at least one; caps are rounded down. An event that has no
valid price is refused."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, TypeAlias, final

from scipy.special import erf, log_ndtr

from sottovoce.accounting import gdp, renyi
from sottovoce.accounting.budget import Budget
from sottovoce.accounting.checks import positive, whole
from sottovoce.accounting.events import (
    Draw,
    Event,
    GaussianEvent,
    PureEvent,
    SharedBatchEvent,
    SubsampledGaussianEvent,
)
from sottovoce.errors import ParameterError, UnsupportedEvent

Units: TypeAlias = int

UNITS_PER_ONE = 2**50
# Part of delta a cap leaves to the noise's lattice.
LATTICE_SHARE = Fraction(1, 1000)
# More than the rounding of a square root, a quotient and a square.
_SLACK = Fraction(1, 2**49)


class Currency(ABC):
    """A way of adding up privacy loss that stays valid when queries depend on earlier answers."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def label(self) -> str:
        """The counted quantity, in words for messages."""

    @abstractmethod
    def cost(self, event: Event) -> Fraction:
        """The event's price before rounding; never below the exact one. UnsupportedEvent if it has none."""

    @abstractmethod
    def worth(self, epsilon: float, delta: float) -> float:
        """The most that may be spent under (epsilon, delta)-DP, rounded down."""

    @abstractmethod
    def epsilon(self, units: Units, delta: float) -> float:
        """The epsilon, at delta, of everything that was charged these units, rounded up; may be 0."""

    @abstractmethod
    def mu_squared(self, units: Units) -> float:
        """The largest mu^2 = (sensitivity/scale)^2 of one Gaussian answer that `units` buy, rounded down.

        Low enough that scale = sensitivity / sqrt(mu_squared), in floating point, is within the price."""

    @abstractmethod
    def pure_epsilon(self, units: Units) -> float:
        """The largest epsilon of one pure answer that `units` buy, rounded down."""

    @abstractmethod
    def multiplier(self, units: Units, batch: int, population: int, draw: Draw = Draw.FIXED) -> float:
        """The least scale/sensitivity of a Gaussian answer on a fresh batch that `units` buy, rounded up."""

    @final
    def price(self, event: Event) -> Units:
        """What the event costs, rounded up, at least one unit."""
        return max(1, math.ceil(self.cost(event) * UNITS_PER_ONE))

    @final
    def cap(self, budget: Budget) -> Units:
        """What the budget is worth, rounded down, a thousandth of its delta left to the noise's lattice."""
        delta = math.nextafter(float(Fraction(budget.delta) * (1 - LATTICE_SHARE)), 0.0)
        units = math.floor(Fraction(self.worth(budget.epsilon, delta)) * UNITS_PER_ONE)
        if units < 1:
            raise ParameterError(
                f"epsilon={budget.epsilon:g}, delta={budget.delta:g} is too small to buy any answer. "
                "Raise epsilon or delta."
            )
        return units

    @final
    def scale_for(self, units: Units, sensitivity: float) -> float:
        """The noise sd at which one Gaussian answer of this l2 sensitivity costs at most `units`."""
        scale = positive("sensitivity", sensitivity) / math.sqrt(self.mu_squared(units))
        if not math.isfinite(scale) or scale < 2.0**-1000:
            raise ParameterError(f"sensitivity={sensitivity:g} needs noise beyond double precision. Rescale.")
        return scale

    @final
    def amount(self, units: Units) -> str:
        """Units as a number of the counted quantity, for messages."""
        return f"{Decimal(units) / UNITS_PER_ONE:.6g}"


@final
@dataclass(frozen=True)
class Gdp(Currency):
    """Counts mu^2 of Gaussian differential privacy: adaptive sums of mu^2 up to mu^2 are mu-GDP.

    (Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023.)"""

    name: ClassVar[str] = "gdp"

    @property
    def label(self) -> str:
        return "mu^2"

    def cost(self, event: Event) -> Fraction:
        match event:
            case GaussianEvent():
                return _mu_squared(event)
            case PureEvent():
                return Fraction(gdp.mu_of_pure(event.epsilon)) ** 2
            case SubsampledGaussianEvent() | SharedBatchEvent():
                raise _needs_renyi()
            case _:
                raise _unknown(event)

    def worth(self, epsilon: float, delta: float) -> float:
        mu = gdp.mu_of(epsilon, delta)
        return math.nextafter(mu * mu, 0.0)

    def epsilon(self, units: Units, delta: float) -> float:
        mu = math.nextafter(math.sqrt(math.nextafter(float(_value(units)), math.inf)), math.inf)
        return gdp.epsilon_of(mu, delta)

    def mu_squared(self, units: Units) -> float:
        return float(_value(units) * (1 - _SLACK))

    def pure_epsilon(self, units: Units) -> float:
        """log(Phi(mu/2) / Phi(-mu/2)), the inverse of `gdp.mu_of_pure`."""
        mu = math.sqrt(_value(units)) * (1.0 - 1e-12)
        if mu < 1.0:
            return 2.0 * math.atanh(float(erf(mu / math.sqrt(8.0)))) * (1.0 - 1e-12)
        return float(log_ndtr(mu / 2.0) - log_ndtr(-mu / 2.0)) * (1.0 - 1e-12)

    def multiplier(self, units: Units, batch: int, population: int, draw: Draw = Draw.FIXED) -> float:
        raise _needs_renyi()


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
    def label(self) -> str:
        return f"Renyi divergence (order {self.order:g})"

    def cost(self, event: Event) -> Fraction:
        order = Fraction(self.order)
        match event:
            case GaussianEvent():
                return renyi.gaussian(order, _mu_squared(event))
            case PureEvent():
                return renyi.pure(order, Fraction(event.epsilon))
            case SubsampledGaussianEvent():
                return renyi.batched(order, _mu_squared(event), event.batch, event.population, event.draw)
            case SharedBatchEvent():
                together = sum((_mu_squared(part) for part in event.parts), Fraction(0))
                return renyi.batched(order, together, event.batch, event.population)
            case _:
                raise _unknown(event)

    def worth(self, epsilon: float, delta: float) -> float:
        return renyi.renyi_of(self.order, epsilon, delta)

    def epsilon(self, units: Units, delta: float) -> float:
        """Past the rounding of the three terms of `renyi.epsilon_of_renyi`, each at most their sum."""
        value = math.nextafter(float(_value(units)), math.inf)
        found = renyi.epsilon_of_renyi(self.order, value, delta)
        return found + 1e-14 * (found + 2.0 * value + 1.0)

    def mu_squared(self, units: Units) -> float:
        return float(2 * _value(units) / Fraction(self.order) * (1 - _SLACK))

    def pure_epsilon(self, units: Units) -> float:
        value = float(_value(units) * (1 - _SLACK))
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
        return renyi.batched(order, Fraction(mu_squared), batch, population, draw) <= allowed

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


def _mu_squared(event: GaussianEvent | SubsampledGaussianEvent) -> Fraction:
    return (Fraction(event.sensitivity) / Fraction(event.scale)) ** 2


def _value(units: Units) -> Fraction:
    return Fraction(whole("units", units), UNITS_PER_ONE)


def _needs_renyi() -> UnsupportedEvent:
    return UnsupportedEvent(
        "a mini-batch's amplification has no price in a gdp ledger: it is not mu-GDP for any smaller mu. "
        'Nothing was released. Use Ledger(cap, currency="renyi", order=...), or a query over all records.'
    )


def _unknown(event: object) -> UnsupportedEvent:
    return UnsupportedEvent(
        f"{type(event).__name__} has no known price. Nothing was released. "
        "Describe the query by an event of sottovoce.accounting.events."
    )


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
