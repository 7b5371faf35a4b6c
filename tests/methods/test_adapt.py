"""`adapt`: what it learns, what it promises, and what it costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.methods.adapt import Adapt, share
from sottovoce.methods.coordinates import Belief, Coordinates, Spreads
from sottovoce.methods.damping import Course, Outlook
from sottovoce.methods.log_odds import LIMITS, log_odds
from sottovoce.methods.second_moments import SecondMoments
from sottovoce.questions import Answer, Moments
from tests import problems

BUDGET = sv.Budget(epsilon=1.0, delta=1e-5)


def unequal(n: int = 20_000, seed: int = 0, intercept: bool = True) -> tuple[sv.Risk, np.ndarray]:
    """Columns of very different spread, some far from zero, all of them telling as much."""
    rng = np.random.default_rng(seed)
    spread = np.array([0.5, 0.2, 0.05, 0.02, 0.01, 0.3])
    Z = rng.uniform(-1.0, 1.0, (n, 6))
    X = Z * spread + np.array([0.0, 0.0, 0.3, -0.2, 0.2, 0.0])
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * Z.sum(axis=1))), 1, -1)
    records = sv.Records.from_arrays(X, y, labels=(-1, 1), radius=1.5, intercept=intercept)
    return sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-6)), Z


def risks() -> dict[str, sv.Risk]:
    X, y = problems.arrays(3000, 5)
    margin = sv.Records.from_arrays(X, y, labels=(-1, 1))
    thin = sv.Records.from_arrays(sparse.csr_array(X * (np.abs(X) > 0.3)), y, labels=(-1, 1))
    three = sv.Records.from_arrays(X, np.digitize(X[:, 0], [-0.2, 0.2]), labels=(0, 1, 2), intercept=True)
    return {
        "logistic": sv.Risk(margin, sv.losses.Logistic(), sv.regularizers.Tukey(1e-3)),
        "sparse": sv.Risk(thin, sv.losses.Logistic()),
        "sigmoid": sv.Risk(margin, sv.losses.Sigmoid()),
        "pseudo-huber": sv.Risk(problems.regression(3000), sv.losses.PseudoHuber()),
        "cauchy": sv.Risk(problems.regression(3000), sv.losses.Cauchy()),
        "weighted": sv.Risk(margin, sv.losses.Logistic(), class_weights={-1: 1.0, 1: 3.0}),
        "softmax": sv.SoftmaxRisk(three, sv.regularizers.L2(1e-4)),
    }


@pytest.mark.parametrize("kind", risks())
def test_every_kind_of_risk_is_trained_and_certified_as_the_user_wrote_it(kind: str) -> None:
    risk = risks()[kind]
    for seed in range(3):
        ledger = sv.Ledger(BUDGET)
        found = sv.minimize(risk, budget=BUDGET, method="adapt", simulate=seed, ledger=ledger)
        assert risk.value(found.weights) < risk.value(np.zeros(risk.dim))
        assert np.linalg.norm(risk.gradient(found.weights)) <= found.certificate.gradient_norm_at_most
        assert found.stop is sv.Stop.FINISHED
        assert "learned coordinates" in found.objective
        assert sum(row.mu_squared for row in found.trace) <= sv.Ledger(BUDGET).run(BUDGET).mu_squared_left


def test_columns_of_unequal_scale_cost_little() -> None:
    risk, _ = unequal()
    excess = {
        method: np.mean(
            [
                risk.value(sv.minimize(risk, budget=BUDGET, method=method, simulate=seed).weights)
                for seed in range(3)
            ]
        )
        for method in ("adapt", "majorize")
    }
    assert excess["adapt"] < 0.85 * excess["majorize"]


def test_a_tolerance_is_certified_or_said_to_be_missed() -> None:
    risk = problems.logistic(20_000)
    for gradient, stop in ((0.2, sv.Stop.CERTIFIED), (1e-5, sv.Stop.STEPS_EXHAUSTED)):
        wish = sv.Tolerance(gradient=gradient, curvature=1.0)
        found = sv.minimize(risk, budget=BUDGET, method="adapt", tolerance=wish, simulate=0)
        assert found.stop is stop
        assert found.certificate.meets(wish) == (stop is sv.Stop.CERTIFIED)


def test_too_many_columns_are_refused_before_the_first_charge() -> None:
    X = sparse.csr_array((np.ones(10), (np.arange(10), np.arange(10))), shape=(10, 6000))
    records = sv.Records.from_arrays(X, np.tile([1, -1], 5), labels=(-1, 1))
    ledger = sv.Ledger(BUDGET)
    with pytest.raises(ParameterError, match="columns"):
        sv.minimize(
            sv.Risk(records, sv.losses.Logistic()), budget=BUDGET, method="adapt", simulate=0, ledger=ledger
        )
    assert not ledger.history


def test_parameters_out_of_range_are_refused() -> None:
    for wrong in ({"steps": 0}, {"gram_share": 0.0}, {"measure_share": 0.5}, {"relaxation": 2.0}):
        with pytest.raises(ParameterError):
            Adapt(**wrong)  # type: ignore[arg-type]


def test_shares_grow_and_add_up() -> None:
    left, paid = 1.0, []
    for step in range(30):
        paid.append(left * share(step, 30))
        left -= paid[-1]
    assert left == pytest.approx(0.0, abs=1e-12)
    assert np.all(np.diff(paid) > 0.0)


def moments(spread: np.ndarray, noise: float, seed: int = 0) -> Moments:
    rng = np.random.default_rng(seed)
    squares = np.append(spread, 0.25) + noise * rng.standard_normal(spread.size + 1)
    means = np.append(np.zeros(spread.size), 0.5) + noise * rng.standard_normal(spread.size + 1)
    return Moments(means, squares, noise, noise, 1)


def test_columns_of_one_scale_stay_of_one_scale_however_noisy() -> None:
    for seed in range(20):
        spreads = Spreads.of(moments(np.full(40, 0.02), 0.02, seed), 40)
        assert spreads.variances.max() <= 2.5 * spreads.variances.mean()


def test_spreads_far_above_the_noise_are_believed() -> None:
    truth = np.array([0.1, 0.01, 0.05, 0.2])
    np.testing.assert_allclose(Spreads.of(moments(truth, 1e-5), 4).variances, truth, rtol=0.02)


def test_coordinates_have_mean_square_one_and_a_cap_that_grows_with_the_budget() -> None:
    problem = unequal(100)[0].problem
    belief, course = Belief(1.4, 1.0, 0.19, 0.12, 1.2), Course(30, 1.5, 0.25)
    found = moments(np.array([0.1, 0.01, 0.05, 0.2, 0.1, 0.3]), 1e-6)
    caps = []
    for mu in (1e-2, 1.0, 100.0):
        chosen = Coordinates.chosen(found, problem, course, belief, mu)
        assert chosen.diagonal[:-1].mean() == pytest.approx(1.0)
        caps.append(chosen.geometry.cap / math.sqrt(chosen.trace))
    assert caps == sorted(caps)
    assert caps[0] == pytest.approx(0.9)


def test_second_moments_keep_what_stands_out_of_the_noise_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((60, 60))
    noise = 0.01 * (noise + noise.T) / math.sqrt(2.0) / math.sqrt(2.0)
    one = np.ones(60)
    plain = SecondMoments.of(Answer(np.eye(60) + noise, 0.01, 1), one)
    assert np.linalg.norm(plain.matrix - np.eye(60), 2) < 0.03
    spike = np.outer(one, one) / 60.0
    spiked = SecondMoments.of(Answer(np.eye(60) + 5.0 * spike + noise, 0.01, 1), one)
    assert np.linalg.norm(spiked.matrix - np.eye(60) - 5.0 * spike, 2) < 0.1
    assert np.linalg.eigvalsh(np.eye(60) - plain.matrix)[-1] < plain.hidden


def test_a_limit_costs_more_bias_and_pull_the_lower_it_is() -> None:
    for deviation in (0.5, 1.4, 4.0):
        odds = log_odds(deviation)
        assert odds.bias[0] == 0.0
        assert odds.kept[0] == 1.0
        assert np.all(np.diff(odds.bias) >= -1e-12)
        assert np.all(np.diff(odds.kept) <= 0.0)
        assert odds.along < odds.across <= 0.25
    assert LIMITS[0] == 1.0


def test_more_noise_deserves_more_damping_and_costs_more() -> None:
    outlook = Outlook(np.ones(20), np.full(20, 0.1), 0.19, 0.12)
    found = [Course(30, 1.5, 0.25).best(outlook, noise) for noise in (1e-4, 1e-2, 1e-1)]
    assert found == sorted(found)
    assert found[-1][1] <= outlook.at_stake * 1.01
