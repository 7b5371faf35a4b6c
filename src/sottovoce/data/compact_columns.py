"""Columns of Arrow batches written straight into the tiles of compact rows: no table in between.

The entries are those of `encoding.encode_columns`. A cell's features depend on that cell and the schema, so
all that a type of 8 or 16 bits or a dictionary can hold is encoded once, by the column itself, and looked up;
numbers of other types are scaled and matched by compiled code. Anything else is encoded by the column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data import arrow
from sottovoce.data.cell import codebook, dense
from sottovoce.data.columns import Categorical, Column, Indicators
from sottovoce.data.compact import Compact
from sottovoce.data.layout import RowLayout
from sottovoce.data.numbers import Numeric
from sottovoce.data.rows import CLIP_MARGIN
from sottovoce.data.schema import Schema

_ALL = np.zeros(0, dtype=np.uint8)
_ALL.flags.writeable = False
"""Bits of a column without a missing cell."""

_LOOKED_UP = 16
"""Bits of whole numbers of which a table of all is made."""

Table = NDArray[Any]
Entries = Callable[[Any], Table]
"""What becomes of each cell of an Arrow array: a row of the table for each number it is made into."""


class Memory(NamedTuple):
    """Cells of a typed column, and the bits that say which are given, from `offset` on."""

    values: NDArray[Any]
    present: NDArray[np.uint8]
    offset: int

    @classmethod
    def of(cls, column: Any) -> Memory | None:
        """Of an Arrow array of integers, or of floats of 32 or 64 bits; None of another."""
        import pyarrow.types as types

        kinds = {"f": types.is_floating, "i": types.is_signed_integer, "u": types.is_unsigned_integer}
        kind = next((letter for letter, test in kinds.items() if test(column.type)), "")
        if not kind or (kind == "f" and column.type.bit_width < 32):
            return None
        held = np.frombuffer(column.buffers()[1], f"{kind}{column.type.bit_width // 8}")
        values = held[column.offset : column.offset + len(column)]
        bits = np.frombuffer(column.buffers()[0], np.uint8) if column.null_count else _ALL
        return cls(values, bits, column.offset)

    @property
    def unsigned(self) -> Memory:
        """The same bits as numbers from 0 on, as `arrow.all_of` orders them."""
        return self._replace(values=self.values.view(f"u{self.values.itemsize}"))


@final
class TileWriter:
    """Writes the columns of a schema without interactions, and its classes; tables are made once a type."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._layout = RowLayout.of(schema)
        self._tables: dict[tuple[str, str, Any], tuple[Table, Table]] = {}

    def write(self, out: Compact, column_of: Callable[[str], Any]) -> None:
        """Fill the rows; `column_of` gives Arrow arrays by their names in the schema."""
        number = code = 0
        for column in self._schema.columns:
            held = column_of(column.source)
            if isinstance(column, Indicators) and column.one_hot:
                self._write_places(out.codes, code, held, column)
                code += 1
            else:
                self._write_numbers(out.numbers, number, held, column)
                number += len(column.features)
        out.numbers[:, number] = self._schema.unit
        out.clear_padding()

    def write_classes(self, out: Vector, held: Any, encoded: Vector) -> None:
        """`encoded` of each cell's class, NaN where a cell has none of them."""
        aim = self._schema.target
        assert aim is not None
        classes, reading, marked = aim.classes or (), self._schema.reading(aim), np.append(encoded, np.nan)

        def entries(cells_: Any) -> Table:
            return marked[reading.codes(cells_, classes)][None]

        tiled = out.reshape(1, 1, -1)
        if self._look_up(("target", aim.name), tiled, 0, held, entries):
            return
        book = codebook(tuple(classes), reading.spelling).numbers
        if not _match(tiled, 0, held, book, marked):
            _put(tiled, 0, entries(held))

    def are_short(self, rows: Compact, radius: float) -> bool:
        """Whether all rows lie within the radius, by the rule of `require_short`, each code column counted as
        if it had one of its features."""
        from sottovoce.data.compiled import columns as compiled

        units = sum(code.unit**2 for code in self._layout.codes)
        return bool(compiled.are_short(rows.numbers, rows.n, units, radius**2 * (1.0 - CLIP_MARGIN / 2.0)))

    def _write_places(self, tiled: Table, place: int, held: Any, column: Indicators) -> None:
        reading, size = self._schema.reading(column), self._layout.codes[place].size

        def entries(cells_: Any) -> Table:
            found = column.places(cells_, reading)
            return np.where(found < 0, size, found).astype(tiled.dtype)[None]

        if self._look_up(("column", column.name), tiled, place, held, entries):
            return
        if isinstance(column, Categorical) and not column.indicator:
            book = codebook(column.categories, reading.spelling).numbers
            if _match(tiled, place, held, book, np.append(np.arange(size), size).astype(tiled.dtype)):
                return
        _put(tiled, place, entries(held))

    def _write_numbers(self, tiled: Table, place: int, held: Any, column: Column) -> None:
        reading, unit = self._schema.reading(column), self._schema.unit

        def entries(cells_: Any) -> Table:
            block = np.zeros((len(cells_), len(column.features)), dtype=np.float32)
            column.fill(block, cells_, reading, unit)
            return np.ascontiguousarray(block.T)

        if self._look_up(("column", column.name), tiled, place, held, entries):
            return
        memory = None if reading.missing else Memory.of(held)
        if memory is None or not isinstance(column, Numeric) or column.transform or column.indicator:
            _put(tiled, place, entries(held))
            return
        from sottovoce.data.compiled import columns as compiled

        compiled.scale(*memory, (column.low, column.high), column.constants, unit, tiled, place)

    def _look_up(self, name: tuple[str, str], tiled: Table, place: int, held: Any, entries: Entries) -> bool:
        """Whether the cells could be looked up in a table of all that they may be."""
        import pyarrow as pa

        if pa.types.is_dictionary(held.type):
            memory = Memory.of(held.indices)
            table, absent = entries(held.dictionary), entries(pa.nulls(1, held.dictionary.type))
        elif pa.types.is_integer(held.type) and held.type.bit_width <= _LOOKED_UP:
            memory = Memory.of(held)
            memory = memory and memory.unsigned
            known = self._tables.get((*name, held.type))
            if known is None:
                known = entries(arrow.all_of(held.type)), entries(pa.nulls(1, held.type))
                self._tables[*name, held.type] = known
            table, absent = known
        else:
            return False
        if memory is None:
            return False
        from sottovoce.data.compiled import columns as compiled

        complete = not pa.types.is_dictionary(held.type)
        for number, (row, missing) in enumerate(zip(table, absent, strict=True), place):
            compiled.look_up(*memory, row, missing[0], complete, tiled, number)
        return True


def _match(tiled: Table, place: int, held: Any, book: dict[float, int], turned: Table) -> bool:
    """Whether the cells are numbers that could be matched with the declared ones: turned[code] of each, the
    last entry where none fits."""
    memory, table = Memory.of(held), dense(book)
    if memory is None or table is None:
        return False
    from sottovoce.data.compiled import columns as compiled

    compiled.match(*memory, table[0], turned[table[1]], turned[-1], tiled, place)
    return True


def _put(tiled: Table, place: int, entries: Table) -> None:
    """Write columns one after another, from `place` on, into the tiles."""
    width, n = tiled.shape[2], entries.shape[1]
    whole = n // width
    for number, given in enumerate(entries, place):
        tiled[:whole, number] = given[: whole * width].reshape(whole, width)
        if n % width:
            tiled[whole, number, : n % width] = given[whole * width :]
