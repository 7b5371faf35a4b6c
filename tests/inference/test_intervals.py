"""Intervals for the minimizer hold as often as they say, are of use, and are absent where nothing holds."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import optimize

import sottovoce as sv
from sottovoce.certificate import spectral_margin
from sottovoce.inference.intervals import (
    NO_HESSIAN,
    NOT_CONVEX,
    NOTHING_MEASURED,
    TOO_FLAT,
    Intervals,
    around,
)
from sottovoce.losses import LogCosh, Logistic, Loss, PseudoHuber, SoftplusHinge
from sottovoce.questions import Answer
from tests import problems

BUDGET = sv.Budget(epsilon=2.0, delta=1e-5)


def minimizer(risk: sv.Risk) -> np.ndarray:
    found = optimize.minimize(
        risk.value_and_gradient, np.zeros(risk.dim), jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    assert np.linalg.norm(risk.gradient(found.x)) < 1e-7
    return found.x


def overlapping(n: int = 40_000, dim: int = 4) -> sv.Risk:
    """Two classes that overlap, so that the logistic risk curves up near its minimizer."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, dim)) / np.sqrt(dim)
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * X @ np.arange(dim))), 1, -1)
    return sv.Risk(sv.Records.from_arrays(X, y, labels=(-1, 1)), Logistic(), sv.regularizers.L2(1e-6))


def risks() -> list[sv.Risk]:
    logistic = overlapping()
    regression = sv.Risk(problems.regression(n=40_000, dim=4), PseudoHuber(0.5), sv.regularizers.L2(1e-4))
    return [logistic, regression]


@pytest.mark.parametrize("risk", risks(), ids=["logistic", "pseudo-huber"])
def test_the_minimizer_lies_within_and_the_intervals_are_of_use(risk: sv.Risk) -> None:
    """20 runs at 99 % and far fewer errors than 1 % in practice: more than 4 misses have odds below 1e-6."""
    truth, missed = minimizer(risk), 0
    for seed in range(20):
        result = sv.minimize(risk, budget=BUDGET, intervals=0.1, simulate=seed)
        low, high = np.array(result.intervals.low), np.array(result.intervals.high)
        assert low.size == risk.dim
        missed += not (np.all(low <= truth) and np.all(truth <= high))
        assert np.max(high - low) < 0.5 * np.max(np.abs(truth))
    assert missed <= 4


@pytest.mark.parametrize("away", [0.0, 0.02, 0.1])
def test_the_intervals_err_no_more_often_than_they_say(away: float) -> None:
    """1000 draws at confidence 0.8: more than 262 errors have odds below 1e-6 if the level holds."""
    risk = overlapping(n=5000, dim=3)
    truth, rng = minimizer(risk), np.random.default_rng(1)
    w = truth + away * np.array([1.0, -1.0, 0.5])
    gradient, hessian = risk.gradient(w), risk.hessian(w)
    slope, bend = 1e-4, 1e-4
    missed = 0
    for _ in range(1000):
        raw = rng.standard_normal((3, 3))
        found = around(
            w,
            Answer(gradient + slope * rng.standard_normal(3), slope, 1),
            Answer(hessian + bend * (raw + raw.T) / 2.0, bend, 1),
            risk.problem,
            confidence=0.8,
            tests=1,
        )
        assert found
        missed += not (np.all(np.array(found.low) <= truth) and np.all(truth <= np.array(found.high)))
    assert missed <= 262


@pytest.mark.parametrize("noise", [1e-4, 1e-3, 3e-3])
def test_worst_case_noise_at_its_stated_size_never_pushes_the_minimizer_out(noise: float) -> None:
    """Not a probability: the gradient's error is aimed along the direction that moves a coordinate most."""
    risk = overlapping(n=5000, dim=3)
    truth = minimizer(risk)
    rng = np.random.default_rng(0)
    for _ in range(50):
        w = truth + 0.3 * rng.standard_normal(3)
        hessian = risk.hessian(w)
        aimed = np.linalg.solve(hessian, np.eye(3)[rng.integers(3)])
        gradient = risk.gradient(w) + noise * aimed / np.linalg.norm(aimed) * rng.choice([-1.0, 1.0]) * 2.0
        found = around(
            w,
            Answer(gradient, noise, 1),
            Answer(hessian, noise * 0.1, 1),
            risk.problem,
            confidence=0.99,
            tests=1,
        )
        if found:
            assert np.all(np.array(found.low) <= truth)
            assert np.all(truth <= np.array(found.high))
        else:
            assert found.reason == TOO_FLAT


