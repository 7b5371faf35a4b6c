"""Records on Dask: arrays, frames, and partitions that one record empties."""

from __future__ import annotations

import atexit
from contextlib import suppress
from functools import cache
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

import sottovoce as sv
from sottovoce.data.schema import Numeric, Schema, Target
from tests.attacks.doors.arrays import reading
from tests.attacks.doors.encoders import PANDAS, drawn
from tests.attacks.doors.engine import Door, Draw, Pair, Reading
from tests.attacks.doors.probes import risk_of
from tests.attacks.doors.tables import numbers

PARTITIONS = 68
"""Past 64 their number enters the allowance for rounding, and with it the noise."""


@cache
def client() -> Client:
    """One cluster in this process, for all cases."""
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", silence_logs=50
    )
    made = Client(cluster)
    atexit.register(lambda: (made.close(), cluster.close()))
    return made


def _cuts(draw: Draw, n: int) -> tuple[int, ...]:
    """Lengths of a few partitions, some of them empty."""
    places = np.sort(draw.integers(0, n + 1, int(draw.integers(1, 4))))
    return tuple(int(k) for k in np.diff([0, *places, n]))


def _arrays(draw: Draw) -> Pair:
    arrays = numbers(draw, most=12)
    cuts, n = _cuts(draw, len(arrays.here[1])), arrays.here[0].shape[1]
    intercept, cluster = bool(draw.integers(2)), client()

    def read(X: Any, y: Any) -> Reading:
        lazy = da.from_array(np.asarray(X), chunks=(cuts, (n,)))
        records = sv.Records.from_dask(
            lazy,
            da.from_array(y, chunks=(cuts,)),
            labels=(-1, 1),
            intercept=intercept,
            invalid="zero",
            client=cluster,
        )
        return reading(records, False)

    return Pair(lambda: read(*arrays.here), lambda: read(*arrays.there), arrays.place, arrays.note)


def _partitioned(frame: pd.DataFrame, cuts: tuple[int, ...]) -> Any:
    """A dask dataframe of these rows in order, each partition with the types its own cells have."""
    ends = np.cumsum(cuts)
    parts = [frame.iloc[end - size : end].infer_objects() for size, end in zip(cuts, ends, strict=True)]
    return dd.from_map(lambda part: part, parts, meta=frame.iloc[:0], enforce_metadata=False)


def _frames(draw: Draw) -> Pair:
    kinds = {name: PANDAS[name] for name in ("inferred", "objects", "read_csv")}
    cluster = client()
    while True:
        tables, here, there, note = drawn(draw, kinds, target=True, longest=10)
        cuts = _cuts(draw, tables.n)
        with suppress(Exception), dask.config.set({"dataframe.convert-string": False}):  # Dask looks at cells
            lazy = [_partitioned(frame, cuts) for frame in (here, there)]
            break

    def read(frame: Any) -> Reading:
        with dask.config.set({"dataframe.convert-string": False}):
            records = sv.Records.from_dask(frame, schema=tables.schema, invalid="zero", client=cluster)
        return reading(records, False)

    return Pair(lambda: read(lazy[0]), lambda: read(lazy[1]), tables.place, note)


def _emptied(draw: Draw) -> Pair:
    """Partitions by a column's value: a record alone in its own leaves it empty when it is replaced."""
    schema = Schema((Numeric("a", 0.0, 1.0), Numeric("b", -1.0, 1.0)), Target("y", ("no", "yes")))
    spare, cluster = int(draw.integers(0, 4)), client()
    keys = np.arange(PARTITIONS - spare)
    place = int(draw.integers(len(keys)))
    frame = pd.DataFrame(
        {
            "key": keys,
            "a": draw.random(len(keys)),
            "b": draw.normal(size=len(keys)),
            "y": draw.choice(["no", "yes"], len(keys)),
        }
    )
    other = frame.copy()
    other.loc[place, ["key", "a"]] = [(place + 1) % len(keys), 0.25]

    def read(table: pd.DataFrame) -> Reading:
        parts = [table[table["key"] == key].drop(columns="key") for key in range(PARTITIONS)]
        lazy = dd.from_map(lambda part: part, parts, meta=parts[0].iloc[:0], enforce_metadata=False)
        records = sv.Records.from_dask(lazy, schema=schema, client=cluster)
        risk = risk_of(records)
        w = np.ones(risk.dim)
        public = f"{records!r} {risk.bounds.gradient(w)} {risk.bounds.gram()} {risk.bounds.value(w)}"
        return Reading(public=public)

    return Pair(lambda: read(frame), lambda: read(other), place, f"{spare} empty partitions")


DOORS = (
    Door("Dask: arrays", _arrays, 24),
    Door("Dask: frames", _frames, 30),
    Door("Dask: emptied partitions", _emptied, 2),
)
