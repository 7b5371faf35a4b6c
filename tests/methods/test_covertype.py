"""The paper's problem on real data: certificates against exact values, which only the test computes."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.datasets import covertype


@pytest.fixture(scope="module")
def risk() -> sv.Risk:
    table = covertype.load().two_classes()
    records = sv.Records.from_arrays(table.standardized(), table.signs(), radius=1.0, labels=(-1, 1))
    return sv.Risk(records, sv.losses.Logistic(), sv.regularizers.Tukey(1e-3))


@pytest.mark.parametrize(
    ("epsilon", "gradient", "seeds"),
    [
        (0.2, 0.03, 1),
        *(pytest.param(*case, 2, marks=pytest.mark.slow) for case in ((0.2, 0.06), (1.0, 0.03))),
    ],
)
def test_majorize_certifies_the_papers_tolerances_from_a_random_start(
    risk: sv.Risk, epsilon: float, gradient: float, seeds: int
) -> None:
    for seed in range(seeds):
        result = sv.minimize(
            risk,
            budget=sv.Budget(epsilon=epsilon, delta=1.0 / risk.n),
            tolerance=sv.Tolerance(gradient=gradient),
            start=np.random.default_rng(seed).standard_normal(risk.dim),
            simulate=seed,
        )
        assert result.stop is sv.Stop.CERTIFIED
        assert result.certificate.meets(result.tolerance)
        assert np.linalg.norm(risk.gradient(result.weights)) <= result.certificate.gradient_norm_at_most
        assert risk.smallest_eigenvalue(result.weights) >= result.certificate.curvature_at_least


def test_fifteen_steps_from_zeros_at_epsilon_one_fifth_reach_a_gradient_of_three_thousandths(
    risk: sv.Risk,
) -> None:
    result = sv.minimize(risk, budget=sv.Budget(epsilon=0.2, delta=1.0 / risk.n), simulate=0)
    exact = np.linalg.norm(risk.gradient(result.weights))
    assert exact <= 0.003
    assert exact <= result.certificate.gradient_norm_at_most
