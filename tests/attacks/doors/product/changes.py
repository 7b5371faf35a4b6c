"""What happens to the records of a table between two neighbours, and whose rows may differ then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.attacks.doors.engine import Draw


@dataclass(frozen=True)
class Record:
    """One row: its number, what its plain cell is made of, column x, a plain number, a plain label and the
    number of its person."""

    number: int
    k: int
    x: Any
    o: float
    y: str
    p: int


Table = tuple[Record, ...]
Odd = Callable[[Record], Record]
"""The record with hostile cells."""


@dataclass(frozen=True)
class Neighbours:
    """Two tables; `free` are the numbers of records that may be read differently, or are on one side only."""

    here: Table
    there: Table
    free: frozenset[int]

    @property
    def matched(self) -> tuple[tuple[int, int], ...]:
        """Places, here and there, of records that must be the same to the last bit."""
        places = {record.number: place for place, record in enumerate(self.there)}
        return tuple(
            (place, places[record.number])
            for place, record in enumerate(self.here)
            if record.number in places and record.number not in self.free
        )


def _owned(table: Table, record: Record, persons: bool) -> frozenset[int]:
    """The record, or all of its person."""
    return frozenset(other.number for other in table if other is record or (persons and other.p == record.p))


def _replaced(draw: Draw, table: Table, odd: Odd, persons: bool) -> Neighbours:
    place = int(draw.integers(len(table)))
    there = (*table[:place], odd(table[place]), *table[place + 1 :])
    return Neighbours(table, there, _owned(table, table[place], persons))


def _removed(draw: Draw, table: Table, odd: Odd, persons: bool) -> Neighbours:
    place = int(draw.integers(len(table)))
    here = (*table[:place], odd(table[place]), *table[place + 1 :])
    return Neighbours(here, (*table[:place], *table[place + 1 :]), _owned(table, table[place], persons))


def _added(draw: Draw, table: Table, odd: Odd, persons: bool) -> Neighbours:
    found = _removed(draw, table, odd, persons)
    return Neighbours(found.there, found.here, found.free)


def _moved(draw: Draw, table: Table, odd: Odd, persons: bool) -> Neighbours:
    place, other = draw.integers(len(table), size=2)
    rest = (*table[:place], *table[place + 1 :])
    here, there = ((*rest[:spot], odd(table[place]), *rest[spot:]) for spot in (place, other))
    return Neighbours(here, there, frozenset())


def _more_rows(draw: Draw, table: Table, odd: Odd, persons: bool) -> Neighbours:
    """A person, or without persons a record, comes with one to three hostile rows more."""
    record = table[draw.integers(len(table))]
    new = [odd(replace(record, number=1000 + extra)) for extra in range(int(draw.integers(1, 4)))]
    there = list(table)
    for extra in new:
        there.insert(int(draw.integers(len(there) + 1)), extra)
    return Neighbours(table, tuple(there), _owned(table, record, persons))


def _fewer_rows(draw: Draw, table: Table, odd: Odd, persons: bool) -> Neighbours:
    found = _more_rows(draw, table, odd, persons)
    return Neighbours(found.there, found.here, found.free)


def _person_removed(draw: Draw, table: Table, odd: Odd, persons: bool) -> Neighbours:
    gone = table[draw.integers(len(table))].p
    here = tuple(odd(record) if record.p == gone else record for record in table)
    there = tuple(record for record in table if record.p != gone)
    if not there:  # somebody has to be left
        there = (replace(table[0], number=len(table), p=gone + 1),)
        here += there
    return Neighbours(here, there, frozenset(record.number for record in table if record.p == gone))


CHANGES: dict[str, Callable[[Draw, Table, Odd, bool], Neighbours]] = {
    "replaced": _replaced,
    "removed": _removed,
    "added": _added,
    "moved": _moved,
    "more rows": _more_rows,
    "fewer rows": _fewer_rows,
    "person removed": _person_removed,
}
