"""Plans by what is wanted: the least epsilon that the forecasts themselves say will do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from sottovoce.errors import ParameterError
from sottovoce.planning.accuracy import EIGHT_OF_TEN, accuracy_lost
from sottovoce.report.plan import render_plan

BUDGET = sv.Budget(1.0, 1e-6)
SCHEMA = Schema((Numeric("age", 17, 90), Categorical("job", ("a", "b", "c"))), Target("y", classes=(0, 1)))


def planned(n: int = 30_000, dim: int = 20, **wanted: Any) -> sv.Plan:
    terms: dict[str, Any] = {"loss": sv.losses.Logistic(), "budget": BUDGET, "timed": False}
    return sv.plan(n=n, dim=dim, **{**terms, **wanted})


def test_the_epsilon_is_the_least_of_which_the_forecast_says_it_will_do() -> None:
    (wish,) = planned(accuracy=0.84, without_privacy=0.85).wishes
    assert wish.low is not None
    assert wish.epsilon is not None
    assert wish.high is not None
    assert wish.low <= wish.epsilon <= wish.high

    def excess(epsilon: float) -> float:
        return accuracy_lost(30_000, 20, sv.Budget(epsilon, 1e-6)).excess

    assert EIGHT_OF_TEN * excess(wish.epsilon) <= 0.85 - 0.84 < EIGHT_OF_TEN * excess(0.998 * wish.epsilon)
    assert accuracy_lost(30_000, 20, sv.Budget(wish.high, 1e-6)).high <= 0.85 - 0.84


def test_more_records_need_less_and_a_higher_wish_more() -> None:
    def epsilon(n: int, accuracy: float, **other: Any) -> float:
        (wish,) = planned(n=n, accuracy=accuracy, without_privacy=0.85, **other).wishes
        assert wish.epsilon is not None
        return wish.epsilon

    assert epsilon(60_000, 0.84) < epsilon(30_000, 0.84) < epsilon(30_000, 0.845)
    assert epsilon(30_000, 0.84, inference=0.3) > epsilon(30_000, 0.84)


def test_a_wish_that_nothing_reaches_is_said_to_be_out_of_reach() -> None:
    (wish,) = planned(n=50, dim=5_000, accuracy=0.8499, without_privacy=0.85).wishes
    assert wish.epsilon is None
    assert "out of reach" in str(wish)


@pytest.mark.parametrize(
    "wanted",
    [
        {"accuracy": 0.84},
        {"accuracy": 0.86, "without_privacy": 0.85},
        {"accuracy": 0.4, "without_privacy": 0.85},
        {"auc": 0.84, "without_privacy": 1.2},
        {"without_privacy": 0.85},
        {"accuracy": 0.84, "without_privacy": 0.85, "classes": 3},
        {"standard_error": {"age": 0.01}},
        {"standard_error": {"age": 0.01}, "schema": SCHEMA},
        {"standard_error": {"ages": 0.01}, "schema": SCHEMA, "inference": 0.3, "dim": 5},
        {"standard_error": {"age": 0.0}, "schema": SCHEMA, "inference": 0.3, "dim": 5},
    ],
    ids=str,
)
def test_a_wish_that_cannot_be_planned_is_refused(wanted: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        planned(**wanted)


def test_a_standard_error_is_reached_at_the_epsilon_that_is_named() -> None:
    asked: dict[str, Any] = {"dim": 5, "schema": SCHEMA, "inference": 0.3}
    (wish,) = planned(standard_error={"age": 0.002}, **asked).wishes
    assert wish.low is not None
    assert wish.epsilon is not None
    assert wish.high is not None
    assert wish.low < wish.epsilon < wish.high
    for epsilon, within in ((wish.epsilon, True), (0.98 * wish.epsilon, False)):
        found = planned(budget=sv.Budget(epsilon, 1e-6), **asked).coefficients
        assert found is not None
        (error,) = (line.error for line in found.lines if line.term == "age")
        assert (error <= 0.002) is within


def test_the_command_plans_for_the_epsilon_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["sottovoce", "plan", "--rows", "30000", "--weights", "20", "--delta", "1e-6"]

    def told(*more: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", [*asked, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        found = capsys.readouterr()
        return int(ended.value.code or 0), found.out + found.err

    code, out = told("--accuracy", "0.84", "--without-privacy", "0.85", "--json")
    assert code == 0
    raw = json.loads(out)
    assert raw["epsilon"] == raw["wishes"][0]["epsilon"]
    for refused in ((), ("--accuracy", "0.84"), ("--standard-error", "age")):
        code, out = told(*refused)
        assert code == 1
        assert out.startswith("sottovoce: ")


def test_knots_of_curves_follow_the_epsilon_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the knots that epsilon 1 would have, more weights are planned for than are trained."""
    declared = Schema(
        tuple(Numeric(f"x{place}", 0.0, 1.0) for place in range(6)), Target("y", classes=(0, 1))
    )
    (tmp_path / "schema.json").write_text(json.dumps(declared.to_dict()), encoding="utf-8")
    asked = ["--schema", str(tmp_path / "schema.json"), "--accuracy", "0.80", "--without-privacy", "0.86"]
    asked += ["--rows", "30000", "--delta", "1e-6", "--model", "additive", "--json"]
    monkeypatch.setattr("sys.argv", ["sottovoce", "plan", *asked])
    with pytest.raises(SystemExit):
        main()
    raw = json.loads(capsys.readouterr().out)
    assert raw["epsilon"] == pytest.approx(raw["wishes"][0]["epsilon"], rel=1e-9)
    assert raw["epsilon"] < 1.0


def test_a_page_has_an_epsilon_to_move_and_a_sentence_for_each() -> None:
    found = planned()
    assert found.accuracy is not None
    page = render_plan(found)
    assert page.count('type="range"') == 1
    slider = page.partition('data-sentences="')[2].partition('"')[0].split("|")
    places = [float(at) for at in page.partition('data-places="')[2].partition('"')[0].split()]
    assert len(slider) == len(places) == len(found.accuracy.fine)
    assert places == sorted(places)
    assert str(found.accuracy.fine[0]) in slider[0]


def test_a_page_leads_with_what_was_asked_for() -> None:
    reached = render_plan(planned(accuracy=0.8, without_privacy=0.85))
    assert "Accuracy 0.8, where 0.85 is had without privacy, is expected at \u03b5\u00a0=\u00a0" in reached
    assert "<h2>What is wanted</h2>" in reached
    schema = sv.Schema((Numeric("age", 0.0, 1.0),), Target("y", classes=(0, 1)))
    inferred = render_plan(planned(dim=2, intercept=True, schema=schema, inference=0.3))
    assert "2 of 2 coefficients are expected to be determined" in inferred
    assert "<h2>Standard errors to expect</h2>" in inferred
