"""Tables read in chunks, typed by a schema, kept only as encoded rows: compact to train, dense to predict."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.data.columns import Target
from sottovoce.data.compact import Compact
from sottovoce.data.filesets import is_files
from sottovoce.data.headers import persons_unnamed
from sottovoce.data.layout import RowLayout
from sottovoce.data.options import AS_WRITTEN, ReadOptions
from sottovoce.data.persons import Keys, read_keys, require_key_type
from sottovoce.data.schema import Schema
from sottovoce.data.sources import column_names, open_source
from sottovoce.data.survival import HAPPENED, PERSON, Periods
from sottovoce.data.tables import Rule, Table, encoded_columns, encoded_rows
from sottovoce.errors import DataError, ParameterError, PrivacyWarning, SottovoceError

if TYPE_CHECKING:
    from sottovoce.data.records import Records


def read(
    table: Any,
    schema: Schema,
    how: ReadOptions = AS_WRITTEN,
    *,
    target: bool = True,
    weighted: bool = False,
    dtype: type = np.float32,
) -> Table:
    """Read and encode a table as dense rows; with `target` its target too, with `weighted` what rows count.

    A table is whatever `sources.open_source` opens: a file, a dataframe or an Arrow stream. Features follow
    the rules of BoundedEncoder, field by field. `invalid="raise"` refuses the table if a field that is
    declared a number or a date is none, a target is missing or undeclared, a weight is missing, text is not
    UTF-8 or a line of a CSV file is no record; whether it did is outside the privacy guarantee.
    `invalid="zero"` treats such a field as missing, makes a row without a target all zero with the first
    class (regression: the target nearest to 0), lets one without a weight count nothing, and tells nobody.
    The type of a column is public, where it is declared: both refuse one that cannot hold what the schema
    says, but for pandas, which takes types from the cells. No message quotes the table's content."""
    if target and schema.target is None:
        raise ParameterError("the schema declares no target. Add a [target] section.")
    aim = schema.target if target else None
    encode_part = partial(encoded_rows, dtype=dtype)
    parts, held = _parts(table, schema, how, aim, weighted, encode_part)
    return _whole(_joined([part.features for part in parts]), parts, held)


def read_compact(table: Any, schema: Schema, how: ReadOptions = AS_WRITTEN) -> Table:
    """As `read`, with the target and what rows count, as compact rows: nothing is ever held dense."""
    if schema.target is None:
        raise ParameterError("the schema declares no target. Add a [target] section.")
    parts, held = _parts(table, schema, how, schema.target, True, encoded_columns)
    return _whole(Compact.joined(RowLayout.of(schema), [part.features for part in parts]), parts, held)


def _parts(
    table: Any,
    schema: Schema,
    how: ReadOptions,
    aim: Target | None,
    weighted: bool,
    encode_part: Callable[..., Table],
) -> tuple[list[Table], dict[str, Any]]:
    """What is made of each chunk of a table, and whose rows they are."""
    source = open_source(table, how)
    survival = None if aim is None else aim.survival
    periods = None if survival is None else Periods(source, schema)
    if periods is not None:
        source, schema = periods, schema.of_periods
    alone = periods is not None and schema.person == PERSON
    keyed_by = schema.keyed_by if aim else ()
    weighted = weighted and aim is not None and schema.is_weighted
    weighed_by = schema.weighed_by if weighted else ()
    wanted = (*schema.names, *([aim.name] if aim else []), *keyed_by, *weighed_by)
    parts: list[Table] = []
    keys = Keys()
    n = 0
    rule = Rule(lenient=how.lenient, typed=source.typed)
    for rows, column_of in source.chunks(wanted):
        if not rule.lenient:
            source.require_whole()
        parts.append(encode_part(rows, column_of, schema, aim, rule, weighted))
        n += rows
        for name in keyed_by:
            if source.typed and not alone:
                require_key_type(column_of(name), name)
            keys.extend(read_keys(column_of(name), rows))
    if not n:
        raise DataError("the table has no rows.")
    return parts, {
        "keys": keys if keyed_by else None,
        "quota": 1 if survival is None else len(survival.grid),
        "records": periods.records if periods is not None and alone else None,
    }


