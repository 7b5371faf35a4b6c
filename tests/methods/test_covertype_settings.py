"""`majorize` and `cubic` on real Covertype, judged by exact values that only tests compute.

All of it is slow: `pytest -m slow tests/methods/test_covertype_settings.py`, three minutes. In every run
there is test_covertype.py."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.datasets import covertype

METHODS = ("majorize", "cubic")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def records() -> sv.Records:
    table = covertype.load().two_classes()
    return sv.Records.from_arrays(table.standardized(), table.signs(), radius=1.0, labels=(-1, 1))


def risk_of(records: sv.Records, loss: str) -> sv.Risk:
    if loss == "logistic":
        return sv.Risk(records, sv.losses.Logistic(), sv.regularizers.Tukey(1e-3))
    return sv.Risk(records, sv.losses.Sigmoid(), sv.regularizers.L2(1e-3))


def certify(
    risk: sv.Risk, method: str, epsilon: float, wish: sv.Tolerance, seed: int, start: np.ndarray | None
) -> sv.Result:
    ledger = sv.Ledger(sv.Budget(epsilon=epsilon, delta=1.0 / risk.n))
    result = sv.minimize(
        risk, budget=ledger.cap, method=method, tolerance=wish, start=start, ledger=ledger, simulate=seed
    )
    assert result.stop is sv.Stop.CERTIFIED
    assert result.certificate.meets(wish)
    assert np.linalg.norm(risk.gradient(result.weights)) <= result.certificate.gradient_norm_at_most
    assert risk.smallest_eigenvalue(result.weights) >= result.certificate.curvature_at_least
    assert len(ledger.history) <= 20
    return result


@pytest.mark.parametrize("method", METHODS)
def test_a_tenth_of_the_tight_tolerance_is_certified_from_zeros(records: sv.Records, method: str) -> None:
    wish = sv.Tolerance(gradient=0.003, curvature=0.0173)
    certify(risk_of(records, "logistic"), method, 0.2, wish, 1, None)


def test_without_a_tolerance_the_excess_loss_is_below_the_prototypes(records: sv.Records) -> None:
    """0.4778412 is the minimum with L2 1e-6, by Newton's method (benchmarks/utility.py)."""
    risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-6))
    for epsilon, most in ((0.2, 0.003), (1.0, 0.0008)):
        result = sv.minimize(risk, budget=sv.Budget(epsilon=epsilon, delta=1.0 / risk.n), simulate=0)
        assert risk.value(result.weights) - 0.4778412 <= most


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", [0.2, 0.6, 1.0])
@pytest.mark.parametrize(
    ("loss", "gradient", "curvature"),
    [
        ("logistic", 0.06, 0.245),
        ("logistic", 0.03, 0.173),
        ("sigmoid", 0.04, 0.2),
        ("sigmoid", 0.02, 0.141),
    ],
)
def test_every_covertype_setting_of_the_paper_is_certified_by_five_of_five_seeds(
    records: sv.Records, loss: str, gradient: float, curvature: float, epsilon: float, method: str
) -> None:
    risk = risk_of(records, loss)
    for seed in range(5):
        start = np.random.default_rng(seed).standard_normal(54)
        wish = sv.Tolerance(gradient=gradient, curvature=curvature)
        certify(risk, method, epsilon, wish, seed, start)
