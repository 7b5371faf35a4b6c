"""`adapt`: what it learns, what it promises, and what it costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

import sottovoce as sv
from sottovoce.errors import ParameterError
from sottovoce.methods.adapt import Adapt
from sottovoce.methods.adapt.coordinates import Coordinates, Prior, Spreads, together
from sottovoce.methods.adapt.descent import share
from sottovoce.methods.adapt.posterior import GradientObservation, Posterior, SecantCurvature
from sottovoce.methods.adapt.second_moments import SecondMoments
from sottovoce.methods.expected_excess import ExpectedExcess
from sottovoce.methods.logistic_model import LIMITS, log_odds, secants
from sottovoce.planning.dry_run import Planned
from sottovoce.queries import Moments
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
    found = sv.minimize(risk, budget=BUDGET, method="adapt", simulate=0, ledger=sv.Ledger(BUDGET))
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
    for wrong in ({"steps": 0}, {"gram_share": 0.0}, {"measure_share": 0.5}):
        with pytest.raises(ParameterError):
            Adapt(**wrong)  # type: ignore[arg-type]


def test_shares_grow_and_add_up() -> None:
    left, paid = 1.0, []
    for step in range(30):
        paid.append(left * share(step, 30))
        left -= paid[-1]
    assert left == pytest.approx(0.0, abs=1e-12)
    assert np.all(np.diff(paid) > 0.0)


def test_a_strong_signal_takes_more_steps_where_answers_are_precise_and_only_there() -> None:
    rng = np.random.default_rng(21)
    X = rng.normal(size=(20_000, 3)) / 6.0
    taken = {}
    for strength, epsilon in ((60.0, 12.0), (60.0, 0.1), (6.0, 12.0)):
        y = np.where(rng.random(20_000) < 1.0 / (1.0 + np.exp(-strength * X[:, 0])), 1, -1)
        risk = sv.Risk(sv.Records.from_arrays(X, y, labels=(-1, 1)), sv.losses.Logistic())
        run = sv.minimize(risk, budget=sv.Budget(epsilon, 1e-6), method="adapt", simulate=2)
        taken[strength, epsilon] = sum(row.kind == "adapted step" for row in run.trace)
        assert run.stop is sv.Stop.FINISHED
    assert 30 < taken[60.0, 12.0] <= 120
    assert taken[60.0, 0.1] == taken[6.0, 12.0] == 30


def table(columns: int) -> sv.Risk:
    """A risk of `columns` columns and a constant, for its public numbers alone."""
    X = np.column_stack([np.zeros((4, columns)), np.full(4, 0.5)])
    records = sv.Records.from_arrays(X, np.tile([1, -1], 2), labels=(-1, 1), constant=True)
    return sv.Risk(records, sv.losses.Logistic())


def moments(spread: np.ndarray, noise: float, seed: int = 0, centre: float = 0.0) -> Moments:
    rng = np.random.default_rng(seed)
    squares = np.append(spread + centre**2, 0.25) + noise * rng.standard_normal(spread.size + 1)
    means = np.append(np.full(spread.size, centre), 0.5) + noise * rng.standard_normal(spread.size + 1)
    return Moments(means, squares, noise, noise, 1)


def test_columns_of_one_scale_stay_of_one_scale_however_noisy() -> None:
    problem = table(40).problem
    for seed in range(20):
        spreads = Spreads.of(moments(np.full(40, 0.02), 0.02, seed), problem)
        assert spreads.variances.max() <= 3.0 * spreads.variances.mean()
        assert spreads.variances.min() > 0.0


def test_columns_that_differ_by_chance_are_taken_for_alike() -> None:
    """Twenty tables of 40 columns of variance 0.02 seen with noise of 0.01: the mean square of 40 noises is
    two of its standard errors too large in one table of fifty or so."""
    problem = table(40).problem
    found = [Spreads.of(moments(np.full(40, 0.02), 0.01, seed), problem).variances for seed in range(20)]
    alike = [spread.max() < 1.001 * spread.min() for spread in found]
    assert sum(alike) >= 18


def test_columns_that_are_centred_are_not_moved_by_noise() -> None:
    moved = [
        float(
            np.abs(Spreads.of(moments(np.full(40, 0.02), 0.02, seed), table(40).problem).centres[:-1]).mean()
        )
        for seed in range(10)
    ]
    assert np.mean(moved) < 0.006
    far = Spreads.of(moments(np.full(40, 0.02), 0.02, 0, centre=0.4), table(40).problem)
    np.testing.assert_allclose(far.centres[:-1], 0.4, atol=0.08)


def test_spreads_far_above_the_noise_are_believed() -> None:
    truth = np.array([0.1, 0.01, 0.05, 0.2])
    np.testing.assert_allclose(Spreads.of(moments(truth, 1e-5), table(4).problem).variances, truth, rtol=0.02)


def test_a_centred_variance_is_what_is_left_of_the_square() -> None:
    truth = np.array([0.1, 0.01, 0.05, 0.2])
    found = Spreads.of(moments(truth, 1e-5, centre=0.3), table(4).problem)
    np.testing.assert_allclose(found.variances, truth, rtol=0.02)


def test_columns_below_the_noise_add_nothing_to_the_sum_of_variances() -> None:
    """Each variance is kept above 0, which doubled the sum of 100 uneven ones."""
    truth, problem = np.where(np.arange(100) < 10, 0.08, 1e-4), table(100).problem
    sums = [Spreads.of(moments(truth, 0.02, seed), problem).variances.sum() for seed in range(20)]
    assert np.mean(sums) == pytest.approx(truth.sum(), rel=0.12)


def test_one_sum_of_squares_is_shared_evenly_and_the_constant_stays_apart() -> None:
    problem = table(4).problem
    assert together(problem).tolist() == [0, 0, 0, 0, 1]
    told = Moments(np.array([0.0, 0.0, 0.0, 0.0, 0.5]), np.array([0.4, 0.25]), 1e-4, 1e-4, 1)
    np.testing.assert_allclose(Spreads.of(told, problem).variances, 0.1, rtol=1e-3)


def test_coordinates_have_mean_square_one_and_a_cap_that_grows_with_the_budget() -> None:
    problem = table(6).problem
    prior = Prior(1.4, 1.0, 0.19, 1.2)
    found = moments(np.array([0.1, 0.01, 0.05, 0.2, 0.1, 0.3]), 1e-6)
    caps = []
    for mu in (1.0, 100.0, 1e4):
        chosen = Coordinates.chosen(found, problem, prior, mu)
        whole = chosen.diagonal / chosen.counted
        assert whole[:-1].mean() == pytest.approx(1.0)
        caps.append(chosen.preconditioner.cap / math.sqrt(whole.sum()))
    assert caps == sorted(caps)
    assert caps[0] == pytest.approx(0.9)


def matrix(moments: SecondMoments) -> np.ndarray:
    return (moments.vectors * moments.spectrum) @ moments.vectors.T


def test_second_moments_keep_what_stands_out_of_the_noise_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((60, 60))
    noise = 0.01 * (noise + noise.T) / math.sqrt(2.0) / math.sqrt(2.0)
    one = np.ones(60)
    plain = SecondMoments.of(Planned(np.eye(60) + noise, 0.01, 1), one, 1e-6 * one)
    np.testing.assert_allclose(matrix(plain), np.eye(60), atol=1e-12)
    spike = np.outer(one, one) / 60.0
    spiked = SecondMoments.of(Planned(np.eye(60) + 5.0 * spike + noise, 0.01, 1), one, 0.1 * one)
    assert np.linalg.norm(matrix(spiked) - np.eye(60) - 5.0 * spike, 2) < 0.15
    drowned = SecondMoments.of(Planned(np.eye(60) + 1000.0 * noise, 10.0, 1), one, 0.1 * one)
    assert drowned.spectrum.min() > 0.4


def test_a_diagonal_strays_from_the_one_expected_no_farther_than_by_chance() -> None:
    """Expected exactly right and said to be uncertain by a half: noise of as much moves it little, while one
    that is far off is believed."""
    one, noise = np.ones(60), 0.5 * np.random.default_rng(2).standard_normal(60)
    kept = SecondMoments.of(Planned(np.diag(one + noise), 0.5, 1), one, 0.5 * one)
    np.testing.assert_allclose(np.diag(matrix(kept)), one, atol=0.02)
    spread = np.where(np.arange(60) < 10, 4.0, 0.4)
    told = SecondMoments.of(Planned(np.diag(spread), 0.01, 1), one, 0.5 * one)
    np.testing.assert_allclose(np.diag(matrix(told)), spread, atol=0.05)


def test_a_limit_costs_more_bias_and_curvature_the_lower_it_is() -> None:
    for deviation in (0.5, 1.4, 4.0):
        odds, ways = log_odds(deviation), secants(deviation, 0.5)
        assert odds.bias[0] == 0.0
        assert np.all(np.diff(odds.bias) >= -1e-12)
        assert np.all(np.diff(ways.across) <= 1e-12)
        assert secants(deviation, 1.0).along[0] < odds.curvature <= 0.25
        # by Stein's identity the way from 0 bends along the weights as the end does across them
        assert secants(deviation, 0.0).along[0] == pytest.approx(odds.curvature, rel=1e-3)
    assert LIMITS[0] == 1.0


def test_limits_down_to_a_half_cost_next_to_no_bias_and_lower_ones_do() -> None:
    half = int(np.flatnonzero(LIMITS == 0.5)[0])
    for deviation in (0.5, 1.4, 4.0):
        bias = log_odds(deviation).bias
        assert np.all(bias[: half + 1] <= 0.002 * math.log(2.0))
        assert np.all(bias[half + 1 :] > 2.0 * bias[half])


def test_more_noise_costs_more_and_never_more_than_doing_nothing() -> None:
    model = ExpectedExcess(np.ones(20), np.full(20, 0.1), 0.19)
    found = [model.excess(noise) for noise in (1e-4, 1e-2, 1e-1, 1e3)]
    assert found == sorted(found)
    assert found[-1] == pytest.approx(model.at_stake)
    # where noise is small, half its expected square in the metric of the Hessian
    assert found[0] == pytest.approx(0.5 * 20 * 1e-8 / 0.19, rel=1e-3)


def heard(
    truth: np.ndarray,
    noise: float,
    bend: float | np.ndarray,
    steps: int,
    seed: int = 0,
    groups: np.ndarray | None = None,
    missed: float = 1e-3,
) -> tuple[Posterior, float]:
    """A posterior that heard noisy gradients of a quadratic risk, and its squared error; `missed` is the mean
    square of what S may miss of an entry."""
    rng, size = np.random.default_rng(seed), truth.size
    moments = SecondMoments(np.ones(size), np.eye(size), 1.0, missed)
    groups = np.zeros(size, dtype=np.intp) if groups is None else groups
    posterior = Posterior.prior(moments, 1.0, np.zeros(size), 1, 1.4, np.zeros_like, groups)
    curves = SecantCurvature(np.full(posterior.sizes.size, 0.2), np.full(posterior.sizes.size, 0.2), 0.25)
    u = np.zeros((1, size))
    for _ in range(steps):
        answer = 0.2 * bend * (u - truth) + noise * rng.standard_normal((1, size))
        posterior.update(GradientObservation(u, answer, noise, curves), noise)
        u = posterior.estimate
    return posterior, float(((u - truth) ** 2).sum())


def test_the_posterior_combines_answers_as_well_as_their_noise_allows() -> None:
    truth = 0.4 * np.random.default_rng(1).standard_normal(20)
    for noise, steps in ((0.2, 20), (0.3, 60), (0.5, 30)):
        reached = np.mean([heard(truth, noise, 1.0, steps, seed)[1] for seed in range(10)])
        variance = noise**2 / steps / 0.2**2
        signal = float(truth @ truth) / 20.0
        assert reached < 2.0 * 20.0 * signal * variance / (signal + variance)


def test_the_posterior_finds_curvature_that_the_second_moments_hide() -> None:
    truth = 0.4 * np.random.default_rng(1).standard_normal(20)
    for bend in (1.0, 1.5):
        posterior, error = heard(truth, 1e-3, bend, 30)
        assert error < 1e-3
        assert posterior.unknown < 0.1


def test_precise_answers_leave_no_more_in_doubt_than_before() -> None:
    """Gains that errors of H keep up once made the variance of 110 directions grow without end; then nothing
    was found too small, and the hypothesis of no signal won."""
    truth = 0.12 * np.random.default_rng(1).standard_normal(110)
    unknown = []
    for steps in (5, 15, 30, 60):
        posterior, error = heard(truth, 1e-4, 1.0, steps, missed=0.03)
        unknown.append(posterior.unknown)
        assert float(posterior.weights[posterior.sizes == posterior.sizes.min()].sum()) < 1e-3
    assert unknown == sorted(unknown, reverse=True)
    assert error < 1e-4


def test_curvature_misjudged_from_direction_to_direction_dies_out_where_answers_are_precise() -> None:
    """And only there: where they are not, the mean of all of them is worth more than the last ones."""
    truth = 0.4 * np.random.default_rng(1).standard_normal(20)
    bend = np.random.default_rng(2).uniform(0.3, 1.3, 20)
    for noise, most in ((1e-4, 2e-5), (0.03, 0.1)):
        assert np.mean([heard(truth, noise, bend, 30, seed)[1] for seed in range(5)]) < most


def ringnorm(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Breiman's ringnorm, 20 columns within eight units, with 300 random Fourier features of them."""
    rng, waves = np.random.default_rng(seed), np.random.default_rng(7)
    y = rng.integers(0, 2, n)
    X = rng.standard_normal((n, 20)) * np.where(y == 0, 2.0, 1.0)[:, None]
    X = np.clip((X + np.where(y == 0, 0.0, 2.0 / math.sqrt(20.0))[:, None]) / 8.0, -1.0, 1.0)
    length = np.exp(waves.uniform(math.log(0.15), math.log(0.6), 300)) * math.sqrt(20.0)
    fourier = np.cos(X @ (waves.standard_normal((20, 300)) / length) + waves.uniform(0.0, 2.0 * math.pi, 300))
    columns = np.hstack(
        [X / math.sqrt(21.0), fourier / math.sqrt(300.0), np.full((n, 1), 1.0 / math.sqrt(21.0))]
    )
    return columns * math.sqrt(0.5) * (1.0 - 2.0**-20), y


