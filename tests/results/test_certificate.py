from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from sottovoce.errors import ParameterError
from sottovoce.results.certificate import (
    Certificate,
    Levels,
    certifying_scale,
    norm_bound,
    scalar_margin,
    spectral_margin,
)
from sottovoce.results.result import Tolerance


@pytest.mark.parametrize("dim", [1, 5, 54])
@pytest.mark.parametrize("truth", [0.0, 0.5, 3.0, 40.0])
def test_the_norm_bound_is_wrong_at_most_as_often_as_its_level(dim: int, truth: float) -> None:
    """20,000 draws at level 0.05: a binomial above 0.05 by 4.9 sigma has probability below 1e-6."""
    draws = np.random.default_rng(1).standard_normal((20_000, dim))
    draws[:, 0] += truth
    norms = np.linalg.norm(draws, axis=1)
    wrong = sum(norm_bound(float(norm), 1.0, dim, 0.05)[0] < truth for norm in norms[:4000])
    assert wrong <= 4000 * 0.05 + 4.9 * math.sqrt(4000 * 0.05 * 0.95)


@pytest.mark.parametrize("dim", [1, 54, 500])
def test_the_norm_bound_inverts_the_noncentral_chi_square(dim: int) -> None:
    norm = math.sqrt(dim + 30.0)
    bound, floor = norm_bound(norm, 1.0, dim, 0.01)
    assert not floor
    assert stats.ncx2.cdf(norm**2, dim, bound**2) == pytest.approx(0.01, rel=1e-5)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e3), st.integers(1, 2000), st.sampled_from([1e-6, 1e-3, 0.05]))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_norm_bound_is_finite_and_never_above_the_one_dimensional_bound(
    norm: float, scale: float, dim: int, level: float
) -> None:
    bound, floor = norm_bound(norm, scale, dim, level)
    assert math.isfinite(bound)
    assert bound > 0.0
    if not floor:
        assert bound <= norm - scale * stats.norm.ppf(level) + 1e-7 * scale


@pytest.mark.parametrize("dim", [1, 2, 10, 54, 2000, 100_000])
@pytest.mark.parametrize("signal", [0.0, 1.0, 30.0, 300.0, 3000.0])
@pytest.mark.parametrize("level", [0.05, 1e-3, 1e-6])
def test_the_norm_bound_holds_by_an_independent_integral(dim: int, signal: float, level: float) -> None:
    """P((Z + m)^2 + chi-square_{d-1} <= r^2) by quadrature over Z, m the bound, is at most the level."""
    norm = math.sqrt(dim + signal**2)
    bound, floor = norm_bound(norm, 1.0, dim, level)
    assert not floor

    def density(z: float) -> float:
        rest = special.chdtr(dim - 1, max(norm**2 - z * z, 0.0)) if dim > 1 else 1.0
        return math.exp(-0.5 * (z - bound) ** 2) / math.sqrt(2.0 * math.pi) * float(rest)

    low, high = max(-norm, bound - 12.0), min(norm, bound + 12.0)
    chance = integrate.quad(density, low, high, epsabs=1e-14, epsrel=1e-8, limit=400)[0]
    assert chance <= level * (1.0 + 1e-5)


@pytest.mark.parametrize("dim", [1, 5, 54, 1000])
def test_the_certifying_scale_lets_a_typical_answer_through_and_no_larger_one_does(dim: int) -> None:
    scale = certifying_scale(dim, 1e-3, 0.7)
    for factor, passes in ((1.0, True), (1.01, False)):
        noise = scale * factor
        bound, _ = norm_bound(math.hypot(0.7, noise * math.sqrt(dim)), noise, dim, 1e-3)
        assert (bound <= 1.0) is passes
    with pytest.raises(ParameterError, match="fraction"):
        certifying_scale(dim, 1e-3, 1.0)


def test_a_run_cut_short_and_its_planned_end_share_the_error() -> None:
    levels = Levels(confidence=0.95, gradient_tests=17, curvature_tested=True)
    spent = 17 * levels.on_the_way().gradient + levels.at_the_end().gradient
    assert spent == pytest.approx(0.025)


def test_the_norm_bound_is_larger_when_the_level_is_stricter() -> None:
    assert norm_bound(10.0, 1.0, 54, 1e-4)[0] > norm_bound(10.0, 1.0, 54, 1e-2)[0]


def test_an_answer_smaller_than_pure_noise_is_reported_as_below_the_floor() -> None:
    bound, floor = norm_bound(4.0, 1.0, 54, 0.01)
    assert floor
    assert bound > norm_bound(6.0, 1.0, 54, 0.01)[0]


def test_the_spectral_margin_covers_symmetric_noise_and_is_not_absurd() -> None:
    """400 matrices at level 0.05: more than 52 exceedances have probability below 1e-6 if the level holds."""
    rng, dim = np.random.default_rng(2), 30
    tops = []
    for _ in range(400):
        raw = rng.standard_normal((dim, dim))
        tops.append(float(np.linalg.eigvalsh((raw + raw.T) / 2.0)[-1]))
    margin = spectral_margin(1.0, dim, 0.05)
    assert sum(top > margin for top in tops) <= 52
    assert margin <= 1.6 * float(np.median(tops))


def test_the_scalar_margin_is_the_normal_quantile() -> None:
    assert scalar_margin(2.0, 0.01) == pytest.approx(2.0 * stats.norm.ppf(0.99))


def test_levels_sum_to_the_error_probability() -> None:
    levels = Levels(confidence=0.99, gradient_tests=16, curvature_tested=True)
    spent = 16 * levels.gradient + sum(levels.curvature(t) for t in range(1, 200_000))
    assert spent == pytest.approx(0.01, rel=1e-4)
    assert spent < 0.01
    alone = Levels(confidence=0.99, gradient_tests=16, curvature_tested=False)
    assert 16 * alone.gradient == pytest.approx(0.01)


def test_meeting_a_tolerance_needs_both_bounds() -> None:
    certificate = Certificate(gradient_norm_at_most=0.02, curvature_at_least=-0.05, confidence=0.99)
    assert certificate.meets(Tolerance(gradient=0.02, curvature=0.05))
    assert not certificate.meets(Tolerance(gradient=0.019, curvature=0.05))
    assert not certificate.meets(Tolerance(gradient=0.02, curvature=0.049))
    with pytest.raises(ParameterError, match="curvature"):
        certificate.meets(Tolerance(gradient=0.02))


def test_the_text_says_confidence_and_noise_floor() -> None:
    text = str(
        Certificate(
            gradient_norm_at_most=0.0021, curvature_at_least=-0.0005, confidence=0.99, below_noise_floor=True
        )
    )
    assert "below the noise floor of 0.0021" in text
    assert "99 % confidence" in text
