"""Pieces of a Parquet table as bounded rows and their targets, by the rules of the schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data import cells
from sottovoce.data.compact import Compact
from sottovoce.data.compact_columns import TileWriter
from sottovoce.data.compact_rows import LEAST_COMPACT, bound_compact
from sottovoce.data.layout import RowLayout
from sottovoce.data.rows import bound_dense, insist_short
from sottovoce.data.schema import Schema
from sottovoce.data.tables import encoded_columns, insist_valid, read_targets, unusable_targets

Encode = Callable[[NDArray[Any]], Vector]
"""Makes numbers of targets, each by itself."""


def zeros(values: NDArray[Any]) -> Vector:
    """For whoever reads rows alone."""
    return np.zeros(len(values))


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

    def read(self, piece: Any, room: Compact | None, targets: Vector) -> Any:
        """The rows of a batch, in `room` if they are held compact; their targets are written."""
        if self._writer is not None and room is not None:
            self._write(self._writer, piece, room, targets)
            return room
        part = encoded_columns(
            piece.num_rows, self._column_of(piece), self._schema, self._schema.target, self._lenient
        )
        assert part.target is not None
        targets[:] = self._encode(part.target)
        usable = np.ones(piece.num_rows, dtype=bool)
        if room is not None:
            room.write(0, *part.features)
            room.clear_padding()
            return bound_compact(room, self._radius, usable)
        rows = Compact.joined(RowLayout.of(self._schema), [part.features])
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
            insist_short(np.array([np.inf]), self._radius)
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
        """The column, refused unless it can be what is declared: by its type where it is no text, by the
        words of its dictionary where it has one."""
        if self._lenient or (name, column.type) in self._valid:
            return column
        words = getattr(column, "dictionary", column)
        insist_valid(words, self._schema, name)
        if words is column and not cells.is_text(column.type):
            self._valid.add((name, column.type))
        return column

    def _column_of(self, piece: Any) -> Callable[[str], Any]:
        return lambda name: piece.column(self._spelled[name])
