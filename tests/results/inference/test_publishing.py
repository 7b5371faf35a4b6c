"""What a statistician publishes: joint tests, contrasts, effects, tables and exports of what was released."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import application
from sottovoce.errors import ParameterError
from tests.results.inference.test_summary import claims


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> sv.Model:
    path, schema = claims(tmp_path_factory.mktemp("claims"), '"north", "south", "west"')
    return sv.fit(path, schema, epsilon=3.0, delta=1e-6, inference=0.3, simulate=1)


ROWS = pd.DataFrame({"age": [30.0, 50.0, 70.0], "region": ["north", "west", "south"]})


def test_the_covariance_is_that_of_the_standard_errors_and_of_other_references(model: sv.Model) -> None:
    summary, other = model.summary(), model.summary(against="region=west")
    seen = [line.resolved for line in summary.lines]
    errors = np.array([line.error for line in summary.lines])
    np.testing.assert_allclose(np.sqrt(np.diag(summary.covariance))[seen], errors[seen], rtol=1e-12)
    assert np.isnan(summary.covariance[~np.array(seen)]).all()
    south_west = summary.contrast({"region=south": 1.0, "region=west": -1.0})
    line = next(line for line in other.lines if line.term == "region=south")
    assert south_west.estimate == pytest.approx(line.estimate)
    assert south_west.error == pytest.approx(line.error)
    assert south_west.privacy == pytest.approx(line.privacy)
    assert south_west.term == "region=south - region=west"
    odds = model.summary(exp=True).contrast({"region=south": 1.0, "region=west": -1.0})
    assert odds.estimate == pytest.approx(math.exp(line.estimate))
    assert not summary.contrast({"region=south": 1.0, "region=(missing or other)": 1.0}).resolved
    for weights in ({"region=east": 1.0}, {"region=south": 0.0}, {"region=south": math.nan}):
        with pytest.raises(ParameterError):
            summary.contrast(weights)


def test_a_joint_test_of_one_coefficient_is_its_own_and_of_a_column_knows_no_reference(
    model: sv.Model,
) -> None:
    summary = model.summary()
    age = summary.wald("age")
    assert age.statistic == pytest.approx(summary.lines[0].statistic ** 2)
    assert age.p_value == pytest.approx(summary.lines[0].p_value)
    region = summary.wald("region")
    assert region.terms == ("region=south", "region=west")
    assert region.p_value < 1e-6
    for options in ({"against": "region=west"}, {"exp": True}):
        assert model.summary(**options).wald("region").statistic == pytest.approx(region.statistic)  # type: ignore[arg-type]
    assert not summary.wald(["age", "region=(missing or other)"]).resolved
    assert "not determined" in str(summary.wald(["region=(missing or other)"]))


def test_marginal_effects_are_the_differences_of_predictions(model: sv.Model) -> None:
    effects = {line.term: line for line in model.marginal_effects(ROWS).lines}
    assert [*effects] == ["age", "region=south", "region=west"]
    chances = [
        model.predict_interval(ROWS.assign(region=region), response=True)[:, 0]
        for region in ("north", "south")
    ]
    assert effects["region=south"].estimate == pytest.approx(float(np.mean(chances[1] - chances[0])))
    older = [model.predict_interval(ROWS.assign(age=ROWS["age"] + d), response=True)[:, 0] for d in (-1, 1)]
    assert effects["age"].estimate == pytest.approx(float(np.mean(older[1] - older[0])) / 2, rel=1e-3)
    score = model.predict_interval(ROWS)
    np.testing.assert_allclose(model.predict_interval(ROWS, response=True), 1 / (1 + np.exp(-score)))


def test_marginal_effects_read_cells_as_predictions_do(model: sv.Model) -> None:
    """Numbers of a file that was read as text raised a TypeError."""
    as_text = ROWS.assign(age=[" 30", "50", "70.0"])
    assert model.marginal_effects(as_text).lines == model.marginal_effects(ROWS).lines


def test_errors_of_marginal_effects_are_those_over_draws_of_the_estimate(model: sv.Model) -> None:
    """By the delta method and by 4,000 draws of coefficients: within a tenth, odds of more below 1e-6."""
    terms, summary = model.terms(), model.summary()
    seen = [place for place, line in enumerate(summary.lines) if line.resolved]
    rng = np.random.default_rng(0)
    values = np.array([summary.lines[place].estimate for place in seen])
    drawn = rng.multivariate_normal(values, summary.covariance[np.ix_(seen, seen)], 4000)
    names = [terms.names[place] for place in seen]
    age, south, intercept = (names.index(name) for name in ("age", "region=south", "intercept"))
    scores = drawn[:, [intercept]] + drawn[:, [age]] * ROWS["age"].to_numpy()
    differences = (1 / (1 + np.exp(-scores - drawn[:, [south]])) - 1 / (1 + np.exp(-scores))).mean(axis=1)
    found = {line.term: line for line in model.marginal_effects(ROWS).lines}["region=south"]
    assert found.error == pytest.approx(float(differences.std()), rel=0.1)


def test_tables_have_reference_rows_and_no_number_where_nothing_is_determined(model: sv.Model) -> None:
    summary = model.summary(exp=True)
    listed = list(csv.DictReader(io.StringIO(summary.to_csv())))
    assert [row["term"] for row in listed] == [
        *("age", "region=north", "region=south", "region=west", "region=(missing or other)", "intercept")
    ]
    assert [row["reference_row"] for row in listed] == ["false", "true", *["false"] * 4]
    assert listed[1]["estimate"] == "1"
    frame = summary.frame(references=True)
    assert list(frame["term"]) == [row["term"] for row in listed]
    assert list(frame["reference_row"]) == [row["reference_row"] == "true" for row in listed]
    assert frame["estimate"][1] == 1.0
    assert frame["std.error"].isna().tolist() == [False, True, False, False, True, False]
    assert [listed[4][name] for name in ("estimate", "std.error", "p.value", "conf.low")] == [""] * 4
    for text in (summary.to_latex(), summary.to_html(), str(summary)):
        assert "reference" in text
        assert "not determined" in text
    assert r"95 \% confidence" in summary.to_latex()
    assert r"\bottomrule" in summary.to_latex()


def test_the_command_prints_again_without_spending(model: sv.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "model.json")
    saved = (tmp_path / "model.json").read_bytes()

    def run(*words: str) -> Any:
        return CliRunner().invoke(application("summary"), ["summary", str(tmp_path / "model.json"), *words])

    shown = run("--exp", "--against", "region=west", "--per", "age=10", "--level", "0.9", "--test", "region")
    assert shown.exit_code == 0
    assert "age (per 10)" in shown.output
    assert "odds ratio" in shown.output
    table = tmp_path / "table.csv"
    assert run("--csv", str(table)).exit_code == 0
    assert table.read_text() == model.summary().to_csv()
    assert run("--csv", str(table)).exit_code != 0
    told = json.loads(run("--json", "--test", "region").output)
    assert told["tests"][0]["resolved"] is True
    for wrong in (("--per", "age"), ("--per", "age=0"), ("--against", "nothing"), ("--level", "2")):
        assert run(*wrong).exit_code != 0
    assert (tmp_path / "model.json").read_bytes() == saved


@pytest.mark.parametrize("within", [None, 0.5, 50.0])
def test_z_is_the_estimate_over_its_error_and_two_summaries_are_one(
    model: sv.Model, within: float | None
) -> None:
    once, again = (model.summary(within=within) for _ in range(2))
    assert str(once) == str(again)
    assert np.array_equal(once.covariance, again.covariance, equal_nan=True)
    odds = model.summary(within=within, exp=True)
    for line, ratio in zip(once.lines, odds.lines, strict=True):
        if line.resolved:
            assert line.statistic == pytest.approx(line.estimate / line.error)
            assert ratio.statistic == pytest.approx(math.log(ratio.estimate) / ratio.error)
        else:
            assert all(math.isnan(part) for part in (line.estimate, line.error, line.statistic, line.low))


def test_least_squares_gives_the_coefficients_of_the_mean() -> None:
    """Residuals are skewed, so that a median lies elsewhere; intervals of five standard errors and more hold
    what ordinary least squares finds, but for odds below 1e-6."""
    rng, n = np.random.default_rng(5), 8_000
    age, arm = rng.uniform(20, 80, n), rng.choice(["control", "treated"], n)
    cost = 20.0 + 0.3 * (age - 50.0) - 5.0 * (arm == "treated") + rng.exponential(8.0, n) - 8.0
    table = pd.DataFrame({"age": age, "arm": arm, "cost": np.clip(cost, 0.0, 100.0)})
    schema = sv.Schema.from_dict(
        {
            "columns": {
                "age": {"type": "numeric", "low": 20, "high": 80},
                "arm": {"type": "categorical", "categories": ["control", "treated"]},
            },
            "target": {"column": "cost", "low": 0, "high": 100},
        }
    )
    options: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-6, "inference": 0.4, "simulate": 0}
    found = sv.fit(table, schema, loss="least-squares", **options)
    design = np.column_stack([table.age, table.arm == "treated", np.ones(n)]).astype(float)
    exact = np.linalg.lstsq(design, table.cost, rcond=None)[0]
    lines = {line.term: line for line in found.summary(level=1.0 - 1e-6).lines}
    for term, value in zip(("age", "arm=treated", "intercept"), exact, strict=True):
        assert lines[term].low <= value <= lines[term].high
    assert found.loss == "least-squares"
    assert lines["arm=treated"].error < 1.0
