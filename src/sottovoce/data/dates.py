"""Parts of dates: the month, weekday, quarter, hour or year of a moment, read cell by cell.

A moment is a date or a time without a zone in the years 1 to 9999, or text that spells one as ISO 8601 does:
2026-03-01, 2026-03-01 14:30, 2026-03-01T14:30:00. It is the same in a typed column, in text and among
objects. Anything else is none: moments with a zone (say first whose clock is meant), and those beyond these
years, such as PostgreSQL's infinity."""

from __future__ import annotations

import datetime as dt
import re
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data import arrow, arrow_cells, cells
from sottovoce.data.cell import text_of
from sottovoce.data.cells import Coded
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
_NONE = np.datetime64("NaT", "h")
_FIRST, _LAST = np.datetime64("0001-01-01T00", "h"), np.datetime64("9999-12-31T23", "h")
_ISO = re.compile(
    r"(?P<Y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?:[T ](?P<H>\d\d):(?P<M>\d\d)(?::(?P<S>\d\d)(?:\.\d+)?)?)?"
)
_DIRECTIVES = {"Y": r"\d{4}", "m": r"\d\d?", "d": r"\d\d?", "H": r"\d\d?", "M": r"\d\d", "S": r"\d\d"}
"""Numbers that a declared format may name; names of months depend on a language."""


@lru_cache(maxsize=64)
def spelled_as(form: str | None) -> re.Pattern[str]:
    """How text spells a moment: as ISO 8601 does, or as a declared format such as "%d.%m.%Y" does."""
    if form is None:
        return _ISO
    parts = re.split(r"%(.)", form)
    named = parts[1::2]
    if not {"Y", "m", "d"} <= {*named} or len({*named}) < len(named) or not {*named} <= {*_DIRECTIVES}:
        raise ParameterError(
            'format must name %Y, %m and %d, and may name %H, %M and %S, each once: "%d.%m.%Y".',
            argument="format",
        )
    found = [re.escape(parts[0])]
    for name, rest in zip(named, parts[2::2], strict=True):
        found.append(f"(?P<{name}>{_DIRECTIVES[name]}){re.escape(rest)}")
    return re.compile("".join(found), re.ASCII)


@final
@dataclass(frozen=True)
class DatePart(Indicators):
    """One part of a date: an indicator for each month, quarter, weekday or hour, or the year as a number.

    `column` is that of the table if it is not `name`; a year needs `low` and `high`, for -1 and 1. `format`
    says how text spells a date, "%d.%m.%Y", in place of ISO 8601; cells that spell it otherwise are none."""

    part: str
    column: str | None = field(default=None, kw_only=True)
    low: float | None = field(default=None, kw_only=True)
    high: float | None = field(default=None, kw_only=True)
    format: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.format is not None and not isinstance(self.format, str):
            raise ParameterError(f'column {self.name!r}: format must be text such as "%d.%m.%Y".')
        spelled_as(self.format)
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
        found = moments(held, spelled_as(self.format))
        given = ~np.isnat(found)
        places = np.full(found.size, len(self._named()) if self.indicator else -1)
        places[given] = self.values(found[given])
        return places

    def fill(self, block: Block, held: Any, reading: Reading, unit: float) -> None:
        if self.low is None or self.high is None:
            super().fill(block, held, reading, unit)
            return
        found = moments(held, spelled_as(self.format))
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
        chosen = {name: getattr(self, name) for name in ("column", "low", "high", "format")}
        given = {name: value for name, value in chosen.items() if value is not None}
        return {"type": "date", "part": self.part, **given, **self._extras()}

    def _named(self) -> tuple[str, ...]:
        values = _VALUES.get(self.part)
        return (self.name,) if values is None else tuple(f"{self.name}={value}" for value in values)


def moments(column: Any, pattern: re.Pattern[str] = _ISO) -> Moments:
    """The hour in which each cell lies, NaT where it is no moment; text by the pattern."""
    plain = cells.unwrapped(column)
    if isinstance(plain, Coded):
        return np.asarray(np.append(moments(plain.values, pattern), _NONE)[plain.places])
    if isinstance(plain, np.ndarray):
        if plain.dtype.kind == "M":
            return _hours(plain)
        listed = plain.tolist() if plain.dtype.kind in cells.TEXT else [None] * len(plain)
        return np.array([_moment(cell, pattern) for cell in listed], dtype="datetime64[h]")
    if arrow_cells.is_text(plain.type):
        return np.array([_moment(cell, pattern) for cell in arrow_cells.texts(plain)], dtype="datetime64[h]")
    ticks = _ticks(plain)
    return np.full(len(plain), _NONE) if ticks is None else _hours(ticks)


