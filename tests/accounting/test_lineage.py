"""A chain of runs promises what its runs together allow, however it is cut up, ordered or repeated."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from sottovoce.accounting import Budget, Gdp, Preset, Renyi, composed
from sottovoce.accounting.allowance import LATTICE_PER_ONE, lattice_cap


def preset(run: str, epsilon: float, delta: float = 1e-6, **more: object) -> Preset:
    return Preset(run=run, epsilon=epsilon, delta=delta, **{"currency": "gdp", **more})  # type: ignore[arg-type]


def hockey_stick(mu: float, epsilon: float) -> float:
    """delta of N(0, 1) against N(mu, 1) at epsilon, by the textbook formula."""
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def variation(presets: tuple[Preset, ...]) -> float:
    return sum(lattice_cap(part.budget) for part in presets) / LATTICE_PER_ONE


def chains() -> st.SearchStrategy[tuple[Preset, ...]]:
    budgets = st.tuples(st.floats(0.01, 8.0), st.sampled_from([1e-9, 1e-6, 1e-5]))
    return st.lists(budgets, min_size=2, max_size=6).map(
        lambda drawn: tuple(preset(str(place), *budget) for place, budget in enumerate(drawn))
    )


def test_one_run_promises_its_own_budget() -> None:
    assert composed((preset("a", 0.3, 2e-7),)) == (0.3, 2e-7)


def test_a_tiny_run_does_not_launder_a_large_one() -> None:
    epsilon, delta = composed((preset("a", 5.0), preset("b", 0.01)))
    assert 5.0 < epsilon < 5.01
    assert 1e-6 < delta <= 2e-6


@settings(max_examples=60, deadline=None, derandomize=True)
@given(chains())
def test_what_is_printed_covers_the_summed_allowances_and_their_lattice(presets: tuple[Preset, ...]) -> None:
    """Either plain addition, or the law of one Gaussian with mu^2 = sum mu_i^2, lattice at its epsilon."""
    epsilon, delta = composed(presets)
    added = sum(part.epsilon for part in presets), sum(part.delta for part in presets)
    mu = math.sqrt(sum(Fraction(Gdp().cap(part.budget), 2**50) for part in presets))
    needed = hockey_stick(mu, epsilon) * (1 - 1e-6) + (1 + math.exp(epsilon)) * variation(presets)
    plain = epsilon >= added[0] * (1 - 1e-12) and delta >= added[1] * (1 - 1e-12)
    assert plain or needed <= delta
    assert epsilon <= added[0] * (1 + 1e-5)
    assert epsilon >= max(part.epsilon for part in presets) * (1 - 1e-9)
    assert float(f"{epsilon:g}") == epsilon
    assert float(f"{delta:.3g}") == delta


@settings(max_examples=30, deadline=None, derandomize=True)
@given(chains())
def test_a_further_run_never_makes_the_promise_stronger(presets: tuple[Preset, ...]) -> None:
    """One of the two numbers may fall only where the other rises past every single run's."""
    before, after = composed(presets[:-1]), composed(presets)
    assert after[0] >= before[0] * (1 - 1e-5) or after[1] > before[1]


def test_many_equal_runs_grow_like_the_square_root() -> None:
    runs = tuple(preset(str(place), 0.1) for place in range(100))
    epsilon, _ = composed(runs)
    assert 1.0 < epsilon < 1.5


def test_an_ancestor_reached_twice_counts_once() -> None:
    a, b, c = preset("a", 1.0), preset("b", 0.5), preset("c", 0.5)
    assert composed((a, b, a, c, b)) == composed((a, b, c))
    assert composed((a, a)) == (1.0, 1e-6)
    assert composed((b, c))[0] > 0.5


@pytest.mark.parametrize(
    "other",
    [
        {"currency": "renyi", "order": 20.0},
        {"currency": ""},
        {"currency": "gdp", "order": 3.0},
        {"currency": "doubloons"},
    ],
)
def test_what_cannot_be_summed_is_added(other: dict[str, object]) -> None:
    for pair in (
        (preset("a", 1.0), preset("b", 2.0, **other)),
        (preset("b", 2.0, **other), preset("a", 1.0)),
    ):
        assert composed(pair) == (3.0, 2e-6)
    assert composed((preset("a", 0.1, currency=""), preset("b", 0.2, currency=""))) == (0.3, 2e-6)


def test_renyi_runs_of_one_order_sum_their_divergences() -> None:
    order = 32.0
    runs = tuple(preset(str(place), 0.8, 1e-5, currency="renyi", order=order) for place in range(4))
    epsilon, delta = composed(runs)
    value = 4 * Renyi(order).worth(0.8, 1e-5 * 0.999)
    due = value + math.log1p(-1 / order) - math.log(0.999e-5 * order) / (order - 1)
    assert due * (1 - 1e-9) <= epsilon <= due * (1 + 1e-5)
    assert 0.8 < epsilon < 3.2
    assert delta <= 1.1e-5
    mixed = composed((runs[0], replace(runs[1], order=16.0)))
    assert mixed[0] >= 1.6


def test_where_the_lattice_costs_more_than_addition_epsilons_add() -> None:
    """e^20 times the lattice of the small run alone would be 0.2."""
    epsilon, delta = composed((preset("a", 20.0), preset("b", 0.1)))
    assert epsilon == pytest.approx(20.1, rel=1e-5)
    assert delta == pytest.approx(2e-6, rel=0.01)


def test_enormous_budgets_neither_overflow_nor_vanish() -> None:
    epsilon, delta = composed((preset("a", 900.0), preset("b", 900.0), preset("c", 1e-3, 0.9)))
    assert epsilon >= 900.0
    assert delta <= 1.0
    assert Budget(900.0, 1e-6).epsilon < epsilon
