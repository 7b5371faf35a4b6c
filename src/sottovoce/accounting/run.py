"""A run: one use of the data with a budget of its own inside a ledger."""

from __future__ import annotations

import logging
import threading
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, final

from sottovoce.accounting.allowance import Allowance, new_grant, share
from sottovoce.accounting.budget import Budget
from sottovoce.accounting.currency import Currency, Units
from sottovoce.accounting.events import Event, QueryKind
from sottovoce.accounting.lineage import Preset
from sottovoce.accounting.store import Grant, Totals
from sottovoce.errors import BudgetExceeded, LedgerError, ParameterError

if TYPE_CHECKING:
    from sottovoce.accounting.disk.journal import Journal
    from sottovoce.accounting.ledger import Ledger

T = TypeVar("T")

logger = logging.getLogger("sottovoce")

_OPENED: deque[Run] = deque(maxlen=4)


def opened() -> tuple[Run, ...]:
    """The last runs this process began to pay for, whether they ended or not."""
    return tuple(_OPENED)


@final
class Run:
    """Pays for answers out of its own budget and its ledger's cap at once. Made by `Ledger.run`.

    Formal guarantee: what is released under this run's grants alone is budget-DP; every charge counts
    against the ledger's cap as well."""

    __slots__ = (
        "__weakref__",
        "_allowed",
        "_begun",
        "_budget",
        "_divided",
        "_identity",
        "_journal",
        "_kept",
        "_ledger",
        "_lock",
        "_name",
        "_on",
        "_past",
        "_refused",
        "_spent",
        "_stays",
        "_valued",
    )

    def __init__(
        self,
        ledger: Ledger,
        budget: Budget,
        name: str,
        *,
        journal: Journal | None = None,
        identity: str = "",
        past: Sequence[Grant] = (),
        further: bool = True,
    ) -> None:
        if not isinstance(budget, Budget):
            raise ParameterError("a run needs a Budget. Write ledger.run(Budget(epsilon=1.0, delta=1e-6)).")
        self._ledger = ledger
        self._budget = budget
        self._name = str(name)
        self._identity = identity or uuid.uuid4().hex
        self._journal = journal
        self._past = deque(past)
        self._begun = {grant.id: grant for grant in past}
        self._stays = not further
        self._divided = False
        self._refused = False
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
    def identity(self) -> str:
        """Names this run among all others, in the ledger, in results and to go on with it."""
        return self._identity

    @property
    def journal(self) -> Journal | None:
        """Where its answers are written down; None where the ledger is in memory or nothing was reserved."""
        return self._journal

    def divide(self) -> None:
        """Parts of it are runs of their own from here on: what they are charged is not seen in this one."""
        self._divided = True

    def begin(self) -> Self:
        """Remembered as `opened` from here on."""
        _OPENED.append(self)
        self._log("a run began", begun_before=len(self._begun))
        return self

    def _log(self, message: str, **facts: Any) -> None:
        """Declarations and what the ledger holds; never an answer."""
        about = {"run": self._identity, "name": self._name, **facts}
        told = ", ".join(f"{name}={value}" for name, value in about.items())
        logger.info("%s: %s", message, told, extra={"facts": about})

    @property
    def cut_short(self) -> bool:
        """Whether a query was refused for another reason than that this run's own units were spent."""
        return self._refused

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
    def lattice_cap(self) -> int:
        return self._allowed.cap.lattice

    @property
    def charged_before(self) -> Totals:
        """All it was charged before it was interrupted."""
        return Totals(0, 0).with_all(Totals(grant.units, grant.lattice) for grant in self._begun.values())

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
        own = self._allowed.cap.units - self._spent.units
        return min(own, self._ledger.left_for(self._identity).units + self._ahead.units) - self._kept

    def keep(self, units: Units) -> None:
        """Hold units back from `units_left` for the end of the run; 0 gives them free."""
        self._kept = units

    @property
    def lattice_left(self) -> int:
        """Total variation, in units of 2^-100, that this run's lattice noise may still add."""
        own = self._allowed.cap.lattice - self._spent.lattice
        return min(own, self._ledger.left_for(self._identity).lattice + self._ahead.lattice)

    @property
    def mu_squared_left(self) -> float:
        """The mu^2 of the one Gaussian answer that would spend everything left; 0 when nothing is."""
        left = self.units_left
        return self.currency.mu_squared(left) if left > 0 else 0.0

    def share(self, parts: int) -> Units:
        """The largest whole number of units that fits `parts` times into what is left."""
        return share(self.units_left, parts)

    @property
    def _ahead(self) -> Totals:
        """What this run was charged before it was interrupted and has not asked for again yet."""
        return Totals(0, 0).with_all(Totals(grant.units, grant.lattice) for grant in self._past)

    def charge(self, event: Event) -> Grant:
        """Pay for one answer, or raise BudgetExceeded; the answer may be computed only afterwards.

        A run that goes on after an interruption was charged for its first answers already: the same events
        in the same order are not charged again."""
        with self._lock:
            return self._charged_before(event) if self._past else self._charge(event)

    def _charge(self, event: Event) -> Grant:
        if self._stays:
            self._refused = True
            raise BudgetExceeded("this run goes no further than the answers it has. Nothing was charged.")
        sealed = "" if self._journal is None else self._journal.seal
        grant = new_grant(event, self.currency, self._budget.relation, self._name, self._identity, sealed)
        before = self._spent
        after = before.plus(grant)
        if not after.within(self._allowed.cap):
            self._refused |= after.lattice > self._allowed.cap.lattice
            raise self._allowed.refusal(grant, before, "the run")
        # Counted first and taken back only on a refusal: any other failure leaves the run charged.
        self._spent = after
        try:
            self._ledger._append(grant)
        except BudgetExceeded:
            self._spent, self._refused = before, True
            raise
        self._count(grant)
        share = round(grant.units / self.units_cap, 6)
        self._log("a query was charged", query=grant.event.subject, share_of_budget=share, charge=grant.id)
        return grant

    def _charged_before(self, event: Event) -> Grant:
        grant = self._past[0]
        if grant.event != event:
            raise LedgerError(
                "the run that goes on asks for something else than it was charged for: code, versions or "
                "machine differ. Nothing was charged, nothing released. Go on where it began."
            )
        if self._stays and self._journal is not None and not self._journal.holds(grant.id):
            self._past.clear()
            return self._charge(event)
        self._past.popleft()
        self._spent = self._spent.plus(grant)
        self._count(grant)
        return grant

    def _count(self, grant: Grant) -> None:
        subject = grant.event.subject
        self._on[subject] = self._on.get(subject, 0) + grant.units
        self._valued = self._valued or grant.event.query is QueryKind.VALUE

    def released(self, grant: Grant, asked: str, draw: Callable[[], T]) -> T:
        """The answer that the grant paid for, drawn once in the life of the run, whoever goes on with it.

        `asked` names the query."""
        return draw() if self._journal is None else self._journal.answer(grant.id, 0, asked, draw)

    def abandon(self) -> None:
        """A run that was not begun after all: its journal goes, unless it holds answers."""
        if self._journal is not None:
            self._journal.close()
            if not self._begun and not self._spent.units:
                self._journal.remove()

    def close(self, how: str = "finished") -> None:
        """The end of the run: what it reserved and did not spend is free for others."""
        self._log("a run ended", how=how, spent_of_budget=round(self._spent.units / self.units_cap, 6))
        try:
            self._ledger.end(self._identity, how, "" if self._journal is None else self._journal.seal)
        finally:
            if self._journal is not None:
                self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close("short of its plan" if self._refused else "finished")
        else:
            self.interrupt()

    def interrupt(self) -> None:
        """The end of this process's part in a run that may go on; one that was charged nothing is over."""
        begun = bool(self.units_spent or self._begun or self._divided)
        with suppress(LedgerError):
            self.close("interrupted" if begun else "charged nothing")
        if not begun and self._journal is not None:
            self._journal.remove()

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
