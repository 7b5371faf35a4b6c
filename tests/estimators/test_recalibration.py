"""Recalibration: better chances, the same order, two promises together; refused for what has no chances."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import app
from sottovoce.data.schema import Numeric, Schema, Target
from sottovoce.errors import DataError, ParameterError
from sottovoce.estimators import recalibration
from sottovoce.results.result import UNLISTED

SCHEMA = Schema((Numeric("a", 0, 1), Numeric("b", 0, 1)), Target("y", ("no", "yes")))
BUDGET = sv.Budget(1.0, 1e-6)


def table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0, 1, (2, n))
    chance = 1 / (1 + np.exp(-(4 * a - 2 * b - 2.5)))
    return pd.DataFrame({"a": a, "b": b, "y": np.where(rng.random(n) < chance, "yes", "no"), "p": chance})


@pytest.fixture(scope="module")
def skewed() -> sv.Model:
    """Trained as if the second class were five times as frequent."""
    weighted = SCHEMA.amended(class_weight={"yes": 5.0})
    return sv.fit(table(12_000, 0), weighted, epsilon=2.0, delta=1e-6, simulate=1)


def log_loss(model: sv.Model, frame: pd.DataFrame) -> float:
    q = model.predict_proba(frame)[:, 1]
    return float(-np.mean(frame.p * np.log(q) + (1 - frame.p) * np.log(1 - q)))


def test_chances_are_mended_and_the_order_kept(skewed: sv.Model) -> None:
    fresh = table(20_000, 9)
    mended = skewed.recalibrated(table(6_000, 1), budget=BUDGET, simulate=0)
    best = float(-np.mean(fresh.p * np.log(fresh.p) + (1 - fresh.p) * np.log(1 - fresh.p)))
    assert log_loss(skewed, fresh) > best + 0.1
    assert log_loss(mended, fresh) < best + 0.01
    order = np.argsort(skewed.decision_function(fresh))
    assert (np.diff(mended.decision_function(fresh)[order]) >= -1e-12).all()
    kept = sv.Model.from_dict(json.loads(json.dumps(mended.to_dict())))
    assert np.array_equal(kept.predict_proba(fresh), mended.predict_proba(fresh))
    pipeline = mended.to_sklearn()
    assert np.abs(pipeline.predict_proba(fresh) - mended.predict_proba(fresh)).max() < 1e-9


def test_another_unit_than_in_training_is_refused_before_anything_is_charged() -> None:
    """Before, the map was paid for and then had no promise in common with the model."""
    ledger = sv.Ledger(BUDGET, unit="person")
    model = sv.fit(table(300, 0), SCHEMA, epsilon=1.0, delta=1e-6)
    rows = table(300, 1).assign(k=np.arange(300))
    with pytest.raises(ParameterError, match="trained for every record"):
        replace(model, schema=SCHEMA.amended(person="k")).recalibrated(rows, budget=BUDGET, ledger=ledger)
    assert not ledger.history


def test_the_guarantee_is_that_of_training_and_map_together(tmp_path: Path) -> None:
    cap = sv.Budget(4.0, 1e-5)
    ledger = sv.Ledger(cap)
    rows = table(600, 0)
    first = sv.fit(rows, SCHEMA, epsilon=1.0, delta=1e-6, ledger=ledger)
    both = first.recalibrated(rows, budget=sv.Budget(0.7, 1e-6), ledger=ledger)
    promise = both.result.guarantee
    assert 1.0 < promise.epsilon <= 1.7
    assert promise.runs == 2
    assert (promise.cap_epsilon, promise.cap_delta) == (4.0, 1e-5)
    assert promise.fits(both.result.lineage)
    assert ledger.units_spent > 0
    with pytest.raises(sv.errors.BudgetExceeded):
        first.recalibrated(rows, budget=sv.Budget(4.0, 1e-5), ledger=ledger)
    both.save(tmp_path / "m.json")
    assert sv.Model.load(tmp_path / "m.json").result.guarantee == promise
    assert any("certificate is that of the map" in caveat for caveat in both.result.caveats)


def test_a_small_table_hides_nothing_about_the_one_that_was_trained_on() -> None:
    weak = sv.Budget(1.0, 5e-4)
    first = sv.fit(table(4_000, 0), SCHEMA, budget=weak, method="majorize")
    raw = first.to_dict()
    del raw["result"]["lineage"]
    old = sv.Model.from_dict(raw)
    for model in (first, old):
        both = model.recalibrated(table(400, 1), budget=weak).result
        assert both.guarantee.n == 4_000
        assert any("above 1/n = 0.00025" in caveat for caveat in both.caveats)
        assert (UNLISTED in both.caveats) is (model is old)


def test_a_simulated_part_makes_the_whole_not_private(skewed: sv.Model) -> None:
    rows = table(400, 3)
    assert skewed.recalibrated(rows, budget=BUDGET).result.simulated
    assert "nothing is private" in str(skewed.recalibrated(rows, budget=BUDGET).result.guarantee)


def test_no_score_however_large_moves_the_sums_past_two_columns_of_norm_one(
    skewed: sv.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows that are summed: the clipped score and 1, whatever the model's weights are."""
    raw = skewed.to_dict()
    raw["result"]["weights"] = [1e6, -1e6, 1e5]
    seen: list[sv.Records] = []
    real = recalibration.minimize

    def spy(risk: Any, **options: Any) -> Any:
        seen.append(risk.records)
        return real(risk, **options)

    monkeypatch.setattr(recalibration, "minimize", spy)
    made = sv.Model.from_dict(raw).recalibrated(table(300, 4), budget=BUDGET, simulate=0, bound=2.0)
    rows = seen[0]._rows.block(0).features  # type: ignore[union-attr]
    assert rows.shape == (300, 2)
    assert (np.abs(rows[:, 0]) <= 1.0).all()
    assert (np.linalg.norm(rows, axis=1) <= seen[0].radius).all()
    assert np.isfinite(made.result.weights).all()


