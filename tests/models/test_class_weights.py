"""Declared class weights: exact values, sensitivities that still cover, and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import sottovoce as sv
from sottovoce.losses.weighted import ClassWeighted
from tests import problems

WEIGHTS = {-1: 0.5, 1: 4.0}


def by_hand(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    weights = np.where(y > 0, 4.0, 0.5)
    t = y * (X @ w)
    p = 1.0 / (1.0 + np.exp(t))
    value = (weights * np.logaddexp(0.0, -t)).mean()
    gradient = -(X * (weights * p * y)[:, None]).mean(axis=0)
    hessian = (X * (weights * p * (1 - p))[:, None]).T @ X / len(X)
    return value, gradient, hessian


@pytest.mark.parametrize("as_sparse", [False, True])
def test_every_exact_answer_counts_each_record_by_its_label(as_sparse: bool) -> None:
    X, y = problems.arrays(n=300)
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1) * (1 + 1e-6))[:, None]
    X = X.astype(np.float32).astype(np.float64)
    held = sv.Records.from_arrays(sparse.csr_array(X) if as_sparse else X, y, labels=(-1, 1))
    risk = sv.Risk(held, sv.losses.Logistic(), class_weights=WEIGHTS)
    rng = np.random.default_rng(0)
    w, p = rng.standard_normal(5), rng.standard_normal(5)
    value, gradient, hessian = by_hand(X, y, w)
    assert risk.value(w) == pytest.approx(value, rel=1e-6)
    assert risk.gradient(w) == pytest.approx(gradient, rel=1e-5, abs=1e-7)
    assert risk.hessian(w) == pytest.approx(hessian, rel=1e-5, abs=1e-7)
    both = risk.value_and_gradient(w)
    assert both[0] == pytest.approx(risk.value(w), rel=1e-12)
    assert both[1] == pytest.approx(risk.gradient(w), rel=1e-12)
    drop = value - by_hand(X, y, w + p)[0]
    assert risk.trials(w, p[None])[0] == pytest.approx(drop, rel=1e-5)
    assert risk.along(w, p).decrease(1.0) == pytest.approx(drop, rel=1e-5)


@given(st.integers(0, 10**6), st.floats(0.0, 6.0), st.sampled_from([(1.0, 1.0), (0.2, 3.0), (5.0, 0.01)]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_replacing_one_record_moves_weighted_answers_at_most_their_bound(
    seed: int, size: float, weights: tuple[float, float]
) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((6, 3)), rng.choice([-1, 1], 6)
    other_X, other_y = X.copy(), y.copy()
    other_X[2], other_y[2] = 50.0 * rng.standard_normal(3), -y[2]
    w = rng.standard_normal(3)
    w *= size / np.linalg.norm(w)
    here, there = (
        sv.Risk(
            sv.Records.from_arrays(a, b, labels=(-1, 1)),
            sv.losses.Logistic(),
            class_weights={-1: weights[0], 1: weights[1]},
        )
        for a, b in ((X, y), (other_X, other_y))
    )
    bounds, step = here.bounds, 0.3 * rng.standard_normal(3)
    assert np.linalg.norm(here.gradient(w) - there.gradient(w)) <= bounds.gradient(w)
    assert np.linalg.norm(here.hessian(w) - there.hessian(w)) <= bounds.hessian(w)
    assert abs(here.value(w) - there.value(w)) <= bounds.value(w)
    moved = (here.trials(w, step[None]) - there.trials(w, step[None])) / np.linalg.norm(step)
    assert abs(moved[0]) <= bounds.trials(w, step[None])


def test_the_value_bound_counts_a_light_label_that_hardly_costs_anything() -> None:
    """At a large margin a heavy record costs c e^-t and a light one less: the range reaches below that."""
    loss = ClassWeighted(sv.losses.Sigmoid(), 0.01, 1.0)
    assert (loss.law.lightest, loss.law.heaviest) == (0.01, 1.0)
    assert loss.constants.slope >= 0.25


def test_the_heaviest_weight_multiplies_every_constant() -> None:
    plain = problems.logistic().problem
    heavy = sv.Risk(
        problems.classification(), sv.losses.Logistic(), sv.regularizers.L2(1e-3), class_weights=WEIGHTS
    ).problem
    for name in ("slope", "curvature_high", "third", "value_at_zero"):
        assert getattr(heavy, name) == pytest.approx(4.0 * getattr(plain, name), rel=1e-12)
        assert getattr(heavy, name) >= 4.0 * getattr(plain, name) * (1 - 1e-15)
    assert math.isfinite(heavy.smoothness)


def test_a_weighted_run_favours_the_heavy_label() -> None:
    risk = problems.logistic(n=20_000)
    heavy = sv.Risk(
        risk.records, sv.losses.Logistic(), sv.regularizers.L2(1e-3), class_weights={-1: 1.0, 1: 1.0}
    )
    same = [
        sv.minimize(each, budget=sv.Budget(epsilon=2.0, delta=1e-5), simulate=3).weights
        for each in (risk, heavy)
    ]
    assert np.array_equal(*same)
    records = sv.Records.from_arrays(
        np.zeros((4000, 1)), np.where(np.arange(4000) % 2, 1, -1), labels=(-1, 1), intercept=True
    )
    tilted = sv.Risk(records, sv.losses.Logistic(), class_weights={-1: 1.0, 1: 3.0})
    result = sv.minimize(tilted, budget=sv.Budget(epsilon=8.0, delta=1e-5), method="majorize", simulate=0)
    assert result.weights[-1] == pytest.approx(math.log(3.0), abs=0.1)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("balanced", "private"),
        ([1.0, 2.0], "name every label"),
        ({1: 2.0}, "each declared label"),
        ({-1: 1.0, 1: 1.0, 2: 1.0}, "each declared label"),
        ({-1: 1.0, 1: 0.0}, "class weight"),
        ({-1: 1.0, 1: math.inf}, "class weight"),
        ({-1: 1.0, 1: "a"}, "class weight"),
    ],
)
def test_wrong_weights_are_refused_with_the_reason(weights: object, words: str) -> None:
    with pytest.raises(sv.errors.ParameterError, match=words):
        sv.Risk(problems.classification(), sv.losses.Logistic(), class_weights=weights)  # type: ignore[arg-type]


def test_a_residual_loss_has_no_classes_to_weigh() -> None:
    with pytest.raises(sv.errors.ParameterError, match="label"):
        sv.Risk(problems.regression(), sv.losses.Welsch(), class_weights={-1: 1.0, 1: 2.0})
