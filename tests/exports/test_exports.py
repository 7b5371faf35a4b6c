"""Every export predicts as the model itself does, on values that were made to be misread."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.data.schema import Binned, Categorical, DatePart, Numeric, Spline, Target
from sottovoce.exports.sklearn import TRUSTED
from sottovoce.fitting import versions
from sottovoce.model import Model

ROWS = 10_000
CLOSE = 1e-9
"""All compute in float64 what the model does, so this leaves room for the order of sums alone."""

COLUMNS = (
    Numeric("income", 0, 1e6, transform="log1p", indicator=True, missing=(999999,)),
    Numeric("root", 0, 50, transform="sqrt", centre=2, scale=3),
    Binned("age", (18, 30, 65), indicator=True),
    Spline("hours", 0, 100, (20, 40, 60)),
    Categorical("sector", ("private", "State's", "über", "a.b|c"), indicator=True),
    Categorical("grade", (1, 2.5, 7), indicator=True),
    Categorical("member", (True, False)),
)
TARGETS = {
    "two classes": Target("y", ("no", "yes")),
    "three classes": Target("y", (1, 2, 3)),
    "a number": Target("y", low=-3, high=40),
    "a count": Target("y", high=40, count=True),
}


def schema_of(target: str, columns: tuple[Any, ...] = COLUMNS) -> sv.Schema:
    pairs = (("age", "sector"), ("hours", "income"), ("grade", "member"))
    return sv.Schema(columns, TARGETS[target], missing=("?", -1), fold=True, interactions=pairs)


def model_of(schema: sv.Schema, loss: str | None = None) -> Model:
    """A model with weights of its own, large enough that no feature can hide."""
    table = hostile(60, np.random.default_rng(1), schema)
    fitted = sv.fit(
        table, schema, epsilon=1.0, delta=1e-3, simulate=0, loss=loss, reading=sv.ReadOptions(invalid="zero")
    )
    rng = np.random.default_rng(2)
    raw = fitted.to_dict()
    raw["result"]["weights"] = rng.normal(0.0, 2.0, fitted.result.weights.size).tolist()
    return Model.from_dict(raw)


def hostile(rows: int, rng: np.random.Generator, schema: sv.Schema) -> pd.DataFrame:
    """Numbers missing, infinite, on edges, out of range; text missing, undeclared, untrimmed, in capitals."""

    def numbers(low: float, high: float, edges: tuple[float, ...]) -> Any:
        wild = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, -1.0, 999999.0, low, high, *edges])
        return np.where(rng.random(rows) < 0.4, rng.choice(wild, rows), rng.uniform(low, high, rows))

    texts = ["private", " PRIVATE\t", "State's", "STATE'S ", "ÜBER", "über", "a.b|c", "aXbc", "?", "", None]
    texts += ["State''s", "privat", "private\u00a0", "nan", "x" * 100]
    frame = pd.DataFrame(
        {
            "income": numbers(0, 1e6, ()),
            "root": numbers(0, 50, ()),
            "age": numbers(0, 100, (18.0, 30.0, 65.0)),
            "hours": numbers(0, 100, (20.0, 40.0, 60.0)),
            "sector": pd.Series(rng.choice(np.array(texts, dtype=object), rows), dtype=object),
            "grade": rng.choice([1.0, 2.5, 7.0, 3.0, np.nan, np.inf, -1.0], rows),
            "member": rng.choice([1.0, 0.0, np.nan, 2.0], rows),
            "day": pd.Series(pd.to_datetime(rng.integers(0, 2 * 10**9, rows), unit="s")).astype(
                "datetime64[us]"
            ),
        }
    )
    frame.loc[rng.random(rows) < 0.2, "day"] = pd.NaT
    assert schema.target is not None
    classes = schema.target.classes
    frame["y"] = rng.choice(np.array(classes if classes else [0.0, 30.0], dtype=object), rows)
    return frame


@pytest.fixture(scope="module", params=TARGETS)
def model(request: pytest.FixtureRequest) -> Model:
    return model_of(schema_of(request.param))


@pytest.fixture(scope="module")
def table(model: Model) -> pd.DataFrame:
    return hostile(ROWS, np.random.default_rng(3), model.schema)


def alike(model: Model, table: pd.DataFrame, predicted: Any, chances: Any) -> None:
    scores = model.decision_function(table)
    if not model.is_classifier:
        expected = model.predict(table)
        error = np.abs(np.asarray(predicted, dtype=float) - expected)
        assert (error / np.maximum(1.0, np.abs(expected))).max() < CLOSE
        return
    assert np.abs(chances - model.predict_proba(table)).max() < CLOSE
    best = np.abs(scores) if scores.ndim == 1 else np.diff(np.sort(scores, axis=1)[:, -2:], axis=1)[:, 0]
    decided = best > 1e-6
    assert (np.asarray(predicted)[decided] == model.predict(table)[decided]).all()
    assert decided.mean() > 0.99


def test_sql_in_duckdb_predicts_as_the_model(model: Model, table: pd.DataFrame) -> None:
    with duckdb.connect() as connection:
        connection.register("hostile", pa.Table.from_pandas(table))
        found = connection.execute(model.to_sql("hostile")).fetchdf()
    chances = found.filter(like="probability of").to_numpy()
    alike(model, table, found.prediction.to_numpy(), chances)


def test_a_pipeline_of_scikit_learn_predicts_as_the_model(model: Model, table: pd.DataFrame) -> None:
    pipeline = model.to_sklearn()
    chances = pipeline.predict_proba(table) if model.is_classifier else None
    alike(model, table, pipeline.predict(table), chances)
    assert pipeline[-1].metadata_["guarantee"] == str(model.result.guarantee)


def test_onnx_runtime_predicts_as_the_model(model: Model, table: pd.DataFrame) -> None:
    import onnxruntime

    graph = model.to_onnx()
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    given = {}
    for column in model.schema.names:
        values = table[column].fillna("") if column == "sector" else table[column].astype(float)
        given[column] = values.to_numpy()[:, None]
    found = session.run(None, given)
    alike(model, table, found[0].ravel(), found[-1])
    facts = session.get_modelmeta().custom_metadata_map
    assert facts["guarantee"] == str(model.result.guarantee)


@pytest.mark.parametrize("part", ["month", "quarter", "weekday", "hour", "year"])
def test_sql_reads_dates_as_the_model_does_and_others_name_the_way_out(part: str) -> None:
    bounds = {"low": 1980, "high": 2010} if part == "year" else {}
    date = DatePart("part", part, column="day", indicator=True, **bounds)  # type: ignore[arg-type]
    model = model_of(schema_of("two classes", (*COLUMNS, date)))
    table = hostile(2_000, np.random.default_rng(4), model.schema)
    with duckdb.connect() as connection:
        connection.register("hostile", pa.Table.from_pandas(table))
        found = connection.execute(model.to_sql("hostile")).fetchdf()
    alike(model, table, found.prediction.to_numpy(), found.filter(like="probability of").to_numpy())
    for export in (model.to_sklearn, model.to_onnx):
        with pytest.raises(sv.errors.ParameterError, match="to_sql"):
            export()


def test_a_model_without_probabilities_exports_its_classes() -> None:
    model = model_of(schema_of("two classes"), loss="softplus-hinge")
    table = hostile(500, np.random.default_rng(5), model.schema)
    assert (model.to_sklearn().predict(table) == model.predict(table)).all()
    assert "probability" not in model.to_sql("t")
    assert [output.name for output in model.to_onnx().graph.output] == ["label"]


BLOCKED = """
import builtins, pickle, sys
real = builtins.__import__
def guarded(name, *rest, **options):
    if name.split(".")[0] == "sottovoce":
        raise ImportError("blocked")
    return real(name, *rest, **options)