def test_a_larger_budget_does_not_collapse_on_wide_tables() -> None:
    """At epsilon 5 the released second moments show no direction; weighing all answers again at every step,
    as if their errors were drawn anew, once returned scores near 0 there (loss .68 in most seeds)."""
    X, y = ringnorm(5000, 0)
    held_out, labels = ringnorm(20_000, 1)
    records = sv.Records.from_arrays(X, y, labels=(0, 1), constant=True)
    risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-6))
    for seed in range(3):
        budget = sv.Budget(epsilon=5.0, delta=1e-6)
        weights = sv.minimize(risk, budget=budget, method="adapt", simulate=seed).weights
        assert np.mean(np.logaddexp(0.0, -(held_out @ weights) * (2 * labels - 1))) < 0.2


def test_what_a_hypothesis_of_residuals_found_is_not_shrunk_by_a_signal_it_denies() -> None:
    """40 hidden numbers in 200 columns: at epsilon 10 the hypothesis of no signal, whose curvature was
    nearest, found the weights and then shrank them to nothing as chance (.43, .94, .66 of the variance)."""
    law = np.random.default_rng(0)
    mix, beta = law.standard_normal((40, 200)) / math.sqrt(40.0), law.standard_normal(200)
    Z = law.standard_normal((5_000, 40)) @ mix + 0.1 * law.standard_normal((5_000, 200))
    score = (Z @ beta) / (Z @ beta).std()
    y = np.clip(0.4 * score + 0.03 * law.standard_normal(5_000), -1.0, 1.0)
    X = np.column_stack([np.clip(Z / 4.0, -1.0, 1.0), np.ones(5_000)])
    lengths = np.linalg.norm(X, axis=1)
    X /= np.maximum(np.quantile(lengths, 0.99), lengths)[:, None] * (1.0 + 2.0**-20)
    records = sv.Records.from_arrays(X, y, target=(-1.0, 1.0), constant=True)
    risk = sv.Risk(records, sv.losses.PseudoHuber(), sv.regularizers.L2(1e-6))
    for seed in range(3):
        budget = sv.Budget(epsilon=10.0, delta=1e-6)
        weights = sv.minimize(risk, budget=budget, method="adapt", simulate=seed).weights
        assert np.mean((X @ weights - y) ** 2) < 0.03 * np.var(y)


