"""The noise stated beside weights is the scatter of weights over runs on the same records."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.methods.designs import Designer
from sottovoce.methods.majorizers import MajorizerShape
from sottovoce.methods.noise_propagation import NO_STEP, StepNoise, variances
from sottovoce.results.inference.coefficient_noise import UNSAID, CoefficientNoise
from tests import problems

BUDGET = sv.Budget(1.0, 1e-6)


def scatter(risk, method: str, runs: int = 25, epsilon: float = 1.0) -> np.ndarray:
    """Stated noise, in the middle of runs, over the standard deviation of the weights, for each weight."""
    found = [
        sv.minimize(risk, budget=sv.Budget(epsilon, 1e-6), method=method, simulate=seed)
        for seed in range(runs)
    ]
    stated = np.median([result.coefficient_noise for result in found], axis=0)
    return stated / np.std([result.weights for result in found], axis=0, ddof=1)


def made_up(n: int = 4_000, d: int = 4, classes: int = 2, seed: int = 3) -> sv.Risk | sv.SoftmaxRisk:
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(size=(n, d)), -3.0, 3.0)
    scores = X @ (0.5 * rng.normal(size=(d, classes)))
    y = (scores + rng.gumbel(size=(n, classes))).argmax(axis=1)
    records = sv.Records.from_arrays(X, y, labels=tuple(range(classes)), radius=6.2, intercept=True)
    penalty = sv.regularizers.L2(1e-6)
    return (
        sv.SoftmaxRisk(records, penalty) if classes > 2 else sv.Risk(records, sv.losses.Logistic(), penalty)
    )


@pytest.mark.parametrize("method", ["majorize", "adapt"])
def test_stated_noise_is_about_the_scatter_of_the_weights(method: str) -> None:
    ratio = scatter(made_up(), method, runs=12 if method == "adapt" else 25)
    assert 0.7 < float(np.exp(np.log(ratio).mean())) < 1.4
    assert np.all((ratio > 0.4) & (ratio < 2.5))


@pytest.mark.parametrize(
    "shape", [MajorizerShape.DIAGONAL, pytest.param(MajorizerShape.SCALAR, marks=pytest.mark.slow)]
)
def test_stated_noise_holds_where_no_matrix_is_formed(shape, monkeypatch: pytest.MonkeyPatch) -> None:
    best = Designer.best
    monkeypatch.setattr(Designer, "best", lambda self: replace(best(self), shape=shape))
    assert 0.7 < float(np.exp(np.log(scatter(made_up(), "majorize")).mean())) < 1.4


@pytest.mark.slow
@pytest.mark.parametrize(("method", "factor"), [("adapt", 2.0), ("majorize", 1.4)])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("n", "d", "epsilon"), [(5_000, 8, 0.5), (20_000, 5, 1.0), (40_000, 12, 3.0)])
def test_stated_noise_holds_over_sizes_and_budgets(
    method: str, factor: float, classes: int, n: int, d: int, epsilon: float
) -> None:
    ratio = scatter(made_up(n, d, classes, seed=5), method, epsilon=epsilon)
    assert 1.0 / factor < float(np.exp(np.log(ratio).mean())) < factor


def test_noise_of_linear_steps_is_what_simulated_steps_leave() -> None:
    rng = np.random.default_rng(0)
    curvature, scales = np.array([0.05, 0.4, 1.0]), [0.3, 0.2, 0.1, 0.4, 0.2]
    lengths = [np.array([0.5, 1.2, 0.9]) * (1 + 0.1 * k) for k in range(5)]
    runs, last = np.zeros((200_000, 3)), []
    for length, scale in zip(lengths, scales, strict=True):
        runs = runs - length * (curvature * runs + rng.normal(scale=scale, size=runs.shape))
        last.append(runs)
    step_noises = [StepNoise(p, s, curvature) for p, s in zip(lengths, scales, strict=True)]
    for averaged in (1, 3):
        exact = np.var(np.mean(last[-averaged:], axis=0), axis=0)
        weights = [float(place >= 5 - averaged) / averaged for place in range(5)]
        assert np.allclose(variances(step_noises, weights), exact, rtol=0.03)


def test_noise_is_not_stated_where_no_step_was_taken() -> None:
    there = sv.minimize(
        made_up(), budget=BUDGET, method="opt", tolerance=sv.Tolerance(gradient=50.0), simulate=0
    )
    assert there.coefficient_noise is None
    assert there.noise.reason == NO_STEP


def test_noise_survives_a_file_and_older_files_are_read_without() -> None:
    result = sv.minimize(problems.logistic(), budget=BUDGET, simulate=0)
    raw = json.loads(json.dumps(result.to_dict()))
    assert np.array_equal(sv.Result.from_dict(raw).coefficient_noise, result.coefficient_noise)
    del raw["noise"]
    old = sv.Result.from_dict(raw)
    assert old.coefficient_noise is None
    assert old.noise.reason == UNSAID


@pytest.mark.parametrize("part", [{"deviations": [1.0]}, {"deviations": [-1.0]}, {"covariance": [1.0, 2.0]}])
def test_noise_that_does_not_fit_the_weights_is_refused(part: dict) -> None:
    raw = sv.minimize(problems.logistic(), budget=BUDGET, simulate=0).to_dict()
    if part.get("deviations") == [-1.0]:
        part = {"deviations": [-1.0] * len(raw["weights"])}
    raw["noise"] = {**raw["noise"], **part}
    with pytest.raises(sv.errors.DataError):
        sv.Result.from_dict(raw)


def test_noise_of_sums_needs_covariances_and_that_of_multiples_does_not() -> None:
    covariance = np.array([[4.0, 1.0], [1.0, 9.0]])
    known = CoefficientNoise(np.array([2.0, 3.0]), covariance, "")
    block = np.array([[0.5, 0.0], [1.0, -1.0]])
    assert np.allclose(known.of_terms(block, 1), [1.0, np.sqrt(4.0 + 9.0 - 2.0)])
    alone = CoefficientNoise(np.array([2.0, 3.0]), None, "").of_terms(block, 1)
    assert alone is not None
    assert alone[0] == 1.0
    assert np.isnan(alone[1])


def test_a_coefficient_below_its_noise_is_marked() -> None:
    from sottovoce.results.inference.listing import ListedCoefficient, listing

    lines = (ListedCoefficient("strong", 1.0, 0.1), ListedCoefficient("weak", 0.01, 0.1))
    said = listing(lines, "").splitlines()
    assert [line.endswith("*") for line in said if line.startswith(("strong", "weak"))] == [False, True]
    assert listing((ListedCoefficient("x", 1.0, None),), "so it is").endswith("so it is.")
