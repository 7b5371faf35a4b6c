"""Lattice noise is within its charged total variation of continuous noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from sottovoce.accounting import (
    Budget,
    GaussianEvent,
    Ledger,
    PureEvent,
    QueryKind,
    SubsampledGaussianEvent,
)
from sottovoce.accounting.allowance import LATTICE_PER_ONE, lattice_cap, lattice_units
from sottovoce.errors import BudgetExceeded, UnsupportedEvent


def event(step: float, scale: float = 1.0, entries: int = 1) -> GaussianEvent:
    return GaussianEvent(QueryKind.GRADIENT, 1e-9, scale, entries, step)


def total_variation(step: float) -> float:
    """Between the discrete Gaussian on the lattice and a continuous one rounded to it, both of sd 1."""
    points = np.arange(-math.ceil(9 / step), math.ceil(9 / step) + 1) * step
    discrete = np.exp(-0.5 * points**2)
    discrete /= math.fsum(discrete)
    # By symmetry every cell is computed in the lower tail, where differences keep their digits.
    lower = -np.abs(points)
    rounded = ndtr(lower + step / 2) - ndtr(lower - step / 2)
    return 0.5 * math.fsum(np.abs(discrete - rounded))


def test_the_charge_covers_the_true_distance_up_to_the_coarsest_lattice_ever_allowed() -> None:
    for step in np.geomspace(0.003, 0.16, 400):
        charged = lattice_units(event(float(step))) / LATTICE_PER_ONE
        assert total_variation(float(step)) <= charged <= 1.012 * total_variation(float(step))


def test_coarser_lattices_are_refused_by_every_budget() -> None:
    assert lattice_units(event(0.16)) > lattice_cap(Budget(1e-12, 1 - 2**-53))


def test_the_constant_covers_the_leading_term() -> None:
    leading = 4 * math.exp(-0.5) / math.sqrt(2 * math.pi) / 48
    assert leading < lattice_units(event(1.0)) / LATTICE_PER_ONE < 1.002 * leading


def test_units_are_rounded_up_in_exact_arithmetic() -> None:
    for step in (2.0**-30, 2.0**-31 * 1.1, 1e-40):
        exact = Fraction(202, 10_000) * 54 * Fraction(step) ** 2 / Fraction(1.7) ** 2 * LATTICE_PER_ONE
        assert exact <= lattice_units(event(step, 1.7, 54)) < exact + 1


def test_every_entry_and_every_part_counts_and_continuous_noise_does_not() -> None:
    single = lattice_units(event(2.0**-20))
    assert lattice_units(event(2.0**-20, entries=100)) == pytest.approx(100 * single)
    sampled = SubsampledGaussianEvent(QueryKind.GRADIENT, 1.0, 1.0, 1, 2.0**-20, 1, 10)
    assert lattice_units(sampled) == single
    assert lattice_units(event(0.0)) == 0
    assert lattice_units(PureEvent(QueryKind.LINE_SEARCH, 1.0)) == 0
    with pytest.raises(UnsupportedEvent):
        lattice_units("gradient")  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 10.0, 40.0])
def test_the_reserve_costs_at_most_a_thousandth_of_delta(epsilon: float) -> None:
    cap = lattice_cap(Budget(epsilon, 1e-5))
    assert cap / LATTICE_PER_ONE * (1 + math.exp(epsilon)) <= 1e-8
    assert (cap + 1) / LATTICE_PER_ONE * (1 + math.exp(epsilon)) >= 1e-8 * (1 - 1e-12)


def test_the_largest_epsilon_leaves_no_lattice_and_does_not_overflow() -> None:
    assert lattice_cap(Budget(1000.0, 1e-6)) == 0


def test_the_ledger_refuses_past_the_reserve_and_says_so() -> None:
    ledger = Ledger(Budget(1.0, 1e-6))
    fits = ledger.lattice_left // lattice_units(event(2.0**-16))
    assert fits > 10
    for _ in range(fits):
        ledger.charge(event(2.0**-16))
    spent = ledger.units_spent
    with pytest.raises(BudgetExceeded, match="finer lattice"):
        ledger.charge(event(2.0**-16))
    assert ledger.units_spent == spent
    assert 0 <= ledger.lattice_left < lattice_units(event(2.0**-16))
    ledger.charge(event(0.0))


def test_a_run_keeps_its_own_reserve() -> None:
    ledger = Ledger(Budget(1.0, 1e-3))
    run = ledger.run(Budget(0.5, 1e-6))
    with pytest.raises(BudgetExceeded, match="lattice"):
        run.charge(event(2.0**-9))
    assert ledger.history == ()
    run.charge(event(2.0**-20))
    assert run.lattice_left == lattice_cap(Budget(0.5, 1e-6)) - lattice_units(event(2.0**-20)) > 0


def test_the_default_lattice_serves_thousands_of_gradients_at_usual_budgets() -> None:
    step = 2.0**-30
    for epsilon in (0.2, 1.0, 10.0):
        assert lattice_cap(Budget(epsilon, 1e-6)) > 1000 * lattice_units(event(step, entries=1485))
