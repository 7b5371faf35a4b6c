"""A few directions made shorter: the same answers as a dense matrix gives, and no row past the longest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sottovoce.data.records import Records
from sottovoce.errors import ParameterError
from sottovoce.questions import Flattening, Geometry
from sottovoce.risks.softmax import SoftmaxRisk

N, COLUMNS = 120, 6


def a_flattening(rng, *, orthonormal=True):
    directions = rng.normal(size=(COLUMNS, 2))
    if orthonormal:
        return Flattening(np.linalg.qr(directions)[0], np.array([0.05, 0.6]))
    first = directions[:, :1] / np.linalg.norm(directions[:, 0])
    return Flattening(1.9 * np.hstack([first, first]), np.array([0.05, 0.1]))


def dense(flattening):
    shorter = np.diag(1.0 - flattening.factors)
    return np.eye(COLUMNS) - flattening.directions @ shorter @ flattening.directions.T


@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.parametrize("orthonormal", [True, False])
def test_a_flattening_answers_as_the_matrix_it_stands_for(csr, orthonormal):
    rng = np.random.default_rng(3)
    flattening = a_flattening(rng, orthonormal=orthonormal)
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
    short = SoftmaxRisk(held).reshaped(Geometry(flattening=flattening, **what))
    full = SoftmaxRisk(held).reshaped(Geometry(turn=dense(flattening), **what))
    u = rng.normal(size=3 * COLUMNS)
    counts = [risk.sums._records._rows.weights for risk in (short, full)]
    np.testing.assert_allclose(*counts, rtol=1e-10)
    assert np.any(counts[0] < 0.9)
    np.testing.assert_allclose(short.gradient(u), full.gradient(u), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(short.gram(), full.gram(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(short.gram_diagonal(), full.gram_diagonal(), rtol=1e-9, atol=1e-12)
    for risk in (short, full):
        back = risk._geometry.from_user(risk._geometry.to_user(u))
        np.testing.assert_allclose(back, u, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("orthonormal", [True, False])
def test_no_row_is_longer_than_the_longest_of_a_flattening(orthonormal):
    """Directions that are not at right angles lengthen rows: the bound sees it."""
    flattening = a_flattening(np.random.default_rng(5), orthonormal=orthonormal)
    scale = np.linspace(0.5, 2.0, COLUMNS)
    geometry = Geometry(scale=scale, cap=1.0, flattening=flattening)
    found = float(np.linalg.norm(geometry.matrix, 2))
    assert found <= geometry.norm
    assert found > 2.1 or orthonormal
    assert flattening.norm <= 1.0 + 1e-8 or not orthonormal
    V, shorter = np.abs(flattening.directions), np.diag(1.0 - flattening.factors)
    assert np.linalg.norm((np.eye(COLUMNS) + V @ shorter @ V.T) * scale, 2) <= geometry.stretch


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
def test_what_is_no_flattening_is_refused(directions, factors):
    with pytest.raises(ParameterError):
        Flattening(directions, np.array(factors))


def test_a_geometry_is_turned_or_flattened_and_by_its_own_columns():
    flattening = a_flattening(np.random.default_rng(1))
    with pytest.raises(ParameterError, match="not both"):
        Geometry(scale=np.ones(COLUMNS), cap=1.0, turn=np.eye(COLUMNS), flattening=flattening)
    with pytest.raises(ParameterError, match="columns"):
        Geometry(scale=np.ones(COLUMNS + 1), cap=1.0, flattening=flattening)
    with pytest.raises(ValueError, match="read-only"):
        flattening.factors[0] = 1.0
