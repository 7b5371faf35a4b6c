"""What a ledger file holds: numbered entries, each sealed by a hash over itself and all before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar, final

from sottovoce.accounting.budget import Budget
from sottovoce.accounting.events import (
    Event,
    GaussianEvent,
    PureEvent,
    SubsampledGaussianEvent,
)
from sottovoce.accounting.relations import unit_of
from sottovoce.accounting.store import Grant, Held, Totals, drawn, held_by_others
from sottovoce.errors import LedgerError

T = TypeVar("T")

FORMAT = "sottovoce-ledger/1"


class EntryKind(StrEnum):
    """What an entry records."""

    FOUNDED = "ledger"
    DECLARED = "data set"
    CHARGED = "charge"
    MOVED = "moved"
    RESERVED = "reservation"
    ENDED = "end of a run"
    ALLOTTED = "allotment"
    ASKED = "request for approval"
    APPROVED = "approval"


@final
@dataclass(frozen=True)
class Entry:
    """One line of the file. `at` is the clock's word and decides nothing; the order is by number."""

    number: int
    id: str
    dataset: str
    kind: str
    at: str
    body: str

    def seal(self, previous: str) -> str:
        """SHA-256 over the previous seal and every field."""
        fields = [previous, self.number, self.id, self.dataset, self.kind, self.at, self.body]
        return hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode("ascii")).hexdigest()

    def details(self) -> dict[str, Any]:
        return _guarded(lambda: dict(json.loads(self.body)))


@final
@dataclass(frozen=True)
class Home:
    """Where a ledger file belongs: a copy or a moved file is told by its path, its inode or its birth.

    `born` is in nanoseconds since 1970, or None where the file system does not keep it."""

    path: str
    inode: int
    born: int | None


@final
@dataclass(frozen=True)
class Approval:
    """Runs above this epsilon, at the cap's delta, wait until one of these has signed them.

    `signers` are lines as in OpenSSH's file of ALLOWED SIGNERS: a name and a public key."""

    above: float
    signers: str


@final
@dataclass(frozen=True)
class Declaration:
    """A data set's cap, with its relation, its currency and whose data it is about: fixed for good.

    `follows` names the account that this one renews, `expires` the last day on which it may be charged. Files
    from before relations and units were named declare none: theirs is the replacement of one record."""

    cap: Budget
    currency: str
    order: float | None
    unit: str = "record"
    follows: str = ""
    expires: str = ""
    approval: Approval | None = None


def write_home(home: Home) -> str:
    born = None if home.born is None else str(home.born)
    return _text({"format": FORMAT, "path": home.path, "inode": str(home.inode), "born": born})


def read_home(entry: Entry) -> Home:
    raw = entry.details()
    born = raw.get("born")
    return _guarded(lambda: Home(str(raw["path"]), int(raw["inode"]), None if born is None else int(born)))


def write_declaration(declared: Declaration) -> str:
    cap = {**asdict(declared.cap), "relation": declared.cap.relation.filed}
    return _text({**asdict(declared), "cap": cap})


def read_declaration(entry: Entry) -> Declaration:
    raw = entry.details()
    return _guarded(
        lambda: Declaration(
            Budget(**raw["cap"]),
            str(raw["currency"]),
            raw["order"],
            unit_of(raw.get("unit", "record")),
            str(raw.get("follows", "")),
            str(raw.get("expires", "")),
            None if raw.get("approval") is None else Approval(**raw["approval"]),
        )
    )


def write_grant(grant: Grant) -> str:
    """Whole numbers as text: they may exceed what other readers of JSON keep."""
    return _text(
        {
            "run": grant.run,
            "run_id": grant.run_id,
            "units": str(grant.units),
            "lattice": str(grant.lattice),
            **({"journal": grant.journal} if grant.journal else {}),
            **({"part": grant.part} if grant.part else {}),
            "event": _event_to_plain(grant.event),
        }
    )


def read_grant(entry: Entry) -> Grant:
    raw = entry.details()
    return _guarded(
        lambda: Grant(
            entry.id,
            _event_from_plain(raw["event"]),
            _counted(raw["units"], least=1),
            _counted(raw["lattice"], least=0),
            str(raw["run"]),
            str(raw.get("run_id", "")),
            str(raw.get("journal", "")),
            str(raw.get("part", "")),
        )
    )


@final
@dataclass(frozen=True)
class Reservation:
    """What a run set aside when it began."""

    run: str
    name: str
    wanted: Totals
    part: str = ""


def write_reservation(made: Reservation) -> str:
    return _text(
        {
            "run": made.name,
            "run_id": made.run,
            "units": str(made.wanted.units),
            "lattice": str(made.wanted.lattice),
            **({"part": made.part} if made.part else {}),
        }
    )


def read_reservation(entry: Entry) -> Reservation:
    raw = entry.details()
    return _guarded(
        lambda: Reservation(
            str(raw["run_id"]),
            str(raw["run"]),
            Totals(_counted(raw["units"], least=0), _counted(raw["lattice"], least=0)),
            str(raw.get("part", "")),
        )
    )


