"""`least-squares` estimates the mean: within the declared range its slopes are the residuals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import sottovoce as sv
from sottovoce.losses import by_text


def test_within_the_range_slopes_are_residuals() -> None:
    t = np.linspace(-2.0, 2.0, 401)
    loss = by_text("least-squares")
    assert np.all(np.abs(loss.first(t) - t) <= 0.008 * np.abs(t))
    assert np.all(loss.second(t) >= 0.976)
    np.testing.assert_allclose(loss.value(t), 0.5 * t**2, rtol=0.004)


@pytest.mark.parametrize(("name", "close"), [("least-squares", True), ("pseudo-huber:0.25", False)])
def test_of_skewed_targets_the_mean_is_estimated(name: str, close: bool) -> None:
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(-0.5, 0.5, 4_000), np.full(4_000, 0.5)])
    y = np.clip(X @ [0.6, -1.2] + 0.4 * (rng.exponential(1.0, 4_000) - 1.0), -1.0, 1.0)
    risk = sv.Risk(sv.Records.from_arrays(X, y, target=(-1.0, 1.0)), by_text(name))
    found = optimize.minimize(risk.value_and_gradient, risk.start, jac=True, method="BFGS", tol=1e-8).x
    mean = np.linalg.lstsq(X, y, rcond=None)[0]
    assert bool(np.linalg.norm(found - mean) < 0.005 * np.linalg.norm(mean)) is close


def test_private_least_squares_reach_those_without_privacy() -> None:
    rng = np.random.default_rng(4)
    Z = np.clip(rng.standard_normal((8_000, 4)), -3.0, 3.0)
    X = np.column_stack([Z, np.full(8_000, 3.0)]) / 8.0
    y = np.clip(X @ [1.0, -0.5, 0.3, 0.0, 0.4] + 0.1 * rng.standard_normal(8_000), -1.0, 1.0)
    records = sv.Records.from_arrays(X, y, target=(-1.0, 1.0), constant=True)
    risk = sv.Risk(records, sv.losses.LeastSquares())
    found = sv.minimize(risk, budget=sv.Budget(epsilon=1.0, delta=1e-6), simulate=1)
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    squares = [np.mean((X @ w - y) ** 2) for w in (found.weights, exact)]
    assert squares[0] < 1.02 * squares[1]
