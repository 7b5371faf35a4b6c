"""Records as `fit` trains on them where the table is not held in memory: in a Parquet file, or by workers.

Classes come in sorted order, numbers mapped to what training sees, as in `files.training`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from sottovoce.data import cells, parquet_rows
from sottovoce.data.columns import Target
from sottovoce.data.filesets import files_of, is_files, is_parquet
from sottovoce.data.frames import Dataframe
from sottovoce.data.options import ReadOptions
from sottovoce.data.records import Records
from sottovoce.data.schema import Schema
from sottovoce.data.sources import column_names, require_present
from sottovoce.data.targets import Range
from sottovoce.errors import ParameterError


def of_parquet(
    path: Any,
    schema: Schema,
    aim: Target,
    persons: int | None,
    how: ReadOptions,
    progress: bool,
) -> Records:
    """As `files.training`, of a Parquet file that need not fit into memory."""
    if aim.classes is not None:
        labels: list[Any] = sorted(aim.classes)
        schema = replace(schema, target=aim.reordered(tuple(labels)))
    where: dict[str, Any] = {"memory": 2**29, "spool": how.spool, "progress": progress}
    given: dict[str, Any] = {"sample_weight": None, "weight_cap": 1.0, "groups": None, "persons": persons}
    return parquet_rows.bounded(path, schema, 1.0, invalid=how.invalid, scaled=True, **given, **where)


def _scaled_cells(target: Any, aim: Target) -> Any:
    """A partition's target, cell by cell: NaN where it is no number. On a worker."""
    assert aim.range is not None
    if aim.exposure is not None:  # what is clipped is the rate, later
        counts = cells.numbers(Dataframe(target.to_frame()).column(target.name))
        return type(target)(aim.scaled(counts), index=target.index, name=target.name)
    clipped, usable = Range(*aim.range).encode(Dataframe(target.to_frame()).column(target.name))
    scaled = np.where(usable, aim.scaled(clipped), np.nan)
    return type(target)(scaled, index=target.index, name=target.name)


def connected(address: str, workers: int | None) -> AbstractContextManager[Any]:
    """A client of a scheduler, or of workers started here."""
    if find_spec("distributed") is None:
        raise ParameterError("--dask and --workers need Dask. Install sottovoce[dask].")
    from sottovoce.data import dask

    return dask.connected(address, workers)


def on_workers(
    client: Any, path: Any, schema: Schema, aim: Target, persons: int | None, how: ReadOptions
) -> Records:
    """As `files.training`, read and kept by the workers."""
    import dask.dataframe as dd

    files = files_of(path) if is_files(path) else ()
    if not files or not is_parquet(files[0]):
        raise ParameterError("with Dask the data must be Parquet files.")
    wanted = (*schema.names, aim.name, *schema.keyed_by, *schema.weighed_by)
    require_present(wanted, column_names(path))
    frame = dd.read_parquet([str(file) for file in files], columns=list(wanted))
    if aim.classes is not None:
        labels: list[Any] = sorted(aim.classes)
        target = aim.reordered(tuple(labels))
    else:
        scaled = frame[aim.name].map_partitions(_scaled_cells, aim, meta=(aim.name, "f8"))
        frame = frame.assign(**{aim.name: scaled})
        low, high = aim.mapped
        target = replace(aim, low=low, high=high)
    declared = replace(schema, target=target)
    return Records.from_dask(frame, schema=declared, persons=persons, invalid=how.invalid, client=client)
