"""A strict saddle: zero gradient at the start, and the way down is a direction only curvature shows."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.methods.base import State, follow
from sottovoce.methods.paper.descent import CurvatureDescent
from sottovoce.methods.registry import METHODS
from sottovoce.methods.steps import ShortStep
from sottovoce.methods.stopping import Never
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from sottovoce.queries import Gradient
from sottovoce.results.certificate import Levels

BUDGET = sv.Budget(epsilon=8.0, delta=1e-3)
TOLERANCE = sv.Tolerance(gradient=0.02, curvature=0.05)
SECOND_ORDER = [
    name for name in METHODS if name not in ("accelerate", "adapt", "majorize", "dp-gd", "descent-b")
]


@pytest.fixture(scope="module")
def risk() -> sv.Risk:
    """Half the rows want w_1 = 1, as many -1, by a loss concave in between; the rest hold w_2 at 0."""
    n = 4000
    X, y = np.zeros((n, 2)), np.zeros(n)
    X[: n // 2, 0] = 1.0
    y[: n // 2] = np.tile([1.0, -1.0], n // 4)
    X[n // 2 :, 1] = 1.0
    return sv.Risk(sv.Records.from_arrays(X, y, target=(-1.0, 1.0)), sv.losses.GemanMcClure())


def test_the_start_is_a_strict_saddle(risk: sv.Risk) -> None:
    assert np.linalg.norm(risk.gradient(np.zeros(2))) < 1e-12
    low, high = np.linalg.eigvalsh(risk.hessian(np.zeros(2)))
    assert low == pytest.approx(-0.125, abs=1e-6)
    assert high == pytest.approx(0.5, abs=1e-5)


def escapes(risk: sv.Risk, method: str, seeds: range) -> int:
    """In how many runs the value falls below the saddle's."""
    saddle = risk.value(np.zeros(2))
    runs = (
        sv.minimize(risk, budget=BUDGET, method=method, tolerance=TOLERANCE, simulate=seed) for seed in seeds
    )
    return sum(risk.value(result.weights) < saddle - 0.02 for result in runs)


@pytest.mark.parametrize("method", SECOND_ORDER)
def test_every_second_order_method_escapes(risk: sv.Risk, method: str) -> None:
    assert escapes(risk, method, range(2)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("method", SECOND_ORDER)
def test_every_second_order_method_escapes_in_95_of_100_runs(risk: sv.Risk, method: str) -> None:
    """38 of 40 fixed seeds; a method that escapes with probability 0.999 misses this but for 1e-5."""
    assert escapes(risk, method, range(40)) >= 38


def test_without_the_curvature_query_noisy_descent_is_slower(risk: sv.Risk) -> None:
    """Same noise, same steps, same number of visits as `opt` took: the state has not come as far down.

    The state starts within noise of a point from which descent grows by a factor 1.125 a step."""
    behind = []
    for seed in range(6):
        result = sv.minimize(risk, budget=BUDGET, method="opt", tolerance=TOLERANCE, simulate=seed)
        ask = Oracle(risk, sv.Ledger(BUDGET).run(BUDGET), SimulatedNoise(seed))
        levels = Levels(confidence=0.99, gradient_tests=1, curvature_tested=False)
        state = State(ask=ask, levels=levels, w=np.zeros(2), watch=lambda row: None)
        units = ask.price(Gradient(state.w), 0.4 * TOLERANCE.gradient / np.sqrt(2.0))
        plain = CurvatureDescent(step=ShortStep(), test=Never(), gradient_units=units, curvature_units=1)
        follow(plain, state, len(result.trace))
        behind.append(risk.value(state.w) - risk.value(result.weights))
    assert np.mean(behind) > 0.01
    assert np.median(behind) > 0.0


def mirrored(n: int = 20_000) -> sv.Risk:
    """Half the records follow one line, half its mirror image: weights 0 are a saddle of the Welsch loss."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 5)) / (2.0 * np.sqrt(5.0))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1) * (1.0 + 2.0**-20))[:, None]
    y = rng.choice([-1.0, 1.0], n) * X[:, 0] + 0.02 * rng.standard_normal(n)
    records = sv.Records.from_arrays(X, np.clip(y, -1.0, 1.0), target=(-1.0, 1.0))
    return sv.Risk(records, sv.losses.Welsch(0.2))


def test_the_default_leaves_a_saddle_and_says_so() -> None:
    """Four of four runs; `adapt` alone stayed there."""
    risk = mirrored()
    assert risk.smallest_eigenvalue(np.zeros(5)) < -0.005
    for seed in range(4):
        found = sv.minimize(risk, budget=sv.Budget(epsilon=8.0, delta=1e-6), simulate=seed)
        assert risk.smallest_eigenvalue(found.weights) > 0.0
        assert "cubic" in found.choice
        assert "saddle" in found.objective


def test_a_loss_that_redescends_is_not_taken_for_a_saddle_where_the_gradient_leads_away() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20_000, 3)) / 6.0
    y = np.clip(X @ [2.0, -1.0, 0.5] + 0.1 * rng.standard_normal(20_000), -1.0, 1.0)
    risk = sv.Risk(sv.Records.from_arrays(X, y, target=(-1.0, 1.0)), sv.losses.Cauchy(0.2))
    for seed in range(3):
        found = sv.minimize(risk, budget=sv.Budget(epsilon=3.0, delta=1e-6), simulate=seed)
        assert "saddle" not in found.objective
        assert risk.smallest_eigenvalue(found.weights) > 0.0
