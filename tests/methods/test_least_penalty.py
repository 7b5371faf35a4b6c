"""Directions along which no prediction moves: what is declared, what is moved, and when it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.methods.adapt.least_penalty import LeastPenalty
from sottovoce.queries import Moments

BLOCKS = ((2, 5), (5, 9))


def rows(n: int = 400, missing: float = 0.0, seed: int = 0) -> np.ndarray:
    """Two numbers, categories of three and four, and a constant; some rows lack the first category."""
    rng = np.random.default_rng(seed)
    kinds = [np.eye(size)[rng.integers(size, size=n)] for size in (3, 4)]
    kinds[0][rng.random(n) < missing] = 0.0
    return np.column_stack([rng.uniform(-1.0, 1.0, (n, 2)), *kinds, np.ones(n)]) / np.sqrt(5.0)


def risk(X: np.ndarray, penalty: Any = None, **options: Any) -> sv.Risk:
    marks = np.tile([-1, 1], len(X))[: len(X)]
    held = sv.Records.from_arrays(X, marks, labels=(-1, 1), constant=True, **options)
    return sv.Risk(held, sv.losses.Logistic(), sv.regularizers.L2(1e-4) if penalty is None else penalty)


def least(X: np.ndarray, noise: float = 1e-6, penalty: Any = None) -> LeastPenalty:
    told = Moments(X.mean(axis=0), (X**2).mean(axis=0), noise, noise, 1)
    return LeastPenalty.of(told, risk(X, penalty, indicators=BLOCKS).problem, 0.2)


@pytest.mark.parametrize("penalty", [sv.regularizers.L2(1e-4), sv.regularizers.Tukey(1e-4)])
def test_no_prediction_moves_and_no_weights_that_predict_alike_have_less_penalty(penalty: Any) -> None:
    X = rows()
    rng, found = np.random.default_rng(1), least(X, penalty=penalty)
    for _ in range(10):
        w = rng.standard_normal(10)
        moved = found.at(w)
        np.testing.assert_allclose(X @ moved, X @ w, atol=1e-12)
        assert penalty.value(moved) < penalty.value(w)
        for t in 0.1 * rng.standard_normal((20, 2)):
            assert penalty.value(moved + found.directions @ t) >= penalty.value(moved) - 1e-10


def test_the_constant_is_shared_as_the_least_norm_says() -> None:
    """a + b + d = 1 with least a^2 + 3 b^2 + 4 d^2: in proportion 1, 1/3, 1/4."""
    moved = least(rows()).at(np.eye(10)[9])
    np.testing.assert_allclose(moved[[2, 5, 9]] * (1.0 + 1.0 / 3.0 + 0.25), [1.0 / 3.0, 0.25, 1.0], rtol=1e-3)


def test_rows_without_a_category_keep_their_predictions() -> None:
    X = rows(missing=0.3)
    moved = least(X).at(np.eye(10)[9])
    assert np.abs(moved[2:5]).max() < 0.01
    np.testing.assert_allclose(moved[5:9], 0.2, atol=0.01)


def test_means_too_noisy_to_tell_leave_the_gradients_to_tell() -> None:
    """Rows that lack a category pull back once the weights are moved; complete ones do not."""
    for missing, low, high in ((0.0, 0.0, 1e-3), (0.2, 0.1, 0.3)):
        X = rows(20_000, missing)
        found = least(X, noise=0.2)
        w = 3.0 * np.eye(10)[9]
        for _ in range(20):
            there = found.at(w)
            slopes = 0.2 * (X @ (there - w))
            along = (X.T @ slopes / len(X) + found.regularizer.gradient(there)) @ found.directions
            found.update(w, along[None, :], np.full(2, 1e-4))
        assert low <= found.lacking[0] <= high
        assert found.lacking[1] < 1e-3


def test_nothing_is_moved_without_declared_indicators_or_without_a_penalty() -> None:
    X, w = rows(), np.arange(10.0)
    told = Moments(X.mean(axis=0), (X**2).mean(axis=0), 1e-6, 1e-6, 1)
    assert LeastPenalty.of(told, risk(X).problem, 0.2).at(w) is w
    free = risk(X, sv.regularizers.L2(0.0), indicators=BLOCKS).problem
    assert LeastPenalty.of(told, free, 0.2).at(w) is w


def test_the_curvature_of_the_least_penalty_is_none_along_the_moves_and_the_penaltys_across() -> None:
    found = least(rows())
    np.testing.assert_allclose(found.majorant @ found.directions, 0.0, atol=1e-7)
    across = np.eye(10)[0]
    np.testing.assert_allclose(found.majorant @ across, 1e-4 * across, atol=1e-12)


def test_a_column_at_the_end_of_its_range_costs_no_more_than_in_the_middle() -> None:
    """Most of the excess was penalty that the categories can spare."""
    rng = np.random.default_rng(3)
    n, budget = 20_000, sv.Budget(epsilon=8.0, delta=1e-6)
    X = rows(n)
    t = 3.0 * np.sqrt(5.0) * X[:, 0] + rng.standard_normal(n)
    y = np.where(t > 0.0, 1, -1)
    X[:, 0] = X[:, 0] / 20.0 + 0.95 * X[0, -1]
    excess = {}
    for name, blocks in (("declared", BLOCKS), ("not", ())):
        held = sv.Records.from_arrays(X, y, labels=(-1, 1), constant=True, indicators=blocks)
        problem = sv.Risk(held, sv.losses.Logistic(), sv.regularizers.L2(1e-5))
        found = [sv.minimize(problem, budget=budget, method="adapt", simulate=seed) for seed in range(2)]
        excess[name] = np.mean([problem.value(run.weights) for run in found])
    assert excess["declared"] < excess["not"] - 1e-3


def test_a_schema_declares_its_indicators_at_every_door(tmp_path: Any) -> None:
    frame = pd.DataFrame({"age": [20, 30], "region": ["north", "south"], "work": ["a", "?"], "y": ["n", "p"]})
    schema = sv.Schema(
        (
            sv.data.columns.Categorical("region", ("north", "south", "west")),
            sv.data.numbers.Numeric("age", 0, 100),
            sv.data.columns.Categorical("work", ("a", "b")),
        ),
        sv.data.columns.Target("y", classes=("n", "p")),
    )
    frame.to_parquet(tmp_path / "held.parquet")
    for records in (
        sv.Records.from_table(frame, schema),
        sv.Records.from_parquet(tmp_path / "held.parquet", schema),
    ):
        assert records.indicators == ((0, 3), (4, 6))
        assert "indicators=2" in repr(records)
        assert sv.Risk(records, sv.losses.Logistic()).problem.indicators == records.indicators


@pytest.mark.parametrize(
    "wrong", [[(2, 2)], [(5, 9), (2, 5)], [(2, 6), (5, 9)], [(5, 10)], [2, 5], [(0.5, 2)]]
)
def test_blocks_that_overlap_or_hold_the_constant_are_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="indicators"):
        risk(rows(), indicators=wrong)


def test_indicators_without_a_constant_are_refused() -> None:
    with pytest.raises(ParameterError, match="constant=True"):
        sv.Records.from_arrays(rows(4), [-1, 1, -1, 1], labels=(-1, 1), indicators=BLOCKS)
