"""The paper's problems on real data, judged by exact values. `-m slow` runs the whole study."""

from __future__ import annotations

import os

import numpy as np
import pytest
from benchmarks.paper_methods import LOSSES, TOLERANCES, records_of, run_once, stopped

import sottovoce as sv
from sottovoce.data import ijcnn1

SETTINGS = [
    {"loss": loss, "tolerance": tolerance, "epsilon": epsilon}
    for loss in ("logistic", "sigmoid")
    for tolerance in ("loose", "tight")
    for epsilon in (0.2, 0.6, 1.0)
]


def risks(data: str) -> dict[str, sv.Risk]:
    records = records_of(data)
    return {name: sv.Risk(records, *parts) for name, parts in LOSSES.items()}


@pytest.fixture(scope="module")
def covertype() -> dict[str, sv.Risk]:
    return risks("covertype")


@pytest.fixture(scope="module")
def ijcnn() -> dict[str, sv.Risk]:
    if ijcnn1.FOLDER not in os.environ:
        pytest.skip(f"IJCNN1 may not be shipped: set {ijcnn1.FOLDER} to the folder that holds ijcnn1.npz.")
    return risks("ijcnn1")


def solved(risk: sv.Risk, data: str, method: str, setting: dict[str, object], seeds: range) -> bool:
    fixed = {"data": data, "method": method, "calibration": "tight", **setting}
    runs = [run_once(risk, {**fixed, "seed": seed}) for seed in seeds]
    return all(stopped(run) and run["inside"] for run in runs)


def test_ijcnn1_is_encoded_by_public_constants(ijcnn: dict[str, sv.Risk]) -> None:
    table = ijcnn1.load(os.environ[ijcnn1.FOLDER])
    X = table.standardized()
    assert X.shape == (49_990, 22)
    assert int((table.signs() == 1).sum()) == 4853
    assert np.abs(3.0 * X[:, 10:].mean(axis=0)).max() < 1e-3
    assert 3.0 * X[:, 10:].std(axis=0) == pytest.approx(np.ones(12), abs=1e-3)


def test_a_missing_file_is_one_clear_error(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sv.errors.DataError, match="IJCNN1"):
        ijcnn1.load(tmp_path)


def test_dp_gd_certifies_a_point_on_covertype_at_epsilon_one(covertype: dict[str, sv.Risk]) -> None:
    risk = covertype["logistic"]
    result = sv.minimize(
        risk,
        budget=sv.Budget(epsilon=1.0, delta=1.0 / risk.n),
        method="dp-gd",
        tolerance=sv.Tolerance(gradient=0.06, curvature=0.245),
        start=np.random.default_rng(0).standard_normal(risk.dim),
        simulate=0,
    )
    assert result.stop is sv.Stop.CERTIFIED
    assert np.linalg.norm(risk.gradient(result.weights)) <= result.certificate.gradient_norm_at_most <= 0.06


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: "-".join(map(str, s.values())))
def test_two_phase_line_search_solves_covertype(
    covertype: dict[str, sv.Risk], setting: dict[str, object]
) -> None:
    assert solved(covertype[str(setting["loss"])], "covertype", "2opt-ls", setting, range(1))


def test_two_phase_line_search_solves_eleven_of_twelve_settings_on_ijcnn1(ijcnn: dict[str, sv.Risk]) -> None:
    count = sum(solved(ijcnn[str(s["loss"])], "ijcnn1", "2opt-ls", s, range(5)) for s in SETTINGS)
    assert count >= 11


@pytest.mark.slow
@pytest.mark.parametrize(("method", "least"), [("2opt-ls", 12), ("2opt", 11), ("opt-ls", 11), ("opt", 10)])
def test_settings_solved_on_covertype(covertype: dict[str, sv.Risk], method: str, least: int) -> None:
    assert len(TOLERANCES) == 8
    count = sum(solved(covertype[str(s["loss"])], "covertype", method, s, range(5)) for s in SETTINGS)
    assert count >= least


PUBLISHED_LOSSES = {
    ("opt", "logistic", "loose"): {0.6: 0.712, 1.0: 0.712},
    ("opt", "logistic", "tight"): {1.0: 0.592},
    ("opt", "sigmoid", "loose"): {0.6: 0.539, 1.0: 0.539},
    ("2opt-ls", "logistic", "loose"): {0.2: 0.699, 0.6: 0.699, 1.0: 0.699},
    ("2opt-ls", "logistic", "tight"): {0.2: 0.577, 0.6: 0.591, 1.0: 0.591},
    ("2opt-ls", "sigmoid", "loose"): {0.2: 0.539, 0.6: 0.539, 1.0: 0.539},
    ("2opt-ls", "sigmoid", "tight"): {0.6: 0.447, 1.0: 0.447},
}
"""Mean final losses of the paper's tables where all five of its runs terminated."""


def reproduces(risk: sv.Risk, cell: tuple[str, str, str], epsilon: float, loss: float) -> None:
    method, kind, tolerance = cell
    setting = {
        "data": "covertype",
        "loss": kind,
        "tolerance": tolerance,
        "epsilon": epsilon,
        "method": method,
    }
    runs = [run_once(risk, {**setting, "calibration": "published", "seed": seed}) for seed in range(5)]
    assert all(run["stop"] == "WITHIN_NOISE" for run in runs)
    assert np.mean([run["loss_value"] for run in runs]) == pytest.approx(loss, abs=0.03)


def test_published_two_phase_line_search_ends_at_the_papers_loss(covertype: dict[str, sv.Risk]) -> None:
    reproduces(covertype["logistic"], ("2opt-ls", "logistic", "loose"), 0.2, 0.699)


@pytest.mark.slow
@pytest.mark.parametrize("cell", PUBLISHED_LOSSES, ids="-".join)
def test_published_runs_end_where_the_papers_did(
    covertype: dict[str, sv.Risk], cell: tuple[str, str, str]
) -> None:
    for epsilon, loss in PUBLISHED_LOSSES[cell].items():
        reproduces(covertype[cell[1]], cell, epsilon, loss)


@pytest.mark.slow
def test_published_short_steps_fail_to_stop_at_epsilon_one_fifth(covertype: dict[str, sv.Risk]) -> None:
    """Hessian noise of norm 0.3 hides a curvature tolerance of 0.22: the paper's table shows a cross."""
    setting = {"data": "covertype", "loss": "logistic", "tolerance": "loose", "epsilon": 0.2, "method": "opt"}
    run = run_once(covertype["logistic"], {**setting, "calibration": "published", "seed": 0})
    assert run["stop"] == "STEPS_EXHAUSTED"
    assert run["visits"] == 421
