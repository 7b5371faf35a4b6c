"""Files: `sv.fit` on CSV and Parquet, and Records.from_parquet."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import sottovoce as sv
from tests.attacks.doors.encoders import ARROW, drawn
from tests.attacks.doors.engine import Door, Draw, Pair, Reading, charging
from tests.attacks.doors.probes import BUDGET, Look, answers_of, rows_of
from tests.attacks.doors.tables import Columns, declared

ANSWERED = 0.1


def _fitted(path: Path, schema: sv.Schema, answered: bool) -> Reading:
    look, ledger = Look(), sv.Ledger(BUDGET)

    def fit() -> Reading:
        model = sv.fit(
            path,
            schema,
            epsilon=BUDGET.epsilon,
            delta=BUDGET.delta,
            method=look,
            reading=sv.ReadOptions(invalid="zero"),
            ledger=ledger,
            clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        risk = look.risks[0]
        public = f"{risk.records!r} {model.result.guarantee} {model.result.objective}"
        return Reading(rows_of(risk.records), answers_of(risk) if answered else {}, public)

    return charging(ledger, fit)


def _csv(draw: Draw) -> Pair:
    """Fields as text; a hostile one with a quote, a line break or a delimiter in it is still one field."""
    while True:
        tables, answered = declared(draw, target=True), bool(draw.random() < ANSWERED)
        with suppress(Exception), tempfile.TemporaryDirectory() as folder:
            texts = [_written(columns, Path(folder) / "t.csv") for columns in (tables.here, tables.there)]
            break

    def read(text: bytes) -> Reading:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.csv"
            path.write_bytes(text)
            return _fitted(path, tables.schema, answered)

    return Pair(lambda: read(texts[0]), lambda: read(texts[1]), tables.place, tables.note)


def _written(columns: Columns, path: Path) -> bytes:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "last"])
        writer.writerows([*row, 0] for row in zip(*columns.values(), strict=True))
    return path.read_bytes()


def _stored(table: Any, groups: int) -> bytes:
    """A Parquet file of an Arrow table, in row groups of this length."""
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=groups)
    return file.getvalue()


def _parquet(read_file: Callable[[Path, sv.Schema, bool], Reading]) -> Callable[[Draw], Pair]:
    def pair(draw: Draw) -> Pair:
        answered, groups = bool(draw.random() < ANSWERED), int(draw.integers(1, 8))
        while True:
            tables, here, there, note = drawn(draw, ARROW, target=True)
            with suppress(Exception):  # Arrow reads what it cannot write
                contents = [_stored(table, groups) for table in (here, there)]
                break

        def read(content: bytes) -> Reading:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "t.parquet"
                path.write_bytes(content)
                return read_file(path, tables.schema, answered)

        return Pair(lambda: read(contents[0]), lambda: read(contents[1]), tables.place, note)

    return pair


def _streamed(path: Path, schema: sv.Schema, answered: bool) -> Reading:
    records = sv.Records.from_parquet(path, schema, invalid="zero", memory=64)
    loss: Any = sv.losses.Cauchy() if records.target else sv.losses.Savage()
    many = records.labels is not None and len(records.labels) > 2
    risk = sv.SoftmaxRisk(records) if many else sv.Risk(records, loss)
    return Reading(rows_of(records), answers_of(risk) if answered else {}, repr(records))


DOORS = (
    Door("fit: CSV", _csv, 80),
    Door("fit: Parquet", _parquet(_fitted), 60),
    Door("from_parquet", _parquet(_streamed), 40),
)
