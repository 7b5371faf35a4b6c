"""The entry points above training: estimators, the encoder, the search, saved models, private figures."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse
from sklearn.pipeline import make_pipeline

import sottovoce as sv
from sottovoce import evaluation
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from sottovoce.model import Model
from sottovoce.report import render
from tests.attacks.fuzz.watch import (
    SECRET_NUMBER,
    SECRET_TEXT,
    Draw,
    Spiteful,
    guarded,
    odd,
    smudged,
    spoiled,
)

BUDGET = sv.Budget(1.0, 1e-5)
COLUMNS = (Numeric("age", 0.0, 120.0), Categorical("sex", ("f", "m")), Categorical("rank", (1, 2, 3)))
SCHEMAS = (
    Schema(COLUMNS, Target("ill", ("no", "yes"))),
    Schema(COLUMNS, Target("ill", ("high", "low", "no"))),
    Schema(COLUMNS, Target("cost", low=0.0, high=9.0)),
)
SHARED = {
    "epsilon": 1.0,
    "delta": 1e-5,
    "simulate": 0,
}


def estimators(draw: Draw, folder: Path) -> None:
    """Fit and predict on anything that could be taken for a table, with a parameter or two odd."""
    n = int(draw.integers(0, 9))
    X, y = _features(draw, n), _labels(draw, n)
    made = _classifier(draw) if draw.random() < 0.6 else _regressor(draw)
    names = list(made.get_params())
    for name in draw.choice(names, int(draw.integers(0, 3)), replace=False):
        made.set_params(**{str(name): odd(draw)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's own, about names and shapes
        _used(draw, made, X, y)
    if draw.random() < 0.2:
        _searched(draw, X, y)


def _used(draw: Draw, made: Any, X: Any, y: Any) -> None:
    fitted = guarded(lambda: made.fit(X, y))
    model = made if fitted is None else fitted
    asked = _features(draw, int(draw.integers(0, 4)))
    guarded(lambda: model.predict(asked) is None or None)
    if hasattr(model, "predict_proba"):
        guarded(lambda: model.predict_proba(asked) is None or None)


def _searched(draw: Draw, X: Any, y: Any) -> None:
    inner: tuple[Callable[[], Any], ...] = (
        lambda: _classifier(draw),
        lambda: _regressor(draw),
        lambda: make_pipeline(_classifier(draw)),
        lambda: odd(draw),
    )
    grids: tuple[Callable[[], Any], ...] = (
        lambda: {"strength": [1e-6, 1.0]},
        lambda: {"epsilon": [1.0]},
        lambda: {"nothing": [1.0]},
        lambda: {"strength": odd(draw)},
        lambda: {"radius": [odd(draw), 1.0]},
        lambda: odd(draw),
    )
    options: dict[str, Any] = dict(SHARED)
    names = ("epsilon", "delta", "selection_share", "held_out", "ledger", "simulate")
    for name in draw.choice(names, int(draw.integers(0, 2)), replace=False):
        options[str(name)] = odd(draw)
    estimator, grid = inner[draw.integers(len(inner))](), grids[draw.integers(len(grids))]()
    search = guarded(lambda: sv.PrivateSearch(estimator, grid, **options).fit(X, y))
    if search is not None:
        guarded(lambda: search.predict(X) is None or None)


def encoders(draw: Draw, folder: Path) -> None:
    """Tables of every kind, with columns missing, repeated, of another type or full of secrets."""
    table = _frame(draw, int(draw.integers(0, 5)))
    schema: Any = SCHEMAS[draw.integers(3)]
    if draw.random() < 0.15:
        schema = odd(draw)
    encoder = sv.BoundedEncoder(schema)
    guarded(lambda: encoder.fit(table) and None)
    rows = guarded(lambda: encoder.transform(table))
    if rows is not None:
        assert np.all(np.linalg.norm(rows.astype(np.float64), axis=1) <= 1.0)
    guarded(lambda: encoder.get_feature_names_out() is None or None)


def _trained(schema: Schema) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    rows = sv.BoundedEncoder(schema).transform(_sound(rng, 60))
    aim = schema.target
    assert aim is not None
    if aim.classes is None:
        records = sv.Records.from_arrays(rows, rng.uniform(-1, 1, 60), target=(-1.0, 1.0))
        risk: Any = sv.Risk(records, sv.losses.PseudoHuber())
    else:
        records = sv.Records.from_arrays(rows, rng.choice(aim.classes, 60), labels=tuple(sorted(aim.classes)))
        risk = sv.SoftmaxRisk(records) if len(aim.classes) > 2 else sv.Risk(records, sv.losses.Logistic())
    return Model(
        result=sv.minimize(risk, budget=BUDGET, simulate=0),
        schema=schema,
        loss="logistic" if aim.classes else "pseudo-huber",
        dataset="claims",
        created="2026-01-01",
        versions={"sottovoce": "0"},
    ).to_dict()


def _sound(rng: Draw, n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {"age": rng.uniform(0, 120, n), "sex": rng.choice(["f", "m"], n), "rank": rng.choice([1, 2, 3], n)}
    )


@cache
def _models() -> tuple[dict[str, Any], ...]:
    """Trained when first asked for: whoever only collects tests does not wait for them."""
    return tuple(_trained(schema) for schema in SCHEMAS)


def models(draw: Draw, folder: Path) -> None:
    """Model files with parts missing, replaced or smudged; whatever loads predicts, is measured and shown."""
    raw = _models()[draw.integers(3)]
    place = folder / "model.json"
    if draw.random() < 0.5:
        place.write_bytes(smudged(draw, json.dumps(raw).encode()))
        model = guarded(lambda: Model.load(place))
    else:
        model = guarded(lambda: Model.from_dict(spoiled(draw, raw)))
    if model is None or draw.random() < 0.2:
        model = Model.from_dict(raw)
    n = int(draw.integers(0, 5))
    table = _frame(draw, n)
    rows = guarded(lambda: model.encode(table))
    if rows is None or draw.random() < 0.2:
        rows = _features(draw, n)
    guarded(lambda: model.predict(rows) is None or None)
    if hasattr(model, "predict_proba"):
        guarded(lambda: model.predict_proba(rows) is None or None)
    guarded(lambda: render(model.result, model.card()) and None)
    guarded(lambda: model.save(folder / "again.json"))
    figures: tuple[Callable[..., Any], ...] = (
        evaluation.accuracy,
        evaluation.evaluate,
        evaluation.confusion_matrix,
        evaluation.calibration,
        evaluation.log_loss,
        evaluation.auc,
        lambda *given, **options: evaluation.absolute_error(*given, target=(0.0, 9.0), **options),
    )
    figure = figures[draw.integers(len(figures))]
    options: dict[str, Any] = {"budget": BUDGET, "simulate": 0}
    if draw.random() < 0.3:
        options[str(draw.choice(["budget", "ledger", "simulate", "confidence"]))] = odd(draw)
    guarded(lambda: figure(model, rows, _labels(draw, n), **options) and None)


def _classifier(draw: Draw) -> Any:
    classes: Any = [("a", "b"), (-1, 1), ("a", "b", "c"), "observed"][draw.integers(4)]
    return sv.PrivateClassifier(classes=classes, **SHARED)


def _regressor(draw: Draw) -> Any:
    return sv.PrivateRegressor(target=(-1.0, 1.0), **SHARED)


def _features(draw: Draw, n: int) -> Any:
    """Three columns of numbers, or what might be taken for them."""
    plain = draw.normal(size=(n, int(draw.choice([3, 3, 3, 0, 1])))) * draw.choice([1.0, 1e300, 1e-300])
    if plain.size and draw.random() < 0.4:
        plain.flat[draw.integers(plain.size)] = draw.choice([SECRET_NUMBER, np.nan, np.inf, -1e308, 5e-324])
    pool: tuple[Callable[[], Any], ...] = (
        lambda: plain,
        lambda: plain,
        lambda: plain.astype(np.float32) if np.all(np.abs(plain) < 1e30) else plain,
        lambda: plain.astype(object),
        lambda: plain.astype(str),
        lambda: plain.astype(complex),
        plain.tolist,
        plain.ravel,
        lambda: plain[None],
        lambda: sparse.csr_array(plain) if plain.size else plain,
        lambda: sparse.coo_matrix(plain) if plain.size else plain,
        lambda: np.ma.masked_greater(plain, 1.0),
        lambda: pd.DataFrame(plain),
        lambda: pd.DataFrame(plain, columns=[f"{SECRET_TEXT[0]}{i}" for i in range(plain.shape[1])]),
        lambda: pl.DataFrame(plain),
        lambda: pa.table({str(i): column for i, column in enumerate(plain.T)}),
        lambda: [[SECRET_NUMBER], [1.0, 2.0]],
        lambda: np.array([[SECRET_TEXT]] * max(n, 1)),
        lambda: np.array([[Spiteful()]] * max(n, 1), dtype=object),
        lambda: [Spiteful()] * n,
        lambda: np.zeros((n, 3), dtype="datetime64[s]"),
        Spiteful,
        lambda: _frame(draw, n),
        lambda: odd(draw),
    )
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pool[draw.integers(len(pool))]()


def _labels(draw: Draw, n: int) -> Any:
    pool: tuple[Callable[[], Any], ...] = (
        lambda: draw.choice([-1, 1], n),
        lambda: draw.choice(["a", "b"], n),
        lambda: draw.choice(["a", "b", "c"], n).tolist(),
        lambda: draw.choice(["no", "yes"], n),
        lambda: draw.uniform(-2, 2, n),
        lambda: draw.choice([-1.0, 1.0, SECRET_NUMBER], n),
        lambda: draw.choice(["a", "b", SECRET_TEXT], n),
        lambda: np.array([Spiteful()] * n, dtype=object),
        lambda: np.array(["a", 1, None, SECRET_NUMBER] * n, dtype=object)[:n],
        lambda: pd.Series(draw.choice(["a", "b"], n), dtype="category"),
        lambda: pl.Series(draw.choice([-1, 1], n)),
        lambda: np.full((n, 1), SECRET_NUMBER),
        lambda: np.full((n, 2), SECRET_NUMBER),
        lambda: np.full(n + 1, SECRET_NUMBER),
        lambda: np.full(n, np.nan),
        lambda: odd(draw),
    )
    return pool[draw.integers(len(pool))]()


def _frame(draw: Draw, n: int) -> Any:
    """A table for the schemas, in one of three libraries, with one column or none spoilt."""
    columns: dict[str, Any] = {
        "age": draw.uniform(-50, 200, n).tolist(),
        "sex": draw.choice(["f", "m", SECRET_TEXT], n).tolist(),
        "rank": draw.integers(0, 5, n).tolist(),
    }
    spoils: tuple[Callable[[], Any], ...] = (
        lambda: [SECRET_TEXT] * n,
        lambda: [SECRET_NUMBER] * n,
        lambda: [None] * n,
        lambda: [[SECRET_NUMBER]] * n,
        lambda: [{"a": SECRET_TEXT}] * n,
        lambda: [np.datetime64("2020-01-01")] * n,
        lambda: [10**30] * n,
        lambda: [True] * n,
        lambda: [b"\xff"] * n,
        lambda: [float("nan"), float("inf"), -0.0, 5e-324, 1e308][:n],
        lambda: ["1", "2", SECRET_TEXT, "", "\x00"][:n],
        lambda: [1, "a", None, 2.5, SECRET_NUMBER][:n],
    )
    if draw.random() < 0.7:
        columns[str(draw.choice(list(columns)))] = spoils[draw.integers(len(spoils))]()
    if draw.random() < 0.1:
        del columns[str(draw.choice(list(columns)))]
    makers: tuple[Callable[[], Any], ...] = (
        lambda: pd.DataFrame(columns),
        lambda: pd.DataFrame(columns, dtype=object),
        lambda: pd.DataFrame(columns).astype(dict.fromkeys(columns, "category")),
        lambda: pl.DataFrame(columns, strict=False),
        lambda: pa.table(columns),
        lambda: pd.concat([pd.DataFrame(columns)] * 2, axis=1),
        lambda: pl.DataFrame(columns, strict=False).lazy(),
        lambda: columns,
        lambda: pd.DataFrame({**columns, "rank": [Spiteful()] * n}, dtype=object),
    )
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return makers[draw.integers(len(makers))]()
        except Exception:  # the library itself makes no such table
            return columns


DOORS: dict[str, Callable[[Draw, Path], None]] = {
    "estimators": estimators,
    "encoders": encoders,
    "models": models,
}