def test_a_slope_below_nothing_turns_no_order_around(skewed: sv.Model) -> None:
    """Labels that contradict the scores would make the slope negative."""
    rows = table(3_000, 5)
    rows["y"] = np.where(skewed.decision_function(rows) > 0, "no", "yes")
    made = skewed.recalibrated(rows, budget=sv.Budget(5.0, 1e-6), simulate=0)
    ratio = made.result.weights[0] / skewed.result.weights[0]
    assert ratio == pytest.approx(recalibration.LEAST_SLOPE)


@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan"), float("inf"), True, "8"])
def test_a_bound_that_is_none_is_refused_before_a_charge(skewed: sv.Model, bound: Any) -> None:
    ledger = sv.Ledger(BUDGET)
    with pytest.raises(ParameterError, match="bound"):
        skewed.recalibrated(table(50, 0), budget=BUDGET, bound=bound, ledger=ledger)
    assert ledger.units_spent == 0


def test_models_without_chances_of_one_event_are_refused() -> None:
    frame = table(300, 0)
    frame["k"], frame["v"] = np.arange(300) % 3, frame.a
    for target, loss in (
        (Target("k", (0, 1, 2)), None),
        (Target("v", low=0, high=1), None),
        (Target("y", ("no", "yes")), "sigmoid"),
    ):
        schema = replace(SCHEMA, target=target)
        model = sv.fit(frame, schema, epsilon=1.0, delta=1e-3, simulate=0, loss=loss)
        with pytest.raises(ParameterError, match="two classes"):
            model.recalibrated(frame, budget=BUDGET)


def test_rows_that_cannot_be_read_are_refused_or_count_nothing(skewed: sv.Model) -> None:
    frame = table(300, 0)
    frame.loc[5, "y"] = "perhaps"
    ledger = sv.Ledger(BUDGET)
    with pytest.raises(DataError, match="undeclared"):
        skewed.recalibrated(frame, budget=BUDGET, ledger=ledger)
    assert ledger.units_spent == 0
    assert skewed.recalibrated(frame, budget=BUDGET, reading=sv.ReadOptions(invalid="zero"), simulate=0)


def test_the_command_line_writes_the_mended_model(tmp_path: Path, skewed: sv.Model) -> None:
    skewed.save(tmp_path / "m.json")
    table(2_000, 7).to_csv(tmp_path / "new.csv", index=False)
    places = [str(tmp_path / name) for name in ("m.json", "new.csv")]
    common = ["recalibrate", *places, "--epsilon", "1", "--simulate", "0"]
    run = CliRunner()
    done = run.invoke(app, [*common, "--delta", "1e-6", "-o", str(tmp_path / "better.json"), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["guarantee"]["runs"] == 2
    fresh = table(5_000, 8)
    assert log_loss(sv.Model.load(tmp_path / "better.json"), fresh) < log_loss(skewed, fresh) - 0.1
    refused = run.invoke(app, [*common, "--delta", "1e-6", "-o", places[0]])
    assert refused.exit_code == 1
    refused = run.invoke(app, [*common, "--delta", "1/n", "-o", str(tmp_path / "no.json")])
    assert isinstance(refused.exception, ParameterError)
