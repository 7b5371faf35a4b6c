"""`spider` and `drift`: where they rest, what they pay, and what the change of a gradient is."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting.events import QueryKind
from sottovoce.errors import ParameterError
from sottovoce.methods.drift import Drift
from sottovoce.methods.settling import beyond_noise
from sottovoce.methods.spider import Estimate, Spider
from sottovoce.planning.dry_run import Planned
from tests import problems

BUDGET = sv.Budget(epsilon=8.0, delta=1e-6)


def asked(risk: sv.Risk, method: str | sv.methods.Method, seed: int = 0) -> tuple[sv.Result, Counter[str]]:
    ledger = sv.Ledger(BUDGET)
    result = sv.minimize(risk, budget=BUDGET, method=method, ledger=ledger, simulate=seed)
    return result, Counter(grant.event.query for grant in ledger.history)


@pytest.mark.parametrize("loss", [sv.losses.Logistic(), sv.losses.Sigmoid()])
def test_a_change_is_the_difference_of_two_gradients(loss: sv.losses.Loss) -> None:
    risk = sv.Risk(problems.classification(300), loss, sv.regularizers.Tukey(0.1))
    w, step = np.linspace(-1.0, 1.0, 5), np.full(5, 0.3)
    difference = risk.gradient(w + step) - risk.gradient(w)
    np.testing.assert_allclose(risk.gradient_change(w, step), difference, rtol=1e-9, atol=1e-15)


def test_a_change_costs_in_proportion_to_the_step_and_never_more_than_two_gradients() -> None:
    bounds, w, step = problems.logistic(400).bounds, np.ones(5), np.eye(5)[0]
    near = [bounds.gradient_change(w, length * step) for length in (1e-4, 1e-3, 1e-2)]
    assert np.allclose(np.divide(near[1:], near[:-1]), 10.0, rtol=1e-3)
    for length in (1.0, 30.0, 1e4):
        both = bounds.gradient(w) + bounds.gradient(w + length * step)
        assert bounds.gradient_change(w, length * step) <= both * (1.0 + 1e-6)


def test_long_ways_are_paid_by_fresh_gradients_and_short_ones_by_changes() -> None:
    """From afar the first ways are long; near the end steps are short, and most queries are changes."""
    risk = problems.logistic(4000)
    result, queries = asked(risk, "spider")
    kinds = [row.kind for row in result.trace]
    assert kinds[1] == "gradient step"
    assert queries[QueryKind.GRADIENT_CHANGE] > queries[QueryKind.GRADIENT]
    assert np.linalg.norm(risk.gradient(result.weights)) < 0.01


def test_an_estimate_is_carried_and_joined_by_precision() -> None:
    carried = Estimate(np.array([1.0, 0.0]), 0.04).changed(Planned(np.array([-0.5, 1.0]), 0.1, 1))
    np.testing.assert_allclose(carried.value, [0.5, 1.0])
    assert carried.variance == pytest.approx(0.05)
    joined = carried.joined(Planned(np.array([1.5, 1.0]), math.sqrt(0.2), 1))
    np.testing.assert_allclose(joined.value, [0.7, 1.0])
    assert joined.variance == pytest.approx(1.0 / (1.0 / 0.05 + 1.0 / 0.2))


def test_on_flat_ground_noise_looks_like_a_way_down_as_seldom_as_promised() -> None:
    """1 in 1,000 of 100,000: 100 +- 60 but for 1e-8."""
    rng = np.random.default_rng(0)
    squares = np.sum((0.3 * rng.standard_normal((100_000, 7))) ** 2, axis=1)
    assert 40 <= sum(beyond_noise(float(square), 0.09, 7) for square in squares) <= 160


def test_drift_rests_where_there_is_nothing_but_noise() -> None:
    """Labels that no column tells: the start is the minimizer, and patience ends the run there."""
    X, _ = problems.arrays(2000, 3, seed=1)
    y = np.tile([1, -1], 1000)
    X[1::2] = X[::2]
    risk = sv.Risk(sv.Records.from_arrays(X, y, labels=(-1, 1)), sv.losses.Logistic())
    result, queries = asked(risk, Drift(steps=80, patience=20))
    assert result.trace[-2].kind == "rest"
    assert queries[QueryKind.GRADIENT] < 60
    assert np.linalg.norm(result.weights) < 0.1


def test_spider_does_not_follow_noise_where_the_risk_hardly_bends() -> None:
    """Two columns bend the risk, twenty-eight do not: along these, long steps would follow noise for ever."""
    rng = np.random.default_rng(0)
    X = 0.05 * rng.standard_normal((30_000, 30)) * np.where(np.arange(30) < 3, 1.0, 0.001)
    X[:, 0] += 0.7
    y = np.where(rng.random(30_000) < 1.0 / (1.0 + np.exp(-40.0 * X[:, 1])), 1, -1)
    records = sv.Records.from_arrays(X, y, labels=(-1, 1))
    risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.Tukey(1e-3))
    start = np.random.default_rng(0).standard_normal(30)
    result = sv.minimize(risk, budget=sv.Budget(4.0, 1e-6), method="spider", start=start, simulate=0)
    assert np.linalg.norm(risk.gradient(result.weights)) < 0.01


def test_softmax_is_refused_before_anything_is_charged() -> None:
    rng = np.random.default_rng(0)
    risk = sv.SoftmaxRisk(
        sv.Records.from_arrays(rng.normal(size=(60, 3)), rng.integers(0, 3, 60), labels=(0, 1, 2))
    )
    ledger = sv.Ledger(BUDGET)
    with pytest.raises(ParameterError, match="one output"):
        sv.minimize(risk, budget=BUDGET, method="spider", ledger=ledger)
    assert not ledger.history
    assert sv.minimize(risk, budget=BUDGET, method=Drift(steps=5), simulate=0).stop is sv.Stop.FINISHED


def test_a_module_is_followed_by_changes_too() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from tests.autodiff import models

    risk = models.phase_risk(1000, 3, seed=0)
    result, queries = asked(risk, Spider(steps=60))
    assert queries[QueryKind.GRADIENT_CHANGE] > 5
    assert risk.mean_loss(result.weights) <= 0.5 * risk.mean_loss(risk.start)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Spider(fresh=0),
        lambda: Spider(added=0.0),
        lambda: Spider(faint=0.0),
        lambda: Spider(longest=0.5),
        lambda: Spider(relaxation=2.0),
        lambda: Drift(patience=0),
        lambda: Drift(steps=0),
        lambda: Drift(measure_share=0.5),
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError):
        wrong()
