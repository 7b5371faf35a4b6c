"""Entropy is an argument, so tests are seeded; those that use os.urandom state their false-alarm rate."""

from __future__ import annotations

import math
import os
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from sottovoce.errors import ParameterError
from sottovoce.privacy.sampling import (
    FLIPS,
    Staircase,
    _exp_bounds,
    _settle,
    accepted,
    discrete_gaussian,
)

LARGE = 1.37 * 2.0**30


def seeded(seed):
    return np.random.default_rng(seed).bytes


def never(count):
    raise AssertionError("no entropy should be needed here")


def chi_square(draws, sigma):
    """p-value of integer draws against the exact law, bins with fewer than 20 expected merged."""
    reach = math.ceil(12 * sigma) + 2
    values = np.arange(-reach, reach + 1)
    law = np.exp(-0.5 * (values / sigma) ** 2)
    expected = law / law.sum() * draws.size
    counts = np.bincount(draws + reach, minlength=values.size)
    inner = expected >= 20
    observed = np.append(counts[inner], counts[~inner].sum())
    wanted = np.append(expected[inner], expected[~inner].sum())
    if wanted[-1] < 5:
        observed, wanted = observed[:-1], wanted[:-1] * observed[:-1].sum() / wanted[:-1].sum()
    return stats.chisquare(observed, wanted).pvalue


@pytest.mark.parametrize("sigma", [0.3, 0.8, 1.0, 1.7, 3.3333, 5.3, 53.0, 106.66])
def test_small_sigma_has_the_exact_law(sigma):
    assert chi_square(discrete_gaussian(sigma, 400_000, seeded(1)), sigma) > 1e-6


@pytest.mark.parametrize("sigma", [1.7, 5.3])
def test_entropy_of_the_operating_system_gives_the_exact_law(sigma):
    # False alarm 1e-7.
    assert chi_square(discrete_gaussian(sigma, 400_000, os.urandom), sigma) > 1e-7


def test_the_law_test_would_notice_a_rounded_normal_and_a_scale_off_by_three_percent():
    rounded = np.rint(np.random.default_rng(2).normal(0.0, 1.7, 400_000)).astype(np.int64)
    assert chi_square(rounded, 1.7) < 1e-9
    for sigma in (1.7, 5.3):
        assert chi_square(discrete_gaussian(1.03 * sigma, 400_000, seeded(3)), sigma) < 1e-9


def test_exact_arithmetic_alone_gives_the_same_law():
    generator = np.random.default_rng(4)
    staircase = Staircase.under(1.7)
    words = generator.integers(0, 2**64, (2, 12_000), dtype=np.uint64)
    draws = accepted(staircase, words[0], words[1], generator.bytes, tolerance=1e6)
    assert chi_square(draws, 1.7) > 1e-6


@pytest.mark.parametrize("sigma", [0.3, 1.7, 5.3, LARGE, 2.0**40])
def test_the_width_of_the_undecided_zone_does_not_change_a_single_decision(sigma):
    generator = np.random.default_rng(5)
    staircase = Staircase.under(sigma)
    words = generator.integers(0, 2**64, (2, 20_000), dtype=np.uint64)
    narrow = accepted(staircase, words[0], words[1], seeded(6), tolerance=2.0**-40)
    wide = accepted(staircase, words[0], words[1], seeded(7), tolerance=0.2)
    assert np.array_equal(narrow, wide)


def chance(staircase, magnitude, steps):
    """The acceptance probability with 80 digits."""
    with mpmath.workdps(80):
        power = mpmath.mpf(magnitude) ** 2 / (2 * mpmath.mpf(staircase.sigma) ** 2)
        return mpmath.mpf(2) ** steps * mpmath.exp(-power) / mpmath.mpf(staircase.peak)


@pytest.mark.parametrize("sigma", [0.8, 1.7, 2.9, LARGE, 1.19 * 2.0**31, 2.0**40])
def test_floating_point_decides_rightly_down_to_a_relative_distance_of_two_to_the_minus_38(sigma):
    # Uniforms just below and just above the exact probability; the default tolerance is 64 times wider.
    generator = np.random.default_rng(8)
    staircase = Staircase.under(sigma)
    checked = 0
    for steps in (0, 1, 2, 3, 4, 5):
        for offset in generator.integers(0, 1 << staircase.bits, 40):
            magnitude = (steps << staircase.bits) + int(offset)
            exact = chance(staircase, magnitude, steps)
            if exact * 2**53 < 2**40:
                continue
            flips = 1 << (FLIPS - 1 - steps)
            proposal = np.array([(flips << staircase.bits) | int(offset)], dtype=np.uint64)
            for side, expected in ((-1, 1), (1, 0)):
                uniform = int(exact * 2**64 * (1 + side * mpmath.mpf(2) ** -38))
                if uniform >= 2**64:
                    continue
                lane = np.array([uniform], dtype=np.uint64)
                draws = accepted(staircase, proposal, lane, never, tolerance=2.0**-40)
                assert draws.size == expected
                assert draws.size == 0 or int(draws[0]) == magnitude
                checked += 1
    assert checked > 100


