"""A ledger file read by people: what each data set may spend and has spent, and whether the file is whole."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol, final

from sottovoce import openssh
from sottovoce.accounting.allowance import Allowance
from sottovoce.accounting.currency import LATTICE_SHARE, named
from sottovoce.accounting.disk.approval import approver
from sottovoce.accounting.disk.entries import (
    Account,
    Entry,
    EntryKind,
    broken,
    read_allotment,
    read_end,
    read_grant,
    read_home,
    read_request,
    read_reservation,
    read_signed,
)
from sottovoce.accounting.disk.identity import is_ledger
from sottovoce.accounting.disk.ledger_file import LedgerFile
from sottovoce.accounting.events import Event, SubsampledGaussianEvent
from sottovoce.accounting.lineage import Preset, composed_under
from sottovoce.accounting.store import Totals
from sottovoce.accounting.wording import affordable
from sottovoce.errors import LedgerError

_TIMES = (("one", 1), ("three", 3), ("ten", 10))


class Anchor(Protocol):
    """What a saved result remembers of the ledger it was charged to."""

    @property
    def ledger(self) -> str: ...

    @property
    def ledger_head(self) -> str: ...


@final
@dataclass(frozen=True)
class PartStatement:
    """A sub-budget: what it may spend and has spent, in units."""

    name: str
    epsilon: float
    delta: float
    allotted: int
    spent: int


@final
@dataclass(frozen=True)
class DatasetStatement:
    """One data set's cap and the sum of its charges."""

    name: str
    identity: str
    allowance: Allowance
    account: Account
    before: tuple[DatasetStatement, ...] = ()

    @property
    def over_time(self) -> str:
        """What whoever is in this account and in those it follows can lose; empty where it follows none.

        The accounts' charges compose: neighbours that differ in one record, or person, of each of them are
        told apart by no more than the caps together allow, under the relation they all count under."""
        if not self.before:
            return ""
        accounts = (*self.before, self)
        epsilon, delta = together([account.preset for account in accounts])
        names = ", ".join(account.name for account in self.before)
        unit = self.account.declared.unit
        return (
            f"follows {names}. A {unit} in one of these accounts alone has that one's cap. For a {unit} in "
            f"all {len(accounts)} of them, all that is ever charged keeps epsilon={epsilon:g}, "
            f"delta={delta:.3g} together ({self.allowance.budget.relation.value}), not the cap of one"
        )

    @property
    def preset(self) -> Preset:
        """The account as if it were one run that may spend its cap."""
        cap, (currency, order) = self.allowance.budget, self.allowance.currency.declared
        return Preset(
            run=self.identity,
            epsilon=cap.epsilon,
            delta=cap.delta,
            relation=cap.relation,
            currency=currency,
            order=order,
            unit=self.account.declared.unit,
        )

    @property
    def approval(self) -> str:
        """Which runs wait for whom; empty where none does."""
        rule = self.account.declared.approval
        if rule is None:
            return ""
        names = [line.split()[0] for line in rule.signers.splitlines() if line.split()[2:]]
        return f"runs above epsilon {rule.above:g} at this delta wait for one of {', '.join(names)}"

    def approved_by(self, run: str) -> str:
        """Who approved a run, in words. A signature of anybody else breaks the ledger."""
        if not openssh.is_installed():
            return " (its signature was not checked: ssh-keygen is not installed here)"
        name = approver(self.account, run)
        if name is None:
            raise broken(f"run {run} was approved by nobody whom the account names")
        return f" by {name}"

    @property
    def parts(self) -> tuple[PartStatement, ...]:
        """The sub-budgets it is divided into."""
        return tuple(
            PartStatement(
                made.part,
                made.epsilon,
                made.delta,
                made.allotted.units,
                self.account.charged.get(made.part, Totals(0, 0)).units,
            )
            for made in self.account.parts.values()
        )

    @property
    def units_left(self) -> int:
        """What is neither spent nor reserved by runs that have not ended."""
        return self.allowance.cap.units - self.account.spent.units - self.units_reserved

    @property
    def units_reserved(self) -> int:
        return sum(kept.units for kept in self.account.held.values())

    def affordable(self, times: int = 1) -> float:
        """The largest epsilon, at the cap's delta, of which `times` more runs are sure to be taken."""
        return affordable(self.units_left, self.allowance.budget, self.allowance.currency, times)

    @property
    def epsilon_spent(self) -> float:
        """The epsilon, at the cap's delta, of all that was charged."""
        return self.epsilon_of(self.account.spent.units)

    def epsilon_of(self, units: int) -> float:
        """The epsilon of so many units at the cap's delta, but for what the noise's lattice may take."""
        delta = float(Fraction(self.allowance.budget.delta) * (1 - LATTICE_SHARE))
        return self.allowance.currency.epsilon(units, delta) if units else 0.0

    @property
    def remaining(self) -> str:
        """What is left, in words."""
        each = [(name, epsilon) for name, times in _TIMES if (epsilon := self.affordable(times))]
        if not each:
            return "too little for any model at this delta"
        others = "".join(f", or {name} of {epsilon:g}" for name, epsilon in each[1:])
        return f"one more model up to epsilon {each[0][1]:g} at this delta{others}"

    def __str__(self) -> str:
        currency, spent, cap = self.allowance.currency, self.account.spent, self.allowance.cap
        lattice = 0.0 if not cap.lattice else spent.lattice / cap.lattice
        return (
            f"{self.name}: {currency.amount(spent.units)} of {currency.amount(cap.units)} "
            f"{currency.label} spent ({spent.units / cap.units:.2%}; lattice noise {lattice:.2%}), "
            f"cap epsilon={self.allowance.budget.epsilon:g}, delta={self.allowance.budget.delta:g}, "
            f"{self.allowance.budget.relation.value}, for every {self.account.declared.unit}"
        )


