from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import ParameterError
from sottovoce.privacy.noise import SimulatedNoise, calibrate
from sottovoce.privacy.release import smat, svec


def symmetric(d, seed):
    A = np.random.default_rng(seed).standard_normal((d, d))
    return A + A.T


@given(st.integers(1, 30), st.integers(0, 2**32))
def test_the_distance_of_vectors_is_the_frobenius_distance_of_matrices(d, seed):
    A, B = symmetric(d, seed), symmetric(d, seed + 1)
    v = svec(A) - svec(B)
    assert v.shape == (d * (d + 1) // 2,)
    assert np.linalg.norm(v) == pytest.approx(np.linalg.norm(A - B), rel=1e-13)
    assert np.sum(svec(A) * svec(B)) == pytest.approx(np.trace(A @ B), rel=1e-9, abs=1e-9)


@given(st.integers(1, 30), st.integers(0, 2**32))
def test_smat_gives_the_matrix_back_exactly_symmetric(d, seed):
    A = symmetric(d, seed)
    back = smat(svec(A))
    assert np.array_equal(back, back.T)
    np.testing.assert_allclose(back, A, rtol=5e-16, atol=0)


@given(st.integers(1, 40), st.integers(0, 2**32))
def test_rounding_moves_svec_by_at_most_its_stated_allowance(d, seed):
    A = symmetric(d, seed).astype(np.longdouble)
    rows, columns = np.triu_indices(d)
    weights = np.where(rows == columns, np.longdouble(1), np.sqrt(np.longdouble(2)))
    exact = A[rows, columns] * weights
    assert np.linalg.norm(svec(A.astype(float)) - exact) <= 2.0**-52 * np.linalg.norm(A.astype(float))


def test_shapes_that_are_no_symmetric_matrix_are_refused():
    with pytest.raises(ParameterError):
        svec(np.zeros((2, 3)))
    with pytest.raises(ParameterError):
        smat(np.zeros(5))


def test_results_do_not_share_the_cached_layout():
    first = svec(np.eye(3))
    first[:] = 7.0
    assert svec(np.eye(3)).tolist() == [1, 0, 0, 1, 0, 1]


def test_noise_on_svec_has_sd_s_on_the_diagonal_and_s_over_sqrt2_beside_it():
    # 400 matrices: 8,000 diagonal and 76,000 other entries; bounds at 5 standard errors, seed fixed.
    d, repeats = 20, 400
    noise = SimulatedNoise(11)
    calibration = calibrate(1.0, 1.0, d * (d + 1) // 2)
    zero = np.zeros(d * (d + 1) // 2)
    draws = np.array([smat(noise.gaussian(zero, calibration)) for _ in range(repeats)])
    diagonal = draws[:, np.arange(d), np.arange(d)]
    rows, columns = np.triu_indices(d, 1)
    beside = draws[:, rows, columns]
    for entries, sd in ((diagonal, calibration.scale), (beside, calibration.scale / np.sqrt(2.0))):
        assert np.mean(entries**2) / sd**2 == pytest.approx(1.0, abs=5 * np.sqrt(2 / entries.size))
