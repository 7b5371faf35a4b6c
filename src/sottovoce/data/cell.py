"""The rule of one cell: what a single value means, whatever column, array or file it came in.

Every door reads by this rule and by nothing else: a cell's meaning is a function of that cell and of what is
declared, so no record can change how another is read. Columns read at once (`cells`) must equal it.

- A number is its nearest float64: 3, 3.0, Decimal("3"), Fraction(3), NumPy's and the text " 3 " are one
  value. Beyond float64 it is infinite; a complex number is one if its imaginary part is 0. True is 1 and
  False is 0, and so are the texts "true" and "false" in any case. Bytes are the text they hold in UTF-8.
- Other text is itself, to the letter.
- None, NaN, NaT, NA, dates, durations, containers and objects of unknown types are no value at all.

Code of an object's own class never runs: it might raise, remember or answer differently the next time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import NDArray

Label: TypeAlias = str | int | float | bool
Value: TypeAlias = str | float | None
T = TypeVar("T")

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A")
"""How text may spell a missing number."""

SPACES = " \t\n\r\v\f"
"""What trimming takes off."""

_TRUTHS = {"true": 1.0, "false": 0.0}

_DENSEST = 4096
"""Largest distance of two declared whole numbers up to which a table is made of all between them."""


def number(cell: object) -> float:
    """The cell as float64, NaN where it is no number."""
    text = text_of(cell)
    return spelled(text) if text is not None else _real(cell)


def spelled(text: str) -> float:
    """The number or truth value that a text spells, spaces around it aside; NaN for any other text."""
    if not text.isascii() or "_" in text:
        return math.nan
    try:
        return float(text)
    except ValueError:
        return _TRUTHS.get(text.strip().lower(), math.nan)


def spells_missing(text: str) -> bool:
    """Whether a text that spells no number says that there is none."""
    if text.strip() in MISSING:
        return True
    try:
        return math.isnan(float(text))
    except ValueError:
        return False


def value(cell: object) -> Value:
    """What makes two cells equal: their number, else their text; None for no value, which equals nothing."""
    text = text_of(cell)
    found = spelled(text) if text is not None else _real(cell)
    return text if math.isnan(found) else found


@final
@dataclass(frozen=True)
class Spelling:
    """What of a text is read past: spaces around it (`trim`), and whether letters are large (`fold`)."""

    trim: bool = False
    fold: bool = False

    def plain(self, text: str) -> str:
        """The text without what is read past. Letters fold one by one, those with a pair of one letter."""
        kept = text.strip(SPACES) if self.trim else text
        return "".join(map(small, kept)) if self.fold else kept


LETTERS = Spelling()
"""Text to the letter."""


def small(letter: str) -> str:
    """The small letter of a pair, such as E and e; any other character itself."""
    lower = letter.lower()
    return lower if len(lower) == 1 and lower.upper() == letter else letter


@final
class Codebook:
    """Declared labels, and which of them a cell is.

    A cell has the label with its letters, else the one with its spelling, else the one with its value. Where
    several labels share a spelling, or several texts spell one number ("1.1", "1.10"), none has it."""

    def __init__(self, labels: Sequence[Label], spelling: Spelling = LETTERS) -> None:
        self._letters = {label: code for code, label in enumerate(labels) if isinstance(label, str)}
        self._spelling = spelling
        self._plain = _unshared(spelling.plain(label) if isinstance(label, str) else None for label in labels)
        self._values = _unshared(map(value, labels))

    @cached_property
    def numbers(self) -> dict[float, int]:
        """The labels that are numbers or spell them."""
        return {held: code for held, code in self._values.items() if isinstance(held, float)}

    def code(self, cell: object) -> int:
        """Position of the cell's label, -1 for none."""
        text = text_of(cell)
        if text is not None:
            if text in self._letters:
                return self._letters[text]
            plain = self._spelling.plain(text)
            if plain in self._plain:
                return self._plain[plain]
        found = value(cell)
        return -1 if found is None else self._values.get(found, -1)


@lru_cache(maxsize=1024)
def codebook(labels: tuple[Label, ...], spelling: Spelling = LETTERS) -> Codebook:
    """The codebook of these labels, made once: a table has many chunks. Equal labels, such as 1 and True,
    have equal codebooks."""
    return Codebook(labels, spelling)


def _unshared(held: Iterable[T]) -> dict[T, int]:
    """The place of everything that is held once."""
    listed = list(held)
    counts = Counter(listed)
    return {one: place for place, one in enumerate(listed) if counts[one] == 1}


def dense(wanted: dict[float, int]) -> tuple[float, NDArray[np.intp]] | None:
    """The least declared number and a table from it to the largest, -1 for one between that is not declared;
    None where they are not all whole, or too far apart."""
    if not (wanted and max(wanted) - min(wanted) <= _DENSEST and all(key == np.floor(key) for key in wanted)):
        return None
    least = min(wanted)
    table = np.full(int(max(wanted) - least) + 1, -1, dtype=np.intp)
    for key, code in wanted.items():
        table[int(key - least)] = code
    return least, table


def text_of(cell: Any) -> str | None:
    """The text that a cell is, or holds as bytes; None for anything else."""
    kind = type(cell)
    if issubclass(kind, str):
        return str.__str__(cell)
    if issubclass(kind, bytes):
        try:
            return bytes.decode(cell, "utf-8")
        except UnicodeDecodeError:
            return None
    return None


def _real(cell: Any) -> float:
    kind = type(cell)
    try:
        if issubclass(kind, float):
            return float.__float__(cell)
        if issubclass(kind, int):
            return _rounded(int.__int__(cell))
        if issubclass(kind, np.timedelta64):
            return math.nan
        if issubclass(kind, np.integer):
            return _rounded(np.generic.__int__(cell))
        if issubclass(kind, np.floating | np.bool_):
            return np.generic.__float__(cell)
        if issubclass(kind, Decimal):
            return Decimal.__float__(cell)
        if issubclass(kind, np.complexfloating):
            return _real(np.generic.real.__get__(cell)) if np.generic.imag.__get__(cell) == 0 else math.nan
        if issubclass(kind, complex):
            plain = complex.__complex__(cell)
            return plain.real if plain.imag == 0.0 else math.nan
        if kind is Fraction:
            return _ratio(cell)
    except (ValueError, TypeError):  # a signalling NaN; a class that hides its base's method
        return math.nan
    return math.nan


def _rounded(whole: int) -> float:
    try:
        return float(whole)
    except OverflowError:
        return math.inf if whole > 0 else -math.inf


def _ratio(cell: Fraction) -> float:
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