@final
@dataclass(frozen=True)
class Spell:
    """What one run charged to a data set, from its first answer to its last.

    `identity` is empty for charges of before runs had one; `reserved` is what it holds of the cap and has not
    been charged, and `end` how it ended: empty while it has not, or where nothing was reserved."""

    dataset: str
    name: str
    started: str
    ended: str
    units: int
    answers: int
    identity: str = ""
    reserved: int = 0
    end: str = ""


@final
@dataclass(frozen=True)
class Statement:
    """A ledger file whose chain holds. `lines` is its history, one line an entry, oldest first, and `runs`
    the same charges, one line a run; where older entries do not tell runs apart, one line a name."""

    path: str
    head: str
    at_home: bool
    datasets: tuple[DatasetStatement, ...]
    lines: tuple[str, ...]
    runs: tuple[Spell, ...] = ()

    def __str__(self) -> str:
        place = "" if self.at_home else " (moved or copied: it refuses charges until adopted)"
        summary = (f"ledger {self.path}{place}", *(f"  {dataset}" for dataset in self.datasets))
        return "\n".join((*summary, f"  {len(self.lines)} entries, sealed by {self.head}", *self.lines))


def verify(path: str | os.PathLike[str], anchor: Anchor | None = None) -> Statement:
    """Check every seal and total of the file, and that it still holds what `anchor` was charged.

    `anchor` is a result of a run on this ledger: if its seal is missing, charges were undone, by a file put
    back from a backup or a copy that fell behind. Raises LedgerError on any doubt. A copy may be verified
    anywhere; the limit is that two copies cannot know of each other."""
    file = LedgerFile(path)
    if not file.exists():
        raise LedgerError(
            f"there is no ledger at {file.path}. Name the right file; Ledger.create makes a new one."
        )
    with file.reading(anywhere=True) as transaction:
        chain, rows = transaction.chain, transaction.entries()
        at_home = file.at_home(chain)
    datasets = _datasets(chain.accounts)
    for dataset in datasets:
        if not dataset.account.spent.within(dataset.allowance.cap):
            raise broken(f"data set {dataset.name!r} has spent more than its cap")
    if anchor is not None:
        _require_anchored(
            file.path, anchor, {dataset.identity for dataset in datasets}, {seal for _, seal in rows}
        )
    lines = tuple(_line(entry, {dataset.name: dataset for dataset in datasets}) for entry, _ in rows)
    return Statement(file.path, chain.head, at_home, datasets, lines, _runs([entry for entry, _ in rows]))


