"""What a column is declared as, and what its cells then mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce.data.schema import Binned, Categorical, DatePart, Numeric, Schema, Spline, Target
from sottovoce.data.survival import Survival

WORDS = ("no", "yes", "maybe")
WHOLES = (1, 2, 3, 4, 6, 7, 8, 9)
"""Plain numbers: none is in the middle of the range, where a missing one goes."""
KEYS = (101, 102, 103, 104)
MOMENTS = tuple(range(0, 200_000, 997))
"""Hours since 1990."""

PLAIN: dict[str, tuple[int, ...]] = {
    "number": WHOLES,
    "whole": WHOLES,
    "word": (0, 1, 2),
    "event": (0, 1),
    "moment": MOMENTS,
    "key": KEYS,
}
"""What plain cells of each meaning are made of."""

Declared = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """`meanings` of its cells, the first that a type can hold being taken; what the schema says of column x;
    `lost`: which rows show nothing of their plain cell."""

    name: str
    meanings: tuple[str, ...]
    declare: Callable[[str], Declared]
    lost: Callable[[dict[str, np.ndarray], int], np.ndarray]

    def schema(self, meaning: str, person: bool) -> Schema:
        """Column x as declared, a plain number o, and a plain target y unless x is it."""
        given = self.declare(meaning)
        columns = (*given.pop("columns", ()), Numeric("o", 0.0, 1.0))
        given.setdefault("target", Target("y", ("no", "yes")))
        if person:
            given.setdefault("person", "p")
        return Schema(columns, **given)

    def width(self, meaning: str) -> int:
        """Features of column x, which come first."""
        return sum(len(column.features) for column in self.declare(meaning).get("columns", ()))


def _no_feature(rows: dict[str, np.ndarray], width: int) -> np.ndarray:
    return ~rows["features"][:, :width].any(axis=1)


def _no_row(rows: dict[str, np.ndarray], width: int) -> np.ndarray:
    return ~rows["features"].any(axis=1)


def _no_weight(rows: dict[str, np.ndarray], width: int) -> np.ndarray:
    return np.asarray(rows["weights"] == 0.0)


def _feature(*columns: Any) -> Callable[[str], Declared]:
    return lambda meaning: {"columns": columns}


def _category(meaning: str) -> Declared:
    return {"columns": (Categorical("x", WORDS if meaning == "word" else WHOLES),)}


def _classes(meaning: str) -> Declared:
    return {"target": Target("x", WORDS if meaning == "word" else WHOLES)}


def _counted(exposure: str) -> Target:
    """Counts c under observation for x."""
    return Target("c", high=20, count=True, exposure=exposure, exposure_high=5.0)


def _timed(time: str, entry: str | None = None, event: str = "y") -> Target:
    """One interval, which every plain time reaches: a record is then one row. Who enters later is never at
    risk in it, and keeps a row that counts nothing."""
    return Target(event, ("no", "yes"), survival=Survival(time, (1.0,), entry))


def _kept(rows: dict[str, np.ndarray], width: int) -> np.ndarray:
    return np.zeros(len(rows["features"]), dtype=bool)


def _date(part: str) -> Kind:
    bounds = {"low": 1900.0, "high": 2150.0} if part == "year" else {}
    column = DatePart("x", part, **bounds)
    return Kind(f"date part, {part}", ("moment",), _feature(column), _no_feature)


KINDS: tuple[Kind, ...] = (
    Kind("numeric", ("number",), _feature(Numeric("x", 0.0, 10.0)), _no_feature),
    Kind("log", ("number",), _feature(Numeric("x", 0.0, 10.0, transform="log1p")), _no_feature),
    Kind("bins", ("number",), _feature(Binned("x", (2.5, 5.0, 7.5))), _no_feature),
    Kind("spline", ("number",), _feature(Spline("x", 0.0, 10.0, (2.5, 5.0))), _no_feature),
    Kind(
        "log spline",
        ("number",),
        _feature(Spline("x", 0.0, 10.0, (2.5, 5.0), transform="log1p")),
        _no_feature,
    ),
    Kind(
        "indicator",
        ("number",),
        _feature(Numeric("x", 0.0, 10.0, indicator=True, missing=("?", 999))),
        _no_feature,
    ),
    Kind("category", ("word", "whole"), _category, _no_feature),
    *(_date(part) for part in ("month", "quarter", "weekday", "hour", "year")),
    Kind(
        "date with a format",
        ("moment",),
        _feature(DatePart("x", "month", format="%Y-%m-%d %H:%M:%S", indicator=True)),
        _no_feature,
    ),
    Kind("weight", ("number",), lambda meaning: {"weight": "x", "weight_cap": 5.0}, _no_weight),
    Kind("target", ("number",), lambda meaning: {"target": Target("x", low=0.0, high=10.0)}, _no_row),
    Kind("class", ("word", "whole"), _classes, _no_row),
    Kind("count", ("whole",), lambda meaning: {"target": Target("x", high=9, count=True)}, _no_row),
    Kind("exposure", ("number",), lambda meaning: {"target": _counted("x")}, _no_weight),
    Kind("time to event", ("number",), lambda meaning: {"target": _timed("x")}, _no_weight),
    Kind("event", ("event",), lambda meaning: {"target": _timed("t", event="x")}, _no_weight),
    Kind("entry", ("number",), lambda meaning: {"target": _timed("t", entry="x")}, _kept),
    Kind("person key", ("key",), lambda meaning: {"person": "x"}, _no_weight),
)


def kind(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)


__all__ = ["KEYS", "KINDS", "PLAIN", "WORDS", "Kind", "kind"]