def may_hold_moments(column: Any) -> bool:
    """Whether the column's type is text, objects, or dates and times without a zone."""
    import pyarrow as pa

    plain = cells.unwrapped(column)
    if isinstance(plain, Coded):
        return may_hold_moments(plain.values)
    if isinstance(plain, np.ndarray):
        return plain.dtype.kind in cells.TEXT + "M"
    return arrow_cells.is_text(plain.type) or pa.types.is_null(plain.type) or _ticks(plain) is not None


def is_beyond_calendar(column: Any) -> bool:
    """Whether a cell of a column of dates or times is one that is no moment."""
    plain = cells.unwrapped(column)
    if isinstance(plain, Coded):
        return is_beyond_calendar(plain.values)
    ticks = plain if isinstance(plain, np.ndarray) else _ticks(plain)
    if ticks is None or ticks.dtype.kind != "M":
        return False
    return bool((~np.isnat(ticks) & np.isnat(_hours(ticks))).any())


def is_moment(cell: object, pattern: re.Pattern[str] = _ISO) -> bool:
    """Whether a cell is a moment; text by the pattern."""
    return not np.isnat(_moment(cell, pattern))


def _ticks(column: Any) -> Moments | None:
    """What an Arrow column of dates or times without a zone stores; None of another column.

    pyarrow would make Python's datetimes of them, and fail as a whole where one is beyond their calendar."""
    import pyarrow as pa

    types, kind = pa.types, column.type
    if types.is_timestamp(kind) and kind.tz is None:
        unit = kind.unit
    elif types.is_date32(kind) or types.is_date64(kind):
        unit = "D" if types.is_date32(kind) else "ms"
    else:
        return None
    stored = column.cast(pa.int32()) if types.is_date32(kind) else column
    return arrow.filled(stored.cast(pa.int64()), np.iinfo(np.int64).min).view(f"datetime64[{unit}]")


def _hours(ticks: Moments) -> Moments:
    """The hour of each moment of the years 1 to 9999, NaT of any other; each tick by itself.

    Units longer than an hour are looked at first: NumPy multiplies them, past what 64 bits hold."""
    unit, _ = np.datetime_data(ticks.dtype)
    if unit in ("Y", "M", "W", "D"):
        first, last = _FIRST.astype(ticks.dtype), _LAST.astype(ticks.dtype)
        ticks = np.where((ticks < first) | (ticks > last), np.datetime64("NaT"), ticks)
    hours = ticks.astype("datetime64[h]")
    hours[(hours < _FIRST) | (hours > _LAST)] = _NONE
    return hours


def _moment(cell: Any, pattern: re.Pattern[str]) -> np.datetime64:
    kind, text = type(cell), text_of(cell)
    match = None if text is None else pattern.fullmatch(text.strip())
    if match is not None:
        found = match.groupdict()
        with suppress(ValueError):
            year, month, day, hour, minute, second = (int(found.get(name) or 0) for name in "YmdHMS")
            return _hour(dt.datetime(year, month, day, hour, minute, second))
        return _NONE
    if kind is np.datetime64:
        return np.datetime64(_hours(np.array([cell]))[0])
    if issubclass(kind, dt.datetime):
        return _hour_of_subclass(cell)
    return _hour(dt.datetime(cell.year, cell.month, cell.day)) if kind is dt.date else _NONE


def _hour_of_subclass(cell: Any) -> np.datetime64:
    """Of a datetime or a subclass, whose own code does not run. One of pandas may lie past their calendar."""
    if dt.datetime.tzinfo.__get__(cell) is not None:
        return _NONE
    pandas = sys.modules.get("pandas")
    if pandas is not None and cell is pandas.NaT:
        return _NONE
    if pandas is not None and issubclass(type(cell), pandas.Timestamp):
        return np.datetime64(_hours(np.array([pandas.Timestamp.to_datetime64(cell)]))[0])
    return _hour(cell)


def _hour(moment: dt.datetime) -> np.datetime64:
    day = dt.date.toordinal(moment) - dt.date(1970, 1, 1).toordinal()
    return np.datetime64(24 * day + dt.datetime.hour.__get__(moment), "h")
