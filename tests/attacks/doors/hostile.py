"""Hostile cells: what a record may hold that a column of its kind does not expect."""

from __future__ import annotations

import datetime
import fractions
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from tests.attacks.doors.engine import Draw


def _fail(*_: object) -> NoReturn:
    raise RuntimeError("looked at")


class NoEquality:
    """Cannot be compared; hashes like the number 1, so that a table look-up compares."""

    __eq__ = _fail

    def __hash__(self) -> int:
        return hash(1)


class NoNumber:
    """Says that it is a number and is not."""

    __float__ = __int__ = __index__ = __bool__ = _fail


class NoHash:
    __hash__ = _fail  # type: ignore[assignment]


class NoText:
    __str__ = __repr__ = __format__ = _fail  # type: ignore[assignment]


class Ones:
    """Equal to everything, true, and 1 whenever it is asked."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(1)

    def __float__(self) -> float:
        return 1.0


class Word(str):
    """Text that cannot be compared, stripped or hashed."""

    __slots__ = ()
    __eq__ = strip = lower = __hash__ = _fail  # type: ignore[assignment]


class Whole(int):
    """A whole number that is no float."""

    __float__ = __eq__ = __hash__ = _fail  # type: ignore[assignment]


class Real(float):
    """A number that lies about itself."""

    def __float__(self) -> float:
        return float("nan")


class PlainWord(str):
    __slots__ = ()


class PlainReal(float):
    __slots__ = ()


CELLS: dict[str, Callable[[], Any]] = {
    "a decimal": lambda: Decimal("3.5"),
    "decimal 1E+100": lambda: Decimal("1E+100"),
    "decimal 1E-100": lambda: Decimal("1E-100"),
    "decimal of 30 digits": lambda: Decimal("1.23456789012345678901234567890"),
    "decimal NaN": lambda: Decimal("NaN"),
    "signalling decimal NaN": lambda: Decimal("sNaN"),
    "decimal infinity": lambda: Decimal("-Infinity"),
    "a fraction": lambda: fractions.Fraction(1, 3),
    "True": lambda: True,
    "np.False_": lambda: np.False_,
    "text": lambda: "unknown",
    "number in text": lambda: "7",
    "long number in text": lambda: "1" * 5000,
    "text with NUL": lambda: "no\x00",
    "text nan": lambda: "nan",
    "text inf": lambda: "-inf",
    "text true": lambda: " TRUE ",
    "empty text": lambda: "",
    "lone surrogate": lambda: "\udc80",
    "marks that combine": lambda: "e" + "\u0301\u0316" * 20_000,
    "bytes": lambda: b"\xff\x00",
    "a date": lambda: datetime.date(2024, 2, 29),
    "a datetime": lambda: datetime.datetime(1, 1, 1),
    "a time": lambda: datetime.time(1, 2, 3),
    "Timestamp": lambda: pd.Timestamp("2024-02-29 12:00"),
    "Timestamp with zone": lambda: pd.Timestamp("2024-02-29", tz="Asia/Tokyo"),
    "Timedelta": lambda: pd.Timedelta(days=3),
    "datetime64": lambda: np.datetime64("2024-02-29"),
    "NaT": lambda: pd.NaT,
    "None": lambda: None,
    "NaN": lambda: float("nan"),
    "pd.NA": lambda: pd.NA,
    "infinity": lambda: float("inf"),
    "minus infinity": lambda: -float("inf"),
    "subnormal": lambda: 5e-324,
    "minus zero": lambda: -0.0,
    "1e308": lambda: 1e308,
    "0.5": lambda: 0.5,
    "10^400": lambda: 10**400,
    "-10^400": lambda: -(10**400),
    "2^63": lambda: 2**63,
    "2^53 + 1": lambda: 2**53 + 1,
    "float16": lambda: np.float16(0.1),
    "longdouble": lambda: np.longdouble("0.1"),
    "uint64": lambda: np.uint64(2**64 - 1),
    "complex": lambda: 1 + 2j,
    "complex without imaginary part": lambda: 1 + 0j,
    "complex64": lambda: np.complex64(1j),
    "a list": lambda: [1, 2],
    "an empty list": list,
    "a nested list": lambda: [[1.0], [2.0]],
    "a tuple": lambda: (1, "a"),
    "a dict": lambda: {"a": 1},
    "an array": lambda: np.array([1.0, 2.0]),
    "an array of one": lambda: np.array([1.0]),
    "an object": object,
    "no equality": NoEquality,
    "no number": NoNumber,
    "no hash": NoHash,
    "no text": NoText,
    "equal to all": Ones,
    "hostile text": lambda: Word("no"),
    "hostile integer": lambda: Whole(1),
    "hostile float": lambda: Real(1.0),
    "subclass of text": lambda: PlainWord("no"),
    "subclass of float": lambda: PlainReal(1.0),
    "np.str_": lambda: np.str_("yes"),
    "masked": lambda: np.ma.masked,
}

NUMBERS: dict[str, float] = {
    "zero": 0.0,
    "minus zero": -0.0,
    "one": 1.0,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "minus infinity": -float("inf"),
    "subnormal": 5e-324,
    "tiny": 1e-308,
    "small": 1e-170,
    "1e-12": 1e-12,
    "1e20": 1e20,
    "1e160": 1e160,
    "largest": 1.7976931348623157e308,
    "minus largest": -1.7976931348623157e308,
    "minus one": -1.0,
}
"""What still fits an array of floats."""


_KIN = {
    "decimal": [name for name in CELLS if "decimal" in name],
    "tru": ["True", "np.False_", "text true", "0.5", "minus zero", "number in text", "hostile integer"],
    "boolean": ["True", "np.False_", "text true", "0.5", "NaN", "None", "2^63", "hostile integer"],
    "text": ["text", "number in text", "0.5", "True", "None", "long number in text", "text nan"],
    "word": ["text", "text with NUL", "number in text", "0.5", "None", "hostile text", "lone surrogate"],
    "float": ["10^400", "text", "a decimal", "longdouble", "float16", "subclass of float", "True"],
    "integer": ["10^400", "2^53 + 1", "uint64", "text", "0.5", "NaN", "None", "True", "a decimal"],
    "whole": ["10^400", "2^53 + 1", "uint64", "text", "0.5", "NaN", "None", "True", "a decimal"],
}
"""Near relations of what a column holds: they retype it more often than strangers do."""


def cell(draw: Draw, among: str = "") -> tuple[str, Any]:
    """Any hostile cell; half of them near relations of the kind of column it is put among."""
    names = next((kin for sign, kin in _KIN.items() if sign in among), list(CELLS))
    if draw.random() < 0.5:
        names = list(CELLS)
    name = names[draw.integers(len(names))]
    return name, CELLS[name]()


def number(draw: Draw) -> tuple[str, float]:
    name = list(NUMBERS)[draw.integers(len(NUMBERS))]
    return name, NUMBERS[name]
