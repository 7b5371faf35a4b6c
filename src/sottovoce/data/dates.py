"""Parts of dates: the month, weekday, quarter, hour or year of a moment, read cell by cell.

A moment is a date or a time without a zone, or text that spells one as ISO 8601 does: 2026-03-01, 2026-03-01
14:30, 2026-03-01T14:30:00. Anything else, moments with a zone among them, is none: say first whose clock is
meant."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data.cell import text_of
from sottovoce.data.cells import Coded, one_by_one
from sottovoce.data.columns import Block, Indicators, check_name, declared_number
from sottovoce.data.reading import Reading
from sottovoce.errors import ParameterError

Moments = NDArray[np.datetime64]

_MONTHS = "January February March April May June July August September October November December"
_VALUES: dict[str, tuple[str, ...]] = {
    "month": tuple(_MONTHS.split()),
    "quarter": ("1", "2", "3", "4"),
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "hour": tuple(map(str, range(24))),
}
PARTS = (*_VALUES, "year")
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?")


@final
@dataclass(frozen=True)
class DatePart(Indicators):
    """One part of a date: an indicator for each month, quarter, weekday or hour, or the year as a number.

    `column` is that of the table if it is not `name`; a year needs `low` and `high`, for -1 and 1."""

    part: str
    column: str | None = field(default=None, kw_only=True)
    low: float | None = field(default=None, kw_only=True)
    high: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.column is not None:
            check_name(self.column)
        if self.part not in PARTS:
            raise ParameterError(f"column {self.name!r}: part must be one of {', '.join(PARTS)}.")
        if (self.part == "year") != (self.low is not None and self.high is not None):
            raise ParameterError(f'column {self.name!r}: low and high belong to part = "year", both.')
        if self.part == "year":
            where = f"column {self.name!r}: low and high"
            low, high = declared_number(self.low, where), declared_number(self.high, where)
            if low >= high:
                raise ParameterError(f"column {self.name!r}: low={low:g} must be below high={high:g}.")
            object.__setattr__(self, "low", low)
            object.__setattr__(self, "high", high)

    @property
    def source(self) -> str:
        return self.column or self.name

    @property
    def one_hot(self) -> bool:
        return self.part != "year"

    def places(self, held: Any, reading: Reading) -> NDArray[np.intp]:
        found = moments(held)
        given = ~np.isnat(found)
        places = np.full(found.size, len(self._named()) if self.indicator else -1)
        places[given] = self.values(found[given])
        return places

    def fill(self, block: Block, held: Any, reading: Reading, unit: float) -> None:
        if self.low is None or self.high is None:
            super().fill(block, held, reading, unit)
            return
        found = moments(held)
        given = np.flatnonzero(~np.isnat(found))
        middle, reach = (self.low + self.high) / 2.0, (self.high - self.low) / 2.0
        block[given, 0] = unit * np.clip((self.values(found[given]) - middle) / reach, -1.0, 1.0)
        if self.indicator:
            block[np.isnat(found), -1] = unit

    def values(self, given: Moments) -> Vector:
        """The part of each moment, counted from 0; of years the number itself."""
        days, months = given.astype("datetime64[D]"), given.astype("datetime64[M]").astype(np.int64)
        match self.part:
            case "year":
                found = given.astype("datetime64[Y]").astype(np.int64) + 1970
            case "month":
                found = months % 12
            case "quarter":
                found = months % 12 // 3
            case "weekday":
                found = (days.astype(np.int64) + 3) % 7
            case _:
                found = (given - days).astype(np.int64) % 24
        return np.asarray(found, dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        chosen = {name: getattr(self, name) for name in ("column", "low", "high")}
        given = {name: value for name, value in chosen.items() if value is not None}
        return {"type": "date", "part": self.part, **given, **self._extras()}

    def _named(self) -> tuple[str, ...]:
        values = _VALUES.get(self.part)
        return (self.name,) if values is None else tuple(f"{self.name}={value}" for value in values)


def moments(column: Any) -> Moments:
    """The hour in which each cell lies, NaT where it is no moment."""
    if isinstance(column, Coded):
        return np.asarray(np.append(moments(column.values), _hour(None))[column.places])
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        return column.astype("datetime64[h]")
    if not isinstance(column, np.ndarray):
        column = one_by_one(column.to_pylist())
    return np.array([_moment(cell) for cell in column.tolist()], dtype="datetime64[h]")


def _moment(cell: Any) -> np.datetime64:
    text = text_of(cell)
    match = None if text is None else _ISO.fullmatch(text.strip())
    try:
        if match is not None:
            year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
            return _hour(dt.datetime(year, month, day, hour, minute, second))
        if issubclass(type(cell), dt.datetime) and cell.tzinfo is None:
            return _hour(cell)
        if type(cell) is dt.date:
            return _hour(dt.datetime(cell.year, cell.month, cell.day))
    except (ValueError, OverflowError):
        return _hour(None)
    return _hour(None)


def _hour(moment: dt.datetime | None) -> np.datetime64:
    if moment is None:
        return np.datetime64("NaT", "h")
    day = dt.date.toordinal(moment) - dt.date(1970, 1, 1).toordinal()
    return np.datetime64(24 * day + moment.hour, "h")


def is_moment(cell: object) -> bool:
    """Whether a cell is a moment."""
    return not np.isnat(_moment(cell))
