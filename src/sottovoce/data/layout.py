"""Which encoded columns are numbers and which are codes: from the schema alone, no row is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.data import blocks
from sottovoce.data.schema import Schema
from sottovoce.errors import ParameterError

_TILE = 256
"""Rows of a tile: a run of the compiled passes."""


class CodeColumn(NamedTuple):
    """Dense columns of which a row has at most one other than 0, and what that one holds."""

    start: int
    size: int
    unit: float


@final
@dataclass(frozen=True)
class RowLayout:
    """How a dense row of `dim` columns is kept: `numbers` are the dense columns held as float32, the constant
    last; `codes` the groups of which the place of the one entry is held; `unit` is what the constant holds.

    Equal for equal schemas, so it is public, as is all that depends on it: the type of codes follows from how
    many categories are declared, the rows of a tile and of a block from `dim`."""

    dim: int
    numbers: tuple[int, ...]
    codes: tuple[CodeColumn, ...]
    unit: float

    @staticmethod
    def of(schema: Schema) -> RowLayout:
        """Columns and interactions that are indicators alone become codes."""
        return _layout(schema)

    @property
    def constant(self) -> int:
        """The dense column of the constant."""
        return self.numbers[-1]

    @property
    def indicators(self) -> tuple[tuple[int, int], ...]:
        """Dense columns, from start to stop, that are the indicators of one category each."""
        return tuple((code.start, code.start + code.size) for code in self.codes)

    @property
    def block_length(self) -> int:
        """Rows of a block: those of dense rows, but never fewer than a lane of eight."""
        return max(8, blocks.dense_block_length(self.dim))

    @property
    def tile(self) -> int:
        return min(_TILE, self.block_length)

    @cached_property
    def kind(self) -> np.dtype[Any]:
        """Type of a code: it holds every declared place and one past the last, which means none."""
        return np.min_scalar_type(max((code.size for code in self.codes), default=0))

    @property
    def row_bytes(self) -> int:
        """Memory of one row."""
        return 4 * len(self.numbers) + self.kind.itemsize * len(self.codes)

    @cached_property
    def none(self) -> NDArray[Any]:
        """For each code column the code that means none of its features."""
        return np.array([code.size for code in self.codes], dtype=self.kind)


@lru_cache(maxsize=64)
def _layout(schema: Schema) -> RowLayout:
    unit = schema.unit
    short = float(np.float32(unit))
    numbers, codes, place = list[int](), list[CodeColumn](), 0

    def add(width: int, one_hot: bool, held: float) -> None:
        nonlocal place
        if one_hot:
            codes.append(CodeColumn(place, width, held))
        else:
            numbers.extend(range(place, place + width))
        place += width

    widths = {column.name: (len(column.features), column.one_hot) for column in schema.columns}
    for width, one_hot in widths.values():
        add(width, one_hot, short)
    for first, second in schema.interactions:
        (left, one), (right, other) = widths[first], widths[second]
        add(left * right, one and other, float(np.float32(short * (short / unit))))
    add(1, False, short)
    return RowLayout(place, tuple(numbers), tuple(codes), short)


def indicators_of(table: Any, declared: Any, constant: bool) -> tuple[tuple[int, int], ...]:
    """Blocks of indicators of a table with a constant column: those of its layout, else as declared."""
    layout = getattr(table, "layout", None)
    if isinstance(layout, RowLayout):
        return layout.indicators if constant else ()
    return checked_indicators(declared, table.shape[1], constant)


def checked_indicators(declared: Any, columns: int, constant: bool) -> tuple[tuple[int, int], ...]:
    """Declared blocks of indicators, (start, stop) each, in order and apart, before the constant column."""
    members = np.asarray(declared)
    if not members.size:
        return ()
    if not constant:
        raise ParameterError("indicators are those of X beside its constant column: declare constant=True.")
    if members.dtype.kind not in "iu" or members.ndim != 2 or members.shape[1] != 2:
        raise ParameterError(
            "indicators must be pairs (start, stop) of column numbers.", argument="indicators"
        )
    flat = members.ravel()
    if (
        flat[0] < 0
        or flat[-1] >= columns
        or not np.all(members[:, 0] < members[:, 1])
        or np.any(np.diff(flat) < 0)
    ):
        raise ParameterError(
            f"indicators must be in order, apart and not empty, within the {columns - 1} columns of X before "
            "the constant.",
            argument="indicators",
        )
    return tuple((start, stop) for start, stop in members.tolist())
