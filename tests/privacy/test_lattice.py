from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import opendp.mod
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance

from sottovoce.errors import BudgetExceeded, ParameterError
from sottovoce.privacy.noise import BITS, calibrate

opendp.mod.enable_features("contrib")

sensitivities = st.floats(-60, 20).map(math.exp)
budgets = st.floats(-30, 5).map(math.exp)
lengths = st.integers(1, 10**7)


@given(sensitivities, budgets, lengths)
def test_the_charge_never_exceeds_what_was_asked_and_covers_rounding(sensitivity, mu_squared, entries):
    c = calibrate(sensitivity, mu_squared, entries)
    assert (c.sensitivity / c.scale) ** 2 <= mu_squared
    assert Fraction(c.sensitivity) ** 2 <= Fraction(mu_squared) * Fraction(c.scale) ** 2
    beyond = Fraction(c.sensitivity) - Fraction(sensitivity)
    assert beyond > 0
    assert beyond**2 >= Fraction(c.step) ** 2 * entries
    # The margin is no more than it needs to be.
    assert (c.sensitivity / c.scale) ** 2 >= mu_squared * (1 - 1e-11)


@settings(max_examples=200, deadline=None)
@given(sensitivities, budgets, lengths)
def test_opendp_agrees_that_the_noise_costs_no_more_than_the_charge(sensitivity, mu_squared, entries):
    c = calibrate(sensitivity, mu_squared, entries)
    measurement = make_gaussian(
        vector_domain(atom_domain(T=float, nan=False), size=entries),
        l2_distance(T=float),
        c.scale,
        k=c.exponent,
    )
    loss = measurement.map(sensitivity)
    assert loss <= (c.sensitivity / c.scale) ** 2 / 2 <= mu_squared / 2
    assert loss >= mu_squared / 2 * (1 - 1e-10)


@given(sensitivities, budgets, lengths)
def test_the_lattice_has_two_to_the_thirty_steps_in_the_unrounded_scale(sensitivity, mu_squared, entries):
    c = calibrate(sensitivity, mu_squared, entries)
    unrounded = sensitivity / math.sqrt(mu_squared)
    assert 2**BITS <= unrounded / c.step < 2 ** (BITS + 1)


@given(st.integers(1, 6), st.integers(0, 2**32), st.floats(0.01, 100.0))
def test_two_answers_rounded_to_the_lattice_stay_within_the_sensitivity(d, seed, step_scale):
    generator = np.random.default_rng(seed)
    c = calibrate(step_scale, 1e-16, d)
    a = generator.standard_normal(d) * 100 * step_scale
    direction = generator.standard_normal(d)
    b = a + direction / np.linalg.norm(direction) * step_scale * 0.999999
    a, b = (np.rint(x / c.step) * c.step for x in (a, b))
    assert np.linalg.norm(a - b) <= c.sensitivity


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_and_positive_are_refused(bad):
    for arguments in ((bad, 1.0, 1), (1.0, bad, 1)):
        with pytest.raises(ParameterError):
            calibrate(*arguments)


def test_extremes_are_refused_rather_than_overflowed():
    for arguments in ((1e-300, 1.0, 1), (1e300, 1e-300, 1), (1.0, 1.0, 0)):
        with pytest.raises(ParameterError):
            calibrate(*arguments)


def test_too_little_for_so_many_entries_is_a_matter_of_budget():
    """A run that comes to its last units stops for want of budget; it does not die."""
    with pytest.raises(BudgetExceeded):
        calibrate(1.0, 1e-24, 10**6)
