"""Rivals of the leaderboard keep the promise that is asked of them, with no more noise than it needs."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
import pytest
from benchmarks.contest import stored
from benchmarks.leaderboard import adassp, contenders, objective, page
from benchmarks.leaderboard.query import Query, shortlist, tuned
from benchmarks.leaderboard.regression import Regression
from benchmarks.leaderboard.tables import Classification
from benchmarks.sections import PAGES, marks
from benchmarks.sgd import ADD_OR_REMOVE, REPLACE, spent
from benchmarks.task import clipped
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from scipy.special import expit

from sottovoce.accounting.gdp import delta_of, epsilon_of, mu_of
from sottovoce.accounting.renyi.exchange import epsilon_of_renyi
from sottovoce.accounting.renyi.poisson import sampled_gaussian

RELATION = dp_accounting.NeighboringRelation


@pytest.fixture(scope="module")
def signs() -> Classification:
    rng = np.random.default_rng(5)
    X = clipped(rng.standard_normal((6_000, 4)))
    y = np.where(X @ np.array([3.0, -2.0, 1.0, 0.0]) + 0.3 * rng.standard_normal(len(X)) > 0, 1, -1)
    return Classification("signs", X[:5_000], y[:5_000], X[5_000:], y[5_000:], 1e-4, False)


@pytest.fixture(scope="module")
def numbers() -> Regression:
    rng = np.random.default_rng(6)
    X = clipped(np.column_stack([rng.standard_normal((6_000, 3)) / 3.0, np.full(6_000, 0.5)]))
    y = np.clip(X @ np.array([0.8, -0.5, 0.2, 0.1]) + 0.05 * rng.standard_normal(len(X)), -1.0, 1.0)
    return Regression("numbers", X[:5_000], y[:5_000], X[5_000:], y[5_000:], 1e-4)


@pytest.mark.parametrize(("promise", "apart"), [(REPLACE, 2.0), (ADD_OR_REMOVE, 1.0)])
def test_full_batches_of_dp_sgd_get_the_noise_that_gaussian_dp_asks_for(promise: str, apart: float) -> None:
    exact = apart * math.sqrt(5.0) / mu_of(1.0, 1e-5)
    assert spent(exact, 1e-5, 1.0, 5, promise) == pytest.approx(1.0, rel=5e-3)


def test_our_renyi_accountant_sees_a_little_more_in_batches_of_dp_sgd_than_theirs_does() -> None:
    steps, batch, population, scale, delta = 200, 2_000, 40_000, 3.0, 1e-5
    theirs = spent(scale, delta, batch / population, steps, ADD_OR_REMOVE)
    ours = min(
        epsilon_of_renyi(order, steps * sampled_gaussian(order, scale**-2, batch, population), delta)
        for order in range(4, 40, 4)
    )
    assert theirs <= ours <= 1.2 * theirs


def test_only_one_of_dp_accountings_two_ways_counts_both_halves_of_a_replacement() -> None:
    """A noise multiplier is of one record's norm, and a replaced record moves the sum by two of them: so the
    privacy loss distribution counts. The Renyi accountant counts one: no rival here is given noise by it."""
    event, mu = dp_accounting.GaussianDpEvent(4.0), 2.0 / 4.0
    assert PLDAccountant(RELATION.REPLACE_ONE).compose(event).get_epsilon(1e-5) == pytest.approx(
        epsilon_of(mu, 1e-5), rel=1e-3
    )
    renyi = [RdpAccountant(None, which).compose(event).get_epsilon(1e-5) for which in RELATION]
    assert renyi == pytest.approx([renyi[0]] * 3, rel=1e-9)
    assert renyi[0] < epsilon_of(mu, 1e-5)


def test_zero_out_is_to_dp_accounting_what_add_or_remove_is() -> None:
    """jax-privacy calibrates by the first, Opacus states the second."""
    event = dp_accounting.PoissonSampledDpEvent(0.2, dp_accounting.GaussianDpEvent(3.0))
    found = [
        PLDAccountant(which).compose(event, 20).get_epsilon(1e-5)
        for which in (RELATION.REPLACE_SPECIAL, RELATION.ADD_OR_REMOVE_ONE)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_objective_perturbation_without_curvature_pays_twice_the_delta_of_gaussian_dp() -> None:
    """The distance |N(0, 1)| has two tails where the Gaussian mechanism has one."""
    for epsilon, ratio in ((0.1, 0.03), (1.0, 0.25), (8.0, 1.6)):
        alone = objective.delta_of(epsilon, 0.0, ratio, 1.0)
        assert alone == pytest.approx(2.0 * delta_of(ratio, epsilon), rel=1e-6)
        replaced = objective.delta_of(epsilon, 0.0, ratio / 2.0, 2.0)
        assert replaced == pytest.approx(2.0 * delta_of(ratio, epsilon), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_no_record_tells_itself_from_none_better_than_objective_perturbation_promises(epsilon: float) -> None:
    """One weight: the density of the minimizer is known, so delta is an integral. Other records push the
    weight to where the slope of the record is 1/2, or nearly 1."""
    delta, share = 1e-3, 0.05
    ridge = objective.CURVATURE / math.expm1(share * epsilon)
    sigma = objective.noise_scale(epsilon, delta, share * epsilon, 1.0)
    for push, least in ((0.0, 0.0), (-20.0 * sigma - 10.0 * ridge, delta / 4.0)):
        w = (np.linspace(-1.0, 1.0, 100_001) * (12.0 * sigma + 2.0) + push) / ridge

        def density(present: float, w: np.ndarray = w, push: float = push) -> np.ndarray:
            noise = present * expit(-w) + push - ridge * w
            bend = present * expit(w) * expit(-w)
            found = np.exp(-((noise / sigma) ** 2) / 2.0) * (bend + ridge)
            return np.asarray(found / found.sum())

        pairs = ((density(1.0), density(0.0)), (density(0.0), density(1.0)))
        lost = max(np.maximum(one - math.exp(epsilon) * other, 0.0).sum() for one, other in pairs)
        assert least < lost <= delta


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_replaced_records_far_on_the_wrong_side_are_the_gaussian_mechanism(epsilon: float) -> None:
    """Two opposite records of slope 1: the minimizer is Gaussian and moves by 2/lambda."""
    delta, bent = 1e-3, 0.01 * epsilon
    lost = delta_of(2.0 / objective.noise_scale(epsilon, delta, bent, 2.0), epsilon)
    assert delta / 3.0 < lost <= delta


@pytest.mark.parametrize("relation", contenders.RELATIONS)
def test_adassp_spends_the_whole_of_mu_on_what_a_record_can_move(relation: str, numbers: Regression) -> None:
    asked, rng = Query(numbers, 1.0, relation), np.random.default_rng(8)
    noise = np.array(adassp.scales(asked))
    moved = np.zeros(3)
    for _ in range(600):
        rows = rng.standard_normal((2, 2))
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        signs = rng.choice([-1.0, 1.0], 2) * (1.0, 1.0 if relation == "replace-one" else 0.0)
        rows[1] *= abs(signs[1])
        others = 3.0 * np.eye(2)
        squares = [others + np.outer(row, row) for row in rows]
        least = [np.linalg.eigvalsh(each)[0] for each in squares]
        products = rows * signs[:, None]
        found = (
            least[0] - least[1],
            np.linalg.norm(squares[0] - squares[1]),
            np.linalg.norm(products[0] - products[1]),
        )
        moved = np.maximum(moved, np.abs(found))
    assert np.sum((moved[1:] / noise[1:]) ** 2) == pytest.approx(2.0 / 3.0 * asked.mu**2, rel=0.02)
    assert moved[0] <= 1.0
    assert 1.0 / noise[0] ** 2 == pytest.approx(asked.mu**2 / 3.0)


BY_HAND = ("DP-GD", "DP-SGD, tuned", "double-noise", "objective", "private GD", "AdaSSP")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in contenders.CONTENDERS if name.startswith(BY_HAND)])
def test_every_contender_learns_with_a_large_budget(
    name: str, signs: Classification, numbers: Regression, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("STEPS", "RATES", "MOMENTA"):
        short = {"STEPS": (10, 40), "RATES": (16.0, 64.0), "MOMENTA": (0.0,)}
        monkeypatch.setattr(f"benchmarks.leaderboard.descents.{module}", short[module])
    for board in (signs, numbers):
        taking_part = contenders.of(board)
        if name in taking_part:
            judged, _ = taking_part[name](Query(board, 8.0, "replace-one"), [3000, 3001])
            assert max(loss for loss, _ in judged) < 0.7 * board.judge(np.zeros(4))[0]


def test_a_tuned_rival_is_shown_at_the_setting_that_is_best_on_the_seeds_shown(signs: Classification) -> None:
    asked, best = Query(signs, 1.0, "zero-out"), np.array([3.0, -2.0, 1.0, 0.0])

    def fit(factor: float, seed: int) -> list[np.ndarray]:
        """The trials prefer the setting that fails on the seeds shown."""
        return [np.full(4, -9.0), (factor if seed >= 3000 else 10.0 - factor) * best]

    judged, setting, end = tuned(asked, [-1.0, 0.0, 1.0, 5.0], fit, [3000, 3001], kept=3)
    assert (setting, end) == (5.0, 1)
    assert len(judged) == 2
    assert shortlist(np.array([[np.nan, 2.0], [1.0, np.inf]]), 2) == [(1, 0), (0, 1)]


def test_the_page_shows_the_stored_cells() -> None:
    begin, end = marks("leaderboard")
    shown = (PAGES / "leaderboard.md").read_text(encoding="utf-8").split(begin)[1].split(end)[0]
    assert list(page.section(stored("leaderboard")["cells"])) == shown.strip().splitlines()[2:], "stale"
