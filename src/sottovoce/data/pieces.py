"""Pieces of a Parquet table as bounded rows and their targets, by the rules of the schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data.compact import Compact
from sottovoce.data.compact_columns import TileWriter
from sottovoce.data.compact_rows import LEAST_COMPACT, bound_compact
from sottovoce.data.encoding import require_type
from sottovoce.data.layout import RowLayout
from sottovoce.data.rows import bound_dense, require_short
from sottovoce.data.schema import Schema
from sottovoce.data.tables import (
    Rule,
    encoded_columns,
    has_cells_to_check,
    read_targets,
    require_valid,
    unusable_targets,
)

Encode = Callable[[NDArray[Any]], Vector]
"""Makes numbers of targets, each by itself."""


def zeros(values: NDArray[Any]) -> Vector:
    """For whoever reads rows alone."""
    return np.zeros(len(values))


class Piece(NamedTuple):
    """Rows that are held together: one Arrow batch, or several where the types of the files differ."""

    batches: tuple[Any, ...]

    @property
    def num_rows(self) -> int:
        return sum(batch.num_rows for batch in self.batches)


@final
class PieceReader:
    """Encodes batches one by one, in any thread: compiled straight into tiles where told to, else by columns.

    `spelled` are the columns' names as the files have them. Both ways give the same rows and refuse alike."""

    def __init__(
        self,
        schema: Schema,
        spelled: Mapping[str, str],
        radius: float,
        *,
        lenient: bool,
        encode: Encode,
        compiled: bool,
    ) -> None:
        self._schema, self._spelled, self._radius = schema, spelled, radius
        self._lenient, self._encode = lenient, encode
        self._layout = RowLayout.of(schema) if radius >= LEAST_COMPACT else None
        direct = compiled and self._layout is not None and not schema.interactions
        self._writer = TileWriter(schema) if direct else None
        self._valid = set[tuple[str, Any]]()

    def read(self, piece: Piece, room: Compact | None, targets: Vector) -> Any:
        """The rows of a piece, in `room` if they are held compact; their targets are written."""
        if self._writer is not None and room is not None and len(piece.batches) == 1:
            self._write(self._writer, piece.batches[0], room, targets)
            return room
        rule = Rule(lenient=self._lenient, typed=True)
        parts = [
            encoded_columns(batch.num_rows, self._column_of(batch), self._schema, self._schema.target, rule)
            for batch in piece.batches
        ]
        start = 0
        for part in parts:
            assert part.target is not None
            targets[start : start + len(part.target)] = self._encode(part.target)
            if room is not None:
                room.write(start, *part.features)
            start += len(part.target)
        usable = np.ones(piece.num_rows, dtype=bool)
        if room is not None:
            room.clear_padding()
            return bound_compact(room, self._radius, usable)
        rows = Compact.joined(RowLayout.of(self._schema), [part.features for part in parts])
        stored = bound_dense(rows, self._radius, False, usable)
        stored.flags.writeable = False
        return stored

    def _write(self, writer: TileWriter, piece: Any, room: Compact, targets: Vector) -> None:
        aim = self._schema.target
        assert aim is not None

        def checked(name: str) -> Any:
            return self._checked(name, piece.column(self._spelled[name]))

        writer.write(room, checked)
        if not writer.are_short(room, self._radius):
            require_short(np.array([np.inf]), self._radius)
        if aim.classes is None:
            values, unusable = read_targets(checked, aim, self._schema, self._lenient)
            assert values is not None
            targets[:] = self._encode(values)
        else:
            writer.write_classes(targets, checked(aim.name), self._encoded)
            unusable = unusable_targets(~np.isnan(targets), aim, self._lenient)
            if unusable is not None:
                targets[unusable] = self._encoded[0]
        if unusable is not None:
            room.clear(unusable)

    @cached_property
    def _encoded(self) -> Vector:
        """What each declared class becomes."""
        assert self._schema.target is not None
        return self._encode(np.array(self._schema.target.classes))

    def _checked(self, name: str, column: Any) -> Any:
        """The column, refused unless it can be what is declared: by its type, and unless lenient by the cells
        of text and of dates, or the words of its dictionary where it has one."""
        if (name, column.type) in self._valid:
            return column
        words = getattr(column, "dictionary", column)
        if self._lenient:
            require_type(words, self._schema, name)
        else:
            require_valid(words, self._schema, name)
        if self._lenient or (words is column and not has_cells_to_check(column)):
            self._valid.add((name, column.type))
        return column

    def _column_of(self, piece: Any) -> Callable[[str], Any]:
        return lambda name: piece.column(self._spelled[name])
