"""Summaries: of the population's coefficients, in the user's units, whole in every run, by no query."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.losses import Logistic, PseudoHuber, Savage
from sottovoce.queries import ScoreMoment
from sottovoce.results.inference.measuring import require_inferable
from sottovoce.results.inference.summary import COLUMNS, predicted
from sottovoce.results.inference.terms import plain_terms
from tests import problems
from tests.results.inference.populations import overlapping

BUDGET = sv.Budget(epsilon=4.0, delta=1e-6)


def test_intervals_hold_the_populations_coefficients_as_often_as_they_say() -> None:
    """240 intervals at 95 %: more than 36 misses have odds below 1e-6, even if those of a run go together."""
    missed = 0
    for seed in range(60):
        risk, method = overlapping(n=4000, seed=seed), ("majorize", "adapt")[seed % 10 == 0]
        result = sv.minimize(risk, budget=BUDGET, method=method, inference=0.4, simulate=seed)
        lines = result.summary().lines
        missed += sum(not line.low <= 2.0 * place <= line.high for place, line in enumerate(lines))
    assert missed <= 36


def claims(folder: Path, categories: str, n: int = 20_000) -> tuple[Path, sv.Schema]:
    rng = np.random.default_rng(0)
    age, region = rng.integers(18, 99, n), rng.choice(["north", "south", "west"], n)
    score = 0.05 * (age - 58) + 1.0 * (region == "north") + rng.logistic(0, 1.0, n)
    claim = np.where(score > 0, "yes", "no")
    lines = ["age,region,claim", *(",".join(map(str, row)) for row in zip(age, region, claim, strict=True))]
    (folder / "claims.csv").write_text("\n".join(lines), encoding="utf-8")
    toml = f"""