@pytest.mark.parametrize("sigma", [1.7, LARGE])
def test_a_tie_in_the_first_64_bits_is_settled_by_later_bits(sigma):
    staircase = Staircase.under(sigma)
    for steps in (0, 1, 3):
        magnitude = (steps << staircase.bits) + 1
        with mpmath.workdps(120):
            bits = int(chance(staircase, magnitude, steps) * 2**192)
        first, second = bits >> 128, (bits >> 64) & (2**64 - 1)
        assert _settle(staircase, magnitude, steps, first - 1, never)
        assert not _settle(staircase, magnitude, steps, first + 1, never)
        for shift, answer in ((-1, True), (1, False)):
            later = ((second + shift) % 2**64).to_bytes(8, "little")
            assert _settle(staircase, magnitude, steps, first, lambda n, later=later: later) is answer


def test_bounds_of_the_exponential_contain_it_and_shrink():
    generator = np.random.default_rng(9)
    for _ in range(200):
        power = Fraction(int(generator.integers(0, 2**60)), int(generator.integers(1, 2**58)))
        previous = None
        for digits in (10, 30, 60):
            below, above = _exp_bounds(power, digits)
            with mpmath.workdps(120):
                exact = mpmath.exp(-mpmath.mpf(power.numerator) / power.denominator)
                low = mpmath.mpf(below.numerator) / below.denominator
                high = mpmath.mpf(above.numerator) / above.denominator
                assert low < exact < high
                assert high - low <= exact * (1 + power) * mpmath.mpf(10) ** (3 - digits)
            assert previous is None or above - below < previous
            previous = above - below


def test_when_coin_flips_run_out_more_are_drawn_and_the_tail_is_reached():
    # 23 zeros, then two more before a one; V is zero in every bit, so even this proposal is accepted.
    staircase = Staircase.under(LARGE)
    proposal = np.array([12345, (1 << 63) | 12345], dtype=np.uint64)
    for lane, sign in ((0, 1), (1, -1)):
        flips = iter([(1 << 61).to_bytes(8, "little")])
        draws = accepted(
            staircase,
            proposal[lane : lane + 1],
            np.zeros(1, np.uint64),
            lambda n, flips=flips: next(flips, bytes(8)),
        )
        assert draws.tolist() == [sign * (((FLIPS + 2) << staircase.bits) + 12345)]


def test_a_probability_that_underflows_is_never_taken_for_zero():
    staircase = Staircase.under(0.0255)
    proposal = np.array([1 << (FLIPS - 2)], dtype=np.uint64)
    assert chance(staircase, 1, 1) < 5e-324
    draws = accepted(staircase, proposal, np.zeros(1, np.uint64), lambda n: bytes(n))
    assert draws.tolist() == [1]


def test_zero_is_kept_with_one_sign_only():
    staircase = Staircase.under(5.3)
    one = 1 << (staircase.bits + FLIPS - 1)
    proposals = np.array([one, one | (1 << 63)], dtype=np.uint64)
    assert accepted(staircase, proposals, np.zeros(2, np.uint64), never).tolist() == [0]


@pytest.mark.long
def test_the_staircase_lies_above_the_target_everywhere():
    for sigma in np.geomspace(2.0**-10, 2.0**40, 997):
        staircase = Staircase.under(float(sigma))
        width = math.ldexp(1.0, staircase.bits)
        assert staircase.bits == 0 or 0.6 < width / sigma <= 1.2 * (1 + 1e-12)
        assert max(chance(staircase, int(width) * steps, steps) for steps in range(30)) <= 1


def test_large_sigma_agrees_with_the_normal_law_in_shape_and_scale():
    draws = discrete_gaussian(LARGE, 1_000_000, seeded(10)) / LARGE
    assert stats.kstest(draws, "norm").pvalue > 1e-6
    assert np.mean(draws**2) == pytest.approx(1.0, abs=5 * math.sqrt(2 / draws.size))
    assert np.mean(draws**4) == pytest.approx(3.0, abs=5 * math.sqrt(96 / draws.size))
    for quantile in (1e-4, 1e-3, 0.999, 0.9999):
        below = np.sum(draws <= stats.norm.ppf(quantile))
        assert stats.binomtest(int(below), draws.size, quantile).pvalue > 1e-6


def test_low_bits_of_large_draws_are_uniform_and_entries_independent():
    draws = discrete_gaussian(LARGE, 1_000_000, seeded(11))
    assert stats.chisquare(np.bincount(draws & 255)).pvalue > 1e-6
    unit = draws / LARGE
    for lag in (1, 2, 7):
        for signal in (unit, unit**2 - 1):
            correlation = np.mean(signal[:-lag] * signal[lag:]) / np.mean(signal**2)
            assert abs(correlation) < 5 / math.sqrt(draws.size)


def test_bad_sigma_is_refused_and_no_entries_need_no_entropy():
    for sigma in (0.0, -1.0, 2.0**-11, 2.0**40 * 1.01, math.inf, math.nan):
        with pytest.raises(ParameterError):
            discrete_gaussian(sigma, 1, never)
    assert discrete_gaussian(1.0, 0, never).size == 0


def test_calls_share_no_randomness():
    # Two equal values among 20 x 20 in 2^31 lattice points: false alarm 2e-7.
    first, second = (discrete_gaussian(LARGE, 20, os.urandom) for _ in range(2))
    assert not set(first.tolist()) & set(second.tolist())
