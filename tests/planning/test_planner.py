"""A plan reads no data, its formulas are monotone, and runs behave as planned."""

from __future__ import annotations

import dataclasses
import json
import math
from functools import lru_cache

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.methods.registry import METHODS
from tests import problems

BUDGET = sv.Budget(epsilon=1.0, delta=1e-6)
OURS = ("majorize", "cubic")
WHOLE = ("majorize", "cubic", "opt", "opt-ls", "2opt", "2opt-ls", "tr", "dp-gd")
"""Methods that read all records at every query."""


def plan(**changes: object) -> sv.Plan:
    arguments: dict[str, object] = {
        "n": 100_000,
        "dim": 20,
        "loss": sv.losses.Logistic(),
        "regularizer": sv.regularizers.L2(1e-3),
        "budget": BUDGET,
        "method": "majorize",
        "timed": False,
    }
    return sv.plan(**{**arguments, **changes})  # type: ignore[arg-type]


def noise_of(found: sv.Plan) -> dict[str, object]:
    """The first entry of each kind of query."""
    return {query.query: query for query in reversed(found.noise)}


@lru_cache(maxsize=4)
def logistic(n: int, dim: int) -> sv.Risk:
    return problems.logistic(n=n, dim=dim)


def three_classes(n: int) -> sv.SoftmaxRisk:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 5)) / np.sqrt(5)
    y = np.argmax(X @ rng.standard_normal((5, 3)) + 0.3 * rng.standard_normal((n, 3)), axis=1)
    return sv.SoftmaxRisk(sv.Records.from_arrays(X, y, labels=(0, 1, 2)), sv.regularizers.L2(1e-3))


def asked(risk: sv.Risk | sv.SoftmaxRisk, **options: object) -> tuple[sv.Result, dict[str, list[float]]]:
    """A simulated run, and the noise sd of every answer it was charged for, by kind."""
    ledger = sv.Ledger(BUDGET)
    result = sv.minimize(risk, budget=BUDGET, ledger=ledger, simulate=0, **options)  # type: ignore[arg-type]
    scales: dict[str, list[float]] = {}
    for grant in ledger.history:
        scales.setdefault(grant.event.query.value, []).append(grant.event.scale)  # type: ignore[union-attr]
    return result, scales


def test_a_plan_states_noise_steps_passes_and_what_can_be_certified() -> None:
    found = plan()
    assert found.mu == pytest.approx(math.sqrt(sv.Ledger(BUDGET).run(BUDGET).mu_squared_left), rel=1e-6)
    assert found.passes <= 20
    assert {query.query for query in found.noise} == {"gradient", "gram matrix"}
    assert 0.0 < found.gradient < 0.1
    assert found.tolerance is found.feasible is found.minimal_n is found.nearest is None


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_of_the_registry_has_a_plan(method: str) -> None:
    found = plan(n=5000, dim=4, method=method)
    assert found.method == method
    assert found.noise
    assert all(0.0 < query.scale < math.inf for query in found.noise)
    assert found.steps >= 1
    assert (found.first_steps is not None) == method.startswith("2opt")
    assert 0.0 < found.gradient <= 1.0
    assert str(found).startswith(method)


@pytest.mark.parametrize("method", WHOLE)
def test_the_first_answers_have_exactly_the_planned_noise(method: str) -> None:
    """Up to the first gradient nothing depends on data: the plan's noise is the run's, to the last bit."""
    wish = None if method in OURS else sv.Tolerance(gradient=0.05)
    _, scales = asked(logistic(5000, 4), method=method, tolerance=wish)
    noise = noise_of(plan(n=5000, dim=4, method=method, tolerance=wish))
    assert scales["gradient"][0] == noise["gradient"].first  # type: ignore[attr-defined]
    for kind in ("gram matrix", "hessian"):
        if kind in noise and kind in scales:
            assert scales[kind][0] == noise[kind].first  # type: ignore[attr-defined]


@pytest.mark.parametrize(("n", "dim", "numbers"), [(5000, 4, 8), (500, 30, 31)])
def test_adapt_plans_the_moments_that_it_asks_for(n: int, dim: int, numbers: int) -> None:
    """A square for each column where they can be told apart, else one for all of them."""
    _, scales = asked(logistic(n, dim), method="adapt")
    planned = noise_of(plan(n=n, dim=dim, method="adapt"))["column moments"]
    assert planned.first == scales["column moments"][0]  # type: ignore[attr-defined]
    assert planned.norm == pytest.approx(planned.scale * math.sqrt(numbers))  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", ["opt", "opt-ls", "2opt", "2opt-ls", "tr"])
