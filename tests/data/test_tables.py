"""One door for tables: whatever brings them, the same cells become the same rows."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.data.files import read
from sottovoce.data.schema import Binned, Categorical, DatePart, Numeric, Spline, Target

SCHEMA = sv.Schema(
    (
        Numeric("income", 0, 1e6, transform="log1p", indicator=True, missing=(999999,)),
        Binned("age", (18, 30, 65)),
        Spline("hours", 0, 100, (20, 40, 60)),
        Categorical("sector", ("private", "State"), indicator=True),
        DatePart("month", "month", column="day"),
        DatePart("year", "year", column="day", low=2000, high=2030),
        Numeric("dose", 0, 10, centre=2, scale=4),
    ),
    Target("outcome", ("no", "yes")),
    missing=("?",),
    fold=True,
    interactions=(("age", "sector"), ("hours", "dose")),
)
FRAME = pd.DataFrame(
    {
        "income": [0.0, 1e6, 999999, None],
        "age": [17.0, 18.0, 64.5, None],
        "hours": [-5.0, 40.0, 500.0, None],
        "sector": [" PRIVATE ", "state", "?", "other"],
        "day": pd.to_datetime(["2024-01-31", "2030-12-01", "1990-06-15", None]),
        "dose": [2.0, 10.0, -1.0, None],
        "outcome": ["no", "yes", " No", "yes "],
    }
)
ROUTES: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda _: FRAME,
    "polars": lambda _: pl.from_pandas(FRAME),
    "lazy polars": lambda _: pl.from_pandas(FRAME).lazy(),
    "pyarrow": lambda _: pa.Table.from_pandas(FRAME),
    "reader": lambda _: pa.Table.from_pandas(FRAME).to_reader(max_chunksize=1),
    "duckdb": lambda _: duckdb.from_arrow(pa.Table.from_pandas(FRAME)),
    "csv": lambda folder: _written(folder / "a.csv"),
    "parquet": lambda folder: _written(folder / "a.parquet"),
}


def _written(path: Path) -> Path:
    if path.suffix == ".csv":
        FRAME.rename(columns=lambda name: f" {name}").to_csv(path, index=False)
    else:
        FRAME.to_parquet(path)
    return path


def blocks(row: np.ndarray) -> list[np.ndarray]:
    """The encoded row cut into the blocks of columns and interactions, in units of 1."""
    widths = [len(column.features) for column in SCHEMA.columns]
    widths += [4 * 3, 7 * 1, 1]
    return np.split(row * math.sqrt(SCHEMA.blocks), np.cumsum(widths)[:-1])


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_gives_the_rows_that_pandas_gives(route: str, tmp_path: Path) -> None:
    table = read(ROUTES[route](tmp_path), SCHEMA)
    assert np.array_equal(table.features, sv.BoundedEncoder(SCHEMA).transform(FRAME))
    assert table.target is not None
    assert table.target.tolist() == ["no", "yes", "no", "yes"]


@pytest.mark.parametrize("route", ROUTES)
def test_records_and_models_take_every_table(route: str, tmp_path: Path) -> None:
    assert sv.Records.from_table(ROUTES[route](tmp_path), SCHEMA).n == 4
    model = sv.fit(ROUTES[route](tmp_path), SCHEMA, epsilon=5.0, delta=1e-3, simulate=0)
    assert np.array_equal(model.predict(ROUTES[route](tmp_path)), model.predict(model.encode(FRAME)))
    found = sv.evaluation.accuracy(model, ROUTES[route](tmp_path), budget=sv.Budget(5.0, 1e-3), simulate=0)
    assert found.n == 4


def test_cells_become_what_the_schema_declares() -> None:
    rows = sv.BoundedEncoder(SCHEMA).transform(FRAME)
    income, age, hours, sector, month, year, dose, _, _, one = zip(*map(blocks, rows), strict=True)
    close = {"abs": 1e-5}
    assert [list(part) for part in income] == [
        pytest.approx(want, **close) for want in ([-1, 0], [1, 0], [0, 1], [0, 1])
    ]
    assert [int(part.argmax()) if part.any() else -1 for part in age] == [0, 1, 2, -1]
    assert [part.sum() for part in hours] == pytest.approx([1, 1, 1, 0], **close)
    assert [np.round(part).tolist() for part in sector] == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert [int(part.argmax()) if part.any() else -1 for part in month] == [0, 11, 5, -1]
    assert [part[0] for part in year] == pytest.approx([9 / 15, 1, -1, 0], **close)
    assert [part[0] for part in dose] == pytest.approx([0, 1, -0.5, 0], **close)
    assert [part[0] for part in one] == pytest.approx([1, 1, 1, 1], **close)


cells = st.one_of(
    st.none(),
    st.floats(),
    st.integers(-(10**20), 10**20),
    st.text(max_size=4),
    st.sampled_from(["?", " State", "2024-02-30", "2024-02-29 23:59", "999999", True, dt.date(2024, 2, 29)]),
)


FULLEST = {"income": 1e6, "age": 40, "hours": 40, "sector": "private", "day": "2030-12-01", "dose": 10}


@given(st.fixed_dictionaries({name: cells for name in FRAME.columns if name != "outcome"}))
@example(FULLEST)
@settings(max_examples=150, deadline=None)
def test_no_cell_makes_a_block_longer_than_one(row: dict[str, Any]) -> None:
    table = pd.DataFrame({name: pd.Series([cell], dtype=object) for name, cell in row.items()})
    encoded = sv.BoundedEncoder(SCHEMA).transform(table)[0].astype(np.float64)
    assert all(np.linalg.norm(block) <= 1.0 for block in blocks(encoded))
    assert np.linalg.norm(encoded) <= 1.0 - 2.0**-22


@given(st.lists(st.fixed_dictionaries(dict.fromkeys(FRAME.columns, cells)), min_size=2, max_size=5))
@settings(max_examples=40, deadline=None)
def test_no_record_changes_how_another_is_read(rows: list[dict[str, Any]]) -> None:
    def frame(chosen: list[dict[str, Any]]) -> pd.DataFrame:
        return pd.DataFrame(
            {name: pd.Series([row[name] for row in chosen], dtype=object) for name in FRAME.columns}
        )

    whole = read(frame(rows), SCHEMA, how=sv.ReadOptions(invalid="zero")).features
    alone = [read(frame([row]), SCHEMA, how=sv.ReadOptions(invalid="zero")).features for row in rows]
    assert np.array_equal(whole, np.concatenate(alone))


def test_a_spline_is_the_one_of_scipy_and_sums_to_one() -> None:
    from sklearn.preprocessing import SplineTransformer

    column = Spline("x", -1, 5, (0, 1, 3.5))
    values = np.linspace(-1, 5, 301)
    theirs = SplineTransformer(knots=np.array([column.breaks]).T, degree=3).fit(values[:, None])
    assert np.allclose(column.basis(values), theirs.transform(values[:, None]), atol=1e-12)
    assert np.allclose(column.basis(values).sum(axis=1), 1.0)


@pytest.mark.parametrize("transform", ["log1p", "sqrt"])
def test_a_transformed_spline_bends_in_the_transformed_number(transform: str) -> None:
    """It is the spline of transformed numbers over transformed knots; whatever a cell holds, at least 0 and
    of sum 1."""
    taken = getattr(np, transform)
    column = Spline("x", 0.25, 900.0, (1.0, 30.0, 200.0), transform=transform)
    plain = Spline("x", *taken([0.25, 900.0]).tolist(), tuple(taken([1.0, 30.0, 200.0]).tolist()))
    values = np.geomspace(0.25, 900.0, 301)
    assert np.allclose(column.basis(values), plain.basis(taken(values)), atol=1e-12)
    assert np.allclose(column.at(np.array([0.0, 0.5, 1.0])), [0.25, column.at(np.array([0.5]))[0], 900.0])
    assert np.allclose(taken(column.at(np.array([0.5]))), taken([0.25, 900.0]).mean())
    wild = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, -1.0, -2.0, 0.0, -0.0, 5e-324, 1e300])
    found = column.basis(np.concatenate([wild, values]))
    assert found.min() >= 0.0
    assert np.allclose(found.sum(axis=1), 1.0)
    assert np.array_equal(column.basis(wild[1:3]), column.basis(np.array([900.0, 0.25])))
    assert sv.Schema.from_dict(sv.Schema((column,)).to_dict()).columns == (column,)


def test_a_name_that_is_nearly_there_is_suggested() -> None:
    known = tuple(column for column in SCHEMA.columns if column.name != "sector")
    encoder = sv.BoundedEncoder(sv.Schema((*known, Categorical("sectr", ("a",)))))
    with pytest.raises(sv.errors.DataError, match="Did you mean 'sector'"):
        encoder.transform(FRAME)


def test_a_spreadsheet_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(sv.errors.ParameterError, match="CSV"):
        read(tmp_path / "a.xlsx", SCHEMA)


def test_text_that_is_declared_missing_is_not_refused_and_other_text_is() -> None:
    schema = sv.Schema(
        (Numeric("a", 0, 1, missing=("unknown",)),), Target("y", ("no", "yes")), missing=("?",)
    )
    table = pa.table({"a": ["1", " ? ", "unknown"], "y": ["no", "yes", "no"]})
    assert read(table, schema).features[:, 0].tolist()[1:] == [0.0, 0.0]
    with pytest.raises(sv.errors.DataError, match="no number") as caught:
        read(table.set_column(0, "a", pa.array(["1", "secret", "2"])), schema)
    assert "secret" not in str(caught.value)


def test_a_stream_that_breaks_says_nothing_of_what_it_held() -> None:
    def batches() -> Any:
        yield pa.record_batch({"a": ["1"], "y": ["no"]})
        raise RuntimeError("secret")

    schema = sv.Schema((Numeric("a", 0, 1),), Target("y", ("no", "yes")))
    kind = pa.schema({"a": pa.string(), "y": pa.string()})
    with pytest.raises(sv.errors.DataError, match="broke off") as caught:
        read(pa.RecordBatchReader.from_batches(kind, batches()), schema)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: Numeric("a", -1, 1, transform="log1p"), "low at least"),
        (lambda: Numeric("a", -1, 1, transform="sqrt"), "low at least"),
        (lambda: Numeric("a", 0, 1, transform="exp"), "transform must be"),
        (lambda: Numeric("a", 0, 1, scale=0), "above 0"),
        (lambda: Numeric("a", 0, 1, missing="?"), "list"),
        (lambda: Numeric("a", 0, 1, indicator=1), "true or false"),
        (lambda: Binned("a", ()), "one or more"),
        (lambda: Binned("a", (1, 1)), "increase"),
        (lambda: Spline("a", 0, 1, (2,)), "between low and high"),
        (lambda: Spline("a", -1, 1, (0,), transform="log1p"), "low at least"),
        (lambda: Spline("a", 0, 1, (0.5,), transform="exp"), "transform must be"),
        (lambda: Spline("a", 1e15, 1e15 + 8, (1e15 + 1, 1e15 + 2), transform="log1p"), "increase after the"),
        (lambda: DatePart("a", "minute"), "part must be"),
        (lambda: DatePart("a", "year"), "low and high"),
        (lambda: sv.Schema((Numeric("a", 0, 1),), interactions=(("a", "b"),)), "interactions"),
        (lambda: sv.Schema((Numeric("a", 0, 1),), trim="yes"), "true or false"),
    ],
)
def test_a_wrong_declaration_names_its_rule(wrong: Callable[[], Any], words: str) -> None:
    with pytest.raises(sv.errors.ParameterError, match=words):
        wrong()


def test_every_declaration_survives_toml() -> None:
    import tomllib

    assert sv.Schema.from_dict(tomllib.loads(SCHEMA.to_toml())) == SCHEMA


def test_labels_that_differ_by_spaces_alone_are_matched_to_the_letter() -> None:
    schema = sv.Schema((Categorical("c", ("a", " a")),))
    rows = sv.BoundedEncoder(schema).transform(pa.table({"c": ["a", " a", "a ", "b"]}))
    assert (rows[:, :2] > 0).tolist() == [[True, False], [False, True], [False, False], [False, False]]