def test_noise_alone_moves_the_posterior_little() -> None:
    lengths = [float((heard(np.zeros(20), 0.5, 1.0, 30, seed)[0].estimate ** 2).sum()) for seed in range(10)]
    assert np.mean(lengths) < 0.5 * 1.4**2


def test_one_precise_answer_tells_how_strong_the_signal_is() -> None:
    for size, low, high in ((0.0, 0.0, 0.2), (0.2, 0.3, 0.9), (0.8, 1.2, 6.0)):
        truth = size * np.random.default_rng(1).standard_normal(20)
        posterior = heard(truth, 0.02, 1.0, 1)[0]
        assert low < float(posterior.weights @ posterior.sizes) < high


def test_a_group_without_signal_is_found_out_and_costs_little() -> None:
    """Of 200 columns 20 tell: told which are alike, the posterior leaves the others at 0."""
    truth, groups = np.zeros(200), np.repeat([0, 1], [20, 180])
    truth[:20] = 0.3 * np.random.default_rng(1).standard_normal(20)
    told, untold = (
        np.mean([heard(truth, 0.03, 1.0, 20, seed, known)[1] for seed in range(5)])
        for known in (groups, None)
    )
    assert told < 0.5 * untold
    assert untold < float(truth @ truth)


def test_groups_that_are_alike_lose_nothing_by_being_told_apart() -> None:
    truth, groups = 0.1 * np.random.default_rng(1).standard_normal(200), np.repeat([0, 1], 100)
    told, untold = (
        np.mean([heard(truth, 0.03, 1.0, 20, seed, known)[1] for seed in range(5)])
        for known in (groups, None)
    )
    assert told < 1.1 * untold


