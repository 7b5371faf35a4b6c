"""Prices are true ceilings, caps true floors, and each calibration fits the price it was made for."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.accounting import (
    Budget,
    Currency,
    GaussianEvent,
    Gdp,
    PureEvent,
    QueryKind,
    Renyi,
    SubsampledGaussianEvent,
    best_order,
)
from sottovoce.accounting.currency import UNITS_PER_ONE
from sottovoce.accounting.gdp import delta_of
from sottovoce.accounting.renyi.currency import ORDERS
from sottovoce.accounting.renyi.exchange import epsilon_of_renyi
from sottovoce.errors import ParameterError, UnsupportedEvent

CURRENCIES = [Gdp(), Renyi(1.7), Renyi(32), Renyi(2048)]
sizes = st.floats(1e-150, 1e150)
units_of_any_size = st.integers(0, 62).flatmap(lambda bits: st.integers(2**bits, 2 ** (bits + 1)))


def gaussian(sensitivity: float, scale: float) -> GaussianEvent:
    return GaussianEvent(QueryKind.GRADIENT, sensitivity, scale, 1, 0.0)


def batched(
    sensitivity: float, scale: float, batch: int = 10, population: int = 1000
) -> SubsampledGaussianEvent:
    return SubsampledGaussianEvent(QueryKind.GRADIENT, sensitivity, scale, 1, 0.0, batch, population)


@given(sizes, sizes)
def test_a_gaussian_price_is_the_ceiling_in_exact_arithmetic(sensitivity: float, scale: float) -> None:
    exact = (Fraction(sensitivity) / Fraction(scale)) ** 2 * UNITS_PER_ONE
    units = Gdp().price(gaussian(sensitivity, scale))
    assert units >= exact
    assert units == 1 or units - 1 < exact
    renyi = Renyi(2.5).price(gaussian(sensitivity, scale))
    assert renyi >= exact * Fraction(5, 4)
    assert renyi == 1 or renyi - 1 < exact * Fraction(5, 4)


def test_a_price_just_above_a_whole_number_is_not_rounded_down() -> None:
    """Attack: in floating point (1 + 2^-52)^2 2^50 is 2^50 + 1/2, and a ratio of 1 + 2^-53 is 1."""
    assert Gdp().price(gaussian(1.0, 1.0)) == 2**50
    assert Gdp().price(gaussian(1.0 + 2**-52, 1.0)) == 2**50 + 1
    assert Gdp().price(gaussian(1.0, 1.0 - 2**-53)) == 2**50 + 1


@pytest.mark.parametrize("currency", CURRENCIES)
def test_nothing_is_free(currency: Currency) -> None:
    assert currency.price(gaussian(1e-300, 1e300)) == 1
    assert currency.price(PureEvent(QueryKind.LINE_SEARCH, 1e-300)) == 1


@pytest.mark.parametrize("currency", CURRENCIES)
@settings(max_examples=150, deadline=None)
@given(units=units_of_any_size, sensitivity=sizes)
def test_noise_calibrated_in_floating_point_never_costs_more_than_its_units(
    currency: Currency, units: int, sensitivity: float
) -> None:
    scale = sensitivity / math.sqrt(currency.mu_squared(units))
    assert currency.price(gaussian(sensitivity, scale)) <= units
    assert currency.price(gaussian(sensitivity, scale * (1 - 2.0**-46))) >= units


@pytest.mark.long
@pytest.mark.parametrize("currency", CURRENCIES)
@settings(max_examples=150, deadline=None)
@given(units=units_of_any_size)
def test_pure_answers_calibrated_to_units_fit_and_waste_little(currency: Currency, units: int) -> None:
    epsilon = currency.pure_epsilon(units)
    assert currency.price(PureEvent(QueryKind.LINE_SEARCH, epsilon)) <= units
    assert currency.price(PureEvent(QueryKind.LINE_SEARCH, epsilon * (1 + 1e-11))) >= units


@pytest.mark.parametrize("order", [2, 16, 64])
@pytest.mark.parametrize("batch", [1, 100, 500, 1000])
def test_batch_noise_calibrated_to_units_fits_and_wastes_little(order: int, batch: int) -> None:
    currency = Renyi(order)
    for units in (1, 12345, 2**35, 2**45, 2**52):
        multiplier = currency.multiplier(units, batch, 1000)
        for sensitivity in (1.0, 0.1, 3.7e-9):
            assert currency.price(batched(sensitivity, sensitivity * multiplier, batch)) <= units
        assert currency.price(batched(1.0, multiplier * (1 - 1e-6), batch)) >= units
        assert multiplier <= 1.0 / math.sqrt(currency.mu_squared(units)) * (1 + 1e-9)


def test_small_batches_need_less_noise() -> None:
    units = Renyi(16).cap(Budget(2.0, 1e-6)) // 100
    noise = [Renyi(16).multiplier(units, batch, 10_000) for batch in (10, 100, 1000, 10_000)]
    assert noise == sorted(noise)
    assert noise[0] < 0.5 * noise[-1]


def test_a_gdp_ledger_refuses_amplification_and_names_the_alternative() -> None:
    with pytest.raises(UnsupportedEvent, match='currency="renyi"'):
        Gdp().price(batched(1.0, 1.0))
    with pytest.raises(UnsupportedEvent, match='currency="renyi"'):
        Gdp().multiplier(2**40, 10, 1000)


@pytest.mark.parametrize("currency", [Gdp(), Renyi(8)])
def test_unknown_events_are_refused(currency: Currency) -> None:
    for stranger in (None, "gradient", 1.0, object()):
        with pytest.raises(UnsupportedEvent, match="no known price"):
            currency.price(stranger)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0.05, 0.2, 1.0, 8.0, 40.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01])
def test_a_cap_keeps_the_budget_and_leaves_a_thousandth_of_delta(epsilon: float, delta: float) -> None:
    units = Gdp().cap(Budget(epsilon, delta))
    mu = math.sqrt(units / UNITS_PER_ONE)
    assert delta_of(mu, epsilon) <= 0.999 * delta
    assert delta_of(mu, epsilon) == pytest.approx(0.999 * delta, rel=1e-6)
    order = 1024 if epsilon < 1 else 64
    value = Renyi(order).cap(Budget(epsilon, delta)) / UNITS_PER_ONE
    assert epsilon_of_renyi(order, value, 0.999 * delta) == pytest.approx(epsilon, rel=1e-9)


def test_caps_fit_into_the_integers_of_a_database() -> None:
    assert Gdp().cap(Budget(1000.0, 1 - 2**-53)) < 2**63
    assert Renyi(2).cap(Budget(1000.0, 1 - 2**-53)) < 2**63


def test_a_budget_too_small_to_buy_anything_is_refused() -> None:
    with pytest.raises(ParameterError, match="too small"):
        Gdp().cap(Budget(1e-9, 1e-12))
    with pytest.raises(ParameterError, match="best_order"):
        Renyi(2).cap(Budget(0.1, 1e-6))


def test_a_gdp_price_of_a_pure_answer_is_not_the_zcdp_one() -> None:
    units = Gdp().price(PureEvent(QueryKind.LINE_SEARCH, 0.01))
    assert units / UNITS_PER_ONE == pytest.approx(math.pi / 2 * 1e-4, rel=1e-4)


@pytest.mark.parametrize("bad", [1.0, 0.5, 0.0, -2.0, math.nan, math.inf, "8", None])
def test_orders_outside_the_theory_are_refused(bad: float) -> None:
    with pytest.raises(ParameterError):
        Renyi(bad)


@pytest.mark.parametrize("bad", [0, -1, 1.5, math.nan, True, None])
def test_units_must_be_positive_whole_numbers(bad: int) -> None:
    for currency in (Gdp(), Renyi(8)):
        for attempt in (currency.mu_squared, currency.pure_epsilon):
            with pytest.raises(ParameterError):
                attempt(bad)
    with pytest.raises(ParameterError):
        Renyi(8).multiplier(bad, 10, 100)


def test_a_batch_beyond_its_population_is_refused() -> None:
    with pytest.raises(ParameterError, match="exceeds"):
        Renyi(8).multiplier(2**40, 101, 100)


def test_currencies_are_frozen_values() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Renyi(8).order = 9.0  # type: ignore[misc]
    assert Renyi(8) == Renyi(8.0)
    assert Gdp() == Gdp()


def test_the_best_order_fills_the_cap_least() -> None:
    budget, plan = Budget(1.0, 1e-6), [(batched(1.0, 5.0), 1000), (gaussian(1.0, 50.0), 1)]

    def filled(order: float) -> float:
        spent = sum(times * Renyi(order).price(event) for event, times in plan)
        return spent / Renyi(order).cap(budget)

    best = best_order(budget, plan)
    assert all(filled(best) <= filled(order) for order in (best - 1, best + 1, 16, 32, 64, 128))


def test_smaller_budgets_take_higher_orders() -> None:
    plan = [(gaussian(1.0, 50.0), 1)]
    orders = [best_order(Budget(epsilon, 1e-6), plan) for epsilon in (0.05, 0.2, 1.0, 5.0)]
    assert orders == sorted(orders, reverse=True)
    assert set(orders) <= set(ORDERS)


def test_an_empty_plan_or_a_hopeless_budget_has_no_best_order() -> None:
    with pytest.raises(ParameterError, match="empty"):
        best_order(Budget(1.0, 1e-6), [])
    with pytest.raises(ParameterError, match="gdp"):
        best_order(Budget(1e-4, 1e-12), [(gaussian(1.0, 50.0), 1)])
