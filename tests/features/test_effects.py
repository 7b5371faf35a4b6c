"""Effects of columns: read off released numbers, they add up to the score, and the page draws them."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from sottovoce.errors import ParameterError
from sottovoce.features.effects import OTHER, POINTS, sparklines
from sottovoce.report import render
from tests.features.test_additive import SCHEMA, people


@pytest.fixture(scope="module")
def model() -> Any:
    return sv.fit(people(3_000), SCHEMA, epsilon=2.0, delta=1e-6, model="additive", simulate=0)


def test_effects_differ_as_scores_do(model: Any) -> None:
    import pyarrow as pa

    age = {effect.column: effect for effect in model.effects()}["age"]
    ages = np.array([10.0, 30.0, 45.0, 80.0])
    table = pa.table({"age": ages, "income": [1e4] * 4, "region": ["north"] * 4})
    scores = model.decision_function(table)
    shown = np.interp(ages, age.places, age.values)
    np.testing.assert_allclose(np.diff(shown), np.diff(scores), rtol=1e-6, atol=1e-6)


def test_effects_are_centred_over_the_marginal_and_ordered_by_their_spread(model: Any) -> None:
    found = model.effects()
    assert [effect.importance for effect in found] == sorted(
        (effect.importance for effect in found), reverse=True
    )
    assert found[0].column == "age"
    region = {effect.column: effect for effect in found}["region"]
    shares = np.maximum([*region.marginal.shares, region.marginal.missing], 0.0)
    assert abs(float(shares @ region.values)) < 1e-9
    assert region.levels == ("north", "south", "region is missing")


def test_every_effect_has_the_sd_of_its_noise(model: Any) -> None:
    for effect in model.effects():
        assert effect.noise is not None
        assert effect.noise.shape == effect.values.shape
        assert np.all(effect.noise > 0.0)


def test_noise_beside_a_spread_is_of_the_same_records(model: Any) -> None:
    """Nobody has next to no income: the noise there says nothing about how sure the spread is."""
    region, income = (
        {effect.column: effect for effect in model.effects()}[name] for name in ("region", "income")
    )
    expected = np.sqrt(region.shares @ region.noise**2)
    assert region.importance_noise == pytest.approx(expected, rel=1e-12)
    assert income.importance_noise < 0.8 * np.sqrt(np.mean(income.noise**2))
    assert region.to_dict()["importance_noise"] == region.importance_noise


def test_effects_of_several_classes_compare_each_with_their_mean() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 1.0, 3_000)
    y = np.digitize(x + 0.2 * rng.standard_normal(3_000), [0.3, 0.7])
    import pyarrow as pa

    schema = Schema((Numeric("x", 0.0, 1.0),), Target("y", classes=(0, 1, 2)))
    table = pa.table({"x": x, "y": y})
    model = sv.fit(table, schema, epsilon=3.0, delta=1e-6, model="additive", simulate=0)
    found = {effect.output: effect.values for effect in model.effects()}
    assert sorted(found) == ["0", "1", "2"]
    np.testing.assert_allclose(sum(found.values()), np.zeros(POINTS), atol=1e-9)


def test_a_terminal_gets_a_line_a_column(model: Any) -> None:
    lines = sparklines(model.effects()).splitlines()
    assert len(lines) == 2 + len(SCHEMA.columns)
    assert lines[1].startswith("age")


class Parsed(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.charts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "section":
            self.sections.append(given["id"] or "")
        if tag == "svg" and "Effect of" in (given.get("aria-label") or ""):
            self.charts.append(given["aria-label"] or "")


def test_the_page_draws_every_column_and_says_the_same_in_a_table(model: Any) -> None:
    page = render(model.result, model.card())
    parsed = Parsed()
    parsed.feed(page)
    assert "curves" in parsed.sections
    assert len(parsed.charts) == len(SCHEMA.columns)
    assert "The curves as numbers" in page


def test_a_linear_model_has_no_curves() -> None:
    linear = sv.fit(people(500), SCHEMA, epsilon=2.0, delta=1e-6, simulate=0)
    parsed = Parsed()
    parsed.feed(render(linear.result, linear.card()))
    assert "curves" not in parsed.sections
    assert linear.effects() == ()


def test_a_notebook_is_shown_pictures_and_a_page_is_written(model: Any, tmp_path: Path) -> None:
    shown = model.plot()._repr_html_()
    assert shown.count("<img") == shown.count('src="data:image/svg+xml') == len(model.effects())
    assert "<script" not in shown
    one = model.plot("age")
    assert one._repr_html_().count("<img") == 1
    one.save(tmp_path / "curves.html")
    page = (tmp_path / "curves.html").read_text("utf-8")
    assert page.count("<figure>") == 1
    assert ">age: moves the score by" in page


@pytest.fixture(scope="module")
def inferred() -> Any:
    options: dict[str, Any] = {"model": "additive", "inference": sv.Inference(0.5, anyway=True)}
    return sv.fit(people(20_000), SCHEMA, epsilon=20.0, delta=1e-6, simulate=0, **options)


def test_with_inference_each_place_has_the_interval_of_a_contrast(inferred: Any) -> None:
    """What a level adds beyond another is what the summary says of the two; of a level that nobody has, no
    interval is determined."""
    region = {effect.column: effect for effect in inferred.effects()}["region"]
    assert region.interval is not None
    assert region.levels[2] == "region is missing"
    assert np.isnan(region.interval[2]).all()
    north, south = region.interval[:2].mean(axis=1)
    lines = {line.term: line for line in inferred.summary(against="region=south").lines}
    assert north - south == pytest.approx(lines["region=north"].estimate, rel=1e-6)
    assert region.to_dict()["interval"] == [*region.interval[:2].tolist(), None]


def test_the_page_says_which_band_it_draws(model: Any, inferred: Any) -> None:
    assert "two standard deviations of the noise" in render(model.result, model.card())
    page = render(inferred.result, inferred.card())
    assert "The band is the 95 % interval at each place" in page
    assert "two standard deviations of the noise" not in page


def test_what_cannot_be_drawn_is_refused(model: Any) -> None:
    with pytest.raises(ParameterError, match="no effect of 'agee' is known, but of age, income, region"):
        model.plot("agee")
    line = sv.fit(people(300), SCHEMA, epsilon=2.0, delta=1e-6, simulate=0)
    with pytest.raises(ParameterError, match='model="additive" or "auto"'):
        line.plot()


def test_the_command_line_fits_plans_and_draws_curves(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    from pyarrow import csv

    from sottovoce import cli

    monkeypatch.chdir(tmp_path)
    csv.write_csv(people(1_000), "people.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")
    promise = ("--schema", "schema.toml", "--epsilon", "1", "--delta", "1e-6", "--model", "additive")
    for arguments in (
        ("fit", "people.csv", *promise, "-o", "model.json", "--report", "page.html", "--simulate", "0"),
        ("plan", "--rows", "1000", *promise),
    ):
        monkeypatch.setattr(sys, "argv", ["sottovoce", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert not left.value.code
    said = capsys.readouterr().out
    assert "effect, low to high" in said
    assert 'id="curves"' in (tmp_path / "page.html").read_text("utf-8")
    assert f"with {len(sv.Model.load('model.json').result.weights)} weights" in said


@pytest.mark.parametrize("kind", ["linear", "additive"])
@pytest.mark.parametrize(
    "target",
    [Target("ill", classes=(0, 1)), Target("ill", low=-1.0, high=3.0), Target("ill", high=1.0, count=True)],
    ids=["classes", "number", "count"],
)
def test_what_columns_add_to_a_row_adds_up_to_its_score(kind: str, target: Target) -> None:
    schema = replace(SCHEMA, target=target, interactions=(("income", "region"),))
    model = sv.fit(people(300), schema, epsilon=2.0, delta=1e-3, model=kind, simulate=0)
    rows = people(50, seed=2)
    told = model.explain_local(rows)
    scored = target.classes is not None or target.count
    expected = model.decision_function(rows) if scored else model.predict(rows)
    np.testing.assert_allclose(told.scores[:, 0], expected, rtol=1e-9, atol=1e-9)
    assert told.columns == ("age", "income", "region", "income x region")
    first = told.of_row(0)
    assert sorted(map(abs, first.values()), reverse=True) == list(map(abs, first.values()))
    assert set(first) == set(told.columns)


def test_what_a_column_adds_to_a_row_is_its_effect_there(model: Any) -> None:
    age = {effect.column: effect for effect in model.effects()}["age"]
    rows = people(40, seed=3)
    told = model.explain_local(rows)
    shown = np.interp(rows["age"].to_numpy(), age.places, age.values)
    np.testing.assert_allclose(told.values[:, 0, told.columns.index("age")], shown, atol=0.02)


def test_rows_of_several_classes_have_a_score_each() -> None:
    schema = replace(SCHEMA, target=Target("ill", classes=(0, 1, 2)))
    model = sv.fit(people(300), schema, epsilon=2.0, delta=1e-3, simulate=0)
    told = model.explain_local(people(20))
    assert told.outputs == ("0", "1", "2")
    np.testing.assert_allclose(told.scores, model.decision_function(people(20)), rtol=1e-9, atol=1e-9)


def test_records_without_a_declared_level_are_a_level_of_their_own() -> None:
    """Of one declared level, the effect is its difference from all others; of several that nobody lacks, none
    is added."""
    import pyarrow as pa

    rng = np.random.default_rng(0)
    country, sex = rng.choice(["here", "there"], 4_000, p=[0.8, 0.2]), rng.choice(["f", "m"], 4_000)
    y = (rng.random(4_000) < np.where(country == "here", 0.7, 0.3)).astype(np.int64)
    columns = (Categorical("country", ("here",)), Categorical("sex", ("f", "m")), Numeric("x", 0.0, 1.0))
    model = sv.fit(
        pa.table({"country": country, "sex": sex, "x": rng.random(4_000), "y": y}),
        Schema(columns, Target("y", classes=(0, 1))),
        epsilon=8.0,
        delta=1e-6,
        model="additive",
        simulate=0,
    )
    found = {effect.column: effect for effect in model.effects()}
    assert found["country"].levels == ("here", OTHER)
    assert found["country"].importance > 0.3
    assert abs(float(found["country"].shares @ found["country"].values)) < 1e-9
    assert found["sex"].levels == ("f", "m")
    assert f">{OTHER}</text>" in render(model.result, model.card())
