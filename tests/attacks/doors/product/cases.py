"""Cases drawn from the product, container by container."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sottovoce.errors import SottovoceError
from tests.attacks.doors.engine import Door, Draw, Pair, Reading
from tests.attacks.doors.product.changes import CHANGES, Neighbours, Record, Table
from tests.attacks.doors.product.containers import CONTAINERS, LINES, NEAR_TIES, Case, Container, Line
from tests.attacks.doors.product.kinds import KINDS, PLAIN
from tests.attacks.doors.product.stores import STORES, Store, odd_cell

HOSTILE_THERE = ("replaced", "added", "more rows")
"""Changes that leave one side without a hostile record: its own may refuse the other."""

STRICT = 0.15
"""Part of the cases that are read with invalid="raise"."""


def _chosen(draw: Draw, among: Any) -> Any:
    listed = list(among)
    return listed[draw.integers(len(listed))]


def _case(draw: Draw, container: Container, stores: tuple[Store, ...]) -> Case:
    while True:
        kind = _chosen(draw, [kind for kind in KINDS if kind.name in (container.kinds or (kind.name,))])
        store = _chosen(draw, [store for store in stores if store.family in container.families])
        meaning = store.meaning(kind.meanings)
        if meaning is None:
            continue
        persons = bool(draw.random() < 0.4) if container.persons is None else container.persons
        invalid = "raise" if draw.random() < STRICT else "zero"
        return Case(kind, store, meaning, persons, invalid, tuple(draw.random(2).tolist()))


def _table(draw: Draw, case: Case, longest: int) -> Table:
    n = int(draw.integers(2, longest))
    plain = [_chosen(draw, PLAIN[case.meaning]) for _ in range(n)]
    people = draw.integers(1 + n // 2 if draw.random() < 0.5 else n, size=n).tolist()
    if case.kind.name == "person key":
        people = plain
    return tuple(
        Record(
            number,
            k,
            case.store.plain[case.meaning](k),
            float(draw.random()),
            _chosen(draw, ("no", "yes")),
            p,
        )
        for number, (k, p) in enumerate(zip(plain, people, strict=True))
    )


def _odd(draw: Draw, case: Case, container: Container) -> tuple[str, Callable[[], Any]] | None:
    """A hostile cell, if the container takes the one that is drawn."""
    if case.store.family == "fields" and draw.random() < 0.5:
        name = _chosen(draw, LINES)
        return name, lambda: Line(LINES[name])
    seed = int(draw.integers(2**31))
    name, cell = odd_cell(np.random.default_rng(seed), case.store)
    if not container.takes(case.store, cell):
        return None
    return name, lambda: odd_cell(np.random.default_rng(seed), case.store)[1]


def _pair(container: Container, stores: tuple[Store, ...]) -> Callable[[Draw], Pair]:
    def pair(draw: Draw) -> Pair:
        while True:
            case = _case(draw, container, stores)
            table = _table(draw, case, container.longest)
            change = _chosen(draw, CHANGES if container.lenient and case.invalid == "zero" else HOSTILE_THERE)
            case = replace(case, change=change)
            drawn = _odd(draw, case, container)
            if drawn is None:
                continue
            name, with_persons = drawn[0], case.persons or case.kind.name == "person key"
            found = CHANGES[change](draw, table, partial(_spoilt, cell=drawn[1]), with_persons)
            if container.mixed:
                case, found = _mixed(draw, case, found)
            note = f"{case.kind.name}, {case.store.name}, {name} {change}, {case.invalid}"
            with suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                here, there = (container.build(case, side) for side in (found.here, found.there))
                break
        same_n = with_persons or len(found.here) == len(found.there)
        plain = [
            place
            for place, record in enumerate(found.here)
            if record.number < len(table) and record.x is table[record.number].x
        ]

        def read(built: Any, own: bool) -> Reading:
            seen = _clean(lambda: container.read(case, built), case.invalid)
            lost = _lost(case, seen, plain) if own else ""
            return replace(seen, public=(seen.public if same_n else "") + lost)

        return Pair(
            lambda: read(here, True),
            lambda: read(there, False),
            -1,
            note,
            container.lenient and case.invalid == "zero",
            matched=found.matched,
            lengths=(len(found.here), len(found.there)),
        )

    return pair


def _spoilt(record: Record, cell: Callable[[], Any]) -> Record:
    return replace(record, x=cell())


def _mixed(draw: Draw, case: Case, found: Neighbours) -> tuple[Case, Neighbours]:
    """Some records that both sides have put last, in another type that holds what they mean."""
    store = _chosen(
        draw, [store for store in STORES if store.family == "arrow" and case.meaning in store.plain]
    )
    kept = [found.here[place].number for place, _ in found.matched]
    tail = frozenset(number for number in kept if number < 1000 and draw.random() < 0.4)

    def put(table: Table) -> Table:
        last = [replace(one, x=store.plain[case.meaning](one.k)) for one in table if one.number in tail]
        return (*(one for one in table if one.number not in tail), *last)

    made = Neighbours(put(found.here), put(found.there), found.free)
    return replace(case, tail=(store, tail)), made


def _lost(case: Case, seen: Reading, plain: list[int]) -> str:
    """A plain cell of which nothing is left: a type that cannot be read must be refused."""
    if (
        not {"features", "weights"} & seen.rows.keys()
        or not plain
        or len(seen.rows["features"]) <= max(plain)
    ):
        return ""
    width = case.kind.width(case.meaning)
    if not hasattr(seen.rows, "get") or (
        case.kind.lost.__name__ == "_no_weight" and "weights" not in seen.rows
    ):
        return ""
    return " plain cells are read as nothing" if case.kind.lost(seen.rows, width)[plain].all() else ""


def _clean(read: Callable[[], Reading], invalid: str) -> Reading:
    """A refusal must be one of ours, and hold nothing of the data."""
    try:
        return read()
    except SottovoceError as refusal:
        if refusal.__context__ is None or isinstance(refusal.__context__, SottovoceError):
            raise
        return Reading(public=f"a refusal that holds {type(refusal.__context__).__name__}")
    except Exception as error:
        if invalid == "zero":
            raise
        return Reading(public=f"raw {type(error).__name__}")


def door_of(container: Container, stores: tuple[Store, ...] = STORES) -> Door:
    """The door of a container, its columns of these types."""
    return Door(f"product: {container.name}", _pair(container, stores), container.share)


DOORS: tuple[Door, ...] = tuple(map(door_of, (*CONTAINERS, *NEAR_TIES)))
