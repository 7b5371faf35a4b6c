"""Renyi prices are those of the theorems, never less."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from sottovoce.accounting import rdp


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
@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.5, 20.0, 300.0, 1000.0])
def test_subsampled_price_covers_the_theorem(order: int, sigma: float) -> None:
    for batch in (1, 10, 100, 500, 900):
        price, exact = rdp.subsampled(float(order), sigma, batch, 1000), theorem(order, sigma, batch, 1000)
        assert price >= exact
        if batch <= 10:
            assert price == pytest.approx(float(exact), rel=1e-7)


@pytest.mark.parametrize("order", [2, 8, 32])
def test_subsampled_price_is_at_most_the_papers(order: int) -> None:
    for sigma in (0.5, 1.0, 4.0, 30.0):
        assert rdp.subsampled(order, sigma, 10, 1000) <= papers_formula(order, sigma, 10, 1000) * (1 + 2e-8)


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
        assert mp.log(moment) / (order - 1) <= rdp.subsampled(order, sigma, round(rate * 1000), 1000)


def test_between_whole_orders_the_price_stays_between() -> None:
    below, between, above = (rdp.subsampled(order, 2.0, 10, 1000) for order in (8.0, 8.5, 9.0))
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


def test_noise_beyond_what_dp_accounting_resolves_is_priced_at_the_last_reliable_value() -> None:
    far, edge = (rdp.batched(Fraction(8), Fraction(1) / m**2, 1, 10**6) for m in (1500, 1000))
    assert far == edge


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


def test_the_grid_is_below_and_close() -> None:
    for value in (1e-3, 0.7, 1.0, 3.3333333, 999.999):
        assert value * (1 - 2.0**-23) <= rdp.grid_below(value) <= value
        assert rdp.grid_below(rdp.grid_below(value)) == rdp.grid_below(value)
