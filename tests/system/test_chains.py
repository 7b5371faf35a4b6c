"""A result that started from another states what both promise, wherever its guarantee is read."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import cli
from sottovoce.accounting import lineage as origins
from sottovoce.report import registry, words
from sottovoce.report.card import Card
from sottovoce.results.result import UNLISTED
from tests import problems

CAP = sv.Budget(8.0, 1e-5)
LARGE, SMALL = sv.Budget(5.0, 1e-6), sv.Budget(0.01, 1e-6)
minimize = partial(sv.minimize, method="majorize")
"""Chains are about what is charged: a quick method serves."""

PRINTED = "(5.00003, 1.08e-06)-differential privacy"


@pytest.fixture(scope="module")
def risk() -> sv.Risk:
    return problems.logistic(n=400, dim=2)


@pytest.fixture
def chain(risk: sv.Risk) -> tuple[sv.Ledger, sv.Result, sv.Result]:
    """The attack: a tiny run, stopped at once, hands on the weights of a large one."""
    ledger = sv.Ledger(CAP)
    first = minimize(risk, budget=LARGE, ledger=ledger)
    eager = sv.Tolerance(gradient=1e6, curvature=1e6)
    return ledger, first, minimize(risk, budget=SMALL, ledger=ledger, start=first, tolerance=eager)


def test_a_small_run_does_not_launder_the_one_it_started_from(
    chain: tuple[sv.Ledger, sv.Result, sv.Result],
) -> None:
    _, first, second = chain
    assert second.guarantee.epsilon > 5.0
    assert second.guarantee.delta > 1e-6
    assert second.guarantee.runs == 2
    assert [preset.epsilon for preset in second.lineage] == [5.0, 0.01]
    assert (first.guarantee.epsilon, first.guarantee.delta, first.guarantee.runs) == (5.0, 1e-6, 1)
    assert str(first.guarantee).endswith("n = 400; under zero-out the same")


def test_every_print_states_the_composed_guarantee_and_the_cap(
    chain: tuple[sv.Ledger, sv.Result, sv.Result],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, _, second = chain
    page = sv.report.render(second)
    for said in (str(second), str(second.guarantee), page):
        assert PRINTED in said
        assert "composed over 2 runs" in said
        assert "(8, 1e-05)" in said
    assert "everything released by this run and the 1 it builds on" in page
    assert "(0.01, 1e-06)" not in page + str(second)
    second.save(tmp_path / "run.json")
    raw = json.loads((tmp_path / "run.json").read_text())
    assert raw["guarantee"]["epsilon"] == second.guarantee.epsilon
    assert (raw["guarantee"]["cap_epsilon"], raw["guarantee"]["cap_delta"]) == (8.0, 1e-5)
    monkeypatch.setattr(
        sys, "argv", ["sottovoce", "report", str(tmp_path / "run.json"), "-o", str(tmp_path / "p")]
    )
    with pytest.raises(SystemExit):
        cli.main()
    assert PRINTED in (tmp_path / "p").read_text(encoding="utf-8")
    assert capsys.readouterr().err == ""


def test_a_chain_goes_on_through_a_file(
    risk: sv.Risk, chain: tuple[sv.Ledger, sv.Result, sv.Result], tmp_path: Path
) -> None:
    ledger, _, second = chain
    second.save(tmp_path / "run.json")
    loaded = sv.Result.load(tmp_path / "run.json")
    assert (loaded.lineage, loaded.guarantee) == (second.lineage, second.guarantee)
    third = minimize(risk, budget=sv.Budget(1.0, 1e-6), ledger=ledger, start=loaded)
    direct = minimize(risk, budget=sv.Budget(1.0, 1e-6), ledger=ledger, start=second)
    assert third.guarantee == direct.guarantee
    assert third.guarantee.runs == 3
    assert third.guarantee.epsilon > second.guarantee.epsilon


def test_runs_have_names_of_their_own(risk: sv.Risk) -> None:
    ledger = sv.Ledger(CAP)
    runs = {minimize(risk, budget=SMALL, ledger=ledger).lineage[0].run for _ in range(3)}
    assert len(runs) == 3


@pytest.mark.parametrize(
    "hand_on",
    [
        lambda result: result.weights,
        lambda result: result.weights[:],
        lambda result: result.weights.reshape(1, -1)[0],
        lambda result: copy.deepcopy(result).weights,
        lambda result: pickle.loads(pickle.dumps(result)).weights,
        lambda result: sv.Result.from_dict(result.to_dict()).weights,
        lambda result: replace(result, caveats=()).weights,
    ],
)
def test_weights_are_known_for_the_result_they_came_from(
    risk: sv.Risk,
    chain: tuple[sv.Ledger, sv.Result, sv.Result],
    hand_on,  # type: ignore[no-untyped-def]
) -> None:
    ledger, first, _ = chain
    kept = hand_on(first), first
    again = minimize(risk, budget=SMALL, ledger=ledger, start=kept[0])
    assert again.guarantee.runs == 2
    assert again.guarantee.epsilon > 5.0
    with pytest.raises(sv.errors.LedgerError, match="not charged to the ledger"):
        minimize(risk, budget=SMALL, start=kept[0])
    with pytest.raises(sv.errors.LedgerError, match="not charged to the ledger"):
        minimize(risk, budget=SMALL, ledger=sv.Ledger(CAP), start=kept[0])


def test_weights_of_a_simulated_result_cannot_start_a_private_run(risk: sv.Risk) -> None:
    ledger = sv.Ledger(CAP)
    shown = minimize(risk, budget=LARGE, ledger=ledger, simulate=1)
    with pytest.raises(sv.errors.LedgerError, match="simulated"):
        minimize(risk, budget=SMALL, ledger=ledger, start=shown.weights)
    again = minimize(risk, budget=LARGE, ledger=ledger, simulate=1, start=shown)
    assert again.guarantee.runs == 2
    assert "nothing is private" in str(again.guarantee)


def test_weights_that_are_gone_are_forgotten() -> None:
    before = len(origins._KNOWN)
    weights = np.zeros(3)
    origins.mark(weights, origins.Origin((), "", False))
    assert origins.origin_of(weights[1:]) is not None
    assert origins.origin_of(np.array(weights)) is None
    del weights
    gc.collect()
    assert len(origins._KNOWN) <= before


def test_a_file_from_before_still_loads_and_says_what_it_does_not_know(
    risk: sv.Risk, chain: tuple[sv.Ledger, sv.Result, sv.Result]
) -> None:
    ledger, first, _ = chain
    raw = first.to_dict()
    del raw["lineage"]
    for name in ("runs", "cap_epsilon", "cap_delta"):
        del raw["guarantee"][name]
    old = sv.Result.from_dict(raw)
    assert UNLISTED in old.caveats
    assert (old.guarantee.epsilon, old.guarantee.runs) == (5.0, 1)
    assert sv.Result.from_dict(old.to_dict()).caveats == old.caveats
    after = minimize(risk, budget=SMALL, ledger=ledger, start=old)
    assert after.guarantee.epsilon >= 5.01
    assert after.guarantee.delta >= 2e-6
    assert UNLISTED in after.caveats
    assert UNLISTED in minimize(risk, budget=SMALL, ledger=ledger, start=after.weights).caveats


@pytest.mark.parametrize("way", ["result", "weights"])
def test_a_small_table_hides_neither_the_size_of_a_large_one_nor_what_is_weak_for_it(
    risk: sv.Risk, way: str
) -> None:
    ledger, weak = sv.Ledger(sv.Budget(8.0, 1e-2)), sv.Budget(1.0, 5e-4)
    first = minimize(problems.logistic(n=4_000, dim=2), budget=weak, ledger=ledger)
    assert "above 1/n" in first.caveats[0]
    start = first if way == "result" else first.weights
    second = minimize(risk, budget=weak, ledger=ledger, start=start)
    assert second.guarantee.n == 4_000
    assert any("above 1/n = 0.00025" in caveat for caveat in second.caveats)
    assert "runs on 4,000 records at most" in str(second.guarantee)
    assert "Each of the records of 2 runs, 4,000 at most in each." in words.promises(second)[0]
    told = registry.entry(second, Card(trained="2026-11-18"), registry.Publication())["deployment"]
    assert "4,000 at most in each" in told["basic"]["description"]
    assert "4,000 at most in each" in told["dp_variant"]["data_domain"]
    assert "The last run was charged for" in told["accounting"]["composition"]


@pytest.mark.parametrize(
    "forged",
    [
        {"epsilon": 0.01},
        {"delta": 1e-9},
        {"runs": 1},
        {"other_epsilon": 0.01},
        {"other_delta": None},
    ],
)
def test_a_file_whose_guarantee_does_not_cover_its_runs_is_refused(
    chain: tuple[sv.Ledger, sv.Result, sv.Result], forged: dict[str, float]
) -> None:
    raw = chain[2].to_dict()
    raw["guarantee"] |= forged
    with pytest.raises(sv.errors.DataError, match="damaged"):
        sv.Result.from_dict(raw)


def test_only_results_of_the_chain_are_counted_in(risk: sv.Risk) -> None:
    """Runs beside it share the ledger, whose cap covers them; the promise about this result does not grow."""
    ledger = sv.Ledger(CAP)
    minimize(risk, budget=LARGE, ledger=ledger)
    alone = minimize(risk, budget=SMALL, ledger=ledger)
    assert (alone.guarantee.epsilon, alone.guarantee.runs) == (0.01, 1)
    assert (alone.guarantee.cap_epsilon, alone.guarantee.cap_delta) == (8.0, 1e-5)