@final
@dataclass(frozen=True)
class Allotment:
    """A sub-budget of an account: what one part, such as a team or a purpose, may spend of the cap."""

    part: str
    epsilon: float
    delta: float
    allotted: Totals


def write_allotment(made: Allotment) -> str:
    units, lattice = str(made.allotted.units), str(made.allotted.lattice)
    return _text({**asdict(made), "allotted": {"units": units, "lattice": lattice}})


def read_allotment(entry: Entry) -> Allotment:
    raw = entry.details()
    return _guarded(
        lambda: Allotment(
            str(raw["part"]),
            float(raw["epsilon"]),
            float(raw["delta"]),
            Totals(
                _counted(raw["allotted"]["units"], least=0), _counted(raw["allotted"]["lattice"], least=0)
            ),
        )
    )


@final
@dataclass(frozen=True)
class End:
    """Which run gave its reservation free, why, and the seal of the answers it has had, where it is known."""

    run: str
    how: str
    journal: str = ""


def write_end(end: End) -> str:
    return _text({"run_id": end.run, "how": end.how, "journal": end.journal})


def read_end(entry: Entry) -> End:
    raw = entry.details()
    return _guarded(lambda: End(str(raw["run_id"]), str(raw["how"]), str(raw["journal"])))


@final
@dataclass(frozen=True)
class Request:
    """A run that waits for approval: its budget, and the seal of the journal that says what it declares.

    `seal` is that of the entry, and so of the whole account as it was when the run was asked for."""

    run: str
    name: str
    epsilon: float
    delta: float
    part: str
    journal: str
    seal: str = ""

    def text(self, account: str) -> bytes:
        """What is signed to approve it."""
        lines = (
            "I approve this run of a Sottovoce ledger.",
            f"account {account}",
            f"run {self.run}",
            f"epsilon {self.epsilon!r}",
            f"delta {self.delta!r}",
            f"journal {self.journal}",
            f"entry {self.seal}",
        )
        return "".join(f"{line}\n" for line in lines).encode("ascii")


def write_request(made: Request) -> str:
    return _text({name: value for name, value in asdict(made).items() if name != "seal"})


def read_request(entry: Entry, seal: str = "") -> Request:
    raw = entry.details()
    return _guarded(
        lambda: Request(
            *(str(raw["run"]), str(raw["name"]), float(raw["epsilon"]), float(raw["delta"])),
            *(str(raw["part"]), str(raw["journal"]), seal),
        )
    )


@final
@dataclass(frozen=True)
class Signed:
    """A run, and the signature by which it was approved."""

    run: str
    signature: str


def write_signed(made: Signed) -> str:
    return _text(asdict(made))


def read_signed(entry: Entry) -> Signed:
    raw = entry.details()
    return _guarded(lambda: Signed(str(raw["run"]), str(raw["signature"])))


_EVENTS: dict[str, Callable[..., Event]] = {
    "gaussian": GaussianEvent,
    "pure": PureEvent,
    "gaussian on a batch": SubsampledGaussianEvent,
}


def _event_to_plain(event: Event) -> dict[str, Any]:
    kind = next((name for name, made in _EVENTS.items() if made is type(event)), None)
    if kind is None:
        raise LedgerError(f"{type(event).__name__} cannot be written to a ledger file. Nothing was released.")
    return {"kind": kind, **asdict(event)}


def _event_from_plain(raw: dict[str, Any]) -> Event:
    fields = {name: value for name, value in raw.items() if name != "kind"}
    if "parts" in fields:
        fields["parts"] = tuple(GaussianEvent(**part) for part in fields["parts"])
    return _EVENTS[raw["kind"]](**fields)


def _counted(text: str, *, least: int) -> int:
    number = int(text)
    if number < least:
        raise ValueError
    return number


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _guarded(read: Callable[[], T]) -> T:
    try:
        return read()
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise LedgerError(
            "an entry of the ledger cannot be understood: the file is damaged or from another version. "
            "Nothing was released. Restore it from a backup and check that with verify(path, anchor=...)."
        ) from None


