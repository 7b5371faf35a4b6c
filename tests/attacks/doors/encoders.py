"""BoundedEncoder behind every kind of table, and a model that encodes for itself."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import sottovoce as sv
from tests.attacks.doors.engine import Door, Draw, Pair, Reading
from tests.attacks.doors.tables import Columns, Tables, declared

Container = Callable[[Columns], Any]


def _as_csv(columns: Columns) -> pd.DataFrame:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return pd.read_csv(io.StringIO(text.getvalue()))


PANDAS: dict[str, Container] = {
    "inferred": pd.DataFrame,
    "objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "nullable": lambda columns: pd.DataFrame(columns, dtype=object).convert_dtypes(),
    "Arrow-backed": lambda columns: pd.DataFrame(columns, dtype=object).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "categorical": lambda columns: pd.DataFrame(columns, dtype=object).astype("category"),
    "read_csv": _as_csv,
    "odd index": lambda columns: pd.DataFrame(columns).set_index(np.zeros(len(columns["c0"]))),
}


def _series(name: str, cells: list[Any], **how: Any) -> pl.Series:
    """Typed if polars can; it panics over decimals that are too long for it."""
    if not any(isinstance(cell, Decimal) and _is_long(cell) for cell in cells):
        with suppress(Exception):
            return pl.Series(name, cells, **how)
    return pl.Series(name, cells, dtype=pl.Object)


def _is_long(cell: Decimal) -> bool:
    return not cell.is_finite() or abs(cell.adjusted()) + len(cell.as_tuple().digits) > 36


POLARS: dict[str, Container] = {
    "strict": lambda columns: pl.DataFrame([_series(name, cells) for name, cells in columns.items()]),
    "loose": lambda columns: pl.DataFrame(
        [_series(name, cells, strict=False) for name, cells in columns.items()]
    ),
    "objects": lambda columns: pl.DataFrame(
        [pl.Series(name, cells, dtype=pl.Object) for name, cells in columns.items()]
    ),
}


def _arrow(columns: Columns) -> pa.Table:
    """As Arrow types it; a datetime64 before NumPy's booleans would end the process (PyArrow 26)."""
    if any(isinstance(cell, np.datetime64) for cells in columns.values() for cell in cells):
        raise TypeError
    return pa.table({name: pa.array(cells) for name, cells in columns.items()})


ARROW: dict[str, Container] = {
    "inferred": _arrow,
    "dictionaries": lambda columns: pa.table(
        {name: column.dictionary_encode() for name, column in zip(columns, _arrow(columns), strict=True)}
    ),
    "chunks": lambda columns: pa.concat_tables([_arrow(columns).slice(0, 1), _arrow(columns).slice(1)]),
}

PLAIN: dict[str, Container] = {
    "dict of lists": dict,
    "list of dicts": lambda columns: [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ],
    "list of lists": lambda columns: [list(row) for row in zip(*columns.values(), strict=True)],
    "array of objects": lambda columns: np.array([*columns.values()], dtype=object).T,
}


def drawn(draw: Draw, kinds: dict[str, Container], **wanted: Any) -> tuple[Tables, Any, Any, str]:
    """Neighbours in a container that takes both and keeps the other cells: what the owner's own library
    refuses, or makes of other cells, is not ours."""
    while True:
        tables = declared(draw, **wanted)
        kind = list(kinds)[draw.integers(len(kinds))]
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            here, there = kinds[kind](tables.here), kinds[kind](tables.there)
            if _keeps(there, tables) and not _turns_zero(here, there, tables.place):
                return tables, here, there, f"{tables.note}, {kind}"


def _keeps(table: Any, tables: Tables) -> bool:
    """Whether every other cell is the one that went in, or its text: pandas merges equal categories."""
    if isinstance(table, pd.DataFrame):
        return not any(
            cell is tables.there[name][tables.place] and cell is not given
            for name, cells in tables.here.items()
            for place, (cell, given) in enumerate(zip(table[name], cells, strict=True))
            if place != tables.place
        )
    if not isinstance(table, pa.Table | pl.DataFrame):
        return True
    if any(_is_missing(cells, tables.place) for cells in tables.here.values()):
        return False
    held = table.to_pydict() if isinstance(table, pa.Table) else table.to_dict(as_series=False)
    return all(
        cell == given or str(cell).lower() == str(given).lower()
        for name, cells in tables.here.items()
        for place, (cell, given) in enumerate(zip(held[name], cells, strict=True))
        if place != tables.place
    )


def _turns_zero(here: Any, there: Any, place: int) -> bool:
    """Whether pandas reads another record's -0 as 0, as it does in a column of whole numbers, and as -0.0 in
    one of floats."""
    if not isinstance(here, pd.DataFrame):
        return False
    return any(
        isinstance(a, float) and isinstance(b, float) and a == b == 0.0 and np.signbit(a) != np.signbit(b)
        for name in here
        for row, (a, b) in enumerate(zip(here[name], there[name], strict=True))
        if row != place
    )


def _is_missing(cells: list[Any], place: int) -> bool:
    """Whether all other cells are missing: the owner of a typed table then takes its type from the record."""
    return all(cell is None for other, cell in enumerate(cells) if other != place)


def _encoder(kinds: dict[str, Container]) -> Callable[[Draw], Pair]:
    def pair(draw: Draw) -> Pair:
        tables, here, there, note = drawn(draw, kinds)
        encoder = sv.BoundedEncoder(tables.schema)

        def read(table: Any) -> Reading:
            return Reading(rows={"encoded": encoder.fit(table).transform(table)})

        return Pair(lambda: read(here), lambda: read(there), tables.place, note)

    return pair


def _model(draw: Draw) -> Pair:
    """Scores and predictions of a model for a table it encodes itself."""
    while (found := drawn(draw, PANDAS | POLARS | ARROW, target=True))[0].schema.target is None:
        continue
    tables, here, there, note = found
    model = _trained(tables.schema)

    def read(table: Any) -> Reading:
        rows = model.encode(table)
        return Reading(rows={"scores": model.decision_function(rows), "predicted": model.predict(rows)})

    return Pair(lambda: read(here), lambda: read(there), tables.place, note)


@cache
def _trained(schema: sv.Schema) -> sv.Model:
    aim = schema.target
    assert aim is not None
    width = len(sv.BoundedEncoder(schema).get_feature_names_out())
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, width)) / width
    if aim.classes is None:
        records = sv.Records.from_arrays(X, rng.uniform(-1, 1, 40), target=(-1.0, 1.0))
        risk: Any = sv.Risk(records, sv.losses.PseudoHuber())
    else:
        labels: list[Any] = sorted(aim.classes)
        records = sv.Records.from_arrays(
            X, [labels[k] for k in rng.integers(len(labels), size=40)], labels=labels
        )
        risk = sv.SoftmaxRisk(records) if len(labels) > 2 else sv.Risk(records, sv.losses.Logistic())
    return sv.Model(
        result=sv.minimize(risk, budget=sv.Budget(1.0, 1e-5), method="majorize", simulate=0),
        schema=schema,
        loss="logistic" if aim.classes else "pseudo-huber",
        dataset="doors",
        created="2026-01-01",
        versions={},
    )


DOORS = (
    Door("encoder: pandas", _encoder(PANDAS), 200),
    Door("encoder: polars", _encoder(POLARS), 120),
    Door("encoder: Arrow", _encoder(ARROW), 120),
    Door("encoder: lists", _encoder(PLAIN), 40),
    Door("model: encode and predict", _model, 60),
)