builtins.__import__ = guarded
import numpy, pandas, skops.io
table = pandas.read_pickle(sys.argv[1])
kept = skops.io.load(sys.argv[3], trusted=sys.argv[5:])
with open(sys.argv[2], "rb") as file:
    pipeline = pickle.load(file)
assert (pipeline.predict_proba(table) == kept.predict_proba(table)).all()
numpy.save(sys.argv[4], pipeline.predict_proba(table))
assert not any(name.startswith("sottovoce") for name in sys.modules)
"""


def test_a_pipeline_predicts_where_sottovoce_cannot_be_imported_and_skops_trusts_it(tmp_path: Path) -> None:
    import skops.io

    model = model_of(schema_of("two classes"))
    table = hostile(300, np.random.default_rng(6), model.schema)
    pipeline = model.to_sklearn()
    table.to_pickle(tmp_path / "table")
    (tmp_path / "pipeline").write_bytes(pickle.dumps(pipeline))
    skops.io.dump(pipeline, tmp_path / "skops")
    assert set(skops.io.get_untrusted_types(file=tmp_path / "skops")) <= set(TRUSTED)
    places = [str(tmp_path / name) for name in ("table", "pipeline", "skops", "out.npy")]
    subprocess.run([sys.executable, "-I", "-c", BLOCKED, *places, *TRUSTED], check=True)
    assert np.abs(np.load(places[-1]) - model.predict_proba(table)).max() < 1e-6


def test_skops_trusts_a_pipeline_of_counts(tmp_path: Path) -> None:
    import skops.io

    model = model_of(schema_of("a count"))
    skops.io.dump(model.to_sklearn(), tmp_path / "skops")
    assert set(skops.io.get_untrusted_types(file=tmp_path / "skops")) <= set(TRUSTED)
    table = hostile(100, np.random.default_rng(8), model.schema)
    kept = skops.io.load(tmp_path / "skops", trusted=TRUSTED)
    alike(model, table, kept.predict(table), None)
    assert json.loads(model.to_json())["link"] == "log"


def test_coefficients_are_those_of_the_scores_and_carry_the_guarantee() -> None:
    model = model_of(schema_of("two classes"))
    found = json.loads(model.to_json())
    assert found["guarantee"] == str(model.result.guarantee)
    unit = 1.0 / math.sqrt(model.schema.blocks)
    named = {**found["coefficients"]["yes"], "intercept": found["intercept"]["yes"]}
    assert list(named) == list(model.schema.features)
    assert np.allclose(list(named.values()), unit * model.result.weights, rtol=1e-5)


def test_text_of_the_model_cannot_leave_its_quotes_in_sql() -> None:
    schema = sv.Schema(
        (Categorical('na"me', ("it's", "a'); DROP TABLE t; --")),), Target("y", ("no'", "yes")), trim=False
    )
    table = pd.DataFrame(
        {'na"me': ["it's", "a'); DROP TABLE t; --", "x"] * 3, "y": ["no'", "yes", "yes"] * 3}
    )
    model = sv.fit(
        table, schema, epsilon=1.0, delta=1e-3, simulate=0, about=sv.About(dataset="two\nlines; DROP TABLE t")
    )
    with duckdb.connect() as connection:
        connection.register("t", pa.Table.from_pandas(table))
        found = connection.execute(model.to_sql("t")).fetchdf()
    assert np.abs(found["probability of yes"] - model.predict_proba(table)[:, 1]).max() < 1e-6
    assert versions()["sottovoce"] in model.to_sql("t")


@pytest.mark.parametrize(
    "names",
    [
        ("score", "prediction"),
        ("Score_1", "PREDICTION"),
        ("c0", "c1"),
        ("t0", "label"),
        ("value", "probabilities"),
    ],
)
@pytest.mark.parametrize("target", ["two classes", "three classes", "a number"])
def test_no_name_of_a_column_stands_for_what_an_export_computes(names: tuple[str, str], target: str) -> None:
    import onnxruntime

    schema = sv.Schema(tuple(Numeric(name, 0, 1) for name in names), TARGETS[target])
    rng = np.random.default_rng(7)
    table = pd.DataFrame(rng.uniform(0, 1, (300, 2)), columns=list(names))
    table["y"] = rng.choice(np.array(schema.target.classes or [0.0, 30.0], dtype=object), 300)  # type: ignore[union-attr]
    fitted = sv.fit(table, schema, epsilon=1.0, delta=1e-3, simulate=0)
    raw = fitted.to_dict()
    raw["result"]["weights"] = rng.normal(0.0, 2.0, fitted.result.weights.size).tolist()
    model = Model.from_dict(raw)
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    assert [one.name for one in session.get_inputs()] == list(names)
    found = session.run(None, {name: table[[name]].to_numpy() for name in names})
    alike(model, table, found[0].ravel(), found[-1])
    others = {"score": 1.0, "score_1": 1.0, "prediction": "theirs"}
    wider = table.assign(**{name: cell for name, cell in others.items() if name not in table.columns})
    with duckdb.connect() as connection:
        connection.register("t", pa.Table.from_pandas(wider.drop(columns="y")))
        shown = connection.execute(model.to_sql("t")).fetchdf()
    computed = shown.iloc[:, : shown.columns.get_loc(names[0])]
    place = [name.rstrip("'") for name in computed.columns].index("prediction")
    alike(model, table, computed.iloc[:, place].to_numpy(), computed.filter(like="probability of").to_numpy())
