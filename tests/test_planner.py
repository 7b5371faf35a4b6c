"""A plan reads no data, its formulas are monotone, and runs behave as planned."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

import sottovoce as sv
from tests import problems

BUDGET = sv.Budget(epsilon=1.0, delta=1e-6)


def plan(**changes: object) -> sv.Plan:
    arguments: dict[str, object] = {
        "n": 100_000,
        "dim": 20,
        "loss": sv.losses.Logistic(),
        "regularizer": sv.regularizers.L2(1e-3),
        "budget": BUDGET,
        "timed": False,
    }
    return sv.plan(**{**arguments, **changes})  # type: ignore[arg-type]


def test_a_plan_states_noise_steps_passes_and_what_can_be_certified() -> None:
    found = plan()
    assert found.mu == pytest.approx(math.sqrt(sv.Ledger(BUDGET).run(BUDGET).mu_squared_left), rel=1e-6)
    assert found.passes <= 20
    assert {query.query for query in found.noise} == {"gradient", "Gram matrix"}
    assert 0.0 < found.gradient < 0.1
    assert found.tolerance is found.feasible is found.minimal_n is found.nearest is None


@pytest.mark.parametrize("method", ["majorize", "cubic"])
def test_the_gradient_noise_is_that_of_a_real_query(method: str) -> None:
    """The plan's worst case over weights is at most twice what the oracle adds near zero weights."""
    risk = problems.logistic(n=5000, dim=4)
    found = plan(n=5000, dim=4, method=method)
    result = sv.minimize(
        risk, budget=BUDGET, method=method, tolerance=sv.Tolerance(gradient=1e-9), simulate=0
    )
    measured = min(row.gradient_noise for row in result.trace if row.gradient_noise) / 2.0
    assert measured <= found.noise[0].scale


@pytest.mark.parametrize("method", ["majorize", "cubic"])
@pytest.mark.parametrize("loss", [sv.losses.Logistic(), sv.losses.Sigmoid()])
def test_more_records_or_more_epsilon_never_hurt(method: str, loss: sv.losses.Loss) -> None:
    def reached(n: int, epsilon: float) -> float:
        budget = sv.Budget(epsilon=epsilon, delta=1e-6)
        return plan(n=n, budget=budget, loss=loss, method=method).gradient

    by_n = [reached(n, 1.0) for n in (10**3, 10**4, 10**5, 10**6)]
    by_epsilon = [reached(10**5, epsilon) for epsilon in (0.1, 0.5, 1.0, 5.0)]
    assert by_n == sorted(by_n, reverse=True)
    assert by_epsilon == sorted(by_epsilon, reverse=True)


@pytest.mark.parametrize("method", ["majorize", "cubic"])
@pytest.mark.parametrize("loss", [sv.losses.Logistic(), sv.losses.Sigmoid()])
def test_the_minimal_n_is_enough_and_one_record_less_is_not(method: str, loss: sv.losses.Loss) -> None:
    wish = sv.Tolerance(gradient=0.005, curvature=0.01)
    found = plan(loss=loss, method=method, tolerance=wish)
    assert found.minimal_n is not None
    assert plan(n=found.minimal_n, loss=loss, method=method, tolerance=wish).feasible
    assert not plan(n=found.minimal_n - 1, loss=loss, method=method, tolerance=wish).feasible


@pytest.mark.parametrize("method", ["majorize", "cubic"])
def test_an_impossible_wish_is_answered_with_ones_that_are_possible(method: str) -> None:
    wish = sv.Tolerance(gradient=1e-4, curvature=0.01)
    found = plan(tolerance=wish, method=method)
    assert found.feasible is False
    near = found.nearest
    assert near is not None
    assert near.n is not None
    assert near.epsilon is not None
    relaxed = sv.Tolerance(gradient=near.gradient * 1.001, curvature=max(near.curvature, 0.01))
    assert plan(tolerance=relaxed, method=method).feasible
    assert plan(n=near.n, tolerance=wish, method=method).feasible
    budget = sv.Budget(epsilon=near.epsilon, delta=BUDGET.delta)
    assert plan(budget=budget, tolerance=wish, method=method).feasible
    assert "nearest possible" in str(found)