@final
@dataclass(frozen=True)
class Account:
    """One data set: its identity, what was declared, the sum of all its charges, what runs reserved, and the
    seals of the journals of those that ended or wait."""

    identity: str
    declared: Declaration
    spent: Totals
    held: Held = field(default_factory=lambda: MappingProxyType({}))
    sealed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    parts: Mapping[str, Allotment] = field(default_factory=lambda: MappingProxyType({}))
    charged: Mapping[str, Totals] = field(default_factory=lambda: MappingProxyType({}))
    belongs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    asked: Mapping[str, Request] = field(default_factory=lambda: MappingProxyType({}))
    signed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def used(self, part: str, but: str = "") -> Totals:
        """What a part has spent and what its runs hold, one run left out."""
        held = [kept for run, kept in self.held.items() if run != but and self.belongs.get(run, "") == part]
        return self.charged.get(part, Totals(0, 0)).with_all(held)

    def taken(self, run: str, part: str, cap: Totals) -> Totals:
        """What a run of this part may not spend of the cap.

        That is never less than what is spent: whatever parts are allotted, grants stay within the cap. What
        other parts have not used of theirs is kept for them, and this one's limit is kept, too."""
        whole = self.spent.with_all(held_by_others(self.held, run))
        unused = sum(
            made.allotted.less(self.used(name, run)).units
            for name, made in self.parts.items()
            if name != part
        )
        whole = Totals(whole.units + unused, whole.lattice)
        if not part:
            return whole
        left = self.parts[part].allotted.less(self.used(part, run))
        return Totals(
            max(whole.units, cap.units - left.units), max(whole.lattice, cap.lattice - left.lattice)
        )


@final
@dataclass(frozen=True)
class Chain:
    """Everything known after `number` entries, the last of them sealed by `head`."""

    number: int = 0
    head: str = ""
    home: Home | None = None
    accounts: Mapping[str, Account] = field(default_factory=lambda: MappingProxyType({}))

    def after(self, rows: Iterable[tuple[Entry, str]]) -> Chain:
        """This chain and the entries that follow it, or LedgerError at the first that does not fit."""
        chain = self
        for entry, seal in rows:
            chain = chain._followed_by(entry, seal)
        return chain

    def _followed_by(self, entry: Entry, seal: str) -> Chain:
        if entry.number != self.number + 1 or seal != entry.seal(self.head):
            raise broken(f"entry {self.number + 1} is missing or was changed")
        if (entry.kind == EntryKind.FOUNDED) != (entry.number == 1):
            raise broken(f"entry {entry.number} stands where it may not")
        step = replace(self, number=entry.number, head=seal)
        match entry.kind:
            case EntryKind.FOUNDED | EntryKind.MOVED:
                return replace(step, home=read_home(entry))
            case EntryKind.DECLARED:
                return step.with_account(entry.dataset, self._declared(entry))
            case EntryKind.CHARGED:
                return step.with_account(entry.dataset, self._charged(entry))
            case EntryKind.ALLOTTED:
                account, made = self._account(entry), read_allotment(entry)
                parts = MappingProxyType({**account.parts, made.part: made})
                return step.with_account(entry.dataset, replace(account, parts=parts))
            case EntryKind.ASKED:
                account, request = self._account(entry), read_request(entry, seal)
                asked = MappingProxyType({**account.asked, request.run: request})
                sealed = {**account.sealed, request.run: request.journal}
                return step.with_account(entry.dataset, replace(account, asked=asked, sealed=sealed))
            case EntryKind.APPROVED:
                account, approved = self._account(entry), read_signed(entry)
                signed = MappingProxyType({**account.signed, approved.run: approved.signature})
                return step.with_account(entry.dataset, replace(account, signed=signed))
            case EntryKind.RESERVED | EntryKind.ENDED:
                return step.with_account(entry.dataset, self._reserved(entry))
            case _:
                raise broken(f"entry {entry.number} is of an unknown kind")

    def _declared(self, entry: Entry) -> Account:
        if entry.dataset in self.accounts:
            raise broken(f"entry {entry.number} declares a data set twice")
        return Account(entry.id, read_declaration(entry), Totals(0, 0))

    def _charged(self, entry: Entry) -> Account:
        account, grant = self._account(entry), read_grant(entry)
        part = account.charged.get(grant.part, Totals(0, 0)).plus(grant)
        return replace(
            account,
            spent=account.spent.plus(grant),
            held=drawn(account.held, grant),
            charged=MappingProxyType({**account.charged, grant.part: part}),
        )

    def _reserved(self, entry: Entry) -> Account:
        account = self._account(entry)
        if entry.kind == EntryKind.RESERVED:
            made = read_reservation(entry)
            belongs = {**account.belongs, made.run: made.part} if made.part else account.belongs
            return replace(account, held={**account.held, made.run: made.wanted}, belongs=belongs)
        end = read_end(entry)
        held = {run: kept for run, kept in account.held.items() if run != end.run}
        sealed = {**account.sealed, end.run: end.journal} if end.journal else account.sealed
        return replace(account, held=held, sealed=sealed)

    def _account(self, entry: Entry) -> Account:
        account = self.accounts.get(entry.dataset)
        if account is None:
            raise broken(f"entry {entry.number} charges a data set that was never declared")
        return account

    def with_account(self, dataset: str, account: Account) -> Chain:
        return replace(self, accounts=MappingProxyType({**self.accounts, dataset: account}))


def broken(what: str) -> LedgerError:
    return LedgerError(
        f"the ledger's chain is broken: {what}. Nothing was released. Restore the file from a backup and "
        "check it against your latest result with verify(path, anchor=result)."
    )
