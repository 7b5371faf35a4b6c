"""How far a budget reaches in a currency: the one rule that ledger and run share."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Self, final

from sottovoce.accounting.budget import Budget
from sottovoce.accounting.checks import whole
from sottovoce.accounting.currency import LATTICE_SHARE, Currency, Units
from sottovoce.accounting.events import Draw, Event, SubsampledGaussianEvent
from sottovoce.accounting.lattice import lattice_cap, lattice_units
from sottovoce.accounting.relations import Relation
from sottovoce.accounting.store import Grant, Totals
from sottovoce.errors import BudgetExceeded, UnsupportedEvent


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

    def delta(self, lattice: int) -> float:
        """The part of delta that this much of the lattice's allowance stands for."""
        return self.budget.delta * float(LATTICE_SHARE) * (lattice / max(1, self.cap.lattice))

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


def new_grant(event: Event, currency: Currency, relation: Relation, run: str = "") -> Grant:
    """The event with its prices and a name of its own; leave to release only once a store has it."""
    poisson = isinstance(event, SubsampledGaussianEvent) and event.draw is Draw.POISSON
    if poisson and relation is not Relation.ZERO_OUT:
        raise UnsupportedEvent(
            "a Poisson batch has a price under zero-out alone. Nothing was released. Draw batches of fixed "
            'size, or count under Budget(..., relation="zero-out").'
        )
    return Grant(uuid.uuid4().hex, event, currency.price(event), lattice_units(event), run)


def share(left: Units, parts: int) -> Units:
    """The largest whole number of units that fits `parts` times into `left`."""
    units = left // whole("parts", parts)
    if units < 1:
        raise BudgetExceeded(
            f"what is left cannot be split into {parts} parts. Nothing was released. Ask for fewer steps."
        )
    return units
