"""Phase retrieval from the strict saddle at the origin: the gradient is zero there, the curvature is not."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.methods.batch_descent import BatchDescent

pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.autodiff import models

TOLERANCE = sv.Tolerance(gradient=0.1, curvature=0.3)


def test_the_origin_is_a_strict_saddle() -> None:
    risk = models.phase_risk(500, 4, seed=0, curvature_clip=50.0)
    assert np.all(risk.gradient(risk.start) == 0.0)
    assert risk.smallest_eigenvalue(risk.start) < -0.5


@pytest.mark.parametrize("seed", range(3))
def test_the_saddle_is_escaped_at_half_the_loss_or_less(seed: int) -> None:
    risk = models.phase_risk(4000, 8, seed)
    result = sv.minimize(
        risk,
        budget=sv.Budget(6.0, 1e-5),
        method="opt-ls",
        tolerance=sv.Tolerance(gradient=0.2, curvature=0.5),
        simulate=seed,
    )
    assert result.trace[0].kind == "negative curvature"
    assert risk.mean_loss(result.weights) <= 0.5 * risk.mean_loss(risk.start)


@pytest.mark.parametrize("tolerance", [None, sv.Tolerance(gradient=0.2, curvature=0.2)])
def test_the_default_leaves_the_saddle_of_a_module_by_cubic_steps(tolerance: sv.Tolerance | None) -> None:
    risk = models.phase_risk(4000, 8, seed=0)
    result = sv.minimize(risk, budget=sv.Budget(6.0, 1e-5), tolerance=tolerance, simulate=0)
    assert "cubic" in result.choice
    assert risk.smallest_eigenvalue(result.weights) > 0.0
    assert risk.mean_loss(result.weights) <= 0.5 * risk.mean_loss(risk.start)


def test_batch_descent_escapes_too() -> None:
    risk = models.phase_risk(4000, 8, seed=1)
    result = sv.minimize(
        risk, budget=sv.Budget(6.0, 1e-5), method=BatchDescent(steps=60, fraction=0.1), simulate=1
    )
    assert risk.mean_loss(result.weights) <= 0.5 * risk.mean_loss(risk.start)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [20, 50])
def test_ten_of_ten_seeds_escape_at_epsilon_two(dim: int) -> None:
    for seed in range(10):
        risk = models.phase_risk(20_000, dim, seed)
        result = sv.minimize(
            risk, budget=sv.Budget(2.0, 1e-6), method="opt-ls", tolerance=TOLERANCE, simulate=seed
        )
        assert risk.mean_loss(result.weights) <= 0.5 * risk.mean_loss(risk.start)
