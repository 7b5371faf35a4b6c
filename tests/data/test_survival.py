"""Time to event: a record becomes its rows at risk by itself, a person counts 1 at most, curves are right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import application
from sottovoce.data.files import read_compact
from sottovoce.data.persons import Persons
from sottovoce.data.sources import open_source
from sottovoce.data.survival import AT_RISK, PERSON, Periods
from sottovoce.errors import DataError, ParameterError, SottovoceError
from sottovoce.report import render

GRID = [90, 180, 365]
COLUMNS = {
    "age": {"type": "numeric", "low": 40, "high": 80},
    "arm": {"type": "categorical", "categories": ["control", "treated"]},
}
TARGET = {"event": "died", "type": "survival", "time": "days", "grid": GRID}


def declared(target: dict[str, Any] | None = None, **others: Any) -> sv.Schema:
    return sv.Schema.from_dict({"columns": COLUMNS, "target": TARGET | (target or {}), **others})


FEW = pd.DataFrame(
    {
        "age": [50.0, 60.0, 70.0, 55.0, 65.0, 66.0],
        "arm": ["control"] * 6,
        "days": [100.0, 100.0, 400.0, 30.0, 200.0, np.nan],
        "died": ["yes", "no", "yes", "no", "yes", "no"],
        "since": [0.0, 0.0, 0.0, 0.0, 95.0, 0.0],
    }
)


def rows_of(table: Any, schema: sv.Schema) -> list[list[tuple[str, str | None, float]]]:
    """Interval, label and count of each row, record by record."""
    source = Periods(open_source(table), schema)
    names = ("interval", "died", AT_RISK, PERSON)
    found: dict[int, list[tuple[str, str | None, float]]] = {}
    for _, column_of in source.chunks(names):
        for interval, label, count, person in zip(*map(column_of, names), strict=True):
            found.setdefault(int(person), []).append((str(interval), label, float(count)))
    assert [*found] == list(range(source.records))
    return [*found.values()]


def test_a_record_has_a_row_for_each_interval_at_risk() -> None:
    expected = [
        [("to 90", "no", 1.0), ("to 180", "yes", 1.0)],
        [("to 90", "no", 1.0)],  # censored on day 100: at risk to day 90
        [("to 90", "no", 1.0), ("to 180", "no", 1.0), ("to 365", "no", 1.0)],  # dies past the horizon
        [("to 90", "no", 0.0)],  # censored before the first end: counts 0
        [("to 365", "yes", 1.0)],  # came under observation within the second interval
        [("to 90", None, 0.0)],  # no usable time: no label
    ]
    schema = declared({"entry": "since"})
    at_once = FEW[:2].assign(days=0.0)
    assert rows_of(at_once, schema) == [[("to 90", "yes", 1.0)], [("to 90", "no", 0.0)]]
    assert rows_of(FEW, schema) == expected
    assert rows_of(pa.Table.from_pandas(FEW), schema) == expected
    assert sv.Schema.from_dict(schema.to_dict()) == schema
    assert "interval" not in schema.to_dict()["columns"]


ODD: list[tuple[Any, Any]] = [
    (1, "yes"),
    (1e9, "no"),
    (np.nan, "no"),
    (-5, "yes"),
    (50, "perhaps"),
    (np.inf, "yes"),
]


@pytest.mark.parametrize(("days", "died"), ODD)
def test_no_record_changes_the_rows_of_another_nor_how_many_there_are(days: Any, died: Any) -> None:
    schema = declared()
    base = rows_of(FEW, schema)
    other = FEW.copy()
    other.loc[1, ["days", "died"]] = [days, died]
    found = rows_of(other, schema)
    assert found[:1] + found[2:] == base[:1] + base[2:]
    read = read_compact(other, schema, how=sv.ReadOptions(invalid="zero"))
    assert read.records == len(FEW)
    assert sv.Records.from_table(other, schema, invalid="zero").n == len(FEW)
    if not np.isfinite(days) or days < 0 or died == "perhaps":
        with pytest.raises(DataError, match="or 'days' a time that is missing"):
            read_compact(other.drop(index=5), schema)


def test_records_are_persons_of_their_own_chunk_after_chunk(tmp_path: Path) -> None:
    """Three row groups of a Parquet file are read one after the other."""
    import pyarrow.parquet as pq

    table = pd.concat([FEW.drop(index=5)] * 3, ignore_index=True)
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "t.parquet", row_group_size=5)
    with mock.patch("sottovoce.data.sources.PARQUET_BATCH_ROWS", 5):
        records = sv.Records.from_table(tmp_path / "t.parquet", declared())
        keys = read_compact(tmp_path / "t.parquet", declared()).keys
    assert records.n == 15
    assert keys is not None
    assert len(set(keys)) == 15
    assert read_compact(table, declared()).keys == keys


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_rows_count_alike_and_a_person_1_at_most(rows: int) -> None:
    keys = ["me"] * rows + ["other"]
    held = Persons.of(keys, rows + 1, None, lenient=False, quota=3)
    shares = held.shares()
    assert shares[:rows].sum() <= 1.0
    assert shares[:rows] == pytest.approx(1.0 / max(rows, 3))
    assert shares[-1] == pytest.approx(1.0 / 3.0)


def test_rows_of_a_declared_person_share_what_it_counts() -> None:
    """Four records of three intervals each are twelve rows of one person, who counts 1 and not 4."""
    table = pd.DataFrame(
        {"age": 50.0, "arm": "control", "days": 400.0, "died": "no", "who": ["a"] * 4 + ["b"] * 2}
    )
    records = sv.Records.from_table(table, declared(person="who"))
    assert records.n == 2
    weights = np.concatenate(
        [records._rows.weights_in(records._rows.span(k)) for k in range(records._rows.blocks)]
    )  # type: ignore[union-attr]
    assert weights[:12] == pytest.approx(1.0 / 12.0)
    assert weights[12:] == pytest.approx(1.0 / 6.0)


@pytest.mark.parametrize(
    "target",
    [
        {"grid": []},
        {"grid": [90, 90]},
        {"grid": [0, 90]},
        {"grid": [90, float("inf")]},
        {"link": "probit"},
        {"time": "age"},
        {"time": "died"},
        {"entry": 3},
        {"classes": ["a", "b", "c"]},
        {"classes": ["a", "a"]},
        {"typical": 2.0},
    ],
)
def test_wrong_declarations_are_refused(target: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        declared(target)


def cohort(n: int, seed: int) -> pd.DataFrame:
    """Hazards of 0.17 a quarter, odds 0.5 of that if treated; censored evenly over five quarters."""
    rng = np.random.default_rng(seed)
    age, arm = np.clip(rng.normal(60, 8, n), 40, 80), rng.choice(["control", "treated"], n)
    score = -1.6 + 0.03 * (age - 60) - 0.7 * (arm == "treated")
    lived, left = rng.geometric(1.0 / (1.0 + np.exp(-score))), rng.integers(1, 6, n)
    days = np.where(lived <= left, 90 * lived - 10, 90 * left + 5)
    return pd.DataFrame({"age": age, "arm": arm, "days": days, "died": np.where(lived <= left, "yes", "no")})


@pytest.fixture(scope="module")
def model() -> sv.Model:
    schema = declared({"grid": [90, 180, 270], "typical": 0.15})
    return sv.fit(cohort(8_000, 0), schema, epsilon=4.0, delta=1e-6, inference=0.4, simulate=0)


def test_hazard_ratios_and_curves_are_the_populations(model: sv.Model) -> None:
    """Intervals of five standard errors and more: missed with odds below 1e-6."""
    lines = {line.term: line for line in model.summary(level=1.0 - 1e-6).lines}
    for term, truth in (("age", 0.03), ("arm=treated", -0.7), ("interval=to 180", 0.0)):
        assert lines[term].low <= truth <= lines[term].high
    assert "hazard odds ratio" in str(model.summary(exp=True))
    assert "interval=(missing or other)" not in lines
    assert model.result.guarantee.unit == "record"
    assert model.result.guarantee.n == 8_000
    rows = pd.DataFrame({"age": [60.0, 60.0], "arm": ["control", "treated"]})
    curves = model.survival_curves(rows, level=1.0 - 1e-6)
    assert curves.shape == (2, 3, 3)
    hazards = 1.0 / (1.0 + np.exp([1.6, 2.3]))
    truth = (1.0 - hazards)[:, None] ** np.arange(1, 4)
    assert (curves[:, :, 1] <= truth).all()
    assert (truth <= curves[:, :, 2]).all()
    assert (np.diff(model.survival(rows), axis=1) < 0.0).all()
    np.testing.assert_allclose(model.survival(rows), truth, atol=0.15)
    assert sv.Model.from_dict(json.loads(json.dumps(model.to_dict()))).schema == model.schema


@pytest.mark.parametrize("relation", ["replace-one", "zero-out"])
def test_where_nobody_tells_whose_records_these_are_the_promise_is_for_records(relation: str) -> None:
    """Several rows are made of one record; whether someone has two records is told nowhere."""
    table, schema, budget = cohort(60, 1), declared({"grid": [90, 180]}), sv.Budget(1.0, 1e-6, relation)
    ledger = sv.Ledger(budget)
    alone = sv.fit(table, schema, budget=budget, method="majorize", ledger=ledger)
    assert (ledger.unit, alone.result.guarantee.unit) == ("record", "record")
    assert "person" not in str(alone.result.guarantee)
    people = table.assign(patient=np.arange(60) // 2)
    told = schema.amended(person="patient")
    named = sv.fit(people, told, budget=budget, method="majorize", persons=40)
    assert named.result.guarantee.unit == "person"
    counted = "sum over rows at risk, each 1/2 of its {} or less, over n, of"
    assert alone.result.objective.startswith(counted.format("record"))
    assert named.result.objective.startswith(counted.format("person"))
    page = render(alone.result, alone.card())
    assert "figures are of one row a record" in page
    assert "evaluate" not in page
    with pytest.raises(sv.errors.LedgerError, match="person"):
        sv.fit(table, schema, budget=budget, method="majorize", ledger=sv.Ledger(budget, unit="person"))


def test_a_report_shows_hazard_ratios_and_survival_with_bands(model: sv.Model) -> None:
    page = render(model.result, model.card())
    assert "hazard odds ratio" in page
    assert "past 270" in page
    names = [curve.name for curve in model.card().survival]
    assert names == ["at the references", "arm=treated"]
    middle, low, high = model.card().survival[0].chances[0]
    assert f"{middle:.2f} ({low:.2f} to {high:.2f})" in page


def test_the_second_value_is_the_event_whatever_it_is_called() -> None:
    """ "died" sorts before "survived", and 1 may be the one that stays."""
    expected = rows_of(FEW, declared())
    words = FEW.assign(died=FEW.died.map({"no": "survived", "yes": "died"}))
    assert rows_of(words, declared({"classes": ["survived", "died"]})) == expected
    numbers = FEW.assign(died=FEW.died.map({"no": 1, "yes": 0}))
    schema = declared({"classes": [1, 0]})
    assert rows_of(numbers, schema) == expected
    assert rows_of(pa.Table.from_pandas(numbers), schema) == expected
    assert sv.Schema.from_dict(schema.to_dict()) == schema


def test_the_complementary_log_log_gives_hazard_ratios() -> None:
    """Times of proportional hazards, cut by the grid: intervals of five standard errors and more hold the
    logarithm of their ratio, and curves e^-t/mean, but for odds below 1e-6."""
    rng, n = np.random.default_rng(3), 8_000
    arm = rng.choice(["control", "treated"], n)
    days = rng.exponential(600.0 * np.where(arm == "treated", 2.0, 1.0)) + 1e-6
    left = rng.uniform(100, 900, n)
    table = pd.DataFrame(
        {
            "age": rng.uniform(40, 80, n),
            "arm": arm,
            "days": np.minimum(days, left),
            "died": np.where(days < left, "yes", "no"),
        }
    )
    schema = declared({"link": "cloglog", "typical": 0.15})
    found = sv.fit(table, schema, epsilon=6.0, delta=1e-6, inference=0.4, simulate=0)
    line = next(line for line in found.summary(level=1.0 - 1e-6).lines if line.term == "arm=treated")
    assert line.low <= -np.log(2.0) <= line.high
    assert line.high - line.low < 2.0
    assert "hazard ratio" in str(found.summary(exp=True))
    rows = pd.DataFrame({"age": [60.0], "arm": ["control"]})
    curve = found.survival_curves(rows, level=1.0 - 1e-6)[0]
    truth = np.exp(-np.array(GRID) / 600.0)
    assert (curve[:, 1] <= truth).all()
    assert (truth <= curve[:, 2]).all()
    chances = found.predict_proba(rows.assign(interval="to 90"))
    assert chances[0, 0] == pytest.approx(found.survival(rows)[0, 0])
    with pytest.raises(ParameterError):
        found.to_sql("t")


def test_what_is_not_offered_is_refused_before_any_charge() -> None:
    ledger = sv.Ledger(sv.Budget(1.0, 1e-6))
    options: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "ledger": ledger}
    for wrong in (
        {"evaluate": 0.1},
        {"reading": sv.ReadOptions(dask="local")},
        {"model": "additive"},
        {"loss": "hinge"},
    ):
        with pytest.raises(SottovoceError):
            sv.fit(FEW, declared(), **options, **wrong)
    with pytest.raises(ParameterError):
        sv.Records.from_parquet("rows.parquet", declared())
    assert not ledger.history


def test_the_command_line_fits_and_predicts_a_time_to_event(tmp_path: Path) -> None:
    cohort(3_000, 1).to_csv(tmp_path / "cohort.csv", index=False)
    (tmp_path / "schema.toml").write_text(declared({"grid": [90, 180, 270]}).to_toml())
    run, where = CliRunner(), [str(tmp_path / "cohort.csv"), "--schema", str(tmp_path / "schema.toml")]
    model = str(tmp_path / "m.json")
    budget = ["--epsilon", "8", "--delta", "1e-6", "--simulate", "0"]
    assert run.invoke(application(), ["fit", *where, *budget, "-o", model]).exit_code == 0
    found = run.invoke(application(), ["predict", model, where[0], "-o", str(tmp_path / "p.csv")])
    assert found.exit_code == 0, found.output
    predicted = pd.read_csv(tmp_path / "p.csv")
    assert [*predicted] == ["survival past 90", "survival past 180", "survival past 270"]
    assert len(predicted) == 3_000


def test_views_and_runs_of_arrow_are_read_as_their_cells_are() -> None:
    import pyarrow.compute as pc

    plain = pa.table({name: FEW[name].tolist() for name in ("age", "arm", "days", "died")})
    forms = {
        "arm": [pa.string_view(), pa.binary_view()],
        "died": [pa.string_view()],
        "age": [pc.run_end_encode(plain["age"].combine_chunks())],
    }
    wanted = np.asarray(read_compact(plain, declared(), sv.ReadOptions(invalid="zero")).features[:])
    for name, kinds in forms.items():
        for kind in kinds:
            column = kind if isinstance(kind, pa.Array) else pa.array(plain[name].to_pylist(), pa.string())
            column = column if isinstance(kind, pa.Array) else column.cast(pa.binary()).cast(kind)
            other = plain.set_column(plain.schema.get_field_index(name), name, column)
            found = read_compact(other, declared(), sv.ReadOptions(invalid="zero")).features[:]
            np.testing.assert_array_equal(np.asarray(found), wanted)


def test_a_time_to_event_is_not_recalibrated_and_nothing_is_charged(model: sv.Model) -> None:
    ledger = sv.Ledger(sv.Budget(1.0, 1e-5), unit="person")
    with pytest.raises(ParameterError, match="recalibration"):
        model.recalibrated(FEW, budget=sv.Budget(1.0, 1e-5), ledger=ledger)
    assert not ledger.history