def test_labels_that_no_column_tells_are_told_by_the_constant() -> None:
    """What is left over the best constant is less than a third of what fitting these records without privacy
    loses (.0064); counting chance in them as signal it was nearly all of it."""
    rng = np.random.default_rng(5)
    X = np.column_stack(
        [np.clip(rng.standard_normal((23_000, 50)) / 32.0, -0.125, 0.125), np.full(23_000, 0.3)]
    )
    y = (rng.random(23_000) < 0.5).astype(int)
    records = sv.Records.from_arrays(X[:3000], y[:3000], labels=(0, 1), constant=True)
    risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-6))
    rate = float(y[3000:].mean())
    best = -rate * math.log(rate) - (1.0 - rate) * math.log(1.0 - rate)
    lost = []
    for seed in range(2):
        budget = sv.Budget(epsilon=10.0, delta=1e-6)
        scores = X[3000:] @ sv.minimize(risk, budget=budget, method="adapt", simulate=seed).weights
        lost.append(float(np.mean(np.logaddexp(0.0, -scores * (2 * y[3000:] - 1)))) - best)
    assert np.mean(lost) < 0.002


def test_the_constant_of_unequal_classes_is_not_drawn_to_zero() -> None:
    """Nothing but the constant differs from 0: with a prior of its own it is found where others are not."""
    truth, size = np.zeros((1, 40)), 40
    truth[0, -1] = 2.0
    moments = SecondMoments(np.ones(size), np.eye(size), 1.0, 1e-3)
    groups, found = np.repeat([0, 1], [39, 1]), []
    for classes in (False, True):
        posterior = Posterior.prior(
            moments, 1.0, np.zeros(size), 1, 1.4, np.zeros_like, groups, 39, classes=classes
        )
        curves = SecantCurvature(*(np.full(posterior.sizes.size, 0.2) for _ in range(2)), 0.25)
        answer = -0.2 * truth + 0.1 * np.random.default_rng(0).standard_normal((1, size))
        posterior.update(GradientObservation(np.zeros((1, size)), answer, 0.1, curves), 0.1)
        found.append(float(posterior.estimate[0, -1]))
    assert found[1] > 3.0 * found[0]
    assert found[1] > 0.6


