"""The ledger: a filter that refuses, before data is touched, a query that would exceed the cap.

Charges are never refunded, and what is charged may depend on every answer released so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self, final

from sottovoce.accounting.allowance import Allowance, lattice_of_entries, new_grant, share
from sottovoce.accounting.budget import Budget
from sottovoce.accounting.currency import Currency, Units, named
from sottovoce.accounting.disk.opening import OnDisk
from sottovoce.accounting.events import Event
from sottovoce.accounting.relations import Relation, unit_of
from sottovoce.accounting.resume import Resume, part_of
from sottovoce.accounting.run import Run
from sottovoce.accounting.store import Grant, MemoryStore, Named, Store, Totals, held_by_others
from sottovoce.accounting.wording import affordable, ledger_html
from sottovoce.errors import Advice, ApprovalNeeded, BudgetExceeded, LedgerError, ParameterError


@final
class Ledger(OnDisk):
    """All privacy ever spent on one data set, in one currency, under one relation, below one cap.

    Formal guarantee: everything released under its grants together is cap-DP for neighbours under the cap's
    relation, who differ in one `unit`, a record or a person with all their records. The sum of prices stays
    within what (epsilon, 0.999 delta) is worth, and lattice noise within delta/1000."""

    __slots__ = ("__weakref__", "_allowed", "_cap", "_currency", "_parts", "_store", "_unit", "_whole")

    def __init__(
        self,
        cap: Budget,
        *,
        currency: str = "gdp",
        order: float | None = None,
        unit: str = "record",
        store: Store | None = None,
    ) -> None:
        if not isinstance(cap, Budget):
            raise ParameterError(
                "cap must be a Budget. Write Ledger(Budget(epsilon=1.0, delta=1e-6)).", argument="cap"
            )
        self._cap = cap
        self._currency = named(currency, order)
        self._allowed = Allowance.of(cap, self._currency)
        self._unit = unit_of(unit)
        self._store: Store = MemoryStore() if store is None else store
        self._whole: Run | None = None
        self._parts = 0

    @property
    def cap(self) -> Budget:
        return self._cap

    @property
    def relation(self) -> Relation:
        """Between which neighbours it counts, for life."""
        return self._cap.relation

    @property
    def unit(self) -> str:
        """Whose data neighbours differ in, for life: a record's or a person's."""
        return self._unit

    @property
    def currency(self) -> Currency:
        return self._currency

    @property
    def order(self) -> float | None:
        return self._currency.declared[1]

    @property
    def identity(self) -> str:
        """Names this ledger in the results charged to it."""
        return self._store.identity

    @property
    def persistent(self) -> bool:
        """Whether charges outlive the process; such a ledger takes no simulated runs."""
        return self._store.persistent

    @property
    def address(self) -> tuple[str, str] | None:
        """The file and the data set in it; None in memory."""
        return self._store.address

    @property
    def part(self) -> str:
        """The sub-budget that runs are paid from; empty for what is allotted to nobody."""
        return self._store.part

    @property
    def units_cap(self) -> Units:
        return self._allowed.cap.units

    @property
    def units_spent(self) -> Units:
        return self._store.totals().units

    @property
    def units_left(self) -> Units:
        """What nobody has spent or reserved."""
        return self.left_for("").units

    def left_for(self, run: str) -> Totals:
        """What a run of this identity may spend: all that is neither spent nor reserved by others."""
        return self._allowed.cap.less(self._store.taken(run, self._allowed.cap))

    @property
    def lattice_left(self) -> int:
        """Total variation, in units of 2^-100, that lattice noise may still add."""
        return self.left_for("").lattice

    @property
    def history(self) -> tuple[Grant, ...]:
        return self._store.history()

    @property
    def head(self) -> str:
        """Seals every charge so far. Results carry it, so that `verify` can tell if some were undone."""
        return self._store.head

    def price(self, event: Event) -> Units:
        """What the event would cost. Charges nothing."""
        return self._currency.price(event)

    def charge(self, event: Event, *, run: Run | None = None) -> Grant:
        """Pay for one answer, or raise BudgetExceeded; the answer may be computed only afterwards."""
        if run is not None:
            if run.ledger is not self:
                raise LedgerError("this run belongs to another ledger. Charge it there: run.charge(event).")
            return run.charge(event)
        grant = new_grant(event, self._currency, self.relation)
        if self._store.waits("", grant.units):
            raise ApprovalNeeded(
                "a charge of this size needs approval in this account. Nothing was charged. Charge a run."
            )
        self._append(grant)
        return grant

    def run(self, budget: Budget, name: str = "run", *, unit: str = "record") -> Run:
        """An allowance of its own inside the cap, or BudgetExceeded if the cap cannot cover it.

        Nothing is set aside: what the run does not charge stays available to others. `unit` is whose data
        the run protects."""
        run = Run(self, budget, name)
        self._require_counted_alike(run, unit)
        if self._store.waits(run.identity, run.units_cap):
            raise ApprovalNeeded(
                "runs of this size need approval in this account, and one that nothing is reserved for "
                "cannot wait for it. Nothing was charged. Begin it with Ledger.start, or give it less."
            )
        self._require_covered(run, self.left_for(run.identity))
        return run

    def start(
        self,
        budget: Budget,
        name: str,
        *,
        unit: str = "record",
        entries: int = 0,
        declared: Mapping[str, str] | None = None,
        resume: Resume | None = None,
        parts: int = 0,
    ) -> Run:
        """A run that has its whole budget to itself until `Run.close`, or BudgetExceeded.

        `entries` is how many numbers its plan draws noise for: what their lattice takes of delta is set aside
        too. In a file, its answers are written down under what is `declared`; `resume` goes on with a run of
        the same declarations where it stopped. `parts` of it may be runs of their own, see `within`."""
        facts, identity = declared or {}, ""
        if self._whole is not None:
            identity = part_of(self._whole.identity, self._parts)
            self._parts += 1
            resume = resume or _journals().begun_before(self, identity)
        if resume is None:
            begun = Run(self, budget, name, identity=identity)
        else:
            begun = _journals().resumed(self, budget, name, facts, resume)
        self._require_counted_alike(begun, unit)
        lattice = min(lattice_of_entries(entries), begun.lattice_cap)
        wanted = Totals(begun.units_cap, lattice).less(begun.charged_before)
        if resume is not None and parts:
            wanted = wanted.less(self._charged({part_of(begun.identity, place) for place in range(parts)}))
        if resume is not None and not resume.further:
            return begun.begin()
        if resume is None and self._store.address is not None:
            begun = _journals().journaled(self, begun, facts)
        if self._whole is None and self._store.waits(begun.identity, begun.units_cap):
            raise self._asked(begun)
        try:
            whole = None if self._whole is None else Named(self._whole.identity, self._whole.name)
            taken = self._store.reserve(begun.identity, name, wanted, self._allowed.cap, whole)
            if taken is not None:
                self._require_covered(begun, self._allowed.cap.less(taken))
                raise BudgetExceeded(
                    f"noise on a lattice for a run of this size does not fit into what a ledger of "
                    f"epsilon={self._cap.epsilon:g} allows it, of which other runs hold some. Nothing was "
                    "charged. Create a ledger with a smaller epsilon, or wait until the others have ended."
                )
        except BaseException:
            begun.abandon()
            raise
        return begun.begin()

    def waits(self, budget: Budget) -> bool:
        """Whether a run of this budget would wait for approval."""
        return self._store.waits("", self._currency.cap(budget))

    def _asked(self, run: Run) -> ApprovalNeeded:
        """Write down that the run waits, unless the cap could not cover it; what to tell whoever began it."""
        budget, journal = run.budget, run.journal
        assert journal is not None
        try:
            self._require_covered(run, self.left_for(run.identity))
            self._store.ask(Named(run.identity, run.name), budget.epsilon, budget.delta, journal.seal)
        except BaseException:
            run.abandon()
            raise
        journal.close()
        return ApprovalNeeded(
            f"epsilon={budget.epsilon:g} is above what this account lets anyone run: run "
            f"{run.identity[:12]} waits. Nothing was charged. Once `sottovoce ledger approve LEDGER "
            f"{run.identity[:12]} --key KEY` has signed it, repeat this with resume={run.identity[:12]!r}."
        )

    def within(self, whole: Run) -> Ledger:
        """This ledger, for runs that are parts of one: what each reserves it takes from the whole's.

        They are named by their places, so that whoever goes on with the whole goes on with its parts."""
        view = Ledger(self._cap, currency=self._currency.name, order=self.order, unit=self._unit)
        view._store, view._whole = self._store, whole
        whole.divide()
        return view

    def _charged(self, runs: set[str]) -> Totals:
        return Totals(0, 0).with_all(
            Totals(grant.units, grant.lattice) for grant in self.history if grant.run_id in runs
        )

    def end(self, run: str, how: str, journal: str = "") -> None:
        """Give free what a run of this identity reserved: its own end, or its owner's decision."""
        self._store.end(run, how, journal)

    def sealed(self, run: str) -> str:
        """The seal of a run's journal when it was last ended, or asked to be approved."""
        return self._store.sealed(run)

    def _require_counted_alike(self, run: Run, unit: str) -> None:
        if unit_of(unit) != self._unit:
            raise LedgerError(
                f"this ledger counts for every {self._unit} for life, and here each {unit} counts once. "
                f'Nothing was released. Create another ledger with unit="{unit}".',
                advice=(Advice("unit", unit),),
            )
        if run.budget.relation is not self.relation:
            alike = Advice("relation", self.relation.value, f'Budget(..., relation="{self.relation.value}")')
            raise LedgerError(
                f"this ledger counts under {self.relation.value!r} for life, the budget is under "
                f"{run.budget.relation.value!r}. Nothing was released. Write {alike.python}, or charge "
                "another ledger.",
                argument="relation",
                advice=(alike,),
            )

    def _require_covered(self, run: Run, left: Totals) -> None:
        """Whether what is left covers what the run may yet spend."""
        needed, amount, budget = run.units_cap - run.charged_before.units, self._currency.amount, run.budget
        if needed > left.units:
            held = sum(kept.units for kept in held_by_others(self._store.held(), run.identity))
            whose = f" for {self.part!r}" if self.part else ""
            fits = affordable(left.units, budget, self._currency)
            others = f"{amount(held)} of it is reserved by runs that have not ended. " if held else ""
            raise BudgetExceeded(
                f"the run's epsilon={budget.epsilon:g}, delta={budget.delta:g} needs {self._currency.label}="
                f"{amount(needed)}, {amount(left.units)} is left in the ledger{whose}: "
                f"{f'enough for epsilon={fits:g} at this delta' if fits else 'too little for any run'}. "
                f"{others}Nothing was released. Give the run a smaller budget."
            )

    def share(self, parts: int) -> Units:
        """The largest whole number of units that fits `parts` times into what is left."""
        return share(self.units_left, parts)

    def _append(self, grant: Grant) -> None:
        spent = self._store.append(grant, self._allowed.cap)
        if spent is not None:
            raise self._allowed.refusal(grant, spent, "the ledger")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> tuple[Callable[..., Ledger], tuple[str, ...]]:
        if self._store.address is None:
            raise LedgerError(
                "an in-memory ledger cannot be pickled: two copies would each spend the whole cap. "
                "Keep it in a file: Ledger.create(path, dataset=..., cap=...), then Ledger.open."
            )
        return _reopened, (*self._store.address, self.identity, self.part)

    def _repr_html_(self) -> str:
        each = [
            (times, affordable(self.units_left, self._cap, self._currency, times)) for times in (1, 3, 10)
        ]
        return ledger_html(self._cap, self._unit, self.units_spent / self.units_cap, each)

    def __repr__(self) -> str:
        order = "" if self.order is None else f", order={self.order:g}"
        spent = self._currency.amount(self.units_spent)
        return (
            f"Ledger(cap={self._cap!r}, currency={self._currency.name!r}{order}, unit={self._unit!r}, "
            f"spent {spent} of {self._currency.amount(self.units_cap)} {self._currency.label})"
        )


def _reopened(path: str, dataset: str, identity: str, part: str = "") -> Ledger:
    ledger = Ledger.open(path, dataset=dataset, part=part)
    if ledger.identity != identity:
        raise LedgerError(
            f"the ledger at {path} is not the one that was pickled. Open the right file with Ledger.open."
        )
    return ledger


def _journals() -> Any:
    """What knows journals, which only ledgers in files have."""
    from sottovoce.accounting import resuming

    return resuming