def entries(path: str | os.PathLike[str]) -> list[dict[str, object]]:
    """Every entry as plain values, oldest first, once `verify` has checked the file."""
    datasets = {dataset.name: dataset for dataset in verify(path).datasets}
    with LedgerFile(path).reading(anywhere=True) as transaction:
        rows = transaction.entries()
    return [_plain_entry(entry, seal, datasets) for entry, seal in rows]


def _plain_entry(entry: Entry, seal: str, datasets: Mapping[str, DatasetStatement]) -> dict[str, object]:
    run = name = query = part = share = ""
    cap = datasets[entry.dataset].allowance.cap.units if entry.dataset in datasets else 1
    match entry.kind:
        case EntryKind.CHARGED:
            grant = read_grant(entry)
            run, name, query, part = grant.run_id, grant.run, grant.event.subject, grant.part
            share = f"{grant.units / cap:.6g}"
        case EntryKind.RESERVED:
            made = read_reservation(entry)
            run, name, part, share = made.run, made.name, made.part, f"{made.wanted.units / cap:.6g}"
        case EntryKind.ENDED:
            run, name = read_end(entry).run, read_end(entry).how
        case EntryKind.ASKED:
            request = read_request(entry)
            run, name, part = request.run, request.name, request.part
        case EntryKind.APPROVED:
            run = read_signed(entry).run
        case EntryKind.ALLOTTED:
            allotted = read_allotment(entry)
            part, share = allotted.part, f"{allotted.allotted.units / cap:.6g}"
    return {
        "number": entry.number,
        "at": entry.at,
        "dataset": entry.dataset,
        "kind": entry.kind,
        "run": run,
        "name": name,
        "query": query,
        "part": part,
        "share of cap": share,
        "entry": entry.id,
        "seal": seal,
    }


def of_folder(folder: str | os.PathLike[str]) -> tuple[list[Statement], dict[str, str]]:
    """The statement of every ledger file in a folder, by name, and why others cannot be trusted."""
    found: list[Statement] = []
    refused: dict[str, str] = {}
    if not os.path.isdir(folder):
        raise LedgerError(f"there is no folder {os.fspath(folder)}.")
    for name in sorted(os.listdir(folder)):
        place = os.path.join(folder, name)
        if is_ledger(place):
            try:
                found.append(verify(place))
            except LedgerError as failure:
                refused[name] = str(failure)
    return found, refused


def together(presets: Sequence[Preset]) -> tuple[float, float]:
    """(epsilon, delta) of several runs, or accounts, of one relation, for whoever is in all of them."""
    found = composed_under(tuple(presets), presets[0].relation)
    assert found is not None
    return found


def adopt(path: str | os.PathLike[str]) -> None:
    """Make the file's present place its home, after it was moved or put back from a backup.

    Only its owner can know that no other copy is in use: from two adopted copies each could be spent whole.
    Verify it against the latest result first."""
    LedgerFile(path).adopt()


def _require_anchored(path: str, anchor: Anchor, identities: set[str], seals: set[str]) -> None:
    if not anchor.ledger_head:
        raise LedgerError(
            "the anchor was not charged to a ledger file, so it says nothing about this one. "
            "Take the result of a run with ledger=Ledger.open(...)."
        )
    if anchor.ledger not in identities:
        raise LedgerError(f"the anchor was charged to another ledger than {path}. Name that one's file.")
    if anchor.ledger_head not in seals:
        raise LedgerError(
            f"charges were undone: the ledger at {path} no longer holds what the anchor was charged. It is "
            "an older state or a copy that fell behind. Release nothing under it; restore the newest file."
        )


def _datasets(accounts: Mapping[str, Account]) -> tuple[DatasetStatement, ...]:
    """Every account, with those it follows, oldest first; one is declared after what it follows."""
    found: dict[str, DatasetStatement] = {}
    for name, account in accounts.items():
        declared = account.declared
        allowance = Allowance.of(declared.cap, named(declared.currency, declared.order))
        earlier = found.get(declared.follows)
        if declared.follows and earlier is None:
            raise broken(f"data set {name!r} follows one that is not there")
        before = () if earlier is None else (*earlier.before, earlier)
        found[name] = DatasetStatement(name, account.identity, allowance, account, before)
    return tuple(found.values())


