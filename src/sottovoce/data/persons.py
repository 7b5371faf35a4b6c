"""Whose rows these are: persons by their keys, and what each of their rows counts.

A person with m rows counts 1, each row 1/m, so its part in every sum lies in the convex hull of row terms.
Keys are read one by one, numbers by their value and others as text, so that a key is the same in a column of
integers, of floats, of decimals and of text, whichever another row's made it. Keys that differ in blanks
around them, in leading zeros or past the 15th digit may then be one person, whom one promise covers together.
Identifiers (UUID) and bytes are keys too; truth values, dates, lists and other objects are not. Keys are
forgotten at once, only who shares rows is kept.
"""

from __future__ import annotations

import math
import unicodedata
import zlib
from contextlib import suppress
from numbers import Integral
from typing import Any, final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from sottovoce.accounting.relations import Relation
from sottovoce.arrays import Vector
from sottovoce.data import arrow_cells, cells
from sottovoce.data.cell import number, spelled, text_of
from sottovoce.data.cells import Coded, one_by_one
from sottovoce.data.frames import series_column
from sottovoce.data.sealed import Sealed
from sottovoce.errors import BLANK, Advice, DataError, ParameterError

MOST_ROWS = 2**30
"""Rows that all persons may have together: how many there are is private, so rounding allows for these."""

SHARE_MARGIN = 2.0**-50
"""A row counts (1 - 2^-50)/m: neither the quotient, nor its product with a sample weight, nor m of them
rounded make a person count more than 1."""

LONGEST_COMPOSED = 1024
"""Characters of the longest key that is brought into one Unicode form: marks that combine are sorted one past
the other, so that a megabyte of them, in one key, would take minutes."""

LIGHTEST = 1.0 - 2.0**-48
"""Least that a person counts, by the same margin."""


def require_declared(persons: int | None, *, lenient: bool, relation: Relation | None = None) -> None:
    """Refuse to count persons where one of them, or a missing key, would change their number. Public facts
    decide it: before a table is read, so that no count is formed."""
    declare = Advice("persons", "20000", "persons=20_000")
    if persons is None and lenient:
        raise ParameterError(
            'with invalid="zero" the number of persons may not be counted: a missing key would change it. '
            "Declare it, from what is public: persons=20_000.",
            argument="persons",
            advice=(BLANK, declare),
        )
    if persons is None and relation is Relation.ZERO_OUT:
        raise ParameterError(
            "under zero-out the number of persons may not be counted: one of them would change it. Declare "
            "it, from what is public: persons=20_000.",
            argument="persons",
            advice=(declare,),
        )


