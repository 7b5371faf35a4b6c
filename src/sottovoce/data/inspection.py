"""What a schema finds in a table, counted exactly: for the owner of the data alone, never to be published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, final

import numpy as np

from sottovoce.arrays import Vector
from sottovoce.data import cells
from sottovoce.data.cell import LETTERS, Spelling
from sottovoce.data.columns import Column, Target
from sottovoce.data.dates import DatePart, moments, spelled_as
from sottovoce.data.numbers import Binned, Numeric, Spline
from sottovoce.data.options import AS_WRITTEN, ReadOptions
from sottovoce.data.persons import read_keys
from sottovoce.data.schema import Schema
from sottovoce.data.sources import open_source


@final
@dataclass
class Findings:
    """Cells of one column: of `rows` so many are missing, undeclared or misread, clipped, or were trimmed.

    `untrimmed` counts text that matches only once spaces or case are read past, `misspelled` undeclared text
    that would match if they were. `constant` says that every row is encoded alike, so that the column tells
    nothing. `persons`: how many keys a column of keys has; a row without one is missing."""

    column: str
    rows: int = 0
    missing: int = 0
    undeclared: int = 0
    clipped: int = 0
    untrimmed: int = 0
    misspelled: int = 0
    constant: bool = True
    persons: int | None = None

    @property
    def useless(self) -> str:
        """Why no cell of the column can be used, in words; empty where one can."""
        if not self.rows or self.missing + self.undeclared < self.rows:
            return ""
        if self.misspelled:
            return "no declared category occurs: they are spelled otherwise; declare them so, or fold = true"
        return "no cell is what the schema declares"

    def to_dict(self) -> dict[str, Any]:
        found = {part.name: getattr(self, part.name) for part in fields(self)}
        found["useless"] = self.useless
        return {name: value for name, value in found.items() if value is not None}


def inspect(table: Any, schema: Schema, how: ReadOptions = AS_WRITTEN) -> list[Findings]:
    """Findings for every column, then the weights, the target and the keys. Exact functions of the records:
    no budget, no privacy."""
    parts: list[Column | Target] = [*schema.declared_columns, *_told(schema)]
    found = [Findings(part.name) for part in parts]
    firsts: dict[int, Any] = {}
    wanted = tuple(dict.fromkeys((*(part.source for part in parts), *schema.keyed_by)))
    people = [Findings(name, constant=False) for name in schema.keyed_by]
    keys: set[str | None] = set()
    for rows, column_of in open_source(table, how).chunks(wanted):
        for one in people:
            read = read_keys(column_of(one.column), rows)
            keys.update(read)
            one.rows, one.missing, one.persons = (
                one.rows + rows,
                one.missing + read.count(None),
                len(keys - {None}),
            )
        for place, part in enumerate(parts):
            held = column_of(part.source)
            found[place].rows += rows
            _count(found[place], held, part, schema)
            encoded = _encoded(part, rows, held, schema)
            if rows:
                first = firsts.setdefault(place, encoded[0])
                found[place].constant &= bool((encoded == first).all())
    return [*found, *people]


def _told(schema: Schema) -> list[Column | Target]:
    """The weights, the target and what is read beside it, as columns of their own."""
    found: list[Column | Target] = []
    if schema.weight is not None:
        found.append(Numeric(schema.weight, 0.0, schema.weight_cap or 1.0))
    aim = schema.target
    if aim is None:
        return found
    if aim.exposure is not None and aim.exposure_high is not None:
        found.append(Numeric(aim.exposure, aim.exposure_low, aim.exposure_high))
    if aim.survival is not None:
        found += [Numeric(name, 0.0, aim.survival.grid[-1]) for name in aim.survival.columns]
    return [*found, aim]


def _count(into: Findings, held: Any, part: Column | Target, schema: Schema) -> None:
    reading = schema.reading(part)
    missing = reading.is_missing(held)
    if isinstance(part, DatePart):
        misread = np.isnat(moments(held, spelled_as(part.format)))
    elif part.labels is None:
        values = reading.numbers(held)
        misread = np.isnan(values)
        low, high = _bounds(part)
        into.clipped += int(((values < low) | (values > high)).sum())
    else:
        codes = reading.codes(held, part.labels)
        misread = codes < 0
        into.untrimmed += int(((codes >= 0) & (cells.codes(held, part.labels, LETTERS) < 0)).sum())
        into.misspelled += int((misread & (cells.codes(held, part.labels, Spelling(True, True)) >= 0)).sum())
    into.missing += int((missing & misread).sum())
    into.undeclared += int((~missing & misread).sum())


def _encoded(part: Column | Target, rows: int, held: Any, schema: Schema) -> Any:
    reading = schema.reading(part)
    if isinstance(part, Target):
        numbers: Callable[[Any], Vector] = reading.numbers
        return numbers(held) if part.labels is None else reading.codes(held, part.labels)
    block = np.zeros((rows, len(part.features)), dtype=np.float32)
    part.fill(block, held, reading, 1.0)
    return block


def _bounds(part: Column | Target) -> tuple[float, float]:
    """Numbers outside are clipped; bins have no bounds."""
    if isinstance(part, Numeric | Spline):
        return part.low, part.high
    if isinstance(part, Binned) or not isinstance(part, Target) or part.range is None:
        return -np.inf, np.inf
    return part.range
