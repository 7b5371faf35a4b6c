"""A limited loss is convex, linear where it would be steeper, and moves a gradient by its limit at most."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.losses.limited import Limited
from sottovoce.losses.weighted import ClassWeighted
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from tests import problems

BASES = [sv.losses.Logistic(), sv.losses.SoftplusHinge(), sv.losses.PseudoHuber(), sv.losses.LogCosh()]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("part", [0.9, 0.5, 0.1])
def test_values_are_the_integral_of_cut_slopes(base: sv.losses.Loss, part: float) -> None:
    limited = Limited(base, part * base.slope)
    t = np.linspace(-8.0, 8.0, 16_001)
    slopes = np.clip(base.first(t), -limited.limit, limited.limit)
    np.testing.assert_array_equal(limited.first(t), slopes)
    grown = np.concatenate([[0.0], np.cumsum((slopes[1:] + slopes[:-1]) / 2.0 * np.diff(t))])
    np.testing.assert_allclose(limited.value(t) - limited.value(t[:1]), grown, atol=1e-6)
    assert np.all(np.diff(limited.first(t)) >= 0.0)
    assert np.all(limited.value(t) <= base.value(t) + 1e-12)


def test_losses_that_cannot_be_limited_are_refused() -> None:
    for base, limit in (
        (sv.losses.Sigmoid(), 0.1),
        (ClassWeighted(sv.losses.Logistic(), 1.0, 2.0), 0.5),
        (sv.losses.Logistic(), 1.5),
        (sv.losses.Logistic(), 0.0),
    ):
        with pytest.raises(ParameterError):
            Limited(base, limit)


@given(st.integers(0, 10**6), st.sampled_from([0.9, 0.5, 0.2, 0.05]), st.floats(0.0, 30.0))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_replacing_one_record_moves_a_limited_gradient_by_its_bound_at_most(
    seed: int, limit: float, length: float
) -> None:
    rng = np.random.default_rng(seed)
    X, y = problems.arrays(30, 4, seed)
    w = rng.standard_normal(4)
    w *= length / np.linalg.norm(w)
    other, labels = X.copy(), y.copy()
    other[0] = (
        -np.sign(rng.random() - 0.5) * w / max(length, 1e-9) if rng.random() < 0.7 else rng.standard_normal(4)
    )
    labels[0] = -y[0]
    risks = [
        sv.Risk(sv.Records.from_arrays(table, marks, labels=(-1, 1)), sv.losses.Logistic())
        for table, marks in ((X, y), (other, labels))
    ]
    moved = np.linalg.norm(risks[0].limited_gradient(w, limit) - risks[1].limited_gradient(w, limit))
    bound = risks[0].bounds.limited(limit).gradient(w)
    assert moved <= bound
    assert bound <= 2.0 * limit / 30 * (1.0 + 1e-6)


def test_the_bound_of_a_limited_gradient_is_attained() -> None:
    """Two records far on the wrong side, in opposite directions across the weights' own."""
    w = np.array([50.0, 0.0])
    far = np.array([[-0.1, 0.99498], [-0.1, -0.99498]])
    moved = [
        sv.Risk(sv.Records.from_arrays(row[None], [1], labels=(-1, 1)), sv.losses.Logistic()) for row in far
    ]
    bound = moved[0].bounds.limited(0.3).gradient(w)
    gap = np.linalg.norm(moved[0].limited_gradient(w, 0.3) - moved[1].limited_gradient(w, 0.3))
    assert 0.99 * bound < gap <= bound


def a_softmax(X: np.ndarray, y: np.ndarray) -> sv.SoftmaxRisk:
    return sv.SoftmaxRisk(sv.Records.from_arrays(X, y, labels=(0, 1, 2)))


def test_slopes_of_several_outputs_are_shortened_together() -> None:
    X, _ = problems.arrays(60, 4)
    X, y = X / 10.0, np.arange(60) % 3
    risk, W = a_softmax(X, y), np.linspace(-9.0, 9.0, 12)
    held = np.asarray(risk.records._rows.block(0).features, dtype=float)
    chances = np.exp(held @ W.reshape(3, 4).T)
    residuals = chances / chances.sum(axis=1, keepdims=True) - np.eye(3)[y]
    lengths = np.linalg.norm(residuals, axis=1, keepdims=True)
    assert np.any(lengths < 0.5)
    assert np.any(lengths > 0.9)
    expected = (residuals * np.minimum(1.0, 0.7 / lengths)).T @ held / 60
    np.testing.assert_allclose(risk.limited_gradient(W, 0.7), expected.ravel(), atol=1e-12)
    np.testing.assert_allclose(risk.limited_gradient(W, risk.problem.slope), risk.gradient(W), atol=1e-15)


def test_the_bound_of_a_limited_softmax_gradient_is_attained_and_below_the_whole_one() -> None:
    """Two records certain of a wrong class, in opposite directions across the weights' own."""
    W = np.array([[50.0, 0.0], [-50.0, 0.0], [-50.0, 0.0]]).ravel()
    far = np.array([[0.1, 0.99498], [0.1, -0.99498]])
    risks = [a_softmax(row[None], np.array([1])) for row in far]
    for limit in (1.0, 0.1, 1e-5):
        bound = risks[0].bounds.limited(limit).gradient(W)
        gap = np.linalg.norm(risks[0].limited_gradient(W, limit) - risks[1].limited_gradient(W, limit))
        assert 0.99 * bound < gap <= bound
        assert bound < 0.8 * risks[0].bounds.gradient(W)


@pytest.mark.parametrize("n", [50, 2000])
@pytest.mark.parametrize("loss", [sv.losses.Logistic(), sv.losses.PseudoHuber()])
@pytest.mark.parametrize("kernels", ["reference", "compiled"])
def test_compiled_and_plain_passes_cut_the_same_slopes(
    n: int, loss: sv.losses.Loss, kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOTTOVOCE_KERNELS", kernels)
    records = problems.classification(n, 6) if loss.name == "logistic" else problems.regression(n, 6)
    risk = sv.Risk(records, loss)
    w = np.linspace(-4.0, 4.0, 6)
    X, y = problems.arrays(n, 6)
    if loss.name == "logistic":
        X = X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
        expected = X.T @ (np.clip(loss.first(y * (X @ w)), -0.3, 0.3) * y) / n
        np.testing.assert_allclose(risk.limited_gradient(w, 0.3), expected, atol=2e-6)
    assert np.linalg.norm(risk.limited_gradient(w, 1e-3)) <= 1e-3 * (1.0 + 1e-6)
    np.testing.assert_allclose(risk.limited_gradient(w, loss.slope), risk.gradient(w), rtol=1e-12)


def test_refusals_come_before_the_charge() -> None:
    budget = sv.Budget(epsilon=1.0, delta=1e-5)
    for risk in (
        problems.sigmoid(),
        sv.Risk(problems.classification(), sv.losses.Logistic(), class_weights={-1: 1.0, 1: 2.0}),
    ):
        ledger = sv.Ledger(budget)
        oracle = Oracle(risk, ledger.run(budget), SimulatedNoise(0))
        with pytest.raises(ParameterError):
            oracle.limited_gradient(np.zeros(risk.dim), 0.1, 1000)
        assert not ledger.history