def test_the_papers_sample_size_stands_beside_ours_and_is_larger() -> None:
    found = plan(tolerance=sv.Tolerance(gradient=0.03))
    assert found.minimal_n is not None
    assert found.paper_minimal_n is not None
    assert 10 * found.minimal_n < found.paper_minimal_n


@pytest.mark.parametrize("method", ["majorize", "cubic"])
def test_runs_certify_what_was_planned_and_not_a_fifth_of_it(method: str) -> None:
    risk = problems.logistic(n=20_000, dim=20)
    expected = plan(n=20_000, method=method).gradient
    for seed in range(3):
        wish = sv.Tolerance(gradient=1.25 * expected, curvature=0.5)
        result = sv.minimize(risk, budget=BUDGET, method=method, tolerance=wish, simulate=seed)
        assert result.stop is sv.Stop.CERTIFIED
        far = sv.Tolerance(gradient=expected / 5.0, curvature=0.5)
        result = sv.minimize(risk, budget=BUDGET, method=method, tolerance=far, simulate=seed)
        assert result.stop is not sv.Stop.CERTIFIED


def test_planned_passes_are_the_questions_a_run_asks() -> None:
    for risk, loss in (
        (problems.logistic(2000), sv.losses.Logistic()),
        (problems.sigmoid(2000), sv.losses.Sigmoid()),
    ):
        for method in ("majorize", "cubic"):
            ledger = sv.Ledger(BUDGET)
            sv.minimize(risk, budget=BUDGET, method=method, ledger=ledger, simulate=0)
            found = plan(n=2000, dim=5, loss=loss, method=method)
            assert len(ledger.history) == found.passes


def test_the_shape_of_the_majorizer_is_part_of_the_plan() -> None:
    assert plan().majorizer == "the Gram matrix"
    wide = plan(n=10**6, dim=100_000, nonzeros=30)
    assert wide.majorizer == "the mean square of every column"
    assert "largest curvature" in str(plan(n=500, dim=1000))


def test_seconds_are_measured_on_synthetic_rows() -> None:
    found = plan(n=3000, timed=True)
    assert found.seconds is not None
    assert 0.0 < found.seconds < 60.0
    sparse = plan(n=3000, dim=5000, nonzeros=5, timed=True)
    assert sparse.seconds is not None
    residual = plan(n=3000, loss=sv.losses.Welsch(), target=(-1.0, 1.0), timed=True)
    assert residual.seconds is not None
    assert plan(method="cubic", n=3000, timed=True).seconds is not None


def test_a_plan_is_frozen_readable_and_json() -> None:
    found = plan(tolerance=sv.Tolerance(gradient=0.01))
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.n = 3  # type: ignore[misc]
    assert json.loads(json.dumps(found.to_dict()))["n"] == 100_000
    text = str(found)
    for word in ("majorize", "epsilon = 1", "passes", "noise of the gradient", "wanted", "the paper's"):
        assert word in text


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n": 0}, "n and dim"),
        ({"dim": 1.5}, "n and dim"),
        ({"budget": 1.0}, "Budget"),
        ({"confidence": 1.0}, "confidence"),
        ({"method": "opt"}, "majorize"),
        ({"method": "none"}, "no method"),
    ],
)
def test_a_wrong_argument_is_named(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(sv.errors.ParameterError, match=words):
        plan(**wrong)


def test_a_hopeless_wish_says_that_no_table_is_large_enough() -> None:
    found = plan(dim=6000, loss=sv.losses.Sigmoid(), tolerance=sv.Tolerance(gradient=0.5, curvature=1e-9))
    assert found.minimal_n is None
    assert found.nearest is not None
    assert found.nearest.n is None
    assert "more than any table has" in str(found)
    assert np.isfinite(found.nearest.gradient)
