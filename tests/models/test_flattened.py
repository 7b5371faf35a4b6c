"""A few directions made shorter: the same answers as a dense matrix gives, and no row past the longest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sottovoce.data.records import Records
from sottovoce.errors import ParameterError
from sottovoce.models.softmax import SoftmaxRisk
from sottovoce.queries import LowRankShrinkage, Preconditioner

N, COLUMNS = 120, 6


def a_shrinkage(rng, *, orthonormal=True):
    directions = rng.normal(size=(COLUMNS, 2))
    if orthonormal:
        return LowRankShrinkage(np.linalg.qr(directions)[0], np.array([0.05, 0.6]))
    first = directions[:, :1] / np.linalg.norm(directions[:, 0])
    return LowRankShrinkage(1.9 * np.hstack([first, first]), np.array([0.05, 0.1]))


def dense(shrinkage):
    shorter = np.diag(1.0 - shrinkage.factors)
    return np.eye(COLUMNS) - shrinkage.directions @ shorter @ shrinkage.directions.T


@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.parametrize("orthonormal", [True, False])
def test_a_shrinkage_answers_as_the_matrix_it_stands_for(csr, orthonormal):
    rng = np.random.default_rng(3)
    shrinkage = a_shrinkage(rng, orthonormal=orthonormal)
    what = {
        "scale": rng.uniform(0.5, 2.0, COLUMNS),
        "shift": np.append(rng.normal(size=COLUMNS - 1) * 0.2, 0.0),
        "constant": COLUMNS - 1,
        "cap": 0.8,
    }
    X = np.column_stack([rng.normal(size=(N, COLUMNS - 1)), np.ones(N)])
    held = Records.from_arrays(
        sparse.csr_array(X) if csr else X, rng.integers(0, 3, N), labels=(0, 1, 2), radius=4.0, constant=True
    )
    short = SoftmaxRisk(held).preconditioned(Preconditioner(shrinkage=shrinkage, **what))
    full = SoftmaxRisk(held).preconditioned(Preconditioner(turn=dense(shrinkage), **what))
    u = rng.normal(size=3 * COLUMNS)
    counts = [risk.sums._records._rows.weights for risk in (short, full)]
    np.testing.assert_allclose(*counts, rtol=1e-10)
    assert np.any(counts[0] < 0.9)
    np.testing.assert_allclose(short.gradient(u), full.gradient(u), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(short.gram(), full.gram(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(short.gram_diagonal(), full.gram_diagonal(), rtol=1e-9, atol=1e-12)
    for risk in (short, full):
        back = risk._preconditioner.from_user(risk._preconditioner.to_user(u))
        np.testing.assert_allclose(back, u, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("orthonormal", [True, False])
def test_no_row_is_longer_than_the_longest_of_a_shrinkage(orthonormal):
    """Directions that are not at right angles lengthen rows: the bound sees it."""
    shrinkage = a_shrinkage(np.random.default_rng(5), orthonormal=orthonormal)
    scale = np.linspace(0.5, 2.0, COLUMNS)
    preconditioner = Preconditioner(scale=scale, cap=1.0, shrinkage=shrinkage)
    found = float(np.linalg.norm(preconditioner.matrix, 2))
    assert found <= preconditioner.norm
    assert found > 2.1 or orthonormal
    assert shrinkage.norm <= 1.0 + 1e-8 or not orthonormal
    V, shorter = np.abs(shrinkage.directions), np.diag(1.0 - shrinkage.factors)
    assert np.linalg.norm((np.eye(COLUMNS) + V @ shorter @ V.T) * scale, 2) <= preconditioner.stretch


@pytest.mark.parametrize(
    ("directions", "factors"),
    [
        (np.eye(3)[:, :2], [0.5]),
        (np.eye(3)[:, :1], [0.0]),
        (np.eye(3)[:, :1], [1.5]),
        (np.eye(3)[:, :1], [np.nan]),
        (3.0 * np.eye(3)[:, :1], [0.5]),
        (np.full((3, 1), np.inf), [0.5]),
        (np.ones(3), [0.5]),
    ],
)
def test_what_is_no_shrinkage_is_refused(directions, factors):
    with pytest.raises(ParameterError):
        LowRankShrinkage(directions, np.array(factors))


def test_a_preconditioner_is_turned_or_flattened_and_by_its_own_columns():
    shrinkage = a_shrinkage(np.random.default_rng(1))
    with pytest.raises(ParameterError, match="not both"):
        Preconditioner(scale=np.ones(COLUMNS), cap=1.0, turn=np.eye(COLUMNS), shrinkage=shrinkage)
    with pytest.raises(ParameterError, match="columns"):
        Preconditioner(scale=np.ones(COLUMNS + 1), cap=1.0, shrinkage=shrinkage)
    with pytest.raises(ValueError, match="read-only"):
        shrinkage.factors[0] = 1.0
