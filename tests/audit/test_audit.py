"""An audit never accuses the innocent beyond its stated error, and notices what is broken."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.accounting.gdp import mu_of
from sottovoce.audit.attack import Audit, audit, audit_mechanism
from sottovoce.audit.bounds import Rates, clopper_pearson, mu_of_guesses, prove
from sottovoce.audit.canary import CanaryShape
from sottovoce.methods.majorize import Majorize

CLAIM = sv.Budget(1.0, 1e-2)
MU = mu_of(1.0, 1e-2)


def normal(mu: float, seed: int = 0):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    return lambda second, trial: mu * second + float(rng.standard_normal())


@pytest.mark.parametrize(("found", "among"), [(0, 10), (1, 10), (5, 10), (10, 10), (3, 4000), (2000, 4000)])
def test_clopper_pearson_is_exact(found: int, among: int) -> None:
    low, high = clopper_pearson(found, among, 1e-3)
    if found:
        assert stats.binom.sf(found - 1, among, low) == pytest.approx(1e-3, rel=1e-6)
    if found < among:
        assert stats.binom.cdf(found, among, high) == pytest.approx(1e-3, rel=1e-6)
    assert 0.0 <= low <= found / among <= high <= 1.0


def test_bounds_from_known_rates_are_the_definitions() -> None:
    sure = Rates(
        true_positive_at_least=0.8,
        false_positive_at_most=0.1,
    )
    assert sure.epsilon(0.0) == pytest.approx(math.log(8.0))
    assert sure.epsilon_of_negatives(0.1) == pytest.approx(math.log(0.8 / 0.2))
    useless = Rates.at(0.0, np.zeros(9), np.zeros(9), 0.9)
    assert useless.epsilon(0.1) == 0.0


def test_mu_is_bounded_by_how_many_runs_are_told_right() -> None:
    """600 of 1,000 right: the share that 600 or more would exceed with probability 1e-3, twice as a z."""
    here, there = np.repeat([0.0, 1.0], [300, 200]), np.repeat([1.0, 0.0], [300, 200])
    share = stats.beta.ppf(1e-3, 600, 401)
    assert mu_of_guesses(0.5, here, there, 0.999) == pytest.approx(2.0 * stats.norm.ppf(share))
    assert mu_of_guesses(0.5, there, here, 0.999) == 0.0
    assert mu_of_guesses(0.5, np.zeros(500), np.ones(500), 0.999) < math.inf


def test_bounds_exceed_the_truth_no_more_often_than_stated() -> None:
    """300 audits of a mechanism that is exactly as private as it claims, at 90 %: each bound is allowed 30
    mistakes; more than 60 have probability below 1e-6."""
    rng = np.random.default_rng(1)
    wrong = np.zeros(2)
    for _ in range(300):
        proof = prove(rng.normal(size=1000), MU + rng.normal(size=1000), delta=1e-2, confidence=0.9)
        wrong += (proof.epsilon_at_least > 1.0, proof.mu_at_least > MU)
    assert np.all(wrong <= 60)


def test_randomized_response_is_measured_almost_tightly_by_clopper_pearson() -> None:
    rng = np.random.default_rng(2)
    keep = math.e / (1.0 + math.e)
    found = audit_mechanism(
        lambda second, trial: float((rng.random() < keep) == second),
        sv.Budget(1.0, 1e-9),
        runs=40_000,
        gaussian=False,
    )
    assert 0.88 < found.epsilon_at_least <= 1.0
    assert not found.flagged


def test_gaussian_noise_is_measured_almost_tightly_and_20_percent_less_is_flagged() -> None:
    sound = audit_mechanism(normal(MU), CLAIM, runs=20_000)
    assert 0.75 * MU < sound.mu_at_least <= MU
    assert 0.0 < sound.gaussian_epsilon_at_least <= 1.0
    assert not sound.flagged
    broken = audit_mechanism(normal(MU / 0.8), CLAIM, runs=20_000)
    assert broken.mu_at_least > MU
    assert broken.gaussian_epsilon_at_least > 1.0
    assert broken.flagged


def test_two_thousand_runs_notice_a_third_of_the_noise() -> None:
    """Size of the command line's default: thresholds must be well chosen from 100 scores on each side."""
    assert audit_mechanism(normal(3.0 * MU), CLAIM, runs=2000).flagged
    assert audit_mechanism(normal(MU), CLAIM, runs=2000).mu_at_least > 0.2 * MU