@final
class Persons(Sealed):
    """The person of every row, as a number below n; -1 where the key is missing.

    `declared`: n was declared and not counted, as zero-out needs: the number of keys differs by one there.
    `quota`: a row counts no more than one of so many, however few its person has.
    `alone`: these are records that several rows were made of, and nobody told whose records they are."""

    __slots__ = ("_owners", "_starts", "alone", "declared", "n", "quota")

    def __init__(
        self,
        owners: NDArray[np.int64],
        starts: NDArray[np.int64],
        n: int,
        *,
        declared: bool,
        quota: int = 1,
        alone: bool = False,
    ) -> None:
        self._owners = owners
        self._starts = starts
        self.n = n
        self.declared = declared
        self.quota = quota
        self.alone = alone

    @classmethod
    def given(
        cls,
        groups: Any,
        rows: int,
        declared: int | None,
        *,
        lenient: bool,
        quota: int = 1,
        alone: bool = False,
    ) -> Persons | None:
        """`of` these keys; None where none are given, when each row is a record by itself."""
        if groups is not None:
            return cls.of(groups, rows, declared, lenient=lenient, quota=quota, alone=alone)
        if declared is not None:
            raise ParameterError("persons counts the people named by groups: pass groups too.")
        return None

    @classmethod
    def of(
        cls,
        groups: Any,
        rows: int,
        declared: int | None,
        *,
        lenient: bool,
        quota: int = 1,
        alone: bool = False,
    ) -> Persons:
        """Read a key for every row. A missing one (None, NaN, blank, neither text nor number) is refused, or,
        if `lenient`, its row counts 0: it never becomes a person of its own. Then n must be declared: someone
        whose only row has no key would otherwise change it."""
        require_declared(declared, lenient=lenient)
        keys = read_keys(groups, rows)
        if not lenient and any(key is None for key in keys):
            raise DataError(
                "some rows have no person's key, or one that is neither text nor a number. Clean them, "
                'or pass invalid="zero": they then count nothing.',
                advice=(BLANK,),
            )
        if rows > MOST_ROWS:
            raise DataError(f"persons may have at most {MOST_ROWS} rows together.")
        numbers: dict[str, int] = {}
        owners = np.fromiter(
            (-1 if key is None else numbers.setdefault(key, len(numbers)) for key in keys), np.int64, rows
        )
        counted = len(numbers)
        starts = np.fromiter(map(_start, numbers), np.int64, counted)
        if declared is None:
            if not counted:
                raise DataError("no row has a person's key.")
            return cls(owners, starts, counted, declared=False, quota=quota)
        if isinstance(declared, bool) or not isinstance(declared, Integral) or declared < 1:
            raise ParameterError(
                "persons, how many there are, must be a whole number of at least 1.", argument="persons"
            )
        if counted > declared:
            raise DataError("there are more persons than declared. Declare an upper bound that is public.")
        return cls(owners, starts, int(declared), declared=True, quota=quota, alone=alone)

    def shares(self) -> Vector:
        """What each row counts: (1 - 2^-50)/max(m, quota) if its person has m, 1 if both are 1, else 0.

        m of them sum to 1 at most: a person's part in a sum lies in the convex hull of row terms and 0."""
        held = np.maximum(self._owners, 0)
        rows = np.maximum(np.bincount(held[self._owners >= 0], minlength=self.n)[held], self.quota)
        shares = np.where(rows == 1, 1.0, (1.0 - SHARE_MARGIN) / np.maximum(rows, 1))
        return np.where(self._owners < 0, 0.0, shares)

    def floored(self, merits: Vector, steps: int) -> Vector:
        """The mean of each person's merits, from 0 to 1, in whole steps, rounded down: whole numbers add up
        exactly, and no person has more than `steps`."""
        known = self._owners >= 0
        means = np.bincount(self._owners[known], (self.shares() * merits)[known], minlength=self.n)
        return np.floor(np.clip(means, 0.0, 1.0) * steps)

    def cells(self, places: NDArray[np.intp], entries: int, steps: int) -> Vector:
        """How many whole steps of persons lie in each cell, a person's rows being divided over theirs.

        A person's cells are nonnegative and sum to `steps` at most: they move as one record's do."""
        known = self._owners >= 0
        pairs, inverse = np.unique(self._owners[known] * entries + places[known], return_inverse=True)
        held = np.floor(np.clip(np.bincount(inverse, self.shares()[known]), 0.0, 1.0) * steps)
        return np.asarray(np.bincount(pairs % entries, held, minlength=entries), dtype=np.float64)

    def owners_in(self, span: slice) -> NDArray[np.int64]:
        """The persons of these rows; -1 where the key is missing. Private."""
        return self._owners[span]

    def rows_in_order(self) -> NDArray[np.int64]:
        """Rows with a key, person by person, those of one in the order in which they came."""
        return np.argsort(self._owners, kind="stable")[np.count_nonzero(self._owners < 0) :]

    def row_numbers(self) -> NDArray[np.int64]:
        """A number for each row, which its person's key and earlier rows decide and nobody else; rows without
        a key are counted from 0."""
        order = np.argsort(self._owners, kind="stable")
        met = self._owners[order]
        numbers = np.empty_like(order)
        numbers[order] = np.arange(len(order)) - np.searchsorted(met, met)
        return np.asarray(numbers + np.append(self._starts, 0)[self._owners])

    def first_rows(self) -> NDArray[np.int64]:
        """Where in that order each person begins, and where the last one ends."""
        counts = np.bincount(self._owners[self._owners >= 0], minlength=self.n)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def rows_of(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """All rows of these persons, in increasing order: nobody is split over batches."""
        chosen = np.zeros(self.n + 1, dtype=bool)
        chosen[indices] = True
        return np.flatnonzero(chosen[self._owners]).astype(np.int64)

    def __repr__(self) -> str:
        return f"Persons({self.n}, private)"


class Keys(list[str | None]):
    """Keys as `read_keys` returns them, which need not be read again."""


def read_keys(groups: Any, rows: int) -> Keys:
    """A text for each row, None where there is none; read by itself, whatever the others are."""
    keys: Keys | None = None
    with suppress(Exception):
        keys = groups if type(groups) is Keys else Keys(_keys(_column(groups)))
    if keys is None or len(keys) != rows:
        raise DataError("groups must hold one person's key for each row.")
    return keys


def require_key_type(column: Any, name: str) -> None:
    """Refuse a column of keys whose type holds neither text nor numbers."""
    plain = cells.unwrapped(column)
    held = plain.values if isinstance(plain, Coded) else plain
    if not isinstance(held, np.ndarray) and not _may_be_key(held.type):
        raise DataError(
            f"column {name!r} is to hold persons' keys, but its type is neither text nor numbers. Convert it."
        )


def _column(groups: Any) -> Any:
    """A column as `cells` reads them."""
    if isinstance(groups, list):
        return one_by_one(groups)
    import narwhals as nw
    import pyarrow as pa

    if isinstance(groups, Coded | np.ndarray | pa.Array | pa.ChunkedArray):
        return groups
    if nw.dependencies.is_into_series(groups):
        return series_column(nw.from_native(groups, series_only=True))
    return one_by_one(groups)


def _keys(column: Any) -> list[str | None]:
    plain = cells.unwrapped(column)
    if isinstance(plain, Coded):
        known = [*_keys(plain.values), None]
        return [known[place] for place in plain.places.tolist()]
    if isinstance(plain, np.ndarray):
        if plain.ndim != 1:
            raise ValueError("one key a row")
        if plain.dtype.kind in cells.TEXT:
            return [_text(key) for key in plain.tolist()]
        if plain.dtype.kind not in "iufc":
            return [None] * len(plain)
    elif not _may_be_key(plain.type):
        return [None] * len(plain)
    if isinstance(plain, np.ndarray) or cells.holds_numbers_only(plain):
        return [_digits(key) for key in cells.numbers(plain).tolist()]
    return [_text(key) for key in _bytes(plain).to_pylist()]


def _bytes(column: Any) -> Any:
    """Text as its bytes, which need not be UTF-8; an identifier as its text."""
    import pyarrow as pa

    if isinstance(column.type, pa.UuidType):
        listed = [None if held is None else str(UUID(bytes=held)) for held in column.storage.to_pylist()]
        return pa.array(listed, pa.large_string()).cast(pa.large_binary())
    return column.cast(pa.large_binary())


def _may_be_key(kind: Any) -> bool:
    import pyarrow as pa
    import pyarrow.types as types

    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    text = arrow_cells.is_text(kind) or types.is_fixed_size_binary(kind) or isinstance(kind, pa.UuidType)
    return bool(number or text or types.is_null(kind))


def _start(key: str) -> int:
    """Where the numbers of a person's rows start: spread over 2^32, no secret."""
    return zlib.crc32(key.encode("utf-8", "surrogatepass"))


def _text(key: Any) -> str | None:
    """Text without outer blanks, in one Unicode form unless it is very long; of a number, spelled or not, its
    digits; of an identifier its text; of bytes that are no text, their digits in hexadecimal."""
    if isinstance(key, bool | np.bool_):
        return None
    if type(key) is UUID:
        return str(key)
    text = text_of(key)
    if text is None and issubclass(type(key), bytes):
        return f"bytes {bytes.hex(key)}"
    if text is None:
        return _digits(number(key))
    plain = text.strip()
    if len(plain) <= LONGEST_COMPOSED:
        plain = unicodedata.normalize("NFC", plain)
    return _digits(spelled(plain) if any(map(str.isdigit, plain)) else math.nan) or plain or None


def _digits(found: float) -> str | None:
    """A number as text: whole ones without a point."""
    if math.isnan(found):
        return None
    return str(int(found)) if found.is_integer() else repr(found)
