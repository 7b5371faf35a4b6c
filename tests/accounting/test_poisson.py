"""Poisson batches under zero-out: priced by the sampled Gaussian's own moments, and nowhere else."""

from __future__ import annotations

import math
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from scipy import integrate

from sottovoce.accounting import Budget, Draw, Ledger, QueryKind, Renyi, SubsampledGaussianEvent
from sottovoce.accounting.renyi import exchange as prices
from sottovoce.accounting.renyi.poisson import sampled_gaussian
from sottovoce.errors import ParameterError, UnsupportedEvent

ADDED = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
ZERO_OUT = Budget(2.0, 1e-6, "zero-out")


def event(batch: int, population: int, scale: float, draw: Draw = Draw.POISSON) -> SubsampledGaussianEvent:
    return SubsampledGaussianEvent(QueryKind.GRADIENT, 1.0, scale, 1, 0.0, batch, population, draw)


def divergences(order: float, mu: float, rate: float) -> tuple[float, float]:
    """Of the mixture from the Gaussian and back, by numerical integration."""

    def moment(power: float) -> float:
        def integrand(x: float) -> float:
            ratio = math.log(1 - rate + rate * math.exp(mu * x - mu * mu / 2))
            return math.exp(-x * x / 2 + power * ratio) / math.sqrt(2 * math.pi)

        reach = 12 + mu * abs(power)
        return float(integrate.quad(integrand, -reach, reach, epsabs=0, epsrel=1e-11, limit=400)[0])

    return math.log(moment(order)) / (order - 1), math.log(moment(1 - order)) / (order - 1)


@pytest.mark.parametrize("order", [2, 3, 5.5, 8, 16])
@pytest.mark.parametrize(("mu", "rate"), [(0.3, 0.01), (1.0, 0.1), (0.05, 0.5), (2.0, 0.001)])
def test_the_price_is_at_least_both_divergences_and_exact_at_whole_orders(
    order: float, mu: float, rate: float
) -> None:
    population = 100_000
    price = sampled_gaussian(order, mu * mu, round(rate * population), population)
    forth, back = divergences(order, mu, rate)
    assert price >= max(forth, back) * (1 - 1e-8)
    if order == int(order):
        assert price <= forth * (1 + 1e-5) + 1e-12


@pytest.mark.parametrize("order", [2, 10, 40, 64])
@pytest.mark.parametrize(("scale", "rate"), [(0.8, 0.01), (2.0, 0.002), (30.0, 0.05), (5.0, 0.3)])
def test_dp_accounting_agrees_under_add_or_remove(order: int, scale: float, rate: float) -> None:
    """Sensitivity 1 against GaussianDpEvent's 1: under this relation it has no hidden factor of 2."""
    sampled = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(scale))
    accountant = RdpAccountant([order], ADDED).compose(sampled)
    theirs = float(accountant._rdp[0])
    ours = sampled_gaussian(order, 1.0 / scale**2, round(rate * 10_000), 10_000)
    assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-12)


def test_a_replaced_record_in_a_batch_of_fixed_size_costs_more_than_one_zeroed_out() -> None:
    """At its own distance, twice as far, a fixed batch of a hundredth costs at least four times as much."""
    currency = Renyi(16.0)
    poisson = currency.price(event(100, 10_000, 8.0))
    fixed = currency.price(event(100, 10_000, 4.0, Draw.FIXED))
    assert fixed > 4 * poisson


def test_prices_grow_with_the_rate_and_end_at_the_plain_one() -> None:
    order, mu_squared = Fraction(12), Fraction(1, 9)
    found = [prices.batched(order, mu_squared, size, 1000, Draw.POISSON) for size in (1, 10, 100, 500, 1000)]
    assert found == sorted(found)
    assert found[-1] == prices.gaussian(order, mu_squared)


def test_what_a_multiplier_buys_costs_no_more_than_it_was_given() -> None:
    currency = Renyi(20.0)
    for units in (2**30, 2**40, 2**48):
        for batch in (1, 50, 999, 1000):
            multiplier = currency.multiplier(units, batch, 1000, Draw.POISSON)
            assert currency.price(event(batch, 1000, multiplier)) <= units
            assert multiplier <= currency.multiplier(units, batch, 1000)


def test_a_poisson_batch_has_no_price_under_replacement() -> None:
    replacing = Ledger(Budget(2.0, 1e-6), currency="renyi", order=16.0)
    for charge in (replacing.charge, replacing.run(Budget(1.0, 1e-7)).charge):
        with pytest.raises(UnsupportedEvent, match="zero-out alone"):
            charge(event(10, 1000, 5.0))
    assert not replacing.history
    with pytest.raises(UnsupportedEvent, match="no price in a gdp ledger"):
        Ledger(ZERO_OUT).charge(event(10, 1000, 5.0))
    with pytest.raises(ParameterError, match="draw"):
        event(10, 1000, 5.0, "bootstrap")  # type: ignore[arg-type]


def test_the_statement_names_the_accountant(tmp_path) -> None:
    ledger = Ledger.create(tmp_path / "l.db", dataset="a", cap=ZERO_OUT, currency="renyi", order=16.0)
    ledger.charge(event(10, 1000, 5.0))
    ledger.charge(event(10, 1000, 5.0, Draw.FIXED))
    lines = ledger.verify().lines
    assert "gradient of a Poisson batch (Mironov, Talwar & Zhang 2019" in lines[-2]
    assert "gradient of a batch (Wang, Balle & Kasiviswanathan 2019" in lines[-1]
    assert [grant.event.draw for grant in ledger.history] == [Draw.POISSON, Draw.FIXED]  # type: ignore[union-attr]
    assert np.isfinite(ledger.units_left)
