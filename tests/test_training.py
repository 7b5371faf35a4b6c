from __future__ import annotations

import logging
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting.events import PureEvent, QueryKind
from sottovoce.methods.base import Goal
from sottovoce.methods.majorize import Majorize
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from tests import problems
from tests.doubles import Recorder, Replay

BUDGET = sv.Budget(epsilon=2.0, delta=1e-5)
LOOSE = sv.Tolerance(gradient=0.2, curvature=0.5)


def test_a_certified_run_returns_the_point_its_certificate_speaks_of() -> None:
    risk = problems.logistic(n=20_000)
    result = sv.minimize(risk, budget=BUDGET, tolerance=sv.Tolerance(gradient=0.02), simulate=1)
    assert result.stop is sv.Stop.CERTIFIED
    assert result.certificate.meets(result.tolerance)
    assert np.linalg.norm(risk.gradient(result.weights)) <= result.certificate.gradient_norm_at_most
    assert risk.smallest_eigenvalue(result.weights) >= result.certificate.curvature_at_least


def test_without_a_tolerance_the_budget_is_spent_on_a_good_model() -> None:
    risk = problems.logistic(n=20_000)
    result = sv.minimize(risk, budget=BUDGET, simulate=1)
    assert result.stop is sv.Stop.FINISHED
    spent = sum(row.mu_squared for row in result.trace)
    full = sv.Ledger(BUDGET).run(BUDGET).mu_squared_left
    assert spent == pytest.approx(full, rel=1e-3)
    assert spent <= full * (1 + 1e-9)
    assert risk.value(result.weights) < risk.value(np.zeros(5)) - 0.05
    assert np.linalg.norm(risk.gradient(result.weights)) <= result.certificate.gradient_norm_at_most


def test_nonconvex_curvature_is_paid_for_and_certified() -> None:
    risk = problems.sigmoid(n=50_000)
    result = sv.minimize(
        risk, budget=BUDGET, tolerance=sv.Tolerance(gradient=0.02, curvature=0.02), simulate=2
    )
    assert result.stop is sv.Stop.CERTIFIED
    assert result.certificate.curvature_at_least > risk.problem.curvature_floor
    assert risk.smallest_eigenvalue(result.weights) >= result.certificate.curvature_at_least


def test_opt_reaches_a_certified_point_with_short_steps() -> None:
    risk = problems.sigmoid(n=200_000, dim=3)
    result = sv.minimize(risk, budget=BUDGET, method="opt", tolerance=sv.Tolerance(gradient=0.03), simulate=0)
    assert result.stop is sv.Stop.CERTIFIED
    assert np.linalg.norm(risk.gradient(result.weights)) <= 0.03


def test_a_budget_too_small_stops_without_overspending_and_promises_only_what_is_public() -> None:
    risk = problems.logistic(n=50)
    ledger = sv.Ledger(sv.Budget(epsilon=0.01, delta=1e-9))
    result = sv.minimize(
        risk, budget=ledger.cap, tolerance=sv.Tolerance(gradient=1e-4), ledger=ledger, simulate=0
    )
    assert result.stop in (sv.Stop.STEPS_EXHAUSTED, sv.Stop.OUT_OF_BUDGET)
    assert ledger.units_spent <= ledger.units_cap
    assert not result.certificate.meets(result.tolerance)
    assert result.certificate.gradient_norm_at_most >= np.linalg.norm(risk.gradient(result.weights))


def test_runs_on_one_ledger_share_its_cap() -> None:
    risk = problems.logistic(n=2000)
    ledger = sv.Ledger(sv.Budget(epsilon=1.0, delta=1e-6))
    half = sv.Budget(epsilon=0.6, delta=1e-6)
    sv.minimize(risk, budget=half, ledger=ledger, simulate=0)
    with pytest.raises(sv.errors.BudgetExceeded, match="Nothing was released"):
        sv.minimize(risk, budget=sv.Budget(epsilon=0.9, delta=1e-6), ledger=ledger, simulate=0)
    sv.minimize(risk, budget=half, ledger=ledger, simulate=0)


