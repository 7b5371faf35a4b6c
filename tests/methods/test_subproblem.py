from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.methods.curvature import downhill
from sottovoce.methods.lanczos import DENSE_LIMIT, smallest_pair
from sottovoce.methods.paper.subproblem import minimize_in_ball

SHAPES = ("any", "convex", "hard", "no gradient", "singular", "flat")


def case(shape: str, dim: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((dim, dim))
    A = A + A.T
    gradient = rng.standard_normal(dim) * 10 ** rng.uniform(-6, 2)
    values, vectors = np.linalg.eigh(A)
    if shape == "convex":
        A = A @ A + 0.1 * np.eye(dim)
    if shape == "hard":
        parts = vectors.T @ gradient
        parts[0] = 0.0
        gradient = vectors @ parts
    if shape == "no gradient":
        gradient = np.zeros(dim)
    if shape == "singular":
        A = (vectors * np.maximum(values, 0.0)) @ vectors.T
    if shape == "flat":
        A = np.zeros((dim, dim))
    return gradient, A, float(10 ** rng.uniform(-3, 2))


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=40, deadline=None)
@given(dim=st.integers(1, 6), seed=st.integers(0, 2**32))
def test_no_point_of_the_ball_is_better_than_the_solution(shape: str, dim: int, seed: int) -> None:
    gradient, hessian, radius = case(shape, dim, seed)
    step = minimize_in_ball(gradient, hessian, radius)
    assert np.linalg.norm(step) <= radius * (1 + 1e-9)
    rng = np.random.default_rng(seed)
    rivals = rng.standard_normal((3000, dim))
    rivals *= radius / np.linalg.norm(rivals, axis=1, keepdims=True)
    near = step + 1e-3 * radius * rng.standard_normal((1000, dim))
    rivals = np.vstack([rivals, rivals * rng.uniform(size=(3000, 1)), near])
    rivals = rivals[np.linalg.norm(rivals, axis=1) <= radius]

    def model(p: np.ndarray) -> np.ndarray:
        return p @ gradient + 0.5 * np.einsum("...i,ij,...j->...", p, hessian, p)

    size = np.abs(hessian).max() * radius**2 + np.linalg.norm(gradient) * radius
    assert model(step) <= model(rivals).min() + 1e-9 * size


def test_the_hard_case_reaches_the_boundary_along_the_lowest_eigenvector() -> None:
    step = minimize_in_ball(np.array([0.0, 1.0]), np.diag([-1.0, 1.0]), 2.0)
    assert step[1] == pytest.approx(-0.5)
    assert np.linalg.norm(step) == pytest.approx(2.0)


def test_an_interior_solution_is_newtons_step() -> None:
    assert minimize_in_ball(np.array([1.0, -2.0]), np.diag([2.0, 4.0]), 10.0) == pytest.approx([-0.5, 0.5])


@pytest.mark.parametrize("dim", [1, 2, 30, 150])
@pytest.mark.parametrize("shape", ["indefinite", "identity", "zero", "low rank"])
def test_lanczos_agrees_with_the_dense_solver_and_never_goes_below(dim: int, shape: str) -> None:
    rng = np.random.default_rng(dim)
    A = rng.standard_normal((dim, dim))
    A = A + A.T
    if shape == "identity":
        A = 3.0 * np.eye(dim)
    if shape == "zero":
        A = np.zeros((dim, dim))
    if shape == "low rank":
        A = -np.outer(A[0], A[0])
    values = np.linalg.eigvalsh(A)
    size = np.abs(values).max() + 1e-300
    value, direction = smallest_pair(A)
    assert -1e-12 * size <= value - values[0] <= 1e-4 * size
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    assert direction @ A @ direction == pytest.approx(value, abs=1e-9 * size)


def test_large_matrices_go_to_lanczos_and_directions_point_downhill() -> None:
    dim = DENSE_LIMIT + 8
    spectrum = np.linspace(0.0, 1.0, dim)
    spectrum[7] = -1.0
    gradient = np.ones(dim)
    direction, eigenvalue = downhill(np.diag(spectrum), gradient)
    assert eigenvalue == pytest.approx(-1.0, abs=1e-6)
    assert abs(direction[7]) == pytest.approx(1.0, abs=1e-3)
    assert direction @ gradient <= 0.0
    opposite, _ = downhill(np.diag(spectrum), -gradient)
    assert opposite @ gradient >= 0.0
