"""Rows of a schema as they are kept: numbers as float32, categories as codes, in tiles of a few rows.

A tile holds the columns of some consecutive rows one after another. A compact row stands for one dense row x,
entry by entry the float32 numbers that `encoding.encode` gives: the kept numbers, the unit of each code
column at its code's place, zeros elsewhere. It is the same vector, so its norm is the same: the rows of a
schema stay below 1 (`encoding`), and each is measured again in float64 before it is let in.

A code of `size` or more means "none of the features". A blank row has no number but 0 and no code but none,
so that it is zero throughout, the constant included.
"""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Mask, Vector
from sottovoce.data.layout import RowLayout
from sottovoce.data.sealed import Sealed
from sottovoce.errors import DataError

Stored = NDArray[np.float32]
Codes = NDArray[Any]
Columns = tuple[Stored, Codes]
"""Numbers and codes of some rows, one row of the arrays for each column."""


@final
class Compact(Sealed):
    """n rows: `numbers` of shape (tiles, numbers, rows of a tile), `codes` likewise, padded with blanks."""

    __slots__ = ("codes", "layout", "n", "numbers")

    def __init__(self, layout: RowLayout, n: int, numbers: Stored, codes: Codes) -> None:
        tiles = -(-n // layout.tile)
        held = (tiles, len(layout.numbers), layout.tile), (tiles, len(layout.codes), layout.tile)
        if (numbers.shape, codes.shape) != held or [numbers.dtype, codes.dtype] != [
            np.dtype(np.float32),
            layout.kind,
        ]:
            raise DataError("compact rows do not fit their layout. This is a defect of sottovoce: report it.")
        self.layout, self.n, self.numbers, self.codes = layout, n, numbers, codes

    @classmethod
    def blank(cls, layout: RowLayout, n: int) -> Self:
        """n rows of zeros, to be written."""
        tiles = -(-n // layout.tile)
        numbers = np.zeros((tiles, len(layout.numbers), layout.tile), dtype=np.float32)
        codes = np.empty((tiles, len(layout.codes), layout.tile), dtype=layout.kind)
        codes[:] = layout.none[:, None]
        return cls(layout, n, numbers, codes)

    @classmethod
    def room(cls, layout: RowLayout, n: int) -> Self:
        """n rows not written yet, padding included."""
        tiles = -(-n // layout.tile)
        numbers = np.empty((tiles, len(layout.numbers), layout.tile), dtype=np.float32)
        return cls(layout, n, numbers, np.empty((tiles, len(layout.codes), layout.tile), dtype=layout.kind))

    @classmethod
    def joined(cls, layout: RowLayout, parts: list[Columns]) -> Self:
        """Columns of all parts as rows; each part is let go once it is written."""
        whole = cls.blank(layout, sum(numbers.shape[1] for numbers, _ in parts))
        place = 0
        for number, part in enumerate(parts):
            whole.write(place, *part)
            place += part[0].shape[1]
            parts[number] = part[0][:, :0], part[1][:, :0]
        return whole

    def write(self, first: int, numbers: Stored, codes: Codes) -> None:
        """Put columns, one row of the arrays each, at the rows from `first` on."""
        width, done, count = self.numbers.shape[2], 0, numbers.shape[1]
        while done < count:
            tile, place = divmod(first + done, width)
            if place or count - done < width:
                some = min(width - place, count - done)
                self.numbers[tile, :, place : place + some] = numbers[:, done : done + some]
                self.codes[tile, :, place : place + some] = codes[:, done : done + some]
            else:
                whole = (count - done) // width
                some = whole * width
                for to, given in ((self.numbers, numbers), (self.codes, codes)):
                    cut = given[:, done : done + some].reshape(len(given), whole, width)
                    to[tile : tile + whole] = cut.transpose(1, 0, 2)
            done += some

    def clear(self, unusable: Mask) -> None:
        """Make rows blank."""
        tiles, places = np.divmod(np.flatnonzero(unusable), self.numbers.shape[2])
        self.numbers[tiles, :, places] = 0.0
        self.codes[tiles, :, places] = self.layout.none

    def clear_padding(self) -> None:
        """Make what follows the last row in its tile blank."""
        used = self.n % self.numbers.shape[2]
        if used:
            self.numbers[-1, :, used:] = 0.0
            self.codes[-1, :, used:] = self.layout.none[:, None]

    def seal(self) -> Self:
        """Never to be written again."""
        self.numbers.flags.writeable = False
        self.codes.flags.writeable = False
        return self

    def tiles(self, first: int, last: int) -> Compact:
        """A view of the rows from `first`, where a tile begins, to `last`."""
        width = self.numbers.shape[2]
        span = slice(first // width, -(-last // width))
        return Compact(self.layout, last - first, self.numbers[span], self.codes[span])

    def columns(self, indices: NDArray[np.intp]) -> Columns:
        """A copy of the rows at these places, column by column."""
        tiles, places = np.divmod(indices, self.numbers.shape[2])
        return self.numbers[tiles, :, places].T, self.codes[tiles, :, places].T

    def take(self, indices: NDArray[np.intp]) -> Compact:
        """A copy of the rows at these places."""
        return Compact.joined(self.layout, [self.columns(indices)])

    def widen(self, out: NDArray[Any]) -> None:
        """Write the dense rows."""
        flat = self.numbers.transpose(0, 2, 1).reshape(-1, len(self.layout.numbers))[: self.n]
        out[:] = 0.0
        out[:, list(self.layout.numbers)] = flat
        for number, column in enumerate(self.layout.codes):
            codes = self._code(number).astype(np.intp)
            known = np.flatnonzero(codes < column.size)
            out[known, column.start + codes[known]] = column.unit

    def squares(self) -> Vector:
        """||x||^2 of every row."""
        numbers = self.numbers.astype(np.float64)
        found: Vector = np.einsum("tjr,tjr->tr", numbers, numbers).reshape(-1)[: self.n]
        for number, column in enumerate(self.layout.codes):
            found += column.unit**2 * (self._code(number) < column.size)
        return found

    def entries(self) -> NDArray[np.intp]:
        """How many entries of each row are not 0."""
        found = np.asarray(np.count_nonzero(self.numbers, axis=1)).reshape(-1)[: self.n]
        for number, column in enumerate(self.layout.codes):
            found += self._code(number) < column.size
        return found

    def _code(self, number: int) -> Codes:
        """One code of every row."""
        return self.codes[:, number].reshape(-1)[: self.n]

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.layout.dim

    @property
    def nbytes(self) -> int:
        return self.numbers.nbytes + self.codes.nbytes

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, wanted: Any) -> NDArray[np.float32]:
        """Dense rows, a few at a time."""
        whole = np.arange(self.n) if not isinstance(wanted, slice) else range(self.n)
        indices = np.asarray(whole[wanted], dtype=np.intp)
        out = np.empty((indices.size, self.layout.dim), dtype=np.float32)
        self.take(indices).widen(out)
        return out

    def __repr__(self) -> str:
        return f"Compact({self.layout.dim} columns, private)"
