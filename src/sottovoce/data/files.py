"""Tables read in chunks, typed by a schema, kept only as encoded float32 rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data import cells
from sottovoce.data.columns import Column, Target
from sottovoce.data.dates import DatePart, is_moment
from sottovoce.data.encoding import encode, insist_type
from sottovoce.data.persons import read_keys
from sottovoce.data.reading import Reading
from sottovoce.data.schema import Schema
from sottovoce.data.sealed import Sealed
from sottovoce.data.sources import open_source
from sottovoce.data.targets import Range
from sottovoce.errors import DataError, ParameterError

if TYPE_CHECKING:
    from sottovoce.data.records import Records


@final
@dataclass(frozen=True, repr=False, eq=False)
class Table(Sealed):
    """Encoded rows of norm at most 1, intercept last, and the target column if the schema declares one.

    The target holds the declared classes themselves, or numbers; `keys` the persons' of the rows, if the
    schema names them; `counts` what rows count, if it weighs them. Private: for `fit` and `evaluation`."""

    features: NDArray[np.float32]
    target: NDArray[Any] | None
    keys: list[str | None] | None = None
    counts: Vector | None = None

    def split(self, chosen: NDArray[np.bool_]) -> tuple[Table, Table]:
        """The rows that are not chosen, and those that are."""
        first, second = (
            Table(
                self.features[kept],
                None if self.target is None else self.target[kept],
                counts=None if self.counts is None else self.counts[kept],
            )
            for kept in (~chosen, chosen)
        )
        return first, second

    @property
    def weighing(self) -> dict[str, Any]:
        """What Records are told of the counts."""
        return {} if self.counts is None else {"sample_weight": self.counts, "weight_cap": 1.0}

    def __repr__(self) -> str:
        return f"Table({self.features.shape[0]} rows, {self.features.shape[1]} columns)"


def read(
    table: Any,
    schema: Schema,
    *,
    target: bool = True,
    weighted: bool = False,
    invalid: str = "raise",
    delimiter: str = ",",
) -> Table:
    """Read and encode a table; with `target` its target column too, with `weighted` what its rows count.

    A table is whatever `sources.open_source` opens: a file, a dataframe or an Arrow stream. Features follow
    the rules of BoundedEncoder, field by field. `invalid="raise"` refuses the table if a field that is
    declared a number or a date is none, a target is missing or undeclared, a weight is missing, text is not
    UTF-8 or a column has an unfit type; whether it did is outside the privacy guarantee. `invalid="zero"`
    treats such a field as missing, makes a row without a target all zero with the first class (regression:
    the target nearest to 0), lets one without a weight count nothing, and tells nobody. No message quotes
    the table's content."""
    if invalid not in ("raise", "zero"):
        raise ParameterError('invalid must be "raise" (refuse the file) or "zero" (blank the row).')
    aim = schema.target if target else None
    if target and aim is None:
        raise ParameterError("the schema declares no target. Add a [target] section.")
    keyed_by = schema.keyed_by if target else ()
    weighted = weighted and schema.is_weighted
    weighed_by = schema.weighed_by if weighted else ()
    wanted = (*schema.names, *([aim.name] if aim else []), *keyed_by, *weighed_by)
    lenient = invalid == "zero"
    features: list[NDArray[np.float32]] = []
    targets: list[NDArray[Any]] = []
    keys: list[str | None] = []
    counted: list[Vector] = []
    for rows, column_of in open_source(table, delimiter=delimiter).chunks(wanted):
        part = encoded(rows, column_of, schema, aim, lenient, weighted)
        features.append(part.features)
        counted.extend([] if part.counts is None else [part.counts])
        if part.target is not None:
            targets.append(part.target)
        for name in keyed_by:
            keys.extend(read_keys(column_of(name), rows))
    if not sum(map(len, features)):
        raise DataError("the table has no rows.")
    return Table(
        _joined(features),
        np.concatenate(targets) if aim else None,
        keys if keyed_by else None,
        np.concatenate(counted) if weighted else None,
    )