[columns.age]
type = "numeric"
low = 18
high = 110
[columns.region]
type = "categorical"
categories = [{categories}]
[target]
column = "claim"
classes = ["no", "yes"]
"""
    (folder / "schema.toml").write_text(toml, encoding="utf-8")
    return folder / "claims.csv", sv.Schema.load(folder / "schema.toml")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> sv.Model:
    path, schema = claims(tmp_path_factory.mktemp("claims"), '"north", "south", "west"')
    return sv.fit(path, schema, epsilon=3.0, delta=1e-6, inference=0.3, simulate=1)


def test_categories_are_compared_with_the_first_or_with_the_one_named(model: sv.Model) -> None:
    summary = model.summary()
    rest = "region=(missing or other)"
    assert [line.term for line in summary.lines] == ["age", "region=south", "region=west", rest, "intercept"]
    assert summary.references == {"region": "region=north"}
    truth = {"age": 0.05, "region=south": -1.0, "region=west": -1.0, "intercept": 1.0 - 58 * 0.05}
    lines = {line.term: line for line in summary.lines}
    assert not lines[rest].resolved
    for term, value in truth.items():
        assert abs(lines[term].estimate - value) < 5.0 * lines[term].error
        assert lines[term].error < 0.2
    other = model.summary(against="region=west")
    terms = ["age", "region=north", "region=south", rest, "intercept"]
    assert [line.term for line in other.lines] == terms
    west, north = lines["region=west"], other.lines[1]
    assert north.estimate == pytest.approx(-west.estimate)
    assert north.error == pytest.approx(west.error)
    with pytest.raises(ParameterError, match="names no declared category"):
        model.summary(against="region=east")


def test_a_number_is_read_per_as_many_units_as_asked_for(model: sv.Model) -> None:
    one, ten = model.summary(), model.summary(per={"age": 10})
    assert ten.lines[0].term == "age (per 10)"
    assert ten.lines[0].estimate == pytest.approx(10.0 * one.lines[0].estimate)
    assert ten.lines[0].statistic == pytest.approx(one.lines[0].statistic)
    for wrong in ({"region": 10.0}, {"age": 0.0}, {"age": math.inf}, {"age": True}):
        with pytest.raises(ParameterError, match="per"):
            model.summary(per=wrong)


def test_records_without_a_declared_category_are_a_level_of_their_own(tmp_path: Path) -> None:
    path, schema = claims(tmp_path, '"north", "south"')
    model = sv.fit(path, schema, epsilon=3.0, delta=1e-6, inference=0.3, simulate=1)
    lines = {line.term: line for line in model.summary().lines}
    assert [*lines] == ["age", "region=south", "region=(missing or other)", "intercept"]
    for term in ("region=south", "region=(missing or other)"):
        assert abs(lines[term].estimate + 1.0) < 5.0 * lines[term].error < 1.0
    other = {line.term: line for line in model.summary(against="region=south").lines}
    assert [*other] == ["age", "region=north", "region=(missing or other)", "intercept"]
    assert other["region=north"].estimate == pytest.approx(-lines["region=south"].estimate)


def test_every_form_of_a_summary_says_the_same(model: sv.Model) -> None:
    summary = model.summary()
    frame = summary.frame()
    assert tuple(frame.columns) == COLUMNS
    np.testing.assert_array_equal(frame["std.error"], [line.error for line in summary.lines])
    assert list(frame["resolved"]) == [line.resolved for line in summary.lines]
    raw = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    assert [row["term"] for row in raw["coefficients"]] == list(frame["term"])
    for line in summary.lines:
        assert line.term in str(summary)
        assert line.term in summary._repr_html_()
    odds = model.summary(exp=True)
    assert odds.lines[0].estimate == pytest.approx(math.exp(summary.lines[0].estimate))
    assert odds.lines[0].high == pytest.approx(math.exp(summary.lines[0].high))
    assert odds.lines[0].error == summary.lines[0].error
    wide = model.summary(simultaneous=True)
    seen = [pair for pair in zip(wide.lines, summary.lines, strict=True) if pair[0].resolved]
    assert all(a.low < b.low for a, b in seen)
    assert all(0.0 < line.privacy < 1.0 for line in summary.lines if line.resolved)


def test_a_saved_model_gives_the_same_summary(model: sv.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "model.json")
    again = sv.Model.load(tmp_path / "model.json")
    assert str(again.summary()) == str(model.summary())
    raw = model.result.to_dict()
    raw["inference"]["basis"][0][0] = "x"
    with pytest.raises(sv.errors.DataError, match="damaged"):
        sv.Result.from_dict(raw)


def test_predictions_have_intervals_around_the_linear_predictor(model: sv.Model, tmp_path: Path) -> None:
    found = model.predict_interval(_frame([30, 70], ["north", "west"]))
    lines = {line.term: line for line in model.summary().lines}
    expected = lines["intercept"].estimate + 30 * lines["age"].estimate
    assert found[0, 0] == pytest.approx(expected, abs=1e-3)
    assert np.all(found[:, 1] < found[:, 0])
    assert np.all(found[:, 0] < found[:, 2])


def test_a_row_that_is_not_determined_carries_no_number_in_any_form(tmp_path: Path) -> None:
    """Where nothing is seen above the noise, and where all but one level is."""
    path, schema = claims(tmp_path, '"north", "south", "west"')
    for epsilon in (0.02, 3.0):
        terms = {"delta": 1e-6, "inference": sv.Inference(0.3, anyway=True), "simulate": 1}
        model = sv.fit(path, schema, epsilon=epsilon, **terms)
        for options in ({}, {"exp": True}, {"simultaneous": True}, {"within": 5.0}):
            summary = model.summary(**options)
            hidden = [place for place, line in enumerate(summary.lines) if not line.resolved]
            assert hidden
            assert (len(hidden) == len(summary.lines)) is (epsilon < 1.0)
            shown = [row for row in str(summary).split("\n") if row.startswith("region=(missing")]
            assert [row.split("  ")[-1].strip() for row in shown] == ["not determined"]
            numbers = [column for column in COLUMNS if column not in ("term", "resolved")]
            frame, raw = summary.frame(), summary.to_dict()["coefficients"]
            for place in hidden:
                assert frame[numbers].iloc[place].isna().all()
                assert all(raw[place][column] is None for column in (*numbers, "privacy.share"))
                assert raw[place]["resolved"] is False
            assert summary._repr_html_().count("not determined") >= len(hidden)
        assert any("not determined" in remark for remark in summary.remarks)
        assert summary.nothing is (epsilon < 1.0)
    nowhere = sv.fit(path, schema, epsilon=0.02, **terms)
    assert np.all(np.isnan(nowhere.predict_interval(_frame([30, 70], ["north", "west"]))))


def test_what_is_assumed_of_hidden_directions_may_be_declared(tmp_path: Path) -> None:
    path, schema = claims(tmp_path, '"north", "south", "west"', n=4000)
    declared = replace(schema, within=4.0)
    assert sv.Schema.from_dict(declared.to_dict()) == declared
    assert declared.digest != schema.digest
    model = sv.fit(path, declared, epsilon=1.0, delta=1e-6, inference=0.3, simulate=1)
    usual, wide = model.summary(within=1.0).lines[0], model.summary().lines[0]
    assert usual.resolved
    assert wide.error > usual.error
    for wrong in (0.0, -1.0, math.inf, True, "5"):
        with pytest.raises(ParameterError, match="within"):
            replace(declared, within=wrong)


def _frame(ages: list[int], regions: list[str]) -> object:
    import pandas as pd

    return pd.DataFrame({"age": ages, "region": regions})


def test_regression_is_in_the_units_of_its_target(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    n = 20_000
    dose = rng.uniform(0, 10, n)
    y = 100.0 + 3.0 * dose + 8.0 * rng.uniform(-1, 1, n)
    lines = ["dose,pressure", *(f"{a:.6f},{b:.6f}" for a, b in zip(dose, y, strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    schema = sv.Schema.from_dict(
        {
            "columns": {"dose": {"type": "numeric", "low": 0, "high": 20}},
            "target": {"column": "pressure", "low": 60, "high": 180},
        }
    )
    model = sv.fit(tmp_path / "t.csv", schema, epsilon=3.0, delta=1e-6, inference=0.3, simulate=2)
    slope, constant = model.summary().lines
    assert abs(slope.estimate - 3.0) < 5.0 * slope.error
    assert slope.error < 0.2
    assert abs(constant.estimate - 100.0) < 5.0 * constant.error
    assert model.summary().robust
    with pytest.raises(ParameterError, match="odds ratios"):
        model.summary(exp=True)


def test_softmax_compares_classes_with_the_first() -> None:
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (20_000, 2))
    scores = np.column_stack([np.zeros(len(X)), 1.5 * X[:, 0], -1.5 * X[:, 1]])
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    risk = sv.SoftmaxRisk(sv.Records.from_arrays(X, y, labels=(0, 1, 2), radius=1.5, intercept=False))
    summary = sv.minimize(risk, budget=BUDGET, inference=0.4, simulate=0).summary(names=["a", "b"])
    assert [line.term for line in summary.lines] == ["class 1: a", "class 1: b", "class 2: a", "class 2: b"]
    for line, value in zip(summary.lines, [1.5, 0.0, 0.0, -1.5], strict=True):
        assert abs(line.estimate - value) < 5.0 * line.error < 1.0


def test_predictions_of_several_classes_have_intervals_against_the_first() -> None:
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (20_000, 2))
    scores = np.column_stack([np.zeros(len(X)), 1.5 * X[:, 0], -1.5 * X[:, 1]])
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    risk = sv.SoftmaxRisk(sv.Records.from_arrays(X, y, labels=(0, 1, 2), radius=1.5, intercept=False))
    result = sv.minimize(risk, budget=BUDGET, method="majorize", inference=0.4, simulate=0)
    assert result.inference is not None
    found = predicted(result.inference, plain_terms(result.inference), np.eye(2), 0.95)
    assert found.shape == (2, 2, 3)
    lines = result.summary().lines
    assert found[0, 0] == pytest.approx([lines[0].estimate, lines[0].low, lines[0].high])
    assert found[1, 1] == pytest.approx([lines[3].estimate, lines[3].low, lines[3].high])


def test_nothing_is_asked_after_the_run_and_no_more_than_was_kept() -> None:
    risk = overlapping(n=2000)
    ledger = sv.Ledger(BUDGET)
    result = sv.minimize(risk, budget=BUDGET, method="majorize", inference=0.3, simulate=0, ledger=ledger)
    charged = len(ledger.history)
    result.summary()
    assert len(ledger.history) == charged
    kept = sum(result.spending[kind] for kind in ("column moments", "information"))
    assert 0.02 < kept < 0.04
    assert sum(result.spending.values()) <= 1.0 + 1e-9
    plain = sv.minimize(risk, budget=BUDGET, simulate=0)
    assert plain.inference is None
    with pytest.raises(ParameterError, match=r"inference=0\.3"):
        plain.summary()


@pytest.mark.parametrize("share", [-0.1, 0.95, math.nan, True, "0.3"])
def test_a_share_that_is_none_is_refused_before_the_charge(share: object) -> None:
    ledger = sv.Ledger(BUDGET)
    with pytest.raises(ParameterError, match="inference"):
        sv.minimize(problems.logistic(), budget=BUDGET, inference=share, ledger=ledger)  # type: ignore[arg-type]
    assert not ledger.history


def test_persons_have_robust_errors_of_their_own() -> None:
    """Ten copies of every record say no more than one: as many persons as records, the same errors."""
    risk = overlapping(n=3000)
    X, y = risk.records._rows.block(0).features[:, :4], risk.records._rows.targets
    keys = np.tile(np.arange(3000), 10)
    copies = sv.Records.from_arrays(np.tile(X, (10, 1)), np.tile(y, 10), labels=(-1, 1), groups=keys)
    large = sv.Budget(10.0, 1e-6)
    grouped = sv.minimize(sv.Risk(copies, Logistic()), budget=large, inference=0.5, simulate=0)
    single = sv.minimize(risk, budget=large, inference=sv.Inference(0.5, robust=True), simulate=0)
    assert grouped.summary().robust
    assert grouped.spending["score moment"] > 0.0
    errors = [np.array([line.error for line in made.summary().lines]) for made in (grouped, single)]
    np.testing.assert_allclose(errors[0], errors[1], rtol=0.25)


def test_persons_whose_rows_lie_on_workers_are_refused_before_the_charge() -> None:
    problem = replace(overlapping(n=50).problem, unit="person", gathered=False)
    with pytest.raises(ParameterError, match="in one place"):
        require_inferable(problem, 0.3)
    with pytest.raises(ParameterError, match="without Dask"):
        ScoreMoment(np.zeros(problem.dim)).admitted(problem)


def test_errors_are_robust_where_the_loss_is_no_likelihood_or_when_asked() -> None:
    risk = overlapping(n=2000)
    kinds = {}
    for name, loss in {"logistic": Logistic(), "savage": Savage()}.items():
        made = sv.Risk(risk.records, loss)
        kinds[name] = sv.minimize(made, budget=BUDGET, inference=0.3, simulate=0)
    assert not kinds["logistic"].summary().robust
    assert kinds["savage"].summary().robust
    asked = sv.minimize(risk, budget=BUDGET, inference=sv.Inference(0.3, robust=True), simulate=0)
    assert asked.spending.get("score moment", 0.0) > 0.0
    regression = sv.Risk(problems.regression(n=2000), PseudoHuber())
    assert sv.minimize(regression, budget=BUDGET, inference=0.3, simulate=0).summary().robust


def test_of_few_records_nothing_is_determined() -> None:
    summary = sv.minimize(overlapping(n=100), budget=BUDGET, inference=0.3, simulate=0).summary()
    assert len(summary.lines) == 4
    assert summary.nothing
    assert all(row["conf.low"] is None for row in summary.to_dict()["coefficients"])


def test_the_penalty_is_no_part_of_the_estimate() -> None:
    """It draws the weights to 0, not the estimates; where it draws too far for two steps, errors say so."""
    risk, large = overlapping(n=20_000), sv.Budget(epsilon=8.0, delta=1e-6)
    for strength, width in ((0.003, 0.4), (0.1, 4.0)):
        strong = sv.Risk(risk.records, Logistic(), sv.regularizers.L2(strength))
        result = sv.minimize(strong, budget=large, inference=0.4, simulate=0)
        line = result.summary().lines[3]
        assert result.weights[3] < 6.0 - 5.0 * 0.07
        assert abs(line.estimate - 6.0) < 3.0 * line.error
        assert line.error < width


def test_a_level_or_bound_that_is_none_is_refused(model: sv.Model) -> None:
    for options in ({"level": 1.0}, {"level": 0.0}, {"within": -1.0}, {"within": math.inf}):
        with pytest.raises(ParameterError):
            model.summary(**options)
    plain = replace(model.result, inference=None)
    with pytest.raises(ParameterError, match=r"inference=0\.3"):
        replace(model, result=plain).summary()


@pytest.mark.parametrize("radius", [1.0, 2.0])
def test_estimators_summarize_per_unit_of_their_columns(radius: float) -> None:
    import pandas as pd

    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.uniform(-0.7, 0.7, (8000, 2)), columns=["dose", "age"])
    y = rng.random(8000) < 1.0 / (1.0 + np.exp(-2.0 * X["dose"]))
    fitted = sv.PrivateClassifier(
        epsilon=4.0, delta=1e-6, classes=[False, True], radius=radius, inference=0.3, simulate=0
    ).fit(X, y)
    lines = fitted.summary().lines
    assert [line.term for line in lines] == ["dose", "age", "intercept"]
    for line, value in zip(lines, [2.0, 0.0, 0.0], strict=True):
        assert abs(line.estimate - value) < 5.0 * line.error < 2.0
    target = 50.0 + 10.0 * X["dose"] + rng.uniform(-3, 3, 8000)
    regressor = sv.PrivateRegressor(target=(20.0, 80.0), epsilon=8.0, delta=1e-6, inference=0.3, simulate=0)
    lines = regressor.fit(X, target).summary().lines
    for line, value in zip(lines, [10.0, 0.0, 50.0], strict=True):
        assert abs(line.estimate - value) < 5.0 * line.error < 20.0
