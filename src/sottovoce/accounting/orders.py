"""Which Renyi order suits a plan. Chosen from public numbers, before the ledger is opened."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from sottovoce.accounting.budget import Budget
from sottovoce.accounting.checks import whole
from sottovoce.accounting.currency import Renyi
from sottovoce.accounting.events import Event
from sottovoce.errors import ParameterError

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
