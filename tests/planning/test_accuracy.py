"""What a plan says about accuracy follows from public numbers, and its chart from what it says."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce.planning.accuracy import EPSILONS, AccuracyForecast, accuracy_lost
from sottovoce.report.plan import render_plan

BUDGET = sv.Budget(1.0, 1e-6)


def test_more_records_and_more_budget_lose_less_and_more_weights_lose_more() -> None:
    base = accuracy_lost(10_000, 20, BUDGET)
    assert accuracy_lost(20_000, 20, BUDGET).typical < base.typical
    assert accuracy_lost(10_000, 20, sv.Budget(2.0, 1e-6)).typical < base.typical
    assert accuracy_lost(10_000, 40, BUDGET).typical > base.typical
    assert accuracy_lost(10_000, 20, BUDGET, kept=0.3).typical > base.typical


def test_the_range_holds_what_is_typical_and_no_more_than_there_is_to_lose() -> None:
    for n, weights, epsilon in itertools.product((1, 1_000, 10**7), (1, 5_000), (1e-3, 1.0, 50.0)):
        found = accuracy_lost(n, weights, sv.Budget(epsilon, 1e-6))
        assert found.low <= found.typical <= found.high <= 0.5


def test_the_chart_has_a_line_for_each_epsilon_that_falls_as_it_grows() -> None:
    forecast = AccuracyForecast.of(30_000, 80, BUDGET)
    lines = forecast.drawn().splitlines()
    assert [float(line.split()[0]) for line in lines[1:]] == list(EPSILONS)
    places = [line.index("\u25cf") for line in lines[1:]]
    assert places == sorted(places, reverse=True)
    assert places[0] > places[-1]


@pytest.mark.parametrize(
    "other",
    [{"method": "majorize"}, {"loss": sv.losses.Sigmoid()}, {"classes": 3}, {"target": (-1.0, 1.0)}],
    ids=str,
)
def test_nothing_is_said_where_nothing_was_learned(other: dict[str, object]) -> None:
    options: dict[str, object] = {"loss": sv.losses.Logistic(), **other}
    if "target" in other:
        options["loss"] = sv.losses.PseudoHuber()
    found = sv.plan(n=5_000, dim=5, budget=BUDGET, timed=False, **options)  # type: ignore[arg-type]
    assert found.accuracy is None
    assert "Accuracy lost" not in render_plan(found)


def test_a_plan_speaks_of_accuracy_in_text_json_and_on_its_page() -> None:
    found = sv.plan(n=30_000, dim=80, loss=sv.losses.Logistic(), budget=BUDGET, timed=False)
    assert found.accuracy is not None
    assert "points of accuracy lost to privacy" in str(found).splitlines()[1]
    assert (
        json.loads(json.dumps(found.to_dict()))["accuracy"]["here"]["typical"] == found.accuracy.here.typical
    )
    page = render_plan(found)
    assert page.count("<polygon") == 1
    for drawn, said in (
        ('class="line"', "typical"),
        ('class="band"', "range"),
        ('class="bound"', "this budget"),
    ):
        assert drawn in page
        assert said in page


def test_the_command_draws_the_chart_and_writes_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sottovoce.cli import main

    page = tmp_path / "plan.html"
    words = ["--rows", "30000", "--weights", "80", "--epsilon", "1", "--delta", "1e-6", "--html", str(page)]
    monkeypatch.setattr("sys.argv", ["sottovoce", "plan", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "\u25cf" in capsys.readouterr().out
    assert "http" not in page.read_text(encoding="utf-8").replace("http-equiv", "")
