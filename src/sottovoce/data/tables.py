"""One chunk of a table as encoded rows; a cell that cannot be what is declared is refused, or missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Mask, Vector
from sottovoce.data import cells
from sottovoce.data.columns import Column, Target
from sottovoce.data.compact import Compact
from sottovoce.data.dates import DatePart, is_beyond_calendar, is_moment, spelled_as
from sottovoce.data.encoding import encode, encode_columns, require_type
from sottovoce.data.layout import RowLayout
from sottovoce.data.reading import Reading
from sottovoce.data.schema import Schema
from sottovoce.data.sealed import Sealed
from sottovoce.data.targets import Range
from sottovoce.errors import BLANK, DataError


@final
@dataclass(frozen=True, repr=False, eq=False)
class Table(Sealed):
    """Encoded rows of norm at most 1, intercept last, and the target column if the schema declares one.

    Features are a float32 array, or Compact. The target holds the declared classes themselves, or numbers;
    `keys` the persons' of the rows, if the schema names them; `counts` what rows count, if it weighs them;
    `quota` how many rows a person may have before one counts less, `records` how many records made the rows,
    where each of them is a person of several.
    Private: for `fit` and `evaluation`."""

    features: Any
    target: NDArray[Any] | None
    keys: list[str | None] | None = None
    counts: Vector | None = None
    quota: int = 1
    records: int | None = None

    def split(self, chosen: NDArray[np.bool_]) -> tuple[Table, Table]:
        """The rows that are not chosen, in the form they have, and those that are, dense.

        Where one part has none, the first row without a key stands for them: it counts nothing."""
        held, first = self.features, np.zeros(1, dtype=np.intp)
        kept, out = np.flatnonzero(~chosen), np.flatnonzero(chosen)

        def part(places: NDArray[np.intp], *, dense: bool) -> Table:
            some = places if places.size else first
            compact = isinstance(held, Compact) and not dense
            keys = None if self.keys is None else [self.keys[place] for place in places]
            return Table(
                held.take(some) if compact else held[some],
                None if self.target is None else self.target[some],
                keys=[None] if keys == [] else keys,
                counts=None if self.counts is None else self.counts[some],
            )

        return part(kept, dense=False), part(out, dense=True)

    @property
    def weighing(self) -> dict[str, Any]:
        """What Records are told of the counts."""
        return {} if self.counts is None else {"sample_weight": self.counts, "weight_cap": 1.0}

    def __repr__(self) -> str:
        return f"Table({self.features.shape[1]} columns, private)"


@final
@dataclass(frozen=True)
class Rule:
    """What is refused. `lenient`: no cell is, one that cannot be read is missing. `typed`: types of columns
    are public, so that an unfit one is refused by either rule."""

    lenient: bool
    typed: bool


def encoded_columns(
    n: int,
    column_of: Callable[[str], Any],
    schema: Schema,
    aim: Target | None,
    rule: Rule,
    weighted: bool = False,
) -> Table:
    """n rows as numbers and codes, by the rules of `read`: cell by cell, so chunks may end anywhere."""
    checked = _checked(column_of, schema, rule)
    numbers, codes = encode_columns(schema, n, checked)
    values, unusable = read_targets(checked, aim, schema, rule.lenient)
    if unusable is not None:
        numbers[:, unusable] = 0.0
        codes[:, unusable] = RowLayout.of(schema).none[:, None]
    counts = _counts(checked, schema, aim, values, rule.lenient) if weighted else None
    return Table((numbers, codes), values, counts=counts)


def encoded_rows(
    n: int,
    column_of: Callable[[str], Any],
    schema: Schema,
    aim: Target | None,
    rule: Rule,
    weighted: bool = False,
    dtype: type = np.float32,
) -> Table:
    """n dense rows, by the same rules."""
    checked = _checked(column_of, schema, rule)
    rows = encode(schema, n, checked, dtype)
    values, unusable = read_targets(checked, aim, schema, rule.lenient)
    if unusable is not None:
        rows[unusable] = 0.0
    counts = _counts(checked, schema, aim, values, rule.lenient) if weighted else None
    return Table(rows, values, counts=counts)


def _checked(column_of: Callable[[str], Any], schema: Schema, rule: Rule) -> Callable[[str], Any]:
    def checked(name: str) -> Any:
        column = column_of(name)
        if not rule.lenient:
            require_valid(column, schema, name)
        elif rule.typed:
            require_type(column, schema, name)
        return column

    return checked


def read_targets(
    column_of: Callable[[str], Any], aim: Target | None, schema: Schema, lenient: bool
) -> tuple[NDArray[Any] | None, Mask | None]:
    """Targets, and which rows have none and are to be blank."""
    if aim is None:
        return None, None
    exposures = None if aim.exposure is None else schema.numbers(column_of(aim.exposure))
    values, usable = _target(column_of(aim.name), aim, schema.reading(aim), exposures)
    return values, unusable_targets(usable, aim, lenient)


def unusable_targets(usable: Mask, aim: Target, lenient: bool) -> Mask | None:
    """Which rows are to be blank; None where none is. Refused unless lenient."""
    if usable.all():
        return None
    if not lenient:
        timed = () if aim.survival is None else aim.survival.columns
        wanted = (
            f", or {' or '.join(map(repr, timed))} a time that is missing, below 0 or no number"
            if timed
            else ""
        )
        raise DataError(
            f"target {aim.name!r} holds a missing or undeclared value{wanted}. Clean the data, declare every "
            'class, or read with invalid="zero" to blank such rows.',
            advice=(BLANK,),
        )
    return ~usable


def _counts(
    column_of: Callable[[str], Any], schema: Schema, aim: Target | None, values: Any, lenient: bool
) -> Vector:
    """What rows count by the schema's column of weights and by their class; NaN where a weight is none."""
    assert aim is not None
    counts = schema.counts(len(values), schema.weights(column_of), cells.codes(values, aim.classes or ()))
    if not lenient and np.isnan(counts).any():
        raise DataError(
            f"column {' or '.join(map(repr, schema.weighed_by))} holds a weight or an exposure that is "
            'missing or no number. Clean the data, or read with invalid="zero": such rows then count '
            "nothing.",
            advice=(BLANK,),
        )
    return counts


