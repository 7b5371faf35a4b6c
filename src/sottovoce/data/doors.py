"""Doors besides arrays in memory: tables, Parquet files and clusters, under the rules of `from_arrays`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sottovoce.data.layout import RowLayout
from sottovoce.data.options import ReadOptions
from sottovoce.data.record_facts import RecordFacts
from sottovoce.data.validation import (
    checked_nonzeros,
    checked_radius,
    declaration_of,
    require_plain,
    require_rule_for_invalid,
)
from sottovoce.data.weights import declared_cap
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.data.cell import Label
    from sottovoce.data.records import Records
    from sottovoce.data.schema import Schema


class Doors:
    """Makes Records of what is not an array in memory."""

    __slots__ = ()

    @classmethod
    def from_table(
        cls,
        table: Any,
        schema: Schema | str | os.PathLike[str],
        *,
        delimiter: str = ",",
        decimal: str = ".",
        invalid: str = "raise",
        **options: Any,
    ) -> Records:
        """Records of a table, read into memory: a path, pandas, polars, pyarrow or an Arrow stream.

        Its schema declares how rows are encoded, as by BoundedEncoder with radius 1, the target, and, if it
        says so, what rows count: their weight over its cap. `delimiter` and `decimal` are marks of a CSV
        file; `invalid` and the options `sample_weight`, `weight_cap` and `persons` are as in `from_arrays`.
        """
        from sottovoce.data.files import bounded

        how = ReadOptions(invalid=invalid, delimiter=delimiter, decimal=decimal)
        return bounded(table, schema, how, **options)

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str],
        schema: Schema | str | os.PathLike[str],
        radius: float = 1.0,
        *,
        sample_weight: Any = None,
        weight_cap: float = 1.0,
        groups: Any = None,
        persons: int | None = None,
        invalid: str = "raise",
        memory: int = 2**29,
        spool: bool | str | os.PathLike[str] = True,
        progress: bool = False,
    ) -> Records:
        """Records of a Parquet file, or of all those in a folder, that need not fit into memory.

        The schema encodes and bounds rows as BoundedEncoder does, the constant column included, and declares
        the target. The first `memory` bytes of compact rows are kept, later ones spooled: 4 bytes a number, 1
        or 2 a category, in the system's temporary folder, or the one that `spool` names, in a file that
        nobody else can open and that is gone with these records, or a crash. `spool=False` decodes them again
        at each pass. The answers are those of the same rows in memory; the file must not change until the
        last of them.
        `sample_weight` (one number a row, in the order of the files), `weight_cap`, `groups`, `persons` and
        `invalid` are as in `from_arrays`; a weight that is not finite counts 0. Without `groups`, the column
        that the schema names as `person` holds the keys."""
        from sottovoce.data.parquet_rows import bounded

        given: dict[str, Any] = {"sample_weight": sample_weight, "weight_cap": weight_cap, "groups": groups}
        where: dict[str, Any] = {"memory": memory, "spool": spool, "progress": progress}
        return bounded(path, schema, radius, persons=persons, invalid=invalid, **given, **where)

    @classmethod
    def from_dask(
        cls,
        data: Any,
        y: Any = None,
        *,
        radius: float = 1.0,
        labels: Sequence[Label] | None = None,
        target: tuple[float, float] | None = None,
        intercept: bool = False,
        nonzeros: int | None = None,
        constant: bool = False,
        schema: Schema | None = None,
        client: Any = None,
        sample_weight: Any = None,
        weight_cap: float = 1.0,
        groups: Any = None,
        persons: int | None = None,
        invalid: str = "raise",
    ) -> Records:
        """Records that stay on the workers of a Dask cluster (extra `sottovoce[dask]`).

        Pass dask arrays X (its chunks may be scipy.sparse) and y with `labels` or `target`, or a dask
        dataframe with a `schema` that declares them. `client` is a distributed.Client, by default the
        current one. Everything else is as in `from_arrays`. Workers and scheduler are trusted. `groups` is a
        dask array or column; keys are gathered here, so a person's rows may lie in several partitions."""
        from sottovoce.data.dask import gathered, hold
        from sottovoce.data.records import Records

        if schema is not None:
            if schema.target is None or labels is not None or target is not None or intercept:
                raise ParameterError(
                    "with a schema that declares a target, pass no labels, target or intercept."
                )
            require_plain(schema)
            labels, target = schema.target.classes, schema.target.range
        declared = declaration_of(labels, target)
        options = {"radius": checked_radius(radius), "labels": labels, "target": target, "invalid": invalid}
        options |= {"intercept": intercept, "nonzeros": checked_nonzeros(nonzeros)}
        weighted = schema is not None and schema.is_weighted
        cap = 1.0 if weighted else declared_cap(weight_cap, sample_weight)
        options |= {"weight_cap": weight_cap}
        require_rule_for_invalid(invalid)
        held = hold(data, y, sample_weight, client=client, schema=schema, options=options)
        facts = RecordFacts(
            declared=declared,
            radius=float(radius),
            intercept=bool(intercept),
            nonzeros=nonzeros,
            constant=constant or schema is not None,
            weight_cap=cap,
            indicators=() if schema is None else RowLayout.of(schema).indicators,
        )
        if groups is None and schema is not None and schema.person is not None:
            groups = data[schema.person]
        keys = None if groups is None else gathered(groups, client)
        return Records(held, facts).of_persons(keys, persons, invalid)
