"""One engine for all doors: read two neighbours, and name every way in which they differ where they may not.

A case is drawn from (seed, door, number): a base table, a position, and a hostile record to put there. The
door reads both tables; what it read is compared record by record, answer by answer, word by word."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

Draw = np.random.Generator

ROUNDING = 1.0 + 1e-12
"""What computing the norm of a difference may add."""


@dataclass(frozen=True)
class Answer:
    """An exact answer and how far, in l2, the library says that one record moves it."""

    exact: np.ndarray
    sensitivity: float


@dataclass(frozen=True)
class Reading:
    """What a door made of a table.

    `rows` have one entry a record, `answers` are exact, `public` is what anyone may see."""

    rows: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    public: str = ""
    charged: int = 0
    refusal: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pair:
    """Two tables that differ in the record at `place`, and how the door reads each.

    `lenient`: the door promises that no record makes it refuse or warn. Otherwise the neighbour's own
    refusal is the owner's affair (invalid="raise").
    Where tables have other lengths or orders, `matched` are the places, here and there, of records that both
    have and that must be alike, and `lengths` how many rows each side has."""

    here: Callable[[], Reading]
    there: Callable[[], Reading]
    place: int
    note: str
    lenient: bool = True
    matched: tuple[tuple[int, int], ...] | None = None
    lengths: tuple[int, int] | None = None


@dataclass(frozen=True)
class Door:
    """`pair` draws a case; `share` is the door's part of a run, in cases of the default one."""

    name: str
    pair: Callable[[Draw], Pair]
    share: int


@dataclass(frozen=True)
class Violation:
    door: str
    number: int
    note: str
    text: str

    def __str__(self) -> str:
        return f"{self.door} #{self.number} [{self.note}]: {self.text}"


@dataclass(frozen=True)
class Case:
    """What one case found. A table that public facts refuse tries little: `refused` tells."""

    violations: list[Violation]
    refused: bool
    note: str


def attack(door: Door, seed: int, number: int) -> Case:
    """Read both neighbours of one case and compare them."""
    pair = door.pair(np.random.default_rng([seed, number, *door.name.encode()]))
    here, there = reading_of(pair.here), reading_of(pair.there)
    found = [Violation(door.name, number, pair.note, text) for text in violations(pair, here, there)]
    return Case(found, bool(here.refusal), pair.note)


def reading_of(read: Callable[[], Reading]) -> Reading:
    """The reading with what it warned of, or the refusal in its place."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = read()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as refusal:  # polars panics below Exception
            found = Reading(refusal=f"{type(refusal).__name__}: {refusal}", charged=_charged(refusal))
    said = tuple(sorted({f"{warning.category.__name__}: {warning.message}" for warning in caught}))
    return replace(found, warnings=said)


def charging(ledger: Any, read: Callable[[], Reading]) -> Reading:
    """The reading with the number of charges in the ledger, also of one that was refused."""
    try:
        found = read()
    except Exception as refusal:
        refusal.charges = len(ledger.history)  # type: ignore[attr-defined]
        raise
    return replace(found, charged=len(ledger.history))


def _charged(refusal: BaseException) -> int:
    return int(getattr(refusal, "charges", 0))


def violations(pair: Pair, here: Reading, there: Reading) -> Iterator[str]:
    """What differs between neighbours though it must not."""
    if here.refusal and here.charged:
        yield f"{here.charged} charges before public facts refused: {here.refusal}"
    if here.refusal != there.refusal and (pair.lenient or here.refusal):
        yield f"refused {here.refusal!r} against {there.refusal!r}"
    if pair.lenient and here.warnings != there.warnings:
        yield f"warned {here.warnings} against {there.warnings}"
    if here.refusal or there.refusal:
        return
    if here.public != there.public:
        yield f"public facts {_parted(here.public, there.public)}"
    if here.charged != there.charged:
        yield f"{here.charged} charges against {there.charged}"
    for name in sorted(here.rows.keys() | there.rows.keys()):
        one, other = here.rows.get(name), there.rows.get(name)
        if pair.matched is None:
            changed = others_changed(one, other, pair.place)
        else:
            changed = matched_changed(one, other, pair.matched, pair.lengths)
        if changed:
            yield f"{name}: {changed} other records changed"
    for name in sorted(here.answers.keys() | there.answers.keys()):
        yield from _moved(name, here.answers.get(name), there.answers.get(name))


def others_changed(one: Any, other: Any, place: int) -> int:
    """How many records other than that at `place` are not the same to the last bit."""
    if one is None or other is None or len(one) != len(other):
        return max(len(rows) for rows in (one, other) if rows is not None)
    first, second = _bytes(one), _bytes(other)
    return sum(a != b for index, (a, b) in enumerate(zip(first, second, strict=True)) if index != place)


def matched_changed(
    one: Any, other: Any, matched: tuple[tuple[int, int], ...], lengths: tuple[int, int] | None
) -> int:
    """How many of the matched records are not the same to the last bit; all if a side has other rows."""
    if one is None or other is None or (lengths is not None and (len(one), len(other)) != lengths):
        return max(len(rows) for rows in (one, other) if rows is not None)
    first, second = _bytes(one), _bytes(other)
    return sum(first[a] != second[b] for a, b in matched)


def _bytes(rows: Any) -> list[bytes]:
    """Each record's own bytes, its type included."""
    if isinstance(rows, np.ndarray) and rows.dtype.kind != "O":
        return [row.dtype.str.encode() + row.tobytes() for row in rows]
    return [f"{type(row).__name__} {row!r}".encode() for row in rows]


def _moved(name: str, one: Answer | None, other: Answer | None) -> Iterator[str]:
    if one is None or other is None:
        yield f"{name}: answered on one side only"
    elif one.sensitivity != other.sensitivity:
        yield f"{name}: the stated bound is {one.sensitivity} against {other.sensitivity}"
    elif one.exact.shape != other.exact.shape:
        yield f"{name}: shape {one.exact.shape} against {other.exact.shape}"
    else:
        with np.errstate(all="ignore"):
            distance = _distance(one.exact, other.exact)
        if not distance <= one.sensitivity * ROUNDING:
            yield f"{name}: moved by {distance:.6g}, stated are {one.sensitivity:.6g}"


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    """Norm of the difference, which neither overflows nor underflows on the way."""
    gap = np.abs(np.subtract(one, other, dtype=np.float64)).ravel()
    largest = float(gap.max(initial=0.0))
    return largest if largest in (0.0, np.inf) else largest * float(np.linalg.norm(gap / largest))


def _parted(one: str, other: str) -> str:
    """The two texts from where they part."""
    place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    start = max(0, place - 30)
    return f"{one[start : place + 60]!r} against {other[start : place + 60]!r}"