def has_cells_to_check(column: Any) -> bool:
    """Whether the type of an Arrow column leaves open if its cells can be what is declared: text does, and
    dates, which may lie beyond the calendar."""
    return not cells.holds_numbers_only(column)


def require_valid(column: Any, schema: Schema, name: str) -> None:
    """Refuse a type or a field that cannot be what is declared."""
    require_type(column, schema, name)
    if not cells.is_decodable(column):
        raise DataError(f"column {name!r} holds text that is not UTF-8. Convert the file.")
    declarations: list[Column | Target] = [part for part in schema.columns if part.source == name]
    if schema.target is not None and schema.target.name == name:
        declarations.append(schema.target)
    for declared in declarations:
        missing = schema.reading(declared).absent
        if isinstance(declared, DatePart):
            kind = "a date"
            spelled = partial(is_moment, pattern=spelled_as(declared.format))
            wrong = cells.is_misread(column, missing, spelled) or is_beyond_calendar(column)
        else:
            kind, wrong = "a number", declared.labels is None and cells.is_misread(column, missing)
        if wrong:
            raise DataError(
                f"column {name!r} is declared {kind} but a field of it is no {kind[2:]}. Clean the data, "
                'say what means missing, missing = ["?"] in the schema, declare its categories, or read with '
                'invalid="zero" to treat such fields as missing.',
                advice=(BLANK,),
            )


def _target(
    column: Any, aim: Target, reading: Reading, exposures: Vector | None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Declared classes, clipped numbers or, with exposures, clipped rates, and which of them were given; the
    others get the blank value."""
    if aim.classes is not None:
        codes = reading.codes(column, aim.classes)
        return np.array(aim.classes)[np.maximum(codes, 0)], codes >= 0
    assert aim.low is not None
    assert aim.high is not None
    declared = Range(aim.low, aim.high)
    numbers = reading.numbers(column)
    values, usable = declared.encode(numbers if exposures is None else aim.rates(numbers, exposures))
    values[~usable] = declared.blank
    return values, usable
