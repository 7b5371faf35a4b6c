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
from scipy.integrate import trapezoid
from scipy.stats import norm

from sottovoce.errors import ParameterError
from sottovoce.lattice import COARSEST, ROUNDING_DELTA, calibrate, delta

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
    assert 2**30 <= unrounded / c.step < 2**31


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
    for arguments in ((1, bad, 1.0), (1, 1.0, bad)):
        with pytest.raises(ParameterError):
            delta(*arguments)


def test_extremes_are_refused_rather_than_overflowed():
    for arguments in ((1e-300, 1.0, 1), (1e300, 1e-300, 1), (1.0, 1.0, 0), (1.0, 1e-24, 10**6)):
        with pytest.raises(ParameterError):
            calibrate(*arguments)
    with pytest.raises(ParameterError):
        delta(0, 1.0, 8.0)
    with pytest.raises(ParameterError):
        delta(1, 1.0, 7.9)


def total_variation(ratio):
    """Exact summation: discrete Gaussian against a continuous one rounded to the same lattice."""
    steps = np.arange(1, math.ceil(14 / ratio))
    discrete = np.exp(-0.5 * (ratio * steps) ** 2)
    total = 1 + 2 * discrete.sum()
    rounded = norm.sf((steps - 0.5) * ratio) - norm.sf((steps + 0.5) * ratio)
    zero = abs(1 / total - (1 - 2 * norm.sf(ratio / 2)))
    return zero / 2 + np.abs(discrete / total - rounded).sum()


def test_delta_bounds_the_total_variation_wherever_it_is_stated_and_is_tight():
    # Many ratios that are no powers of two: at those the limit 0.020164 alone is exceeded.
    ratios = np.geomspace(1 / 64, COARSEST, 500)
    exact = np.array([total_variation(ratio) for ratio in ratios])
    bound = np.array([delta(1, ratio, 1.0) for ratio in ratios])
    assert np.all(exact <= bound)
    assert np.all(bound <= 1.005 * exact)
    factor = exact / (norm.pdf(1) / 12 * ratios**2)
    assert factor.max() > 1.0007
    assert np.all((1 - ratios**2 / 5 <= factor) & (factor <= 1 + ratios**2 / 16))


def test_the_constant_is_pdf_of_one_over_twelve_widened_for_the_coarsest_step():
    x = np.linspace(-12, 12, 2_000_001)
    expected = trapezoid(np.abs(x**2 - 1) * norm.pdf(x), x) / 48
    assert expected == pytest.approx(norm.pdf(1) / 12, rel=1e-9)
    assert norm.pdf(1) / 12 * (1 + COARSEST**2 / 16) < ROUNDING_DELTA < norm.pdf(1) / 12 * 1.002


def test_delta_adds_over_entries_and_a_calibration_knows_its_own():
    c = calibrate(1e-5, 0.01, 1485)
    assert c.delta == delta(1485, c.step, c.scale)
    assert c.delta == pytest.approx(1485 * delta(1, c.step, c.scale))
    assert c.delta < 1485 * 0.0202000001 * 2.0**-60
