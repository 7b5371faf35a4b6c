"""Where a ledger keeps its grants: a store decides and appends in one atomic step."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, final

from sottovoce.accounting.currency import Units
from sottovoce.accounting.events import Event
from sottovoce.errors import LedgerError


@final
@dataclass(frozen=True)
class Grant:
    """Leave to release one answer, already paid for. `lattice` counts total variation in 2^-100.

    `run` is the name of the run that asked and `run_id` tells it from others of that name. `journal` seals
    the answers the run had before, where they are written down. `part` names the sub-budget it is paid
    from."""

    id: str
    event: Event
    units: Units
    lattice: int
    run: str = ""
    run_id: str = ""
    journal: str = ""
    part: str = ""


@final
@dataclass(frozen=True)
class Totals:
    """A sum of charges, or the most it may reach. Python ints of any size."""

    units: Units
    lattice: int

    def plus(self, grant: Grant) -> Totals:
        return Totals(self.units + grant.units, self.lattice + grant.lattice)

    def within(self, cap: Totals) -> bool:
        return self.units <= cap.units and self.lattice <= cap.lattice

    def with_all(self, others: Iterable[Totals]) -> Totals:
        others = tuple(others)
        return Totals(
            self.units + sum(other.units for other in others),
            self.lattice + sum(other.lattice for other in others),
        )

    def less(self, other: Totals) -> Totals:
        """What is left, in each of the two at least nothing."""
        return Totals(max(0, self.units - other.units), max(0, self.lattice - other.lattice))


class Named(NamedTuple):
    """A run by its identity, and by the name it was given."""

    run: str
    name: str


Held: TypeAlias = Mapping[str, Totals]
"""What runs have reserved and not yet charged, by their identities."""


def held_by_others(held: Held, run: str) -> list[Totals]:
    return [kept for name, kept in held.items() if name != run]


def drawn(held: Held, grant: Grant) -> dict[str, Totals]:
    """The reservations once the grant is charged: a run's own shrinks by what it is charged."""
    kept = dict(held)
    if grant.run_id in kept:
        kept[grant.run_id] = kept[grant.run_id].less(Totals(grant.units, grant.lattice))
    return kept


def given_up(held: Held, whole: Named | None, wanted: Totals) -> dict[str, Totals]:
    """The reservations once a run has given up a part of its own for a run within it."""
    kept = dict(held)
    if whole is not None and whole.run in kept:
        kept[whole.run] = kept[whole.run].less(wanted)
    return kept


class Store(Protocol):
    """Keeps grants for good: nothing is ever removed or lowered.

    Reservations only make the check of a charge stricter: grants stay within the cap without them."""

    @property
    def identity(self) -> str:
        """Names this store among all others, for results that say what they were charged to."""

    @property
    def persistent(self) -> bool:
        """Whether charges outlive the process."""

    @property
    def address(self) -> tuple[str, str] | None:
        """The (path, data set) that opens this store again, or None if it lives in memory."""

    @property
    def part(self) -> str:
        """The sub-budget it pays from; empty for the rest."""

    @property
    def head(self) -> str:
        """A seal over everything charged so far; empty in memory."""

    def append(self, grant: Grant, cap: Totals) -> Totals | None:
        """Add the grant if the totals with it, and with what other runs reserved, stay within cap: None.

        Otherwise change nothing and return the totals that stood in the way. Check and addition are one
        atomic step among all users of the store; on any doubt raise LedgerError."""

    def reserve(
        self, run: str, name: str, wanted: Totals, cap: Totals, whole: Named | None = None
    ) -> Totals | None:
        """Set so much aside for a run of this identity, if it is there: None, else what stood in the way.

        `whole` is a run that this one is a part of: it gives up so much of what it has reserved."""

    def waits(self, run: str, units: Units) -> bool:
        """Whether a run that may spend so much needs an approval that it does not have."""

    def ask(self, run: Named, epsilon: float, delta: float, journal: str) -> None:
        """Write down that a run waits for approval; `journal` seals what it declares."""

    def end(self, run: str, how: str, journal: str = "") -> None:
        """Give a run's reservation free, and say why; a run that holds none changes nothing.

        `journal` seals the answers it has had."""

    def sealed(self, run: str) -> str:
        """The seal of its journal when the run last ended, or waited for approval; empty where neither."""

    def totals(self) -> Totals:
        """The sum over every grant ever appended."""

    def held(self) -> Held:
        """What runs have reserved and not charged yet."""

    def taken(self, run: str, cap: Totals) -> Totals:
        """What a run of this identity may not spend of the cap: spent, reserved by others, or not its own."""

    def history(self) -> tuple[Grant, ...]:
        """Every grant, oldest first."""


@final
class MemoryStore:
    """Keeps grants in this process, for as long as it lives."""

    __slots__ = ("_grants", "_held", "_identity", "_lock", "_process", "_totals")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._totals = Totals(0, 0)
        self._grants: list[Grant] = []
        self._held: dict[str, Totals] = {}
        self._identity = uuid.uuid4().hex

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def persistent(self) -> bool:
        return False

    @property
    def address(self) -> None:
        return None

    @property
    def part(self) -> str:
        return ""

    @property
    def head(self) -> str:
        return ""

    def append(self, grant: Grant, cap: Totals) -> Totals | None:
        with self._here():
            before = self._totals.with_all(held_by_others(self._held, grant.run_id))
            if not before.plus(grant).within(cap):
                return before
            self._totals = self._totals.plus(grant)
            self._held = drawn(self._held, grant)
            self._grants.append(grant)
            return None

    def reserve(
        self, run: str, name: str, wanted: Totals, cap: Totals, whole: Named | None = None
    ) -> Totals | None:
        with self._here():
            held = given_up(self._held, whole, wanted)
            before = self._totals.with_all(held_by_others(held, run))
            if not before.with_all([wanted]).within(cap):
                return before
            self._held = {**held, run: wanted}
            return None

    def waits(self, run: str, units: Units) -> bool:
        return False

    def ask(self, run: Named, epsilon: float, delta: float, journal: str) -> None:
        raise LedgerError("runs on a ledger in memory need no approval.")

    def end(self, run: str, how: str, journal: str = "") -> None:
        with self._lock:
            self._held.pop(run, None)

    def sealed(self, run: str) -> str:
        return ""

    def totals(self) -> Totals:
        with self._lock:
            return self._totals

    def held(self) -> Held:
        with self._lock:
            return dict(self._held)

    def taken(self, run: str, cap: Totals) -> Totals:
        with self._lock:
            return self._totals.with_all(held_by_others(self._held, run))

    def history(self) -> tuple[Grant, ...]:
        with self._lock:
            return tuple(self._grants)

    @contextmanager
    def _here(self) -> Iterator[None]:
        """The lock, in the process that made this store."""
        if os.getpid() != self._process:
            raise LedgerError(
                "this in-memory ledger was carried into another process, where its charges are not seen. "
                "Nothing was released. Use Ledger.create(path, dataset=..., cap=...)."
            )
        with self._lock:
            yield
