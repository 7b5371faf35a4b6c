"""Types of columns: how plain cells are kept in each, and the hostile cells that it can hold.

A type is public and the same on both sides, but for lists of Python objects, which whoever takes them types
by looking at them."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tests.attacks.doors import hostile
from tests.attacks.doors.product.kinds import WORDS

START = dt.datetime(1990, 1, 1)
HOURS = (START - dt.datetime(1970, 1, 1)) // dt.timedelta(hours=1)

Make = Callable[[list[Any]], Any]


@dataclass(frozen=True)
class Store:
    """`family`: arrow, numpy, python or fields (of a text file). `plain` makes a cell of each meaning."""

    name: str
    family: str
    plain: dict[str, Callable[[int], Any]]
    make: Make
    hostile: dict[str, Any] = field(default_factory=dict)

    def meaning(self, wanted: tuple[str, ...]) -> str | None:
        return next((meaning for meaning in wanted if meaning in self.plain), None)


def _moment(k: int) -> dt.datetime:
    return START + dt.timedelta(hours=k)


def _spelled(k: int) -> str:
    return _moment(k).isoformat(sep=" ")


IN_TEXT: dict[str, Callable[[int], Any]] = {
    "number": lambda k: f"{k}.1",
    "whole": str,
    "word": lambda k: WORDS[k],
    "event": lambda k: WORDS[k],
    "moment": _spelled,
    "key": lambda k: f"p{k}",
}
IN_WHOLES: dict[str, Callable[[int], Any]] = {"number": int, "whole": int, "key": int}
IN_FLOATS: dict[str, Callable[[int], Any]] = {
    "number": lambda k: k + 0.1,
    "whole": float,
    "key": float,
}
IN_DECIMALS: dict[str, Callable[[int], Any]] = {
    "number": lambda k: Decimal(k) + Decimal("0.10"),
    "whole": lambda k: Decimal(k),
    "key": lambda k: Decimal(k),
}

BYTES: dict[str, Any] = {
    "not UTF-8": b"\xff\xfe",
    "half a character": b"\xe2\x82",
    "surrogate": b"\xed\xa0\x80",
    "missing": None,
    "empty": b"",
    "NUL": b"no\x00",
    "a quote": b'"',
    "unknown": b"unknown",
    "nan": b"nan",
    "1e400": b"1e400",
    "long number": b"1" * 400,
    "long text": b"x" * 200_000,
    "marks that combine": b"e" + b"\xcc\x81\xcc\x96" * 20_000,
    "true": b" TRUE ",
    "infinity": b"infinity",
    "30 February": b"2023-02-30",
    "year 10000": b"10000-01-01",
    "1 BC": b"0000-01-01",
    "another calendar": b"\xd9\xa2\xd9\xa0\xd9\xa2\xd9\xa4-01-01",
    "999": b"999",
}


def _encoded(plain: dict[str, Callable[[int], Any]]) -> dict[str, Callable[[int], Any]]:
    return {meaning: lambda k, say=say: say(k).encode() for meaning, say in plain.items()}


def _text(kind: Any, through: Any) -> Store:
    return Store(
        str(kind), "arrow", _encoded(IN_TEXT), lambda cells: pa.array(cells, through).view(kind), BYTES
    )


def _whole(kind: Any) -> Store:
    bits, signed = kind.bit_width, pa.types.is_signed_integer(kind)
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    odd = {"missing": None, "least": least, "most": most, "0": 0, "5": 5, "111": 111}
    return Store(str(kind), "arrow", IN_WHOLES, lambda cells: pa.array(cells, kind), odd)


FLOATS = {
    "missing": None,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "minus infinity": float("-inf"),
    "-0.0": -0.0,
    "tiny": 1e-300,
    "0.5": 0.5,
    "largest": 6e4,
}


def _real(kind: Any, more: dict[str, Any]) -> Store:
    return Store(str(kind), "arrow", IN_FLOATS, lambda cells: pa.array(cells, kind), FLOATS | more)


def _decimal(kind: Any) -> Store:
    odd = {"missing": None, "most": Decimal(10) ** 30, "least": -(Decimal(10) ** 30), "0.5": Decimal("0.5")}
    return Store(str(kind), "arrow", IN_DECIMALS, lambda cells: pa.array(cells, kind), odd)


PER_HOUR = {"s": 3600, "ms": 3_600_000, "us": 3_600_000_000, "ns": 3_600_000_000_000}
HOUR_OF_YEAR_10000 = (dt.datetime.max - dt.datetime(1970, 1, 1)) // dt.timedelta(hours=1) + 1
HOUR_OF_YEAR_1 = (dt.datetime.min - dt.datetime(1970, 1, 1)) // dt.timedelta(hours=1)


def _times(per_hour: int, bits: int = 64) -> dict[str, Any]:
    """Numbers of units since 1970 at and beyond the ends of the calendar."""
    odd = {
        "year 10000": HOUR_OF_YEAR_10000 * per_hour,
        "year 9999": (HOUR_OF_YEAR_10000 - 1) * per_hour,
        "1 BC": (HOUR_OF_YEAR_1 - 1) * per_hour,
        "year 1": HOUR_OF_YEAR_1 * per_hour,
        "year 20000": (2 * HOUR_OF_YEAR_10000) * per_hour,
        "before 1970": -1,
    }
    ends = {"infinity": 2 ** (bits - 1) - 1, "minus infinity": -(2 ** (bits - 1)) + 1, "missing": None}
    return {name: time for name, time in odd.items() if abs(time) < 2 ** (bits - 1)} | ends


def _timestamps(unit: str, zone: str | None = None) -> Store:
    kind, per_hour = pa.timestamp(unit, zone), PER_HOUR[unit]
    return Store(
        str(kind),
        "arrow",
        {"moment": lambda k: (HOURS + k) * per_hour},
        lambda cells: pa.array(cells, pa.int64()).view(kind),
        _times(per_hour),
    )


def _dates() -> tuple[Store, Store]:
    days = {name: time and time // 24 for name, time in _times(1, 32).items()}
    days |= {"infinity": 2**31 - 1, "minus infinity": -(2**31) + 1}
    return (
        Store(
            "date32",
            "arrow",
            {"moment": lambda k: (HOURS + k) // 24},
            lambda cells: pa.array(cells, pa.int32()).view(pa.date32()),
            days,
        ),
        Store(
            "date64",
            "arrow",
            {"moment": lambda k: (HOURS + k) // 24 * 86_400_000},
            lambda cells: pa.array(cells, pa.int64()).view(pa.date64()),
            _times(PER_HOUR["ms"]),
        ),
    )


def _within(inner: Store, name: str, wrap: Callable[[Any], Any]) -> Store:
    return Store(
        f"{name}<{inner.name}>",
        inner.family,
        inner.plain,
        lambda cells: wrap(inner.make(cells)),
        inner.hostile,
    )


def _opaque(cells: Any) -> Any:
    return pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "numeric", "PostgreSQL"), cells)


STRING = _text(pa.string(), pa.binary())
_UNIQUE: dict[str, Callable[[int], Any]] = {"key": lambda k: uuid.UUID(int=k).bytes}

ARROW: tuple[Store, ...] = (
    STRING,
    _text(pa.large_string(), pa.large_binary()),
    _text(pa.string_view(), pa.binary_view()),
    _text(pa.binary(), pa.binary()),
    _text(pa.large_binary(), pa.large_binary()),
    *(
        _whole(kind)
        for kind in (
            pa.int8(),
            pa.int16(),
            pa.int32(),
            pa.int64(),
            pa.uint8(),
            pa.uint16(),
            pa.uint32(),
            pa.uint64(),
        )
    ),
    _real(pa.float16(), {}),
    _real(pa.float32(), {"1e30": 1e30}),
    _real(pa.float64(), {"1e300": 1e300}),
    _decimal(pa.decimal128(38, 2)),
    _decimal(pa.decimal256(60, 2)),
    *(_timestamps(unit) for unit in PER_HOUR),
    *_dates(),
    _within(STRING, "dictionary", lambda cells: cells.dictionary_encode()),
    _within(_timestamps("us"), "dictionary", lambda cells: cells.dictionary_encode()),
    _within(_whole(pa.int32()), "dictionary", lambda cells: cells.dictionary_encode()),
    _within(STRING, "run-end encoded", pc.run_end_encode),
    _within(_real(pa.float64(), {}), "run-end encoded", pc.run_end_encode),
    Store(
        "PostgreSQL's numeric",
        "arrow",
        {meaning: lambda k, say=IN_TEXT[meaning]: say(k).encode() for meaning in ("number", "whole")},
        lambda cells: _opaque(STRING.make(cells)),
        {name: BYTES[name] for name in ("missing", "nan", "infinity", "1e400", "long number", "not UTF-8")},
    ),
    Store(
        "fixed_size_binary",
        "arrow",
        {"key": lambda k: f"p{k}".encode()},
        lambda cells: pa.array(cells, pa.binary(4)),
        {"missing": None, "not UTF-8": b"\xff\xfe\x00\x01", "unknown": b"none"},
    ),
    Store(
        "uuid",
        "arrow",
        _UNIQUE,
        lambda cells: pa.ExtensionArray.from_storage(pa.uuid(), pa.array(cells, pa.binary(16))),
        {"missing": None, "most": b"\xff" * 16, "zero": b"\0" * 16},
    ),
)


def _numpy(kind: str, plain: dict[str, Callable[[int], Any]], odd: dict[str, Any]) -> Store:
    return Store(f"NumPy {kind}", "numpy", plain, lambda cells: np.array(cells, dtype=kind), odd)


def _times64(unit: str, count: int) -> Store:
    """`count` of these units, or hours of them, make an hour."""
    per_hour = PER_HOUR.get(unit, 1)

    def make(cells: list[Any]) -> np.ndarray:
        ticks = [np.iinfo(np.int64).min if cell is None else cell for cell in cells]
        return np.array(ticks, dtype=np.int64).view(f"M8[{unit}]")

    return Store(
        f"NumPy datetime64[{unit}]",
        "numpy",
        {"moment": lambda k: (HOURS + k) * per_hour // count},
        make,
        {name: time and time // count for name, time in _times(per_hour).items()},
    )


_ODD_FLOATS = {name: cell for name, cell in FLOATS.items() if cell is not None}
_EXTREMES = {"least": -(2**63), "most": 2**63 - 1, "5": 5}


def objects(cells: list[Any]) -> np.ndarray:
    held = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        held[place] = cell
    return held


class LateDate(dt.datetime):
    """A moment that answers differently each time, or not at all."""

    def _fail(self) -> Any:
        raise RuntimeError("looked at")

    year = month = day = hour = minute = second = tzinfo = property(_fail)  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("looked at")

    __hash__ = None  # type: ignore[assignment]


ODD_OBJECTS: dict[str, Callable[[], Any]] = hostile.CELLS | {
    "subclass of datetime": lambda: LateDate(2024, 2, 29),
    "datetime64 of year 10000": lambda: np.datetime64("10000-01-01", "s"),
    "datetime64 in hours": lambda: np.datetime64("2024-02-29T07", "h"),
    "datetime64 NaT": lambda: np.datetime64("NaT"),
    "Timestamp of year 10000": lambda: pd.Timestamp(np.datetime64("10000-01-01", "s")),
    "date in text": lambda: "2024-02-29",
    "float32": lambda: np.float32(0.1),
    "2^70": lambda: 2**70,
    "UUID": lambda: uuid.UUID(int=7),
    "decimal 1.5": lambda: Decimal("1.5"),
}

NUMPY: tuple[Store, ...] = (
    _numpy("int8", IN_WHOLES, {"least": -128, "most": 127}),
    _numpy("int64", IN_WHOLES, _EXTREMES),
    _numpy("uint64", IN_WHOLES, {"most": 2**64 - 1, "0": 0}),
    _numpy("float16", IN_FLOATS, _ODD_FLOATS),
    _numpy("float32", IN_FLOATS, _ODD_FLOATS),
    _numpy("float64", IN_FLOATS, _ODD_FLOATS | {"1e300": 1e300}),
    _numpy("longdouble", IN_FLOATS, _ODD_FLOATS),
    _numpy("U30", IN_TEXT, {"empty": "", "unknown": "unknown", "surrogate": "\udc80", "1e400": "1e400"}),
    _numpy("S30", _encoded(IN_TEXT), {"not UTF-8": b"\xff\xfe", "empty": b"", "unknown": b"unknown"}),
    *(_times64(unit, 1) for unit in PER_HOUR),
    _times64("D", 24),
    _times64("h", 1),
)


def _python(name: str, plain: dict[str, Callable[[int], Any]]) -> Store:
    return Store(name, "python", plain, list, {"object": ODD_OBJECTS})


PYTHON: tuple[Store, ...] = (
    _python("whole numbers", IN_WHOLES),
    _python("floats", IN_FLOATS),
    _python(
        "float32", {meaning: lambda k, say=say: np.float32(say(k)) for meaning, say in IN_FLOATS.items()}
    ),
    _python("decimals", IN_DECIMALS),
    _python("text", IN_TEXT),
    _python("datetimes", {"moment": _moment}),
    _python("dates", {"moment": lambda k: _moment(k).date()}),
    _python("datetime64", {"moment": lambda k: np.datetime64(_moment(k), "s")}),
    _python("Timestamps", {"moment": lambda k: pd.Timestamp(_moment(k))}),
    _python("UUIDs", {"key": lambda k: uuid.UUID(int=k)}),
    _python("fractions as keys", {"key": lambda k: k + 0.5}),
)

FIELDS: tuple[Store, ...] = (Store("fields", "fields", _encoded(IN_TEXT), list, BYTES),)

STORES: tuple[Store, ...] = (*ARROW, *NUMPY, *PYTHON, *FIELDS)


def odd_cell(draw: np.random.Generator, store: Store) -> tuple[str, Any]:
    """A hostile cell of this type, made anew: two sides never share an object."""
    names = list(store.hostile)
    name = names[draw.integers(len(names))]
    cell = store.hostile[name]
    if isinstance(cell, dict):
        name = list(cell)[draw.integers(len(cell))]
        cell = cell[name]()
    return name, cell
