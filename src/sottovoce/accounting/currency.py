"""What a ledger counts in, and what every event costs in it.

Prices are whole units of 2^-50, rounded up and at least one; caps are rounded down. An event that has no
valid price is refused."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, TypeAlias, final

from sottovoce.accounting import gdp
from sottovoce.accounting.budget import Budget
from sottovoce.accounting.checks import whole
from sottovoce.accounting.events import (
    Draw,
    Event,
    GaussianEvent,
    PureEvent,
    SubsampledGaussianEvent,
)
from sottovoce.errors import Advice, ParameterError, UnsupportedEvent

Units: TypeAlias = int

UNITS_PER_ONE = 2**50
# Part of delta a cap leaves to the noise's lattice.
LATTICE_SHARE = Fraction(1, 1000)
# More than the rounding of a square root, a quotient and a square.
SLACK = Fraction(1, 2**49)


class Currency(ABC):
    """A way of adding up privacy loss that stays valid when queries depend on earlier answers."""

    name: ClassVar[str]

    @property
    def declared(self) -> tuple[str, float | None]:
        """Name and order, by which `named` finds it again."""
        return self.name, None

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
                return mu_squared_of(event)
            case PureEvent():
                return Fraction(gdp.mu_of_pure(event.epsilon)) ** 2
            case SubsampledGaussianEvent():
                raise _needs_renyi()
            case _:
                raise unpriced(event)

    def worth(self, epsilon: float, delta: float) -> float:
        mu = gdp.mu_of(epsilon, delta)
        return math.nextafter(mu * mu, 0.0)

    def epsilon(self, units: Units, delta: float) -> float:
        mu = math.nextafter(math.sqrt(math.nextafter(float(amount_of(units)), math.inf)), math.inf)
        return gdp.epsilon_of(mu, delta)

    def mu_squared(self, units: Units) -> float:
        return float(amount_of(units) * (1 - SLACK))

    def pure_epsilon(self, units: Units) -> float:
        """log(Phi(mu/2) / Phi(-mu/2)), the inverse of `gdp.mu_of_pure`."""
        mu = math.sqrt(amount_of(units)) * (1.0 - 1e-12)
        if mu < 1.0:
            return 2.0 * math.atanh(math.erf(mu / math.sqrt(8.0))) * (1.0 - 1e-12)
        return (gdp.log_normal(mu / 2.0) - gdp.log_normal(-mu / 2.0)) * (1.0 - 1e-12)

    def multiplier(self, units: Units, batch: int, population: int, draw: Draw = Draw.FIXED) -> float:
        raise _needs_renyi()


def mu_squared_of(event: GaussianEvent | SubsampledGaussianEvent) -> Fraction:
    return (Fraction(event.sensitivity) / Fraction(event.scale)) ** 2


def amount_of(units: Units) -> Fraction:
    """Units as the number they stand for."""
    return Fraction(whole("units", units), UNITS_PER_ONE)


def _needs_renyi() -> UnsupportedEvent:
    return UnsupportedEvent(
        "a mini-batch's amplification has no price in a gdp ledger: it is not mu-GDP for any smaller mu. "
        'Nothing was released. Use Ledger(cap, currency="renyi", order=...), or a query over all records.'
    )


def unpriced(event: object) -> UnsupportedEvent:
    return UnsupportedEvent(
        f"{type(event).__name__} has no known price. Nothing was released. "
        "Describe the query by an event of sottovoce.accounting.events."
    )


def named(name: str, order: float | None) -> Currency:
    """The currency that a user or a file names."""
    if not isinstance(name, str):
        raise ParameterError(
            f'currency must be "gdp" or "renyi", got {type(name).__name__}.', argument="currency"
        )
    if name == Gdp.name:
        if order is not None:
            raise ParameterError(
                'a gdp ledger has no order. Leave it out, or pass currency="renyi".',
                argument="order",
                advice=(Advice("currency", "renyi"),),
            )
        return Gdp()
    if name == "renyi":
        from sottovoce.accounting.renyi.currency import Renyi

        if order is None:
            raise ParameterError(
                "a renyi ledger needs its order from the start. best_order finds a good one."
            )
        return Renyi(order)
    raise ParameterError(f'currency must be "gdp" or "renyi", got {name!r}.', argument="currency")