def test_a_mechanism_without_noise_is_flagged_by_both_bounds() -> None:
    found = audit_mechanism(lambda second, trial: float(second), CLAIM, runs=2000)
    assert found.epsilon_at_least > 1.0
    assert found.mu_at_least > MU
    assert "REFUTED" in str(found)


def test_a_method_keeps_its_claim_and_a_broken_one_does_not() -> None:
    quick = Majorize(steps=1)
    shape = CanaryShape(dim=1)
    sound = audit(quick, CLAIM, shape=shape, runs=200)
    assert not sound.flagged
    assert "not refuted" in str(sound)
    broken = audit(quick, CLAIM, shape=shape, runs=200, noise_factor=0.1)
    assert broken.flagged
    assert "noise times 0.1" in broken.subject


@pytest.mark.parametrize("runs", [400, pytest.param(4_000, marks=pytest.mark.slow)])
def test_the_attack_on_a_full_pass_method_is_as_strong_as_its_budget(runs: int) -> None:
    """The likelihood ratio of `2opt-ls`, whose every answer is a gradient at the canary, shows mu itself:
    its scores over one data set have standard deviation mu (four deviations of what is estimated are allowed;
    the seeds are fixed)."""
    from sottovoce.audit.attack import Trial, goal_for
    from sottovoce.audit.canary import Tap
    from sottovoce.methods.registry import by_name

    pair, method = CanaryShape().pair(), by_name("2opt-ls")
    goal = goal_for(method, pair[0].problem, CLAIM, sv.Tolerance(gradient=0.5, curvature=0.5), 0.99, "tight")
    trial = Trial(method, goal, CLAIM, False)
    scores = [trial.score(pair, False, Tap.seeded(seed, 1.0), seed) for seed in range(runs)]
    assert 0.5 * MU < np.std(scores) < (1.0 + 4.0 / math.sqrt(2.0 * runs)) * MU
    assert np.mean(scores) == pytest.approx(-np.var(scores) / 2.0, abs=5.0 * MU / math.sqrt(runs))


def test_a_mini_batch_method_is_scored_by_its_weights_and_claims_no_mu() -> None:
    found = audit(
        "opt-b",
        sv.Budget(3.0, 1e-2),
        runs=200,
        tolerance=sv.Tolerance(gradient=0.5, curvature=0.5),
        shape=CanaryShape(n=400),
    )
    assert found.mu is None
    assert not found.flagged


def test_exact_noise_can_be_audited() -> None:
    found = audit(
        Majorize(steps=1), CLAIM, runs=200, exact=True, shape=CanaryShape(dim=1, loss=sv.losses.PseudoHuber())
    )
    assert not found.flagged


def test_an_audit_is_written_for_people_and_for_programs() -> None:
    found = audit_mechanism(normal(0.1), CLAIM, runs=400, subject="a coin")
    assert str(found).startswith("audit of a coin: 400 runs, confidence 99.9 %")
    assert json.loads(json.dumps(found.to_dict()))["flagged"] is False
    assert isinstance(found, Audit)


@pytest.mark.parametrize(
    "bad",
    [
        {"runs": 10},
        {"runs": True},
        {"runs": 1e4},
        {"confidence": 1.0},
        {"confidence": 0.1},
        {"confidence": 0.8},
        {"confidence": 1},
    ],
)
def test_meaningless_audits_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(sv.errors.ParameterError, match="must be"):
        audit_mechanism(normal(0.1), CLAIM, **bad)  # type: ignore[arg-type]
    with pytest.raises(sv.errors.ParameterError, match="100 runs"):
        prove(np.zeros(10), np.zeros(1000), delta=1e-2, confidence=0.9)
