"""Where a ledger keeps its grants: a store decides and appends in one atomic step."""

from __future__ import annotations

import os
import threading
import uuid
from dataclasses import dataclass
from typing import Protocol, final

from sottovoce.accounting.currency import Units
from sottovoce.accounting.events import Event
from sottovoce.errors import LedgerError


@final
@dataclass(frozen=True)
class Grant:
    """Leave to release one answer, already paid for. `lattice` counts total variation in 2^-100.

    `run` is the name of the run that asked and `run_id` tells it from others of that name."""

    id: str
    event: Event
    units: Units
    lattice: int
    run: str = ""
    run_id: str = ""


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


class Store(Protocol):
    """Keeps grants for good: nothing is ever removed or lowered."""

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
    def head(self) -> str:
        """A seal over everything charged so far; empty in memory."""

    def append(self, grant: Grant, cap: Totals) -> Totals | None:
        """Add the grant if the totals with it stay within cap, and return None.

        Otherwise change nothing and return the totals that stood in the way. Check and addition are one
        atomic step among all users of the store; on any doubt raise LedgerError."""

    def totals(self) -> Totals:
        """The sum over every grant ever appended."""

    def history(self) -> tuple[Grant, ...]:
        """Every grant, oldest first."""


@final
class MemoryStore:
    """Keeps grants in this process, for as long as it lives."""

    __slots__ = ("_grants", "_identity", "_lock", "_process", "_totals")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._totals = Totals(0, 0)
        self._grants: list[Grant] = []
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
    def head(self) -> str:
        return ""

    def append(self, grant: Grant, cap: Totals) -> Totals | None:
        if os.getpid() != self._process:
            raise LedgerError(
                "this in-memory ledger was carried into another process, where its charges are not seen. "
                "Nothing was released. Use Ledger.create(path, dataset=..., cap=...)."
            )
        with self._lock:
            after = self._totals.plus(grant)
            if not after.within(cap):
                return self._totals
            self._totals = after
            self._grants.append(grant)
            return None

    def totals(self) -> Totals:
        with self._lock:
            return self._totals

    def history(self) -> tuple[Grant, ...]:
        with self._lock:
            return tuple(self._grants)