def test_a_hessian_wrong_by_all_its_noise_allows_never_pushes_the_minimizer_out() -> None:
    """The error has the largest norm the level admits, in random directions, and the gradient none at all."""
    risk = overlapping(n=5000, dim=3)
    truth, rng, scale = minimizer(risk), np.random.default_rng(2), 8e-4
    largest = spectral_margin(scale, 3, (1.0 - 0.99) / 8.0)
    for _ in range(50):
        w = truth + 0.01 * rng.standard_normal(3)
        u = rng.standard_normal(3)
        wrong = risk.hessian(w) + rng.choice([-1.0, 1.0]) * largest * np.outer(u, u) / (u @ u)
        found = around(
            w,
            Answer(risk.gradient(w), 1e-9, 1),
            Answer(wrong, scale, 1),
            risk.problem,
            confidence=0.99,
            tests=1,
        )
        assert found
        assert np.all(np.array(found.low) <= truth)
        assert np.all(truth <= np.array(found.high))


@pytest.mark.parametrize(
    "loss", [Logistic(), SoftplusHinge(3.0), PseudoHuber(0.5), PseudoHuber(2.0), LogCosh()], ids=repr
)
def test_curvature_changes_no_faster_than_the_bend(loss: Loss) -> None:
    t = np.linspace(-12.0, 12.0, 20_001)
    second = np.log(loss.second(t))
    steepest = np.max(np.abs(np.diff(second) / np.diff(t)))
    assert steepest <= loss.bend * (1.0 + 1e-6)
    assert steepest >= 0.98 * loss.bend


@pytest.mark.parametrize(
    "loss", [sv.losses.Sigmoid(), sv.losses.Savage(), sv.losses.Cauchy(), sv.losses.Welsch()], ids=repr
)
def test_a_loss_that_is_not_convex_has_no_finite_bend(loss: Loss) -> None:
    assert loss.bend == math.inf


def test_no_interval_is_given_where_none_holds_and_the_reason_is_said() -> None:
    def reason(risk: sv.Risk, **options: object) -> str:
        result = sv.minimize(risk, **{"budget": BUDGET, "intervals": 0.1, "simulate": 0, **options})  # type: ignore[arg-type]
        assert not result.intervals
        assert result.intervals.low == ()
        return result.intervals.reason

    assert reason(problems.sigmoid()) == NOT_CONVEX
    tukey = sv.Risk(problems.classification(), Logistic(), sv.regularizers.Tukey(1e-3))
    assert reason(tukey) == NOT_CONVEX
    assert reason(problems.logistic(n=20_000), intervals=0.0) == NO_HESSIAN
    assert reason(problems.logistic(n=50), budget=sv.Budget(epsilon=0.01, delta=1e-9)) in (
        TOO_FLAT,
        NO_HESSIAN,
    )
    X, y = problems.arrays(n=20_000)
    twice = np.hstack([X, X[:, :1]]) / 2.0
    records = sv.Records.from_arrays(twice, y, labels=(-1, 1))
    assert reason(sv.Risk(records, Logistic(), sv.regularizers.L2(1e-6))) == TOO_FLAT
    nothing = around(np.zeros(5), None, None, problems.logistic().problem, confidence=0.99, tests=1)
    assert nothing.reason == NOTHING_MEASURED


def test_a_batch_gives_no_interval() -> None:
    risk = problems.logistic(n=5000, dim=3)
    w = np.zeros(3)
    gradient, hessian = Answer(risk.gradient(w), 1e-4, 1), Answer(risk.hessian(w), 1e-4, 1)
    batch = dataclasses.replace(gradient, sampling=0.1)
    options = {"problem": risk.problem, "confidence": 0.99, "tests": 1}
    assert around(w, batch, hessian, **options).reason == NOTHING_MEASURED  # type: ignore[arg-type]
    part = dataclasses.replace(hessian, sampling=0.1)
    assert around(w, gradient, part, **options).reason == NO_HESSIAN  # type: ignore[arg-type]


def test_intervals_come_with_a_certified_stop_too_and_survive_the_round_trip() -> None:
    result = sv.minimize(
        overlapping(),
        budget=BUDGET,
        intervals=0.2,
        tolerance=sv.Tolerance(gradient=0.003),
        simulate=0,
    )
    assert result.stop is sv.Stop.CERTIFIED
    assert result.intervals
    assert sv.Result.from_dict(result.to_dict()).intervals == result.intervals
    assert result.trace[-1].kind == "hessian"
    assert isinstance(result.intervals, Intervals)


@pytest.mark.parametrize("share", [-0.1, 0.5, 1.0])
def test_the_share_for_intervals_leaves_budget_for_training(share: float) -> None:
    with pytest.raises(sv.errors.ParameterError, match="intervals"):
        sv.minimize(problems.logistic(), budget=BUDGET, intervals=share)


def test_spending_adds_up_to_the_budget_by_kind_of_query() -> None:
    result = sv.minimize(problems.logistic(n=20_000), budget=BUDGET, intervals=0.1, simulate=0)
    assert set(result.spending) == {"column moments", "gram matrix", "gradient", "hessian"}
    assert 0.999 < sum(result.spending.values()) <= 1.0
    assert result.spending["hessian"] == pytest.approx(0.1, rel=1e-3)
