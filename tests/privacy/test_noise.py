"""Exact noise cannot be seeded: each of its statistical tests states a false-alarm rate of 1e-7 or less."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sottovoce.errors import DataError, LedgerError, ParameterError
from sottovoce.privacy import laplace
from sottovoce.privacy.laplace import laplace_draws
from sottovoce.privacy.noise import (
    OPENDP_ENTRIES,
    ExactNoise,
    SimulatedNoise,
    calibrate,
    noise_for,
)

FALSE_ALARM = 1e-7
DRAWS = 100_000


def is_standard_normal(draws):
    """Scale and shape. A scale off by 3 % moves the variance by 13 standard errors at 100,000 draws."""
    squares = np.sum(draws**2)
    scale = 2 * min(stats.chi2.cdf(squares, draws.size), stats.chi2.sf(squares, draws.size))
    mean = 2 * stats.norm.sf(abs(draws.mean()) * math.sqrt(draws.size))
    return bool(min(scale, mean, stats.kstest(draws, "norm").pvalue) > FALSE_ALARM / 3)


def is_laplace(draws):
    """Scale by the mean of |x|, which is gamma distributed, and shape."""
    total = np.sum(np.abs(draws))
    scale = 2 * min(stats.gamma.cdf(total, draws.size), stats.gamma.sf(total, draws.size))
    return bool(min(scale, stats.kstest(draws, "laplace").pvalue) > FALSE_ALARM / 2)


@pytest.mark.long
def test_these_tests_would_notice_a_scale_off_by_three_percent():
    generator = np.random.default_rng(0)
    for factor, expected in ((1.0, True), (0.97, False), (1.03, False)):
        for _ in range(5):
            assert is_standard_normal(factor * generator.standard_normal(DRAWS)) is expected
            assert is_laplace(factor * generator.laplace(size=DRAWS)) is expected


@pytest.mark.parametrize("entries", [OPENDP_ENTRIES, DRAWS], ids=["opendp", "vectorized"])
def test_exact_gaussian_noise_has_the_charged_scale_and_lives_on_the_lattice(entries):
    assert (entries > OPENDP_ENTRIES) == (entries == DRAWS)
    calibration = calibrate(2e-6, 0.01, entries)
    exact = np.linspace(-1.0, 1.0, entries)
    draws = [ExactNoise().gaussian(exact, calibration) for _ in range(DRAWS // entries)]
    for answer in draws:
        steps = np.ldexp(answer, -calibration.exponent)
        assert np.array_equal(steps, np.rint(steps))
    assert calibration.scale == pytest.approx(2e-5, rel=1e-4)
    assert is_standard_normal((np.concatenate(draws) - np.tile(exact, len(draws))) / calibration.scale)


def test_vectorized_and_opendp_draws_have_one_law():
    # Two-sample Kolmogorov-Smirnov, false alarm 1e-7; low bits by a chi-square of 1e-7.
    small, large = (calibrate(1.0, 1.0, entries) for entries in (OPENDP_ENTRIES, OPENDP_ENTRIES + 1))
    a, b = (
        np.concatenate([ExactNoise().gaussian(np.zeros(one.entries), one) for _ in range(5)])
        for one in (small, large)
    )
    assert stats.ks_2samp(a / small.scale, b / large.scale).pvalue > FALSE_ALARM
    for draws, calibration in ((a, small), (b, large)):
        low = np.ldexp(draws, -calibration.exponent).astype(np.int64) & 63
        assert stats.chisquare(np.bincount(low, minlength=64)).pvalue > FALSE_ALARM


def test_simulated_gaussian_noise_has_the_same_scale():
    calibration = calibrate(2e-6, 0.01, DRAWS)
    exact = np.linspace(-1.0, 1.0, DRAWS)
    draws = SimulatedNoise(3).gaussian(exact, calibration)
    assert is_standard_normal((draws - exact) / calibration.scale)


def test_exact_laplace_noise_has_scale_moves_over_epsilon():
    sensitivity, epsilon = 2**33 + 1, 0.25
    draws = np.array(laplace_draws(sensitivity, epsilon, DRAWS), dtype=np.float64)
    assert is_laplace(draws * epsilon / sensitivity)
    single = np.array([ExactNoise().laplace(sensitivity, epsilon) for _ in range(2000)], dtype=np.float64)
    assert is_laplace(single * epsilon / sensitivity)


def test_exact_laplace_noise_has_the_discrete_law_on_a_coarse_lattice():
    # P(x) = (1 - q) / (1 + q) q^|x| with q = e^(-epsilon/moves); chi-square, false alarm 1e-7.
    sensitivity, epsilon = 3, 2.0
    draws = np.array(laplace_draws(sensitivity, epsilon, DRAWS))
    q = math.exp(-epsilon / sensitivity)
    values = np.arange(-10, 11)
    expected = (1 - q) / (1 + q) * q ** np.abs(values) * DRAWS
    counts = np.array([np.sum(draws == value) for value in values])
    observed, wanted = (np.append(x, DRAWS - x.sum()) for x in (counts, expected))
    assert stats.chisquare(observed, wanted).pvalue > FALSE_ALARM


def test_simulated_laplace_noise_has_the_same_scale():
    sensitivity, epsilon = 2**33 + 1, 0.25
    noise = SimulatedNoise(4)
    draws = np.array([noise.laplace(sensitivity, epsilon) for _ in range(DRAWS)], dtype=np.float64)
    assert is_laplace(draws * epsilon / sensitivity)


@pytest.mark.parametrize("entries", [3, OPENDP_ENTRIES + 1])
def test_noise_that_costs_more_than_the_charge_is_refused(entries):
    good = calibrate(1.0, 1.0, entries)
    noise = ExactNoise()
    zero = np.zeros(entries)
    assert noise.gaussian(zero, good).shape == (entries,)
    for bad in (
        replace(good, scale=good.scale * (1 - 1e-9)),
        replace(good, exact_sensitivity=good.exact_sensitivity * (1 + 1e-9)),
        replace(good, sensitivity=good.sensitivity * (1 - 1e-9)),
        replace(good, mu_squared=good.mu_squared * (1 - 1e-9)),
        replace(good, exponent=good.exponent + 8),
        replace(good, scale=math.nextafter(0.0, 1.0)),
    ):
        with pytest.raises(LedgerError, match="Nothing was released"):
            noise.gaussian(zero, bad)


def test_the_assertion_is_opendp_s_own_map(monkeypatch):
    import opendp.measurements

    class Costly:
        def map(self, sensitivity):
            return math.nan

        def __call__(self, exact):
            raise AssertionError("released")

    monkeypatch.setattr(opendp.measurements, "make_gaussian", lambda *arguments, **options: Costly())
    monkeypatch.setattr(opendp.measurements, "make_laplace", lambda *arguments, **options: Costly())
    with pytest.raises(LedgerError):
        ExactNoise().gaussian(np.zeros(2), calibrate(1.0, 1.0, 2))
    with pytest.raises(LedgerError):
        ExactNoise().laplace(5, 1.0)


def test_laplace_noise_that_costs_more_than_epsilon_is_refused(monkeypatch):
    laplace._laplace_measurement.cache_clear()
    monkeypatch.setattr(laplace, "SLACK", -1e-9)
    with pytest.raises(LedgerError, match="Nothing was released"):
        ExactNoise().laplace(2**31, 0.5)


def test_an_answer_of_another_length_than_charged_is_refused():
    for shape in ((2,), (4,), (3, 1), ()):
        with pytest.raises(LedgerError):
            ExactNoise().gaussian(np.zeros(shape), calibrate(1.0, 1.0, 3))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1.5e308])
@pytest.mark.parametrize("entries", [3, OPENDP_ENTRIES + 1])
def test_an_answer_that_is_not_finite_is_never_released_nor_quoted(bad, entries):
    exact = np.full(entries, 0.12345)
    exact[1] = bad
    with pytest.raises(DataError) as caught:
        ExactNoise().gaussian(exact, calibrate(1e-6, 1.0, entries))
    assert not any(character.isdigit() for character in str(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_the_exact_answer_is_left_alone():
    for entries in (4, OPENDP_ENTRIES + 1):
        exact = np.full(entries, 0.3)
        exact.setflags(write=False)
        for noise in (ExactNoise(), SimulatedNoise(0)):
            assert noise.gaussian(exact, calibrate(1.0, 1.0, entries)) is not exact


@pytest.mark.parametrize("noise", [ExactNoise(), SimulatedNoise(987654321)], ids=["exact", "simulated"])
def test_noise_is_neither_copied_nor_pickled_nor_shown(noise):
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ParameterError):
            attempt(noise)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(ParameterError):
            pickle.dumps(noise, protocol)
    assert repr(noise) == f"{type(noise).__name__}(...)"
    assert not hasattr(noise, "__dict__")


def test_no_noise_is_used_twice():
    # Exact: three equal values among a few lattice points of 2^31 have probability below 1e-8.
    for entries in (3, OPENDP_ENTRIES + 1):
        calibration = calibrate(1.0, 1.0, entries)
        for noise in (ExactNoise(), SimulatedNoise(1)):
            first, second = (noise.gaussian(np.zeros(entries), calibration) for _ in range(2))
            assert not np.array_equal(first[:3], second[:3])
            assert len(set(first[:3].tolist())) == 3
    for noise in (ExactNoise(), SimulatedNoise(1)):
        assert len({noise.laplace(2**40, 0.1) for _ in range(10)}) == 10


def test_successive_answers_are_uncorrelated():
    # 5.5 standard errors: false alarm below 1e-7.
    for entries in (OPENDP_ENTRIES, OPENDP_ENTRIES + 1_000):
        calibration = calibrate(1.0, 1.0, entries)
        a, b = (ExactNoise().gaussian(np.zeros(entries), calibration) / calibration.scale for _ in range(2))
        assert abs(np.mean(a * b)) < 5.5 / math.sqrt(entries)


def test_a_seed_repeats_a_simulation_and_nothing_repeats_exact_noise():
    calibration = calibrate(1.0, 1.0, 5)
    one, same, other = (SimulatedNoise(s).gaussian(np.zeros(5), calibration) for s in (7, 7, 8))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    np.random.seed(0)
    first = ExactNoise().gaussian(np.zeros(5), calibration)
    np.random.seed(0)
    assert not np.array_equal(first, ExactNoise().gaussian(np.zeros(5), calibration))


def test_noise_for_chooses_by_seed_and_says_which():
    assert isinstance(noise_for(None), ExactNoise)
    assert not noise_for(None).simulated
    assert noise_for(0).simulated
    assert noise_for(np.int64(3)).simulated
    for bad in (-1, True, 1.5, "3"):
        with pytest.raises(ParameterError):
            noise_for(bad)


def run(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


def test_importing_noise_does_not_import_opendp():
    assert run("import sys, sottovoce.privacy.noise; print('opendp' in sys.modules)").strip() == "False"


def test_forked_processes_draw_different_noise():
    script = """
import os, sys
import numpy as np
from sottovoce.privacy.noise import calibrate
from sottovoce.privacy.noise import ExactNoise, OPENDP_ENTRIES
noise = ExactNoise()
cases = [calibrate(1.0, 1.0, entries) for entries in (3, OPENDP_ENTRIES + 1)]
for calibration in cases:
    noise.gaussian(np.zeros(calibration.entries), calibration)
noise.laplace(2**40, 0.1)
for _ in range(2):
    if os.fork() == 0:
        for calibration in cases:
            print(noise.gaussian(np.zeros(calibration.entries), calibration)[:3].tolist())
        print(noise.laplace(2**40, 0.1))
        sys.stdout.flush()
        os._exit(0)
    os.wait()
"""
    lines = run(script).split("\n")[:-1]
    assert len(lines) == 6
    assert len(set(lines)) == 6
