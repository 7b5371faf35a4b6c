"""Renyi prices are those of the theorems, never less."""

from __future__ import annotations

import math
from fractions import Fraction

import dp_accounting
import pytest
from dp_accounting.rdp import RdpAccountant
from mpmath import mp, mpf

from sottovoce.accounting.renyi import exchange as rdp
from sottovoce.accounting.renyi.subsampling import subsampled_gaussian


def theorem(order: int, sigma: float, batch: int, population: int) -> mpf:
    """Wang, Balle & Kasiviswanathan 2019 for the Gaussian mechanism, by exact alternating sums.

    moment(j) = E (p/q - 1)^j for p = N(1, sigma^2), q = N(0, sigma^2); odd absolute ones by Cauchy-Schwarz;
    the factor 4 passes from two to three distributions."""
    with mp.workdps(60 + int(order * (1 + max(0.0, math.log10(sigma))))):
        rate, variance = mpf(batch) / population, mpf(sigma) ** 2
        power = [mp.exp(mpf(i * (i - 1)) / (2 * variance)) for i in range(order + 2)]

        def moment(j: int) -> mpf:
            return mp.fsum((-1) ** (j - i) * mp.binomial(j, i) * power[i] for i in range(j + 1))

        even = {j: moment(j) for j in range(2, order + 2, 2)}
        total = rate**2 * mp.binomial(order, 2) * min(4 * mp.expm1(1 / variance), 2 * power[2])
        for j in range(3, order + 1):
            middle = 4 * mp.sqrt(even[2 * (j // 2)] * even[2 * ((j + 1) // 2)])
            total += rate**j * mp.binomial(order, j) * min(middle, 2 * power[j])
        return +(mp.log1p(total) / (order - 1))


def subsampled(order: float, sigma: float, batch: int, population: int) -> float:
    return subsampled_gaussian(float(order), 1.0 / sigma**2, batch, population)


def papers_formula(order: int, sigma: float, batch: int, population: int) -> float:
    """The paper's theorem 'subsampled-rdp' for the Gaussian, which leaves out the alternating sums."""
    rate = mpf(batch) / population
    total = (
        rate**2
        * mp.binomial(order, 2)
        * min(4 * mp.expm1(1 / mpf(sigma) ** 2), 2 * mp.exp(1 / mpf(sigma) ** 2))
    )
    for j in range(3, order + 1):
        total += 2 * rate**j * mp.binomial(order, j) * mp.exp(mpf(j * (j - 1)) / (2 * mpf(sigma) ** 2))
    return float(mp.log1p(total) / (order - 1))


@pytest.mark.parametrize("order", [2, 3, 8, 33, 64])
@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.5, 20.0, 300.0, 1e5])
def test_subsampled_price_covers_the_theorem(order: int, sigma: float) -> None:
    for batch in (1, 10, 100, 500, 900):
        price, exact = subsampled(float(order), sigma, batch, 1000), theorem(order, sigma, batch, 1000)
        assert exact <= price <= exact * (1 + 2e-9)


@pytest.mark.parametrize("order", [2, 5, 8.5, 32, 64])
@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0, 15.0])
def test_subsampled_price_is_dp_accountings_where_that_does_not_cancel(order: float, sigma: float) -> None:
    for batch in (1, 10, 50):
        accountant = RdpAccountant([order], dp_accounting.NeighboringRelation.REPLACE_ONE)
        event = dp_accounting.GaussianDpEvent(sigma)
        accountant.compose(dp_accounting.SampledWithoutReplacementDpEvent(1000, batch, event))
        assert subsampled(order, sigma, batch, 1000) == pytest.approx(accountant.rdp[0], rel=1e-8)


def test_dp_accounting_falls_short_of_the_theorem_where_we_do_not() -> None:
    """Why the price is not taken from there; if this fails dp-accounting was repaired."""
    sigma = 627.3379689707049
    accountant = RdpAccountant([40], dp_accounting.NeighboringRelation.REPLACE_ONE)
    event = dp_accounting.GaussianDpEvent(sigma)
    accountant.compose(dp_accounting.SampledWithoutReplacementDpEvent(1000, 200, event))
    exact = theorem(40, sigma, 200, 1000)
    assert accountant.rdp[0] < exact * (1 - 5e-8)
    assert subsampled(40, sigma, 200, 1000) >= exact


@pytest.mark.parametrize("order", [2, 8, 32])
def test_subsampled_price_is_at_most_the_papers(order: int) -> None:
    for sigma in (0.5, 1.0, 4.0, 30.0):
        assert subsampled(order, sigma, 10, 1000) <= papers_formula(order, sigma, 10, 1000) * (1 + 2e-8)