def bounded(
    table: Any,
    schema: Schema | str | os.PathLike[str],
    delimiter: str = ",",
    *,
    invalid: str = "raise",
    sample_weight: Any = None,
    weight_cap: float = 1.0,
    persons: int | None = None,
) -> Records:
    """The table as Records, its target in the declared order of classes or range."""
    from sottovoce.data.records import Records

    declared = schema if isinstance(schema, Schema) else Schema.load(schema)
    insist_one_weighing(declared, sample_weight)
    held = read(table, declared, weighted=True, invalid=invalid, delimiter=delimiter)
    assert declared.target is not None
    weighing = held.weighing or {"sample_weight": sample_weight, "weight_cap": weight_cap}
    return Records.from_arrays(
        held.features,
        held.target,
        labels=declared.target.classes,
        target=declared.target.range,
        constant=True,
        **weighing,
        groups=held.keys,
        persons=persons,
        invalid=invalid,
    )


def insist_one_weighing(schema: Schema, sample_weight: Any) -> None:
    """Weights are given by the schema or by the caller."""
    if schema.is_weighted and sample_weight is not None:
        raise ParameterError(
            "the schema weighs the rows: pass no sample_weight, or declare no weights there."
        )


def encoded(
    n: int,
    column_of: Callable[[str], Any],
    schema: Schema,
    aim: Target | None,
    lenient: bool,
    weighted: bool = False,
) -> Table:
    """n rows, by the rules of `read`: cell by cell, so chunks may end anywhere."""

    def checked(name: str) -> Any:
        column = column_of(name)
        if not lenient:
            _insist_valid(column, schema, name)
        return column

    rows = encode(schema, n, checked)
    if aim is None:
        return Table(rows, None)
    values, usable = _target(checked(aim.name), aim, schema.reading(aim))
    if not usable.all() and not lenient:
        raise DataError(
            f"target {aim.name!r} holds a missing or undeclared value. Clean the data, declare every "
            'class, or read with invalid="zero" to blank such rows.'
        )
    rows[~usable] = 0.0
    if not weighted:
        return Table(rows, values)
    weights = None if schema.weight is None else schema.weights(column_of(schema.weight))
    counts = schema.counts(n, weights, cells.codes(values, aim.classes or ()))
    if not lenient and np.isnan(counts).any():
        raise DataError(
            f"column {schema.weight!r} holds a weight that is missing or no number. Clean the data, or read "
            'with invalid="zero": such rows then count nothing.'
        )
    return Table(rows, values, counts=counts)


def _insist_valid(column: Any, schema: Schema, name: str) -> None:
    """Refuse a type or a field that cannot be what is declared."""
    insist_type(column, schema, name)
    if not cells.is_decodable(column):
        raise DataError(f"column {name!r} holds text that is not UTF-8. Convert the file.")
    declarations: list[Column | Target] = [part for part in schema.columns if part.source == name]
    if schema.target is not None and schema.target.name == name:
        declarations.append(schema.target)
    for declared in declarations:
        missing = schema.reading(declared).absent
        if isinstance(declared, DatePart):
            kind, wrong = "a date", cells.is_misread(column, missing, is_moment)
        else:
            kind, wrong = "a number", declared.labels is None and cells.is_misread(column, missing)
        if wrong:
            raise DataError(
                f"column {name!r} is declared {kind} but a field of it is no {kind[2:]}. Clean the data, "
                'say what means missing, missing = ["?"] in the schema, declare its categories, or read with '
                'invalid="zero" to treat such fields as missing.'
            )


def _target(column: Any, aim: Target, reading: Reading) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Declared classes or clipped numbers, and which of them were given; the others get the blank value."""
    if aim.classes is not None:
        codes = reading.codes(column, aim.classes)
        return np.array(aim.classes)[np.maximum(codes, 0)], codes >= 0
    assert aim.low is not None
    assert aim.high is not None
    declared = Range(aim.low, aim.high)
    values, usable = declared.encode(reading.numbers(column))
    values[~usable] = declared.blank
    return values, usable


def _joined(parts: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """All parts in one array; each is let go once it is copied."""
    whole = np.empty((sum(map(len, parts)), parts[0].shape[1]), dtype=np.float32)
    place = len(whole)
    while parts:
        part = parts.pop()
        whole[place - len(part) : place] = part
        place -= len(part)
    return whole
