"""A run: one use of the data with a budget of its own inside a ledger."""

from __future__ import annotations

import threading
import uuid
from typing import TYPE_CHECKING, NoReturn, Self, final

from sottovoce.accounting.allowance import Allowance, new_grant, share
from sottovoce.accounting.budget import Budget
from sottovoce.accounting.currency import Currency, Units
from sottovoce.accounting.events import Event, Query, asks
from sottovoce.accounting.lineage import Preset
from sottovoce.accounting.store import Grant, Totals
from sottovoce.errors import BudgetExceeded, LedgerError, ParameterError

if TYPE_CHECKING:
    from sottovoce.accounting.ledger import Ledger


@final
class Run:
    """Pays for answers out of its own budget and its ledger's cap at once. Made by `Ledger.run`.

    Formal guarantee: what is released under this run's grants alone is budget-DP; every charge counts
    against the ledger's cap as well."""

    __slots__ = (
        "__weakref__",
        "_allowed",
        "_budget",
        "_identity",
        "_kept",
        "_ledger",
        "_lock",
        "_name",
        "_on",
        "_spent",
        "_valued",
    )

    def __init__(self, ledger: Ledger, budget: Budget, name: str) -> None:
        if not isinstance(budget, Budget):
            raise ParameterError("a run needs a Budget. Write ledger.run(Budget(epsilon=1.0, delta=1e-6)).")
        self._ledger = ledger
        self._budget = budget
        self._name = str(name)
        self._identity = uuid.uuid4().hex
        self._allowed = Allowance.of(budget, ledger.currency)
        self._spent = Totals(0, 0)
        self._on: dict[str, Units] = {}
        self._kept = 0
        self._valued = False
        self._lock = threading.Lock()

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    @property
    def budget(self) -> Budget:
        return self._budget

    @property
    def name(self) -> str:
        return self._name

    @property
    def preset(self) -> Preset:
        """What this run was allowed, for results that are computed from what it released."""
        currency, order = self.currency.declared
        return Preset(
            run=self._identity,
            epsilon=self._budget.epsilon,
            delta=self._budget.delta,
            relation=self._budget.relation,
            value_asked=self._valued,
            currency=currency,
            order=order,
            unit=self._ledger.unit,
        )

    @property
    def currency(self) -> Currency:
        return self._ledger.currency

    @property
    def units_cap(self) -> Units:
        return self._allowed.cap.units

    @property
    def units_spent(self) -> Units:
        return self._spent.units

    @property
    def spending(self) -> dict[str, float]:
        """The part of this run's budget that each kind of query was charged, in the order of first use."""
        return {subject: units / self.units_cap for subject, units in self._on.items()}

    @property
    def units_left(self) -> Units:
        """What this run may plan with: the least of its own and the ledger's remainder, less what is kept."""
        return min(self._allowed.cap.units - self._spent.units, self._ledger.units_left) - self._kept

    def keep(self, units: Units) -> None:
        """Hold units back from `units_left` for the end of the run; 0 gives them free."""
        self._kept = units

    @property
    def lattice_left(self) -> int:
        """Total variation, in units of 2^-100, that this run's lattice noise may still add."""
        return min(self._allowed.cap.lattice - self._spent.lattice, self._ledger.lattice_left)

    @property
    def delta_left(self) -> float:
        """What is left of the part of the run's delta that pays for lattice noise."""
        return self._allowed.delta(self.lattice_left)

    @property
    def mu_squared_left(self) -> float:
        """The mu^2 of the one Gaussian answer that would spend everything left; 0 when nothing is."""
        left = self.units_left
        return self.currency.mu_squared(left) if left > 0 else 0.0

    def share(self, parts: int) -> Units:
        """The largest whole number of units that fits `parts` times into what is left."""
        return share(self.units_left, parts)

    def charge(self, event: Event) -> Grant:
        """Pay for one answer, or raise BudgetExceeded; the answer may be computed only afterwards."""
        grant = new_grant(event, self.currency, self._budget.relation, self._name, self._identity)
        with self._lock:
            before = self._spent
            after = before.plus(grant)
            if not after.within(self._allowed.cap):
                raise self._allowed.refusal(grant, before, "the run")
            # Counted first and taken back only on a refusal: any other failure leaves the run charged.
            self._spent = after
            try:
                self._ledger._append(grant)
            except BudgetExceeded:
                self._spent = before
                raise
            self._on[event.subject] = self._on.get(event.subject, 0) + grant.units
            self._valued = self._valued or asks(event, Query.VALUE)
        return grant

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise LedgerError(
            "a run cannot be pickled: its copy would spend the same allowance again. Start a run in the "
            "other process on a ledger from Ledger.open(path, dataset=...)."
        )

    def __repr__(self) -> str:
        spent, cap = self.currency.amount(self.units_spent), self.currency.amount(self.units_cap)
        return f"Run({self._name!r}, {self._budget!r}, spent {spent} of {cap} {self.currency.label})"