def test_the_theorem_covers_a_subsampled_sum_of_worst_records() -> None:
    """Attack: one record in {-1/2, 1/2} of otherwise zeros, so that a batch's sum moves by 1 when replaced.

    The batch contains it with probability q: the divergence of (1-q)N(0)+qN(-1/2) and (1-q)N(0)+qN(1/2)."""
    for sigma, rate, order in ((0.5, 0.1, 4), (1.0, 0.3, 8), (2.0, 0.01, 16)):

        def density(x: mpf, centre: float, rate: float = rate, sigma: float = sigma) -> mpf:
            return (1 - rate) * mp.npdf(x, 0, sigma) + rate * mp.npdf(x, centre, sigma)

        moment = mp.quad(
            lambda x, order=order, density=density: (
                density(x, 0.5) ** order * density(x, -0.5) ** (1 - order)
            ),
            [-30, -10, -3, 0, 3, 10, 30],
        )
        assert mp.log(moment) / (order - 1) <= subsampled(order, sigma, round(rate * 1000), 1000)


@pytest.mark.parametrize(("order", "sigma", "batch"), [(128, 100.0, 300), (256, 1.5, 10)])
def test_high_orders_cover_the_theorem(order: int, sigma: float, batch: int) -> None:
    exact = theorem(order, sigma, batch, 1000)
    assert exact <= subsampled(order, sigma, batch, 1000) <= exact * (1 + 2e-9)


def test_orders_past_the_last_moment_cost_no_less() -> None:
    for sigma, batch in ((1.5, 10), (20.0, 100)):
        prices = [subsampled(order, sigma, batch, 1000) for order in (200, 256, 257, 300, 1024)]
        assert prices == sorted(prices)


def test_between_whole_orders_the_price_stays_between() -> None:
    below, between, above = (subsampled(order, 2.0, 10, 1000) for order in (8.0, 8.5, 9.0))
    assert below <= between <= above


def test_a_batch_of_everyone_is_not_amplified() -> None:
    mu_squared = Fraction(1, 9)
    assert rdp.batched(Fraction(8), mu_squared, 1000, 1000) == Fraction(8, 18)


@pytest.mark.parametrize(
    "mu_squared", [Fraction(10**9), Fraction(4), Fraction(1, 10**4), Fraction(1, 10**20)]
)
@pytest.mark.parametrize("batch", [1, 100, 999])
def test_a_batch_never_costs_more_than_all_records_nor_nothing(mu_squared: Fraction, batch: int) -> None:
    for order in (Fraction(2), Fraction(64), Fraction(300)):
        assert 0 < rdp.batched(order, mu_squared, batch, 1000) <= rdp.gaussian(order, mu_squared)


def test_pure_price_covers_randomized_response() -> None:
    """The largest Renyi divergence of any epsilon-DP mechanism is randomized response's."""
    for order in (1.5, 2.0, 8.0, 64.0, 1000.0):
        for epsilon in (1e-4, 0.01, 0.3, 1.0, 4.0):
            with mp.workdps(60):
                e, a = mpf(epsilon), mpf(order)
                tight = mp.log((mp.exp(a * e) + mp.exp((1 - a) * e)) / (1 + mp.exp(e))) / (a - 1)
            price = rdp.pure(Fraction(order), Fraction(epsilon))
            assert tight <= mpf(price.numerator) / price.denominator


def test_gaussian_price_is_the_divergence_of_shifted_normals() -> None:
    for order in (2, 5):
        for mu in (0.1, 1.0):
            moment = mp.quad(
                lambda x, order=order, mu=mu: mp.npdf(x, mu) ** order * mp.npdf(x, 0) ** (1 - order),
                [-20, 0, 20],
            )
            price = rdp.gaussian(Fraction(order), Fraction(mu) ** 2)
            assert float(mp.log(moment) / (order - 1)) == pytest.approx(float(price), rel=1e-9)


@pytest.mark.parametrize("value", [1e-40, 1e-9, 0.7, 1.0, 3.3333333, 99.9])
def test_the_grid_is_above_and_close(value: float) -> None:
    point = rdp.grid_above(Fraction(value))
    assert value <= point
    assert point <= max(value, 2.0**-100) * (1 + 2.0**-22)
    assert rdp.grid_above(Fraction(point)) == point
    assert rdp.grid_above(Fraction(point) * (1 - Fraction(1, 2**40))) == point


def test_the_grid_is_above_a_fraction_that_a_float_rounds_down() -> None:
    value = 1 + Fraction(1, 10**30)
    assert rdp.grid_above(value) >= value