def class_prior() -> Posterior:
    """Of thirty-nine columns and the constant of two classes."""
    moments = SecondMoments(np.ones(40), np.eye(40), 1.0, 1e-3)
    groups = np.repeat([0, 1], [39, 1])
    return Posterior.prior(moments, 1.0, np.zeros(40), 1, 1.4, np.zeros_like, groups, 39, classes=True)


def test_weights_larger_than_expected_keep_the_gain_only_where_they_are_beyond_doubt() -> None:
    posterior = class_prior()
    usual = posterior.information_gain(0.2, 0.2)
    posterior.means[:, 0, 0] = posterior.means[:, 0, 1] = 9.0
    posterior.variances[:, 0], posterior.variances[:, 1] = 1.0, 100.0
    gain = posterior.information_gain(0.2, 0.2)
    assert np.all(gain[:, 0] > 0.85)
    assert np.array_equal(gain[:, 1:], usual[:, 1:])


def test_curvature_is_that_of_the_whole_predictor() -> None:
    """The constant is part of it, though T is of the columns."""
    posterior = class_prior()
    assert np.all(posterior.deviations >= 1.4)
    posterior.means[:, 0, 39], posterior.variances[:] = 3.0, 0.0
    assert np.allclose(posterior.deviations, 3.0 * np.sqrt(posterior.factors))


def test_columns_that_tell_nothing_beside_unequal_classes_leave_the_best_constant() -> None:
    """The size of the constant is no evidence that columns have signal."""
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.standard_normal((2000, 20)) / 7.0, np.full(2000, 0.5)])
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1) * (1.0 + 1e-7))[:, None]
    records = sv.Records.from_arrays(X, (rng.random(2000) < 0.1).astype(int), labels=(0, 1), constant=True)
    risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-6))
    lost = []
    for seed in range(3):
        weights = sv.minimize(
            risk, budget=sv.Budget(epsilon=4.0, delta=1e-6), method="adapt", simulate=seed
        ).weights
        odds = 0.5 * weights[-1] + rng.standard_normal((20_000, 20)) @ weights[:-1] / 7.0
        lost.append(
            float(np.mean(np.logaddexp(0.0, odds) - 0.1 * odds)) + 0.1 * np.log(0.1) + 0.9 * np.log(0.9)
        )
    assert np.mean(lost) < 0.003
