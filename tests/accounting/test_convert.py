"""Renyi and zCDP convert to (epsilon, delta) without promising too much."""

from __future__ import annotations

import math

import pytest
from dp_accounting.rdp import compute_epsilon
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from sottovoce.accounting.gdp import delta_of, mu_of
from sottovoce.accounting.renyi.exchange import (
    delta_tight,
    epsilon_of_renyi,
    renyi_of,
    rho_published,
    rho_tight,
)
from sottovoce.errors import ParameterError

EPSILONS = (1e-3, 0.2, 0.6, 1.0, 5.0, 50.0)
DELTAS = (1e-12, 1e-6, 1 / 495141, 1e-2)


def delta_at(order: mpf, rho: float, epsilon: float) -> mpf:
    value = mp.exp((order - 1) * (order * rho - epsilon)) / (order - 1) * (1 - 1 / order) ** order
    return +value


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_papers_formula_is_the_papers(epsilon: float, delta: float) -> None:
    rho = rho_published(epsilon, delta)
    tail = mp.log(1 / mpf(delta))
    assert rho == pytest.approx(float((mp.sqrt(epsilon + tail) - mp.sqrt(tail)) ** 2), rel=1e-9)
    assert rho + 2.0 * math.sqrt(-rho * math.log(delta)) == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_published_is_below_tight_is_below_the_exact_gaussian_budget(epsilon: float, delta: float) -> None:
    assert 2 * rho_published(epsilon, delta) < 2 * rho_tight(epsilon, delta) < mu_of(epsilon, delta) ** 2


def test_the_exact_budget_halves_the_papers_variance_at_a_fifth() -> None:
    ratio = mu_of(0.2, 1 / 495141) ** 2 / (2 * rho_published(0.2, 1 / 495141))
    assert ratio == pytest.approx(2.0, abs=0.02)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(st.floats(-3, 1.7), st.floats(-12, -2))
def test_tight_rho_is_justified_by_some_order_and_no_order_allows_more(
    log_epsilon: float, log_delta: float
) -> None:
    epsilon, delta = 10**log_epsilon, 10**log_delta
    rho = rho_tight(epsilon, delta)
    with mp.workdps(40):
        # Golden-section in the logarithm of order - 1, independent of the derivative the code follows.
        low, high = mpf(-30), mp.log((epsilon + 2) / rho)
        ratio = (mp.sqrt(5) - 1) / 2
        for _ in range(120):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            if delta_at(1 + mp.exp(left), rho, epsilon) < delta_at(1 + mp.exp(right), rho, epsilon):
                high = right
            else:
                low = left
        best = 1 + mp.exp(low)
        assert delta_at(best, mpf(rho), epsilon) <= delta
        more = mpf(rho) * (1 + mpf("1e-7"))
        assert all(delta_at(1 + mp.exp(low + mpf(k) / 1000), more, epsilon) > delta for k in range(-50, 51))


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.5, 10.0])
def test_tight_delta_never_undercuts_a_gaussian_with_that_rho(rho: float) -> None:
    for epsilon in (0.5, 1.0, 4.0, 30.0):
        assert delta_tight(rho, epsilon) >= delta_of(math.sqrt(2 * rho), epsilon)


@pytest.mark.parametrize("order", [1.5, 2, 7, 32, 256, 4096])
@pytest.mark.parametrize("value", [0.01, 0.3, 4.0])
def test_epsilon_of_renyi_is_what_dp_accounting_says(order: float, value: float) -> None:
    for delta in (1e-12, 1e-6, 1e-3):
        theirs, _ = compute_epsilon([order], [value], delta)
        assert epsilon_of_renyi(order, value, delta) == pytest.approx(theirs, rel=1e-12, abs=1e-13)


@settings(max_examples=200, deadline=None)
@given(st.floats(1.5, 5000), st.floats(-2, 1.7), st.floats(-12, -2))
def test_the_renyi_budget_is_the_largest_that_fits(
    order: float, log_epsilon: float, log_delta: float
) -> None:
    epsilon, delta = 10**log_epsilon, 10**log_delta
    with mp.workdps(40):
        exact = epsilon + mp.log(mpf(delta) * mpf(order)) / (mpf(order) - 1) - mp.log(1 - 1 / mpf(order))
    assume(exact >= 1e-6)
    value = renyi_of(order, epsilon, delta)
    assert value <= exact
    assert exact - value < 1e-12 * (1 + epsilon + abs(math.log(delta)) / (order - 1))


def test_an_order_too_low_for_the_budget_is_refused_with_a_way_out() -> None:
    with pytest.raises(ParameterError, match="best_order"):
        renyi_of(4, 0.2, 1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, 0.0])
def test_meaningless_numbers_are_refused(bad: float) -> None:
    for attempt in (
        lambda: rho_published(bad, 1e-6),
        lambda: rho_published(1.0, bad),
        lambda: rho_tight(bad, 1e-6),
        lambda: delta_tight(bad, 1.0),
        lambda: epsilon_of_renyi(bad, 1.0, 1e-6),
        lambda: renyi_of(2.0, 1.0, bad),
    ):
        with pytest.raises(ParameterError):
            attempt()


def test_order_one_and_delta_one_are_refused() -> None:
    with pytest.raises(ParameterError):
        epsilon_of_renyi(1.0, 1.0, 1e-6)
    with pytest.raises(ParameterError):
        rho_tight(1.0, 1.0)
