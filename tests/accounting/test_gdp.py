"""(epsilon, delta) and mu are exchanged exactly, and rounded to the safe side."""

from __future__ import annotations

import math

import dp_accounting
import pytest
from dp_accounting import pld, rdp
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from sottovoce.accounting.gdp import delta_of, epsilon_of, erfcx, log_normal, mu_of, mu_of_pure
from sottovoce.errors import ParameterError

EPSILONS = (1e-3, 1e-2, 0.2, 0.6, 1.0, 3.0, 10.0, 50.0)
DELTAS = (1e-12, 1e-9, 1e-6, 1e-4, 1e-2)
GRID = [(epsilon, delta) for epsilon in EPSILONS for delta in DELTAS]


def exact_delta(mu: float, epsilon: float) -> mpf:
    with mp.workdps(80):
        mu, epsilon = mpf(mu), mpf(epsilon)
        upper, lower = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
        first = mp.erfc(-upper / mp.sqrt(2)) / 2
        return +(first - mp.exp(epsilon) * mp.erfc(-lower / mp.sqrt(2)) / 2)


def exact_mu(epsilon: float, delta: float) -> mpf:
    """Newton-free: bisection in high precision from a double-precision bracket."""
    with mp.workdps(40):
        guess = mpf(mu_of(epsilon, delta))
        low, high = guess * (1 - mpf("1e-6")), guess * (1 + mpf("1e-6"))
        assert exact_delta(low, epsilon) < delta < exact_delta(high, epsilon)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if exact_delta(middle, epsilon) <= delta else (low, middle)
        return low


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_mu_is_exact_to_nine_digits_and_never_above(epsilon: float, delta: float) -> None:
    mu = mu_of(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta
    assert float(1 - mu / exact_mu(epsilon, delta)) < 1e-9


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_delta_agrees_with_high_precision(epsilon: float, delta: float) -> None:
    for factor in (0.5, 0.9, 1.0, 1.1, 2.0):
        mu = factor * mu_of(epsilon, delta)
        if exact_delta(mu, epsilon) > 1e-280:
            assert delta_of(mu, epsilon) == pytest.approx(float(exact_delta(mu, epsilon)), rel=1e-11)


@settings(max_examples=300, deadline=None)
@given(st.floats(-12, 3), st.floats(-200, -1e-3))
def test_mu_is_safe_and_sharp_over_every_budget_that_can_be_written(
    log_epsilon: float, log_delta: float
) -> None:
    epsilon, delta = 10**log_epsilon, 10**log_delta
    mu = mu_of(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta
    assert exact_delta(mu * (1 + 1e-8), epsilon) > delta


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_epsilon_undoes_mu_and_is_never_too_small(epsilon: float, delta: float) -> None:
    mu = mu_of(epsilon, delta)
    back = epsilon_of(mu, delta)
    assert back == pytest.approx(epsilon, rel=1e-8)
    assert exact_delta(mu, back) <= delta


def test_epsilon_is_zero_where_total_variation_alone_fits() -> None:
    assert epsilon_of(1e-3, 1e-2) == 0.0


def test_the_design_values_hold() -> None:
    for epsilon, mu in ((0.2, 0.054951), (0.6, 0.152760), (1.0, 0.245186)):
        assert mu_of(epsilon, 1 / 495141) == pytest.approx(mu, abs=5e-7)


def test_dp_accounting_reads_noise_as_we_think() -> None:
    """Canary: one event means sensitivity 1 to the Renyi accountant and 2 to the PLD accountant."""
    relation = dp_accounting.NeighboringRelation.REPLACE_ONE
    event = dp_accounting.GaussianDpEvent(1.0)
    renyi = rdp.RdpAccountant(neighboring_relation=relation).compose(event).get_epsilon(1e-5)
    losses = pld.PLDAccountant(neighboring_relation=relation).compose(event).get_epsilon(1e-5)
    assert renyi == pytest.approx(4.7285, abs=1e-4)
    assert losses == pytest.approx(9.9973, abs=1e-4)
    assert epsilon_of(2.0, 1e-5) == pytest.approx(losses, rel=1e-4)
    assert epsilon_of(1.0, 1e-5) < renyi


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_epsilon_agrees_with_the_privacy_loss_distribution(mu: float) -> None:
    added = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    accountant = pld.PLDAccountant(neighboring_relation=added)
    accountant.compose(dp_accounting.GaussianDpEvent(1.0 / mu))
    for delta in (1e-9, 1e-6, 1e-3):
        assert epsilon_of(mu, delta) == pytest.approx(accountant.get_epsilon(delta), abs=2e-4)


@settings(max_examples=300, deadline=None)
@given(st.floats(-8, math.log10(700)))
def test_pure_price_covers_the_exact_one_by_a_hair(log_epsilon: float) -> None:
    epsilon = 10**log_epsilon
    with mp.workdps(50):
        # Phi(-mu/2) <= 1/(1 + e^epsilon) exactly when mu is large enough.
        corner = 1 / (1 + mp.exp(mpf(epsilon)))
        mu = mpf(mu_of_pure(epsilon))
        assert mp.erfc(mu / mp.sqrt(8)) / 2 <= corner
        smaller = mu * (1 - mpf("1e-12"))
        assert mp.erfc(smaller / mp.sqrt(8)) / 2 > corner


def test_gaussian_curve_lies_below_the_pure_one_everywhere() -> None:
    """mu-GDP of that mu promises no more than epsilon-DP does: delta_of bounds hold at every order."""
    for epsilon in (0.05, 0.5, 2.0, 8.0):
        mu = mu_of_pure(epsilon)
        for step in range(100):
            at = epsilon * step / 100
            # The largest delta of epsilon-DP at a smaller epsilon: randomized response attains it.
            attained = (math.exp(epsilon) - math.exp(at)) / (1 + math.exp(epsilon))
            assert attained <= delta_of(mu, at) * (1 + 1e-12)


def test_small_pure_answers_cost_about_half_pi_epsilon_squared() -> None:
    assert mu_of_pure(1e-4) ** 2 == pytest.approx(math.pi / 2 * 1e-8, rel=1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, 0.0, "1", None, True])
def test_meaningless_numbers_are_refused(bad: float) -> None:
    with pytest.raises(ParameterError):
        delta_of(bad, 1.0)
    with pytest.raises(ParameterError):
        mu_of(1.0, bad)
    with pytest.raises(ParameterError):
        mu_of_pure(bad)


@pytest.mark.parametrize("delta", [1.0, 1.5, 1e-300])
def test_deltas_that_cannot_be_resolved_are_refused(delta: float) -> None:
    with pytest.raises(ParameterError):
        mu_of(1.0, delta)


@pytest.mark.parametrize(
    "x", [-0.5, -0.02, 0.0, 1e-9, 0.3, 1.7, 3.9, 3.9933322608992983, 4.0, 4.3, 7.0, 26.0, 40.0, 1e9]
)
def test_the_scaled_error_function_is_exact_to_some_units_in_the_last_place(x: float) -> None:
    with mp.workdps(60):
        exact = mp.exp(mpf(x) ** 2) * mp.erfc(mpf(x)) if x < 1e3 else 1 / (mp.sqrt(mp.pi) * x)
        assert abs(erfcx(x) / exact - 1) < 8e-16


@pytest.mark.parametrize("x", [-40.0, -8.0, -1.0, -0.1, 0.0, 0.1, 1.0, 4.0, 8.0])
def test_the_logarithm_of_the_normal_law_is_exact_in_both_tails(x: float) -> None:
    with mp.workdps(60):
        exact = mp.log(mp.erfc(-mpf(x) / mp.sqrt(2)) / 2)
        assert abs(log_normal(x) / exact - 1) < 1e-14
