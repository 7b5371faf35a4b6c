"""Scores of a row depend on that row: not on the others, on their number or on how they lie in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import sottovoce as sv
from sottovoce.estimators.unit_ball import into_unit_ball, row_products

RNG = np.random.default_rng(5)
LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda X: read_only(X),
}


def read_only(X: np.ndarray) -> np.ndarray:
    held = X.copy()
    held.flags.writeable = False
    return held


def trained() -> Any:
    X = RNG.normal(size=(400, 37)) / 10
    return sv.PrivateClassifier(epsilon=20, delta=1e-2, classes=(0, 1, 2), simulate=0).fit(
        X, np.arange(400) % 3
    )


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_long_row_changes_no_score_of_another(layout: str, kind: Any) -> None:
    """Were rows within the radius passed on as they lie, one that is too long would copy all of them."""
    model, X = trained(), (RNG.normal(size=(1000, 37)) / 10).astype(kind)
    longer = X.copy()
    longer[7] *= 1000.0
    held, other = (model.decision_function(LAYOUTS[layout](table)) for table in (X, longer))
    assert np.array_equal(np.delete(held, 7, axis=0), np.delete(other, 7, axis=0))
    assert np.array_equal(held, model.decision_function(X))


@pytest.mark.parametrize("columns", [1, 2, 7, 37, 130])
def test_a_row_scores_alike_alone_and_among_others(columns: int) -> None:
    X, weights = RNG.normal(size=(9000, columns)), RNG.normal(size=(3, columns))
    whole = row_products(X, weights)
    for rows in (slice(8, 9), slice(5, 8), slice(8190, 8195), slice(1, None), slice(None, None, 13)):
        assert np.array_equal(row_products(X[rows], weights), whole[rows])
    assert np.allclose(whole, X @ weights.T, rtol=1e-12, atol=1e-12)
    assert np.allclose(row_products(sparse.csr_array(X), weights), whole, rtol=1e-12, atol=1e-12)


def test_rows_within_the_radius_are_copied_to_one_layout_too() -> None:
    X = np.asfortranarray(RNG.normal(size=(5, 3)) / 100)
    held = into_unit_ball(X, 1.0)
    assert held.flags.c_contiguous
    assert not np.shares_memory(held, X)
    assert np.array_equal(held, X)


def test_a_target_near_the_largest_float_is_clipped_in_silence() -> None:
    X = np.full((300, 2), 0.1)
    for extreme in (1.7e308, -1.7e308):
        y = np.zeros(300)
        y[3] = extreme
        model = sv.PrivateRegressor(delta=1e-2, target=(0.0, 0.5), simulate=0).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
