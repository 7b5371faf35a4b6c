from __future__ import annotations

import numpy as np
import pytest

from sottovoce.methods.noisy_lanczos import lowest_direction


def spectrum(dim: int, low: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A symmetric matrix with one eigenvalue `low`, the rest in [0, 1], and the lowest eigenvector."""
    rng = np.random.default_rng(seed)
    vectors, _ = np.linalg.qr(rng.standard_normal((dim, dim)))
    values = np.concatenate([[low], rng.uniform(0.0, 1.0, dim - 1)])
    return (vectors * values) @ vectors.T, vectors[:, 0]


def test_without_noise_the_lowest_eigenvector_is_found() -> None:
    matrix, lowest = spectrum(40, -0.8)
    found = lowest_direction(lambda v: matrix @ v, 40, 20)
    assert np.linalg.norm(found) == pytest.approx(1.0)
    assert abs(found @ lowest) > 0.999


def test_as_many_products_as_dimensions_find_it_whatever_the_gap() -> None:
    matrix, _ = spectrum(7, 0.01, seed=3)
    found = lowest_direction(lambda v: matrix @ v, 7, 7)
    assert found @ matrix @ found == pytest.approx(np.linalg.eigvalsh(matrix)[0], abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_noise_of_a_third_of_the_curvature_leaves_a_direction_that_bends_down(seed: int) -> None:
    matrix, _ = spectrum(300, -1.0, seed)
    rng = np.random.default_rng([seed, 1])
    noise = 0.33 / np.sqrt(300.0)
    found = lowest_direction(lambda v: matrix @ v + noise * rng.standard_normal(300), 300, 12)
    assert found @ matrix @ found < -0.4


@pytest.mark.parametrize("matrix", [np.zeros((5, 5)), np.eye(5)], ids=["zero", "identity"])
def test_an_operator_without_a_preference_still_gets_a_unit_vector(matrix: np.ndarray) -> None:
    found = lowest_direction(lambda v: matrix @ v, 5, 5)
    assert np.linalg.norm(found) == pytest.approx(1.0)