def test_published_noise_is_planned_for_every_answer(method: str) -> None:
    """The paper's sensitivities do not depend on the weights: every gradient has the planned noise."""
    wish = sv.Tolerance(gradient=0.2, curvature=0.4)
    options = {"method": method, "tolerance": wish, "calibration": "published"}
    _, scales = asked(logistic(5000, 4), **options)
    found = plan(n=5000, dim=4, **options)
    first = found.first_steps or found.steps
    gradients = scales["gradient"][:first]
    assert gradients == pytest.approx([found.noise[0].scale] * len(gradients), rel=1e-5)


@pytest.mark.parametrize("method", OURS)
def test_no_gradient_on_the_way_has_more_noise_than_the_worst_planned(method: str) -> None:
    """Without a tolerance all prices are public, and sensitivity grows with the weights: twice at most."""
    _, scales = asked(logistic(5000, 4), method=method)
    found = noise_of(plan(n=5000, dim=4, method=method))["gradient"]
    assert found.times == len(scales["gradient"]) - 1  # type: ignore[attr-defined]
    assert scales["gradient"][-2] <= found.scale <= 2.0 * scales["gradient"][-2]  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", OURS)
@pytest.mark.parametrize("loss", [sv.losses.Logistic(), sv.losses.Sigmoid()])
def test_planned_passes_are_the_queries_a_run_asks(method: str, loss: sv.losses.Loss) -> None:
    risk = sv.Risk(problems.classification(2000), loss, sv.regularizers.L2(1e-3))
    _, scales = asked(risk, method=method)
    assert sum(map(len, scales.values())) == plan(n=2000, dim=5, loss=loss, method=method).passes <= 35


@pytest.mark.parametrize("method", ["majorize", "opt"])
@pytest.mark.parametrize("loss", [sv.losses.Logistic(), sv.losses.Sigmoid()])
def test_more_records_or_more_epsilon_never_hurt(method: str, loss: sv.losses.Loss) -> None:
    def reached(n: int, epsilon: float) -> float:
        budget = sv.Budget(epsilon=epsilon, delta=1e-6)
        return plan(n=n, budget=budget, loss=loss, method=method).gradient

    by_n = [reached(n, 1.0) for n in (10**3, 10**4, 10**6)]
    by_epsilon = [reached(10**5, epsilon) for epsilon in (0.1, 1.0, 5.0)]
    assert by_n == sorted(by_n, reverse=True)
    assert by_epsilon == sorted(by_epsilon, reverse=True)


@pytest.mark.parametrize("method", ["majorize", "cubic", "opt-ls", "tr", "dp-gd"])
def test_an_impossible_wish_is_answered_with_ones_that_are_possible(method: str) -> None:
    options = {"loss": sv.losses.Sigmoid(), "method": method, "n": 20_000, "dim": 10}
    wish = sv.Tolerance(gradient=0.3 * plan(**options).gradient, curvature=0.01)
    found = plan(tolerance=wish, **options)
    assert found.feasible is False
    assert "nearest possible" in str(found)
    near = found.nearest
    assert near is not None
    relaxed = sv.Tolerance(gradient=near.gradient * 1.002, curvature=near.curvature)
    assert plan(tolerance=relaxed, **options).feasible
    if method == "dp-gd":
        assert near.n is near.epsilon is None
        return
    assert near.n is not None
    assert near.n == found.minimal_n
    assert plan(**{**options, "n": near.n, "tolerance": wish}).feasible
    assert not plan(**{**options, "n": int(near.n / 1.01), "tolerance": wish}).feasible
    assert near.epsilon is not None
    budget = sv.Budget(epsilon=near.epsilon, delta=BUDGET.delta)
    assert plan(budget=budget, tolerance=wish, **options).feasible


@pytest.mark.parametrize("method", ["majorize", "opt", "opt-ls"])
def test_the_papers_sample_size_stands_beside_ours_and_is_larger(method: str) -> None:
    found = plan(method=method, tolerance=sv.Tolerance(gradient=0.03))
    assert found.minimal_n is not None
    assert found.paper_minimal_n is not None
    assert 10 * found.minimal_n < found.paper_minimal_n


