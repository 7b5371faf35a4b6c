"""The table of doors."""

from __future__ import annotations

from tests.attacks.doors import (
    arrays,
    clusters,
    encoders,
    estimators,
    figures,
    files,
    fits,
    modules,
    places,
    queries,
)
from tests.attacks.doors.engine import Door
from tests.attacks.doors.product import cases

DOORS: tuple[Door, ...] = (
    *encoders.DOORS,
    *arrays.DOORS,
    *files.DOORS,
    *clusters.DOORS,
    *estimators.DOORS,
    *figures.DOORS,
    *fits.DOORS,
    *modules.DOORS,
    *places.DOORS,
    *queries.DOORS,
    *cases.DOORS,
)

CASES = 1_000
MANY = 20_000
"""In the slow run, which is to be run whole; `python -m tests.attacks.doors --cases 100000` takes an hour."""


def cases_of(doors: tuple[Door, ...], cases: int) -> list[tuple[Door, int]]:
    """So many cases divided over the doors by their shares; at least one each."""
    whole = sum(door.share for door in doors)
    return [(door, max(1, round(cases * door.share / whole))) for door in doors]
