"""Models with curves elsewhere: every export follows the curve, on its knots, beside and beyond them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.data.encoding import encoded_table
from sottovoce.data.schema import Categorical, Numeric, Schema, Spline, Target
from sottovoce.features.curves import curves_of
from sottovoce.features.pairs import paired
from sottovoce.model import Model
from tests.exports.test_exports import CLOSE, alike

TARGETS = {
    "two classes": Target("y", ("no", "yes")),
    "three classes": Target("y", (1, 2, 3)),
    "a number": Target("y", low=-3, high=40),
    "a count": Target("y", high=40, count=True),
    "a surface": Target("y", ("no", "yes")),
}
COLUMNS = (
    Numeric("age", 0.0, 100.0, indicator=True),
    Numeric("income", 0.0, 1e6, transform="log1p", missing=(999999,)),
    Numeric("tiny", -1e-9, 1e-9),
    Numeric("area", 0.0, 400.0, transform="sqrt", indicator=True),
    Numeric("straight", -5.0, 5.0, shape="linear"),
    Categorical("sector", ("private", "State's"), indicator=True),
)

TEXTS: Any = np.array(["private", "State's", None, "?"], dtype=object)


def raw(rows: int, rng: np.random.Generator) -> dict[str, Any]:
    return {
        "age": rng.normal(50.0, 15.0, rows),
        "income": rng.lognormal(10.0, 1.0, rows),
        "tiny": rng.uniform(-1e-9, 1e-9, rows),
        "area": rng.exponential(60.0, rows),
        "straight": rng.normal(0.0, 2.0, rows),
        "sector": pd.Series(rng.choice(TEXTS, rows), dtype=object),
    }


def model_of(target: str) -> Model:
    """Trained as additive models are, then with weights large enough that no feature can hide."""
    rng = np.random.default_rng(0)
    schema = Schema(COLUMNS, TARGETS[target], missing=("?", -1))
    aim = TARGETS[target]
    y = rng.choice(np.array(aim.classes if aim.classes else [0.0, 30.0], dtype=object), 400)
    table = pd.DataFrame({**raw(400, rng), "y": y})
    fitted = sv.fit(
        table,
        schema,
        epsilon=4.0,
        delta=1e-3,
        simulate=0,
        model="additive",
        reading=sv.ReadOptions(invalid="zero"),
    )
    assert curves_of(fitted.schema) == {"age", "income", "tiny", "area"}
    held, count = fitted.to_dict(), fitted.result.weights.size
    if target == "a surface":
        crossed = paired(fitted.schema, schema, (("age", "income"), ("income", "area")), fitted.marginals)
        held["schema"], count = crossed.to_dict(), len(crossed.features)
        held["schema_digest"], held["result"]["noise"] = crossed.digest, None
    held["result"]["weights"] = rng.normal(0.0, 2.0, count).tolist()
    return Model.from_dict(held)


def hostile(model: Model, rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Knots, ends of the range, their neighbours in float64, what lies beyond, and what is no number."""
    frame = pd.DataFrame(raw(rows, rng))
    for column in model.schema.columns:
        if not isinstance(column, Numeric | Spline):
            continue
        places = np.array((column.low, *(column.knots if isinstance(column, Spline) else ()), column.high))
        wild = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 0.0, -1.0, 999999.0, *places]
        wild += [*np.nextafter(places, np.inf), *np.nextafter(places, -np.inf)]
        chosen = rng.random(rows) < 0.6
        frame[column.name] = np.where(chosen, rng.choice(np.array(wild), rows), frame[column.name])
    return frame


@pytest.fixture(scope="module", params=TARGETS)
def model(request: pytest.FixtureRequest) -> Model:
    return model_of(request.param)


@pytest.fixture(scope="module")
def table(model: Model) -> pd.DataFrame:
    return hostile(model, 3_000, np.random.default_rng(3))


def test_sql_follows_the_curves(model: Model, table: pd.DataFrame) -> None:
    with duckdb.connect() as connection:
        connection.register("hostile", pa.Table.from_pandas(table))
        found = connection.execute(model.to_sql("hostile")).fetchdf()
    alike(model, table, found.prediction.to_numpy(), found.filter(like="probability of").to_numpy())


def test_scikit_learn_follows_the_curves(model: Model, table: pd.DataFrame) -> None:
    pipeline = model.to_sklearn()
    alike(
        model, table, pipeline.predict(table), pipeline.predict_proba(table) if model.is_classifier else None
    )


def test_onnx_follows_the_curves(model: Model, table: pd.DataFrame) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    graph = model.to_onnx().SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    given = {
        name: (table[name].fillna("") if name == "sector" else table[name].astype(float)).to_numpy()[:, None]
        for name in model.schema.names
    }
    found = session.run(None, given)
    alike(model, table, found[0].ravel(), found[-1])


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed (r-base-core)")
def test_r_follows_the_curves(model: Model, table: pd.DataFrame, tmp_path: Path) -> None:
    from tests.exports.test_exports_r import in_r

    if not model.is_classifier:
        found = in_r(model, table, "show(predict(model, table))", tmp_path)
        alike(model, table, np.array(found, dtype=float), None)
        return
    found = in_r(model, table, "show(t(predict(model, table)))", tmp_path)
    chances = np.array(found, dtype=float).reshape(len(table), -1)
    alike(model, table, model.predict(table), chances)


def test_named_coefficients_with_the_schema_beside_them_make_the_scores(
    model: Model, table: pd.DataFrame
) -> None:
    """JSON: the score is the intercept and, for each feature of the schema in the file, its coefficient."""
    found = json.loads(model.to_json())
    features = encoded_table(model.schema, table, np.float64) / model.schema.unit
    outputs = list(found["coefficients"])
    scores = np.column_stack(
        [
            found["intercept"][name]
            + features[:, :-1] @ np.array(list(found["coefficients"][name].values()), dtype=float)
            for name in outputs
        ]
    )
    middle, reach = model.scale
    expected = middle + reach * model.decision_function(table).reshape(len(table), -1)
    assert (np.abs(scores - expected) / np.maximum(1.0, np.abs(expected))).max() < CLOSE
    assert list(found["coefficients"][outputs[0]]) == list(model.schema.features[:-1])