def certified(method: str, dim: int, seeds: range, factor: float) -> list[bool]:
    """Which runs certify `factor` times the tolerance that is planned."""
    risk = logistic(20_000, dim)
    planned = plan(n=20_000, dim=dim, method=method).gradient
    wish = sv.Tolerance(gradient=factor * planned, curvature=0.5)
    return [
        sv.minimize(risk, budget=BUDGET, method=method, tolerance=wish, simulate=seed).stop
        is sv.Stop.CERTIFIED
        for seed in seeds
    ]


@pytest.mark.parametrize("method", WHOLE)
def test_a_run_reaches_what_was_planned_and_not_a_quarter_of_it(method: str) -> None:
    assert certified(method, 20, range(1), 1.25) == [True]
    assert certified(method, 20, range(1), 0.25) == [False]


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(set(METHODS) - {"descent-b"}))
@pytest.mark.parametrize("dim", [10, 20])
def test_most_of_ten_runs_reach_what_was_planned_and_few_a_quarter_of_it(method: str, dim: int) -> None:
    """Most and few, not all and none: one noisy measurement decides at the end of a run, and a plan says what
    is expected of it."""
    assert sum(certified(method, dim, range(10), 1.25)) >= 7
    assert sum(certified(method, dim, range(10), 0.25)) <= 2


@pytest.mark.parametrize("method", ["majorize", "cubic", "opt", "tr", "dp-gd"])
def test_a_budget_well_below_the_planned_one_fails(method: str) -> None:
    """A wish in reach of epsilon 1 is planned out of reach at a fraction of it, and no run certifies it."""
    risk = logistic(20_000, 20)
    wish = sv.Tolerance(gradient=1.25 * plan(n=20_000, method=method).gradient, curvature=0.5)
    small = sv.Budget(epsilon=0.05 if method == "dp-gd" else 0.2, delta=BUDGET.delta)
    assert plan(n=20_000, method=method, tolerance=wish).feasible
    assert not plan(n=20_000, method=method, tolerance=wish, budget=small).feasible
    for seed in range(2):
        result = sv.minimize(risk, budget=small, method=method, tolerance=wish, simulate=seed)
        assert result.stop is not sv.Stop.CERTIFIED


@pytest.mark.parametrize("method", ["majorize", "opt-ls"])
def test_several_classes_are_planned_by_their_own_constants(method: str) -> None:
    risk = three_classes(20_000)
    options = {"n": 20_000, "dim": 5, "classes": 3, "method": method}
    found = plan(**options)
    assert found.weights == risk.dim == 15
    wish = sv.Tolerance(gradient=1.25 * found.gradient, curvature=0.5)
    result, scales = asked(risk, method=method, tolerance=wish)
    assert result.stop is sv.Stop.CERTIFIED
    aimed = noise_of(plan(**options, tolerance=wish))
    if method == "majorize":
        assert scales["gram matrix"] == [aimed["gram matrix"].first]  # type: ignore[attr-defined]
    else:
        assert scales["gradient"][0] == aimed["gradient"].first  # type: ignore[attr-defined]


def test_an_intercept_and_declared_sparsity_change_what_is_planned() -> None:
    assert plan(dim=5, intercept=True).weights == 5
    wide = plan(n=10**6, dim=20_000, nonzeros=30)
    assert wide.majorizer == "the mean square of every column"
    assert plan().majorizer == "the Gram matrix"
    assert "largest curvature" in str(plan(n=500, dim=1000))


def test_seconds_are_measured_on_synthetic_rows() -> None:
    for changes in (
        {"n": 3000},
        {"n": 3000, "dim": 500, "nonzeros": 5},
        {"n": 3000, "loss": sv.losses.Welsch(), "target": (-1.0, 1.0)},
        {"n": 3000, "dim": 4, "classes": 4, "intercept": True},
        {"n": 3000, "method": "cubic"},
        {"n": 3000, "method": "opt-ls"},
    ):
        found = plan(**changes, timed=True)
        assert found.seconds is not None
        assert 0.0 < found.seconds < 60.0


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
        ({"classes": 1}, "classes"),
        ({"classes": 3, "loss": sv.losses.Sigmoid()}, "softmax"),
        ({"method": "none"}, "no method"),
        ({"calibration": "published"}, "no published calibration"),
        ({"dim": 6000, "method": "cubic"}, "majorize"),
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
    assert "no number of records will do" in str(found)
    assert np.isfinite(found.nearest.gradient)