def _whole(features: Any, parts: list[Table], held: dict[str, Any]) -> Table:
    targets = [part.target for part in parts if part.target is not None]
    counts = [part.counts for part in parts if part.counts is not None]
    return Table(
        features,
        np.concatenate(targets) if targets else None,
        counts=np.concatenate(counts) if counts else None,
        **held,
    )


def warn_of_persons(table: Any, schema: Schema, how: ReadOptions = AS_WRITTEN) -> None:
    """Say, before anything is charged, that the table has a column of persons which the schema leaves out."""
    if unnamed := persons_unnamed(schema, _names_of(table, how)):
        warnings.warn(unnamed, PrivacyWarning, stacklevel=3)


def _names_of(table: Any, how: ReadOptions) -> tuple[Any, ...]:
    """Names of a table's columns where they can be had without reading from it; a stream is read once."""
    if is_files(table):
        with suppress(SottovoceError):
            return column_names(table, how)
        return ()
    if not hasattr(table, "shape") or isinstance(table, np.ndarray):
        return ()
    return tuple(getattr(table, "column_names", getattr(table, "columns", ())))


def bounded(
    table: Any,
    schema: Schema | str | os.PathLike[str],
    how: ReadOptions,
    *,
    sample_weight: Any = None,
    weight_cap: float = 1.0,
    persons: int | None = None,
) -> Records:
    """The table as Records, its target in the declared order of classes or range."""
    from sottovoce.data.records import Records

    declared = schema if isinstance(schema, Schema) else Schema.load(schema)
    require_one_weighing(declared, sample_weight)
    held = read_compact(table, declared, how)
    assert declared.target is not None
    weighing = held.weighing or {"sample_weight": sample_weight, "weight_cap": weight_cap}
    return Records.from_arrays(
        held.features,
        held.target,
        labels=declared.target.classes,
        target=declared.target.range,
        constant=True,
        **weighing,
        invalid=how.invalid,
    ).of_persons(held.keys, persons or held.records, how.invalid, held.quota, alone=held.records is not None)


def training(table: Table, aim: Target, persons: int | None, how: ReadOptions) -> Records:
    """A table that was read as `fit` trains on it: classes sorted, numbers mapped to what training sees.

    The encoded rows hold the intercept already and are no longer than 1."""
    from sottovoce.data.records import Records

    classes: Any = aim.classes
    assert table.target is not None
    if aim.survival is not None and aim.survival.link == "cloglog":
        struck = (table.target == HAPPENED[1]).astype(np.float64)
        table, aim, classes = replace(table, target=struck), Target(aim.name, high=1.0, count=True), None
    return Records.from_arrays(
        table.features,
        table.target if classes else aim.scaled(table.target),
        labels=tuple(sorted(classes)) if classes else None,
        target=None if classes else aim.mapped,
        constant=True,
        **table.weighing,
        invalid=how.invalid,
    ).of_persons(
        table.keys, persons or table.records, how.invalid, table.quota, alone=table.records is not None
    )


def require_one_weighing(schema: Schema, sample_weight: Any) -> None:
    """Weights are given by the schema or by the caller."""
    if schema.is_weighted and sample_weight is not None:
        raise ParameterError(
            "the schema weighs the rows: pass no sample_weight, or declare no weights there."
        )


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """All parts in one array; each is let go once it is copied."""
    whole = np.empty((sum(map(len, parts)), parts[0].shape[1]), dtype=parts[0].dtype)
    place = len(whole)
    while parts:
        part = parts.pop()
        whole[place - len(part) : place] = part
        place -= len(part)
    return whole
