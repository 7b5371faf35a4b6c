"""How far a budget reaches in a currency: the one rule that ledger and run share."""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

from sottovoce.accounting.budget import Budget
from sottovoce.accounting.checks import whole
from sottovoce.accounting.currency import LATTICE_SHARE, Currency, Units
from sottovoce.accounting.events import (
    Draw,
    Event,
    GaussianEvent,
    PureEvent,
    SubsampledGaussianEvent,
)
from sottovoce.accounting.relations import Relation
from sottovoce.accounting.store import Grant, Totals
from sottovoce.errors import Advice, BudgetExceeded, ParameterError, UnsupportedEvent


@final
@dataclass(frozen=True)
class Allowance:
    """A budget, the currency it is spent in, and the totals it allows."""

    budget: Budget
    currency: Currency
    cap: Totals

    @classmethod
    def of(cls, budget: Budget, currency: Currency) -> Self:
        return cls(budget, currency, Totals(currency.cap(budget), lattice_cap(budget)))

    def refusal(self, grant: Grant, spent: Totals, owner: str) -> BudgetExceeded:
        """Why the grant does not fit on top of what is spent."""
        left, amount = self.cap.units - spent.units, self.currency.amount
        if grant.units > left:
            return BudgetExceeded(
                f"this query costs {self.currency.label}={amount(grant.units)}, {amount(left)} is left in "
                f"{owner}. Nothing was released. Ask for fewer steps or more noise."
            )
        return BudgetExceeded(
            f"the lattice of this query's noise is too coarse for what is left of delta/1000 in {owner}. "
            "Nothing was released. Use a finer lattice step or a smaller epsilon."
        )


def new_grant(
    event: Event, currency: Currency, relation: Relation, run: str = "", run_id: str = "", journal: str = ""
) -> Grant:
    """The event with its prices and a name of its own; leave to release only once a store has it."""
    poisson = isinstance(event, SubsampledGaussianEvent) and event.draw is Draw.POISSON
    if poisson and relation is not Relation.ZERO_OUT:
        raise UnsupportedEvent(
            "a Poisson batch has a price under zero-out alone. Nothing was released. Draw batches of fixed "
            'size, or count under Budget(..., relation="zero-out").',
            advice=(Advice("relation", "zero-out", 'Budget(..., relation="zero-out")'),),
        )
    return Grant(uuid.uuid4().hex, event, currency.price(event), lattice_units(event), run, run_id, journal)


def share(left: Units, parts: int) -> Units:
    """The largest whole number of units that fits `parts` times into `left`."""
    units = left // whole("parts", parts)
    if units < 1:
        raise BudgetExceeded(
            f"what is left cannot be split into {parts} parts. Nothing was released. Ask for fewer steps."
        )
    return units


# 4 pdf(1)/48 = 0.0201642..., rounded up past the next order's part while step <= 0.16 scale. A coarser
# lattice exceeds every allowance anyway, since delta < 1.
TOTAL_VARIATION = Fraction(202, 10_000)
LATTICE_PER_ONE = 2**100
# The most that `privacy.noise` takes for a step, in scales of the noise.
USUAL_STEP = Fraction(1, 2**38)


def lattice_units(event: Event) -> int:
    """Total variation between the event's noise and continuous noise, in units of 2^-100, rounded up."""
    match event:
        case GaussianEvent() | SubsampledGaussianEvent():
            ratio = Fraction(event.step) / Fraction(event.scale)
            return math.ceil(TOTAL_VARIATION * event.entries * ratio**2 * LATTICE_PER_ONE)
        case PureEvent():
            return 0
        case _:
            raise UnsupportedEvent(f"{type(event).__name__} has no known lattice. Nothing was released.")


def lattice_of_entries(entries: int) -> int:
    """Total variation that noise on the usual lattice adds, for so many numbers, in units of 2^-100."""
    return math.ceil(TOTAL_VARIATION * entries * USUAL_STEP**2 * LATTICE_PER_ONE)


SMALLEST_PLAN = 500
"""Numbers that a run of two columns sets lattice noise aside for."""


def require_usable(cap: Budget) -> None:
    """Refuse, when a ledger is made, a cap under which no run could ever set its lattice noise aside."""
    least = lattice_of_entries(SMALLEST_PLAN)
    if lattice_cap(cap) < least:
        most = math.log(float(Fraction(cap.delta) * LATTICE_SHARE * LATTICE_PER_ONE / least))
        raise ParameterError(
            f"a ledger of epsilon={cap.epsilon:g} at delta={cap.delta:g} could not be used: noise on a "
            f"lattice must cost less than delta/1000, which it does up to about epsilon={max(0.0, most):.3g} "
            "for the smallest models. Take 10 or less, past which little is promised."
        )


def lattice_cap(budget: Budget) -> int:
    """The total variation that costs a thousandth of delta: (delta/1000) / (1 + e^epsilon), rounded down."""
    share = math.exp(-budget.epsilon) / (1.0 + math.exp(-budget.epsilon)) * (1.0 - 1e-14)
    return math.floor(Fraction(budget.delta) * LATTICE_SHARE * Fraction(share) * LATTICE_PER_ONE)
