"""`accelerate`: moments asked twice, directions shortened, steps with momentum; nothing to tune."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.methods.accelerate import Accelerate
from sottovoce.methods.base import Goal
from sottovoce.methods.choice import WIDE, chosen
from sottovoce.methods.wide_coordinates import composed, outstanding
from sottovoce.problem import Problem
from sottovoce.queries import Preconditioner

BUDGET = sv.Budget(epsilon=3.0, delta=1e-5)
N, COLUMNS = 4000, 40


def a_table(seed: int, *, spread: float = 30.0) -> tuple[np.ndarray, np.ndarray]:
    """Three classes; one direction varies far more than all others, and half the columns are small."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(N, COLUMNS - 1))
    factors[:, 0] *= spread
    turn = np.linalg.qr(rng.normal(size=(COLUMNS - 1, COLUMNS - 1)))[0]
    y = (factors[:, 1:] @ rng.normal(size=(COLUMNS - 2, 3)) + rng.gumbel(size=(N, 3))).argmax(axis=1)
    X = factors @ turn + 2.0
    X[:, COLUMNS // 2 :] *= 0.05
    return np.column_stack([X, np.full(N, 10.0)]), y


def softmax(X: np.ndarray, y: np.ndarray, **declared: object) -> sv.SoftmaxRisk:
    groups = [0] * (COLUMNS // 2) + [1] * (COLUMNS - 1 - COLUMNS // 2) + [2]
    held = sv.Records.from_arrays(
        X, y, labels=(0, 1, 2), radius=150.0, constant=True, column_groups=groups, **declared
    )
    return sv.SoftmaxRisk(held, sv.regularizers.L2(1e-8))


def accuracy(X: np.ndarray, y: np.ndarray, result: sv.Result) -> float:
    return float(np.mean((X @ result.weights.reshape(3, -1).T).argmax(axis=1) == y))


def test_one_wide_direction_and_small_columns_cost_little() -> None:
    """Noise as large as the widest direction needs would drown all others: majorize loses them."""
    X, y = a_table(0)
    risk = softmax(X, y)
    found = {
        method: accuracy(X, y, sv.minimize(risk, budget=BUDGET, method=method, simulate=7))
        for method in ("accelerate", "majorize")
    }
    assert found["accelerate"] > 0.6
    assert found["accelerate"] > found["majorize"] + 0.15


def test_a_larger_budget_gives_a_better_model() -> None:
    X, y = a_table(1)
    risk = softmax(X, y)
    reached = [
        accuracy(
            X, y, sv.minimize(risk, budget=sv.Budget(epsilon=e, delta=1e-5), method="accelerate", simulate=3)
        )
        for e in (0.3, 8.0)
    ]
    assert reached[0] < reached[1]
    assert reached[1] > 0.62


def test_the_whole_budget_is_spent_and_no_more_and_the_trace_says_on_what() -> None:
    X, y = a_table(2)
    ledger = sv.Ledger(BUDGET)
    result = sv.minimize(softmax(X, y), budget=BUDGET, ledger=ledger, method="accelerate", simulate=1)
    kinds = [row.kind for row in result.trace]
    assert kinds == ["moments", "moments", "gram", *["accelerated step"] * 60, "measurement"]
    assert 0 <= ledger.units_left < 0.001 * ledger.units_cap
    assert "slopes limited to 0.7" in result.objective


def test_columns_beyond_a_matrix_are_trained_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sottovoce.problem.LARGEST_MATRIX", 10)
    X, y = a_table(3, spread=1.0)
    result = sv.minimize(softmax(X, y), budget=BUDGET, method="accelerate", simulate=1)
    assert "gram" not in [row.kind for row in result.trace]
    assert accuracy(X, y, result) > 0.55


def test_a_risk_without_columns_is_refused_by_public_facts() -> None:
    goal = Goal(tolerance=None, confidence=0.95)
    with pytest.raises(ParameterError, match="learns coordinates of a table's columns"):
        Accelerate().require_possible(replace(wide(10), matrix_free=True), goal)


def test_a_plan_forecasts_every_query_of_a_run() -> None:
    found = sv.plan(n=60_000, dim=3000, classes=10, loss=sv.losses.Logistic(), budget=BUDGET, timed=False)
    assert "accelerate was chosen: of 3000 columns for 10 classes" in str(found)


def wide(columns: int) -> Problem:
    return Problem.linear(
        n=10**5,
        dim=columns,
        radius=1.0,
        loss=sv.losses.Logistic(),
        regularizer=sv.regularizers.L2(1e-6),
    )


def test_auto_takes_it_for_wide_softmax_tables_without_a_tolerance_alone() -> None:
    classes = replace(wide(3 * WIDE), outputs=3)
    assert chosen("auto", classes, None).method.name == "accelerate"
    assert "1000 columns" in chosen("auto", classes, None).reason
    assert chosen("auto", replace(wide(3 * WIDE - 3), outputs=3), None).method.name == "adapt"
    assert chosen("auto", wide(WIDE), None).method.name == "adapt"
    assert chosen("auto", classes, sv.Tolerance(gradient=0.1, curvature=0.1)).method.name == "majorize"


def test_two_geometries_one_after_the_other_are_one() -> None:
    rng = np.random.default_rng(4)
    first, second = (
        Preconditioner(
            scale=rng.uniform(0.1, 10.0, 5),
            cap=2.0,
            shift=np.append(rng.normal(size=4), 0.0),
            constant=4,
        )
        for _ in range(2)
    )
    X = rng.normal(size=(7, 5))
    both = composed(first, second)
    np.testing.assert_allclose(
        both.to_coordinates(X), second.to_coordinates(first.to_coordinates(X)), rtol=1e-10, atol=1e-12
    )
    uncentred = replace(second, shift=None, constant=None)
    after = composed(first, uncentred)
    np.testing.assert_allclose(
        after.to_coordinates(X), uncentred.to_coordinates(first.to_coordinates(X)), rtol=1e-10, atol=1e-12
    )


def test_what_stands_out_of_noise_is_found() -> None:
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(300, 300))
    noise = (noise + noise.T) / np.sqrt(2.0 * 2.0 * 300)
    directions = np.linalg.qr(rng.normal(size=(300, 3)))[0]
    matrix = noise + (directions * [9.0, 5.0, 3.0]) @ directions.T
    values, vectors = outstanding(matrix, 2.0)
    assert values.size == 3
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1][:3], rtol=1e-6)
    assert np.all(np.abs(np.sum(vectors * directions, axis=0)) > 0.9)
    assert outstanding(noise, 2.5)[0].size == 0
