"""Counts and losses with a scale through every front: schema, fit, estimators, evaluation, command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce import evaluation
from sottovoce.cli import app
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from sottovoce.errors import ParameterError

N, HIGH = 20_000, 15
SCHEMA = Schema(
    (Numeric("age", 18, 90), Categorical("region", ("north", "south"))),
    Target("claims", high=HIGH, count=True),
)


def table(seed: int = 0, n: int = N) -> pd.DataFrame:
    """Counts more spread than Poisson's: rates are multiplied by a gamma of variance 1/2."""
    rng = np.random.default_rng(seed)
    age, region = rng.uniform(18, 90, n), rng.choice(["north", "south"], n)
    rate = np.exp(-0.5 + 0.02 * age + 0.4 * (region == "south")) * rng.gamma(2.0, 0.5, n)
    return pd.DataFrame({"age": age, "region": region, "claims": rng.poisson(rate)})


@pytest.fixture(scope="module")
def model() -> sv.Model:
    return sv.fit(table(), SCHEMA, epsilon=3.0, delta=1e-6, simulate=0, inference=0.4)


def test_rates_are_learned_and_never_above_the_bound(model: sv.Model) -> None:
    frame = table(1)
    expected = np.exp(-0.5 + 0.02 * frame.age + 0.4 * (frame.region == "south"))
    predicted = model.predict(frame)
    assert np.abs(np.log(predicted / np.minimum(expected, HIGH))).mean() < 0.15
    assert (predicted <= HIGH).all()
    np.testing.assert_allclose(np.minimum(np.exp(model.decision_function(frame)), HIGH), predicted)
    raw = model.to_dict()
    raw["result"]["weights"] = [50.0] * len(raw["result"]["weights"])
    assert (sv.Model.from_dict(raw).predict(frame.head(5)) == HIGH).all()


def test_a_summary_gives_rate_ratios_with_robust_errors(model: sv.Model) -> None:
    summary = model.summary(exp=True)
    assert summary.robust
    assert "rate ratio" in str(summary)
    age = next(line for line in summary.lines if line.term == "age")
    assert age.low < np.exp(0.02) < age.high
    low, middle, high = model.predict_interval(table(1).head(20)).T[[1, 0, 2]]
    assert ((low >= 0.0) & (low <= middle) & (middle <= high) & (high <= HIGH)).all()


def test_a_schema_with_counts_survives_its_files(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCHEMA.to_toml())
    assert Schema.load(tmp_path / "s.toml") == SCHEMA
    assert SCHEMA.digest != Schema(SCHEMA.columns, Target("claims", low=0, high=HIGH)).digest
    for wrong in ({"high": 0.5}, {"low": 1, "high": 9}, {}, {"classes": (0, 1)}):
        with pytest.raises(ParameterError, match="declared by high alone"):
            Target("claims", count=True, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match='type may be "count"'):
        Schema.from_dict({**SCHEMA.to_dict(), "target": {"column": "claims", "type": "number", "high": 3}})


def test_an_estimator_of_counts_agrees_with_the_model_of_a_table() -> None:
    frame = table()
    X, y = (frame[["age"]].to_numpy() - 54.0) / 36.0, frame.claims.to_numpy()
    fitted = sv.PrivateRegressor(
        target=(0, HIGH), loss="poisson", epsilon=5.0, delta=1e-6, simulate=0, inference=0.3
    ).fit(X, y)
    assert fitted.coef_[0] == pytest.approx(0.02 * 36.0, abs=0.25)
    assert (fitted.predict(X) <= HIGH).all()
    assert "rate ratio" in str(fitted.summary(exp=True))
    huge = fitted.predict(np.full((2, 1), 1e308))
    assert np.isfinite(huge).all()


def test_deviance_is_bounded_private_and_close(model: sv.Model) -> None:
    frame, budget = table(2), sv.Budget(1.0, 1e-6)
    found = evaluation.deviance(model, frame, target=(0, HIGH), budget=budget, simulate=0)
    y, m = np.minimum(frame.claims.to_numpy(), HIGH), model.predict(frame)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = 2 * (np.where(y > 0, y * np.log(y / m), 0.0) - y + m)
    assert found.low <= np.minimum(exact, 2 * np.log(1000)).mean() <= found.high
    capped = evaluation.deviance(model, frame, target=(0, HIGH), budget=budget, simulate=0, ceiling=0.5)
    assert 0.0 <= capped.value <= 0.5
    for wrong in ({"target": (1, HIGH)}, {"target": (0, HIGH), "ceiling": -1.0}):
        with pytest.raises(ParameterError, match=r"target=\(0, high\)|positive"):
            evaluation.deviance(model, frame, budget=budget, **wrong)  # type: ignore[arg-type]


def test_one_record_moves_the_deviance_by_no_more_than_the_ceiling() -> None:
    """A prediction of 0 for a count above 0 would be infinitely wrong."""

    class Zero:
        def predict(self, X: Any) -> Any:
            return np.zeros(len(X))

    found = evaluation.deviance(
        Zero(), np.zeros((50, 1)), np.full(50, 3.0), target=(0, 9), budget=sv.Budget(9.0, 1e-3), simulate=0
    )
    assert found.value == pytest.approx(2 * np.log(1000), rel=0.2)


def test_the_command_line_plans_fits_and_evaluates_counts_and_scales(tmp_path: Path) -> None:
    table(n=4_000).to_csv(tmp_path / "claims.csv", index=False)
    (tmp_path / "s.toml").write_text(SCHEMA.to_toml())
    run, budget = CliRunner(), ["--epsilon", "3", "--delta", "1e-5"]
    data, schema = str(tmp_path / "claims.csv"), ["--schema", str(tmp_path / "s.toml")]
    planned = run.invoke(app, ["plan", "--rows", "4000", *schema, *budget, "--json"])
    assert planned.exit_code == 0, planned.output
    fitting = ["fit", data, *schema, *budget, "--simulate", "0"]
    fitted = run.invoke(app, [*fitting, "--evaluate", "0.2", "--json", "-o", str(tmp_path / "m.json")])
    assert fitted.exit_code == 0, fitted.output
    assert set(json.loads(fitted.stdout)["figures"]) == {"absolute error", "deviance"}
    found = run.invoke(
        app, ["evaluate", str(tmp_path / "m.json"), data, *budget, "--simulate", "0", "--json"]
    )
    assert found.exit_code == 0, found.output
    assert {"absolute error", "deviance"} <= set(json.loads(found.stdout))
    ranged = (tmp_path / "s.toml").read_text().replace('type = "count"', "low = 0")
    (tmp_path / "s.toml").write_text(ranged)
    model = tmp_path / "cauchy.json"
    scaled = run.invoke(app, [*fitting, "--loss", "cauchy:0.2", "-o", str(model)])
    assert scaled.exit_code == 0, scaled.output
    loaded = sv.Model.load(model)
    assert loaded.loss == "cauchy:0.2"
    assert "Cauchy(scale=0.2)" in loaded.result.objective
    refused = run.invoke(app, [*fitting, "--loss", "cauchy:much", "-o", str(tmp_path / "no.json")])
    assert isinstance(refused.exception, ParameterError)


@pytest.mark.parametrize("loss", ["logistic", "cauchy:0.2", "pseudo-huber"])
def test_a_loss_that_does_not_fit_counts_is_refused_before_anything_is_read(loss: str) -> None:
    with pytest.raises(ParameterError, match="does not fit counts"):
        sv.fit("there is no such file", SCHEMA, epsilon=1.0, delta=1e-6, loss=loss)
