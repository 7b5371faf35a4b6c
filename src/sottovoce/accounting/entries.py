"""What a ledger file holds: numbered entries, each sealed by a hash over itself and all before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, TypeVar, final

from sottovoce.accounting.budget import Budget
from sottovoce.accounting.events import (
    Event,
    GaussianEvent,
    PureEvent,
    SharedBatchEvent,
    SubsampledGaussianEvent,
)
from sottovoce.accounting.store import Grant
from sottovoce.errors import LedgerError

T = TypeVar("T")

FORMAT = "sottovoce-ledger/1"


class EntryKind(StrEnum):
    """What an entry records."""

    FOUNDED = "ledger"
    DECLARED = "data set"
    CHARGED = "charge"
    MOVED = "moved"


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
class Declaration:
    """A data set's cap, with its relation, and its currency: fixed for good.

    Files from before relations were named declare none: theirs is the replacement of one record."""

    cap: Budget
    currency: str
    order: float | None


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
    return _guarded(lambda: Declaration(Budget(**raw["cap"]), str(raw["currency"]), raw["order"]))


def write_grant(grant: Grant) -> str:
    """Whole numbers as text: they may exceed what other readers of JSON keep."""
    return _text(
        {
            "run": grant.run,
            "units": str(grant.units),
            "lattice": str(grant.lattice),
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
        )
    )


_EVENTS: dict[str, Callable[..., Event]] = {
    "gaussian": GaussianEvent,
    "pure": PureEvent,
    "gaussian on a batch": SubsampledGaussianEvent,
    "shared batch": SharedBatchEvent,
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
