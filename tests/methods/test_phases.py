from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting.events import QueryKind
from sottovoce.methods.paper.gap import DeclaredGap, MeasuredGap
from sottovoce.methods.paper.opt import Opt, OptSearch, TwoPhase
from sottovoce.methods.registry import METHODS
from sottovoce.privacy.noise import SimulatedNoise
from tests import problems
from tests.doubles import Recorder, Replay
from tests.test_training import everything_said, neighbours

BUDGET = sv.Budget(epsilon=2.0, delta=1e-5)


def test_phase_one_keeps_a_quarter_for_phase_two_which_starts_where_it_ended() -> None:
    """A tolerance out of reach: phase one may charge three quarters, the rest is charged later."""
    ledger = sv.Ledger(BUDGET)
    risk = problems.logistic(n=20_000)
    result = sv.minimize(
        risk,
        budget=BUDGET,
        method=TwoPhase(first_share=0.75),
        tolerance=sv.Tolerance(gradient=0.0015),
        start=np.ones(5),
        ledger=ledger,
        simulate=0,
    )
    assert result.stop in (sv.Stop.OUT_OF_BUDGET, sv.Stop.STEPS_EXHAUSTED)
    spent = np.cumsum([grant.units for grant in ledger.history])
    cap = ledger.units_cap
    assert np.any((spent > 0) & (spent <= 0.75 * cap))
    assert spent[-1] > 0.9 * cap


def test_early_visits_are_cheap_and_the_rest_flows_to_later_ones() -> None:
    ledger = sv.Ledger(BUDGET)
    result = sv.minimize(
        problems.logistic(n=100_000),
        budget=BUDGET,
        method="opt-ls",
        tolerance=sv.Tolerance(gradient=0.01),
        start=4.0 * np.ones(5),
        ledger=ledger,
        simulate=1,
    )
    assert result.stop is sv.Stop.CERTIFIED
    gradients = [grant.units for grant in ledger.history if grant.event.query is QueryKind.GRADIENT]
    assert min(gradients[1:-1]) < gradients[-1]
    assert ledger.units_spent < ledger.units_cap


@pytest.mark.parametrize("gap", [DeclaredGap(2.0), MeasuredGap()])
def test_the_number_of_visits_may_come_from_a_declared_or_measured_gap(gap) -> None:  # type: ignore[no-untyped-def]
    result = sv.minimize(
        problems.logistic(n=20_000),
        budget=BUDGET,
        method=Opt(gap=gap),
        tolerance=sv.Tolerance(gradient=0.05),
        simulate=0,
    )
    assert result.stop is sv.Stop.CERTIFIED
    assert (result.trace[0].kind == "value") == isinstance(gap, MeasuredGap)


def test_a_measured_gap_that_cannot_be_paid_ends_the_run_in_words() -> None:
    ledger = sv.Ledger(sv.Budget(1e-6, 1e-9))
    result = sv.minimize(
        problems.logistic(n=50),
        budget=ledger.cap,
        method=OptSearch(gap=MeasuredGap()),
        tolerance=sv.Tolerance(gradient=0.01),
        ledger=ledger,
        simulate=0,
    )
    assert result.stop in (sv.Stop.OUT_OF_BUDGET, sv.Stop.STEPS_EXHAUSTED)
    assert ledger.units_spent <= ledger.units_cap


def marks(method: Any, calibration: str) -> Any:
    """Tight noise of the paper's methods is replayed by tests/attacks/test_replay.py in every run."""
    return pytest.mark.slow if method.published and calibration == "tight" else ()


@pytest.mark.parametrize(
    ("method", "calibration"),
    [
        pytest.param(name, calibration, marks=marks(method, calibration))
        for name, method in METHODS.items()
        for calibration in ("tight", "published")
        if not name.endswith("-b") and name != "majorize" and (calibration == "tight" or method.published)
    ],
)
def test_the_same_released_answers_give_the_same_bytes_over_neighbouring_data(
    method: str,
    calibration: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path,  # type: ignore[no-untyped-def]
) -> None:
    here, there = neighbours()
    options = {
        "method": method,
        "calibration": calibration,
        "tolerance": sv.Tolerance(gradient=0.2, curvature=0.5),
    }
    recorder = Recorder(SimulatedNoise(5))
    first = everything_said(here, recorder, monkeypatch, caplog, tmp_path, **options)
    replay = Replay(recorder.tape, simulated=True)
    second = everything_said(there, replay, monkeypatch, caplog, tmp_path, **options)
    assert replay.spent
    assert first == second