def test_a_rival_that_drains_the_ledger_ends_the_run_with_out_of_budget() -> None:
    risk = problems.logistic(n=2000)
    ledger = sv.Ledger(BUDGET)
    rival = ledger.run(BUDGET)
    ask = Oracle(risk, ledger.run(BUDGET), SimulatedNoise(0))
    seen = []

    def watch(row: object) -> None:
        seen.append(row)
        if len(seen) == 3:
            epsilon = rival.currency.pure_epsilon(rival.units_left)
            rival.charge(PureEvent(QueryKind.SELECTION, epsilon))

    outcome = Majorize().run(ask, np.zeros(5), Goal(tolerance=None, confidence=0.99), watch)
    assert outcome.stop is sv.Stop.OUT_OF_BUDGET
    assert ledger.units_spent <= ledger.units_cap


def test_a_result_starts_another_run_only_on_its_own_ledger() -> None:
    risk = problems.logistic(n=2000)
    ledger = sv.Ledger(sv.Budget(epsilon=4.0, delta=1e-5))
    first = sv.minimize(risk, budget=BUDGET, ledger=ledger, simulate=0)
    again = sv.minimize(risk, budget=BUDGET, ledger=ledger, start=first, simulate=1)
    assert again.stop is sv.Stop.FINISHED
    with pytest.raises(sv.errors.LedgerError, match="ledger"):
        sv.minimize(risk, budget=BUDGET, start=first, simulate=1)
    with pytest.raises(sv.errors.LedgerError, match="ledger"):
        sv.minimize(risk, budget=BUDGET, start=first, ledger=sv.Ledger(BUDGET), simulate=1)
    with pytest.raises(sv.errors.LedgerError, match="simulated"):
        sv.minimize(risk, budget=BUDGET, start=first, ledger=ledger)


def test_simulated_runs_repeat_and_private_ones_do_not() -> None:
    risk = problems.logistic()
    twice = [sv.minimize(risk, budget=BUDGET, simulate=7).weights for _ in range(2)]
    assert np.array_equal(*twice)
    private = [sv.minimize(risk, budget=BUDGET) for _ in range(2)]
    assert not np.array_equal(private[0].weights, private[1].weights)
    assert not private[0].simulated
    assert "differential privacy" in str(private[0].guarantee)
    simulated = sv.minimize(risk, budget=BUDGET, simulate=7)
    assert simulated.simulated
    assert simulated.guarantee.simulated
    assert "nothing is private" in str(simulated.guarantee)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"budget": 1.0}, "Budget"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": 0}, "confidence"),
        ({"method": "newton"}, "majorize"),
        ({"method": 3}, "method"),
        ({"start": np.zeros(4)}, "5 finite"),
        ({"start": np.full(5, np.nan)}, "5 finite"),
        ({"start": "zeros"}, "5 finite"),
        ({"method": "opt"}, "tolerance"),
        ({"simulate": -1}, "seed"),
        ({"tolerance": 0.1}, "Tolerance"),
    ],
)
def test_a_bad_argument_is_named_with_the_way_out(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(sv.errors.ParameterError, match=words):
        sv.minimize(problems.logistic(), **{"budget": BUDGET, **arguments})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan, "a"])
def test_a_tolerance_is_positive_and_finite(value: object) -> None:
    with pytest.raises(sv.errors.ParameterError, match="positive"):
        sv.Tolerance(gradient=value)  # type: ignore[arg-type]


