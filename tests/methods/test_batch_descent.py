from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting.events import SubsampledGaussianEvent
from sottovoce.methods.batch_descent import BatchDescent
from sottovoce.methods.step_sizes import Adaptive, Average
from tests import problems

BUDGET = sv.Budget(epsilon=8.0, delta=1e-4)


def average(gradient: np.ndarray, noise: float = 0.1, scale: float = 0.0) -> Average:
    squares = gradient**2 + scale**2
    return Average(gradient=gradient, squares=squares, scale=scale, noise=noise, start=np.zeros(2), steps=10)


def test_every_step_is_amplified_and_the_end_is_measured_on_all_records() -> None:
    ledger = sv.Ledger(BUDGET, currency="renyi", order=16)
    result = sv.minimize(
        problems.sigmoid(n=3000, dim=3),
        budget=BUDGET,
        method=BatchDescent(steps=20),
        ledger=ledger,
        simulate=0,
    )
    sampled = [grant.event for grant in ledger.history if isinstance(grant.event, SubsampledGaussianEvent)]
    assert [event.batch for event in sampled] == [500] * 10 + [1500] * 2 + [500] * 10
    assert len(ledger.history) > len(sampled)
    assert [row.kind for row in result.trace].count("batch step") == 20
    assert result.stop is sv.Stop.FINISHED
    assert result.certificate.gradient_norm_at_most < 0.25
    assert 0.95 * ledger.units_cap < ledger.units_spent <= ledger.units_cap


def test_it_comes_near_the_minimum_of_a_convex_risk() -> None:
    risk = problems.logistic(n=4000, dim=4)
    result = sv.minimize(risk, budget=BUDGET, method=BatchDescent(steps=120), simulate=1)
    assert np.linalg.norm(risk.gradient(result.weights)) < 0.1 * np.linalg.norm(risk.gradient(np.zeros(4)))


def test_a_leap_follows_negative_curvature_that_gradients_do_not_see() -> None:
    """From a strict saddle, with steps too short to leave it in time, the look finds the way out."""
    n = 4000
    X, y = np.zeros((n, 2)), np.zeros(n)
    X[: n // 2, 0], X[n // 2 :, 1] = 1.0, 1.0
    y[: n // 2] = np.tile([1.0, -1.0], n // 4)
    risk = sv.Risk(sv.Records.from_arrays(X, y, target=(-1.0, 1.0)), sv.losses.GemanMcClure())
    still = Adaptive(rate=1e-9)
    ends = {}
    for looks in (1, 2):
        method = BatchDescent(steps=4, looks=looks, look_share=0.3, look_batch=8, step_size=still)
        result = sv.minimize(risk, budget=BUDGET, method=method, simulate=2)
        ends[looks] = risk.value(result.weights)
        assert ("negative curvature" in [row.kind for row in result.trace]) == (looks == 2)
    assert ends[1] == pytest.approx(risk.value(np.zeros(2)), abs=1e-4)
    assert ends[2] < ends[1] - 5e-4


def test_few_records_get_few_steps() -> None:
    method = BatchDescent()
    assert [method.batch(n) for n in (10, 500, 4000, 100_000)] == [10, 500, 500, 1000]
    assert [method.planned(n) for n in (10, 500, 4000, 100_000)] == [20, 20, 160, 1200]


def test_step_sizes() -> None:
    problem = problems.logistic(n=100, dim=2).problem
    even = Adaptive(rate=0.5).step(problem, average(np.array([3.0, -1e-9])))
    np.testing.assert_allclose(even, [-0.5, 0.5])
    assert np.all(Adaptive().step(problem, average(np.zeros(2))) == 0.0)
    clear, drowned = Adaptive(rate=0.5).step(problem, average(np.array([3.0, 0.01]), scale=0.1))
    assert clear == pytest.approx(-0.5)
    assert drowned == pytest.approx(-0.5 * 0.01 / 0.1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"looks": 0},
        {"fraction": 0.0},
        {"momentum": 1.0},
        {"passes": -1.0},
        {"look_share": 0.5},
        {"step_size": 1.0},
    ],
)
def test_bad_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(sv.errors.ParameterError):
        BatchDescent(**wrong)  # type: ignore[arg-type]
    with pytest.raises(sv.errors.ParameterError):
        Adaptive(float("nan"))