def _runs(entries: Sequence[Entry]) -> tuple[Spell, ...]:
    found: dict[tuple[str, str, str], Spell] = {}

    def known(entry: Entry, name: str, run: str) -> Spell:
        return found.get((entry.dataset, name, run)) or Spell(
            entry.dataset, name, entry.at, entry.at, 0, 0, run
        )

    for entry in entries:
        match entry.kind:
            case EntryKind.CHARGED:
                grant = read_grant(entry)
                run = known(entry, grant.run, grant.run_id)
                units, left = run.units + grant.units, max(0, run.reserved - grant.units)
                run = replace(run, ended=entry.at, units=units, answers=run.answers + 1, reserved=left)
            case EntryKind.RESERVED:
                made = read_reservation(entry)
                run = replace(known(entry, made.name, made.run), reserved=made.wanted.units, end="")
            case EntryKind.ENDED:
                end = read_end(entry)
                begun = next((run for run in found.values() if run.identity == end.run), None)
                if begun is None:
                    raise broken(f"entry {entry.number} ends a run that was never begun")
                run = replace(begun, ended=entry.at, reserved=0, end=end.how)
            case EntryKind.ASKED:
                request = read_request(entry)
                run = replace(known(entry, request.name, request.run), end="waits for approval")
            case EntryKind.APPROVED:
                approved = read_signed(entry).run
                run = replace(next(run for run in found.values() if run.identity == approved), end="approved")
            case _:
                continue
        found[entry.dataset, run.name, run.identity] = run
    return tuple(found.values())


def _priced_by(event: Event) -> str:
    """The theorem behind an amplified price, which its reader must be able to look up."""
    match event:
        case SubsampledGaussianEvent():
            return f" ({event.draw.accountant})"
        case _:
            return ""


def _line(entry: Entry, datasets: dict[str, DatasetStatement]) -> str:
    start = f"{entry.number:6}  {entry.at}  "
    match entry.kind:
        case EntryKind.CHARGED:
            grant, currency = read_grant(entry), datasets[entry.dataset].allowance.currency
            cost = f"{currency.amount(grant.units)} {currency.label}"
            asked = f"{entry.dataset}: {grant.event.subject}{_priced_by(grant.event)}"
            return f"{start}{asked}, {cost}, run {grant.run!r}, charge {entry.id}"
        case EntryKind.DECLARED:
            dataset = datasets[entry.dataset]
            cap = f"{dataset.allowance.budget!r} in {dataset.allowance.currency.label}"
            return f"{start}{entry.dataset}: declared, {cap} for every {dataset.account.declared.unit}"
        case EntryKind.RESERVED:
            made, currency = read_reservation(entry), datasets[entry.dataset].allowance.currency
            cost = f"{currency.amount(made.wanted.units)} {currency.label}"
            return f"{start}{entry.dataset}: reserved, {cost}, run {made.name!r}, {made.run}"
        case EntryKind.ALLOTTED:
            part = read_allotment(entry)
            return (
                f"{start}{entry.dataset}: allotted to {part.part!r}, epsilon={part.epsilon:g}, "
                f"delta={part.delta:g}"
            )
        case EntryKind.ASKED:
            request = read_request(entry)
            return (
                f"{start}{entry.dataset}: waits for approval, epsilon={request.epsilon:g}, "
                f"delta={request.delta:g}, run {request.name!r}, {request.run}"
            )
        case EntryKind.APPROVED:
            run = read_signed(entry).run
            return f"{start}{entry.dataset}: approved{datasets[entry.dataset].approved_by(run)}, run {run}"
        case EntryKind.ENDED:
            end = read_end(entry)
            return f"{start}{entry.dataset}: reservation ended, {end.how}, run {end.run}"
        case _:
            return f"{start}{entry.kind}: {read_home(entry).path}"