def test_progress_goes_to_standard_error_and_shows_noisy_quantities(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sv.minimize(problems.logistic(), budget=BUDGET, simulate=0, progress=True)
    assert capsys.readouterr().out == ""


def neighbours() -> tuple[sv.Risk, sv.Risk]:
    """Two data sets that differ in one record, replaced by an extreme one."""
    X, y = problems.arrays(n=300)
    other_X, other_y = X.copy(), y.copy()
    other_X[17] = -100.0 * X[17]
    other_y[17] = -y[17]
    return tuple(  # type: ignore[return-value]
        sv.Risk(sv.Records.from_arrays(a, b, labels=(-1, 1)), sv.losses.Logistic(), sv.regularizers.L2(1e-3))
        for a, b in ((X, y), (other_X, other_y))
    )


def everything_said(
    risk: sv.Risk,
    noise: object,
    patch: pytest.MonkeyPatch,
    log: pytest.LogCaptureFixture,
    folder: Path,
    **options: object,
) -> list[bytes]:
    """Every byte a run lets out: repr, str, JSON, pickle, log and the error of a refused run."""
    patch.setattr("sottovoce.training.noise_for", lambda simulate: noise)
    log.clear()
    ledger = sv.Ledger(BUDGET)
    patch.setattr(type(ledger), "identity", property(lambda self: "fixed"))
    with log.at_level(logging.DEBUG):
        result = sv.minimize(risk, budget=BUDGET, ledger=ledger, **options)  # type: ignore[arg-type]
        with pytest.raises(sv.errors.BudgetExceeded) as refused:
            sv.minimize(risk, budget=BUDGET, ledger=ledger)
    result.save(folder / "run.json")
    said = [
        repr(result),
        str(result),
        repr(risk),
        repr(risk.records),
        repr(ledger),
        str(refused.value),
        re.sub(r"\b[0-9a-f]{32}\b", "drawn", log.text),
    ]
    return [*(text.encode() for text in said), (folder / "run.json").read_bytes(), pickle.dumps(result)]


@pytest.mark.parametrize(
    "options",
    [{}, {"tolerance": LOOSE}, {"tolerance": LOOSE, "method": "opt"}],
    ids=["spend it all", "tolerance", "opt"],
)
def test_the_same_released_answers_give_the_same_bytes_over_neighbouring_data(
    options: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    here, there = neighbours()
    recorder = Recorder(SimulatedNoise(5))
    first = everything_said(here, recorder, monkeypatch, caplog, tmp_path, **options)
    replay = Replay(recorder.tape, simulated=True)
    second = everything_said(there, replay, monkeypatch, caplog, tmp_path, **options)
    assert replay.spent
    assert first == second


def test_a_result_survives_the_round_trip_exactly(tmp_path: Path) -> None:
    result = sv.minimize(problems.logistic(), budget=BUDGET, tolerance=LOOSE, simulate=0)
    result.save(tmp_path / "run.json")
    back = sv.Result.load(tmp_path / "run.json")
    assert np.array_equal(back.weights, result.weights)
    assert back.to_dict() == result.to_dict()
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def _spoil(field: str, value: object) -> Callable[[dict[str, object]], None]:
    def spoil(raw: dict[str, object]) -> None:
        raw[field] = value

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        _spoil("format", "other/1"),
        _spoil("weights", [[1.0]]),
        _spoil("weights", [1.0, None]),
        _spoil("weights", [float("nan")]),
        _spoil("stop", "BORED"),
        _spoil("certificate", {}),
        _spoil("trace", [{"kind": "x", "extra": 1}]),
        lambda raw: raw.pop("guarantee"),
        lambda raw: raw.clear(),
    ],
)
def test_a_damaged_result_is_refused(spoil: Callable[[dict[str, object]], None]) -> None:
    raw = sv.minimize(problems.logistic(), budget=BUDGET, simulate=0).to_dict()
    spoil(raw)
    with pytest.raises(sv.errors.DataError):
        sv.Result.from_dict(raw)


def test_loading_what_is_not_there_or_not_json_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(sv.errors.DataError, match="no saved result"):
        sv.Result.load(tmp_path / "none.json")
    (tmp_path / "bad.json").write_bytes(b"\xff{")
    with pytest.raises(sv.errors.DataError, match="cannot be read"):
        sv.Result.load(tmp_path / "bad.json")


@pytest.mark.parametrize("epsilon", [60.0, 300.0])
def test_an_epsilon_past_what_lattice_noise_carries_is_refused_with_nothing_charged(epsilon: float) -> None:
    budget = sv.Budget(epsilon=epsilon, delta=1e-6)
    ledger = sv.Ledger(budget)
    with pytest.raises(sv.errors.BudgetExceeded, match="Lower epsilon"):
        sv.minimize(problems.logistic(n=300, dim=3), budget=budget, ledger=ledger, simulate=0)
    assert ledger.units_spent == 0
