"""Our noise against SampCert's verified samplers: the same law, and our decisions on the same bytes.

OpenDP draws from its own generator and our staircase proposes otherwise than SampCert's loops, so that their
streams cannot be matched: there the laws are compared, with each other and with probabilities computed to 40
digits. What is decided about given bytes, whether to keep a proposal, is compared bit for bit. Each
chi-square fails falsely once in 10^8; there are fewer than 40."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from sottovoce.privacy.laplace import laplace_draws
from sottovoce.privacy.noise import ExactNoise, calibrate
from sottovoce.privacy.sampling import Staircase, accepted, discrete_gaussian
from tests.privacy.sampcert import Sampler

ALARM = 1e-8
SIGMAS = (Fraction(1, 2), Fraction(3, 2), Fraction(13, 4))
SCALES = (Fraction(1, 2), Fraction(2), Fraction(7, 3))
DRAWS = [4_000, pytest.param(200_000, marks=pytest.mark.slow)]
Law = Callable[[int], mpmath.mpf]


def seeded(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


def gaussian_law(sigma: Fraction) -> dict[int, float]:
    square = 2 * mpmath.mpf(sigma.numerator) ** 2 / sigma.denominator**2
    return _normalized(lambda x: mpmath.exp(-(mpmath.mpf(x) ** 2) / square), math.ceil(14 * sigma) + 2)


def laplace_law(scale: Fraction) -> dict[int, float]:
    rate = mpmath.mpf(scale.denominator) / scale.numerator
    return _normalized(lambda x: mpmath.exp(-abs(x) * rate), math.ceil(90 * scale) + 2)


def _normalized(weight: Law, reach: int) -> dict[int, float]:
    """What lies beyond is below 10^-38 of the whole."""
    with mpmath.workdps(40):
        weights = {x: weight(x) for x in range(-reach, reach + 1)}
        total = mpmath.fsum(weights.values())
        return {x: float(found / total) for x, found in weights.items()}


def fits(draws: list[int], law: dict[int, float]) -> bool:
    """Pearson's chi-square, outcomes with fewer than 20 expected taken together; none may be impossible."""
    counts = Counter(draws)
    assert set(counts) <= set(law)
    common = [x for x, chance in law.items() if chance * len(draws) >= 20]
    observed = [*(counts[x] for x in common), len(draws) - sum(counts[x] for x in common)]
    expected = np.array([*(law[x] for x in common), 1.0 - sum(law[x] for x in common)]) * len(draws)
    if expected[-1] < 5:
        observed, expected = observed[:-1], expected[:-1] * sum(observed[:-1]) / expected[:-1].sum()
    return bool(stats.chisquare(observed, expected).pvalue > ALARM)


def alike(one: list[int], two: list[int]) -> bool:
    """Chi-square of two samples of one size."""
    first, second = Counter(one), Counter(two)
    common = [x for x in first | second if first[x] + second[x] >= 40]
    rows = [[count[x] for x in common] for count in (first, second)]
    for row, sample in zip(rows, (one, two), strict=True):
        row.append(len(sample) - sum(row))
    if min(row[-1] for row in rows) < 20:
        rows = [row[:-1] for row in rows]
    return bool(stats.chi2_contingency(rows).pvalue > ALARM)


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_long_answers_have_the_law_of_the_verified_gaussian(sigma: Fraction, draws: int) -> None:
    verified = Sampler(seeded(1))
    judge = [verified.gaussian(sigma) for _ in range(draws)]
    ours = discrete_gaussian(float(sigma), draws, seeded(2)).tolist()
    assert fits(judge, gaussian_law(sigma))
    assert fits(ours, gaussian_law(sigma))
    assert alike(judge, ours)


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_whole_noise_has_the_law_of_the_verified_laplace(scale: Fraction, draws: int) -> None:
    """`moves / epsilon` is the scale; ours is larger by one part in 10^12."""
    verified = Sampler(seeded(3))
    judge = [verified.laplace(scale) for _ in range(draws)]
    ours = laplace_draws(scale.numerator, float(scale.denominator), draws)
    assert fits(judge, laplace_law(scale))
    assert fits(ours, laplace_law(scale))
    assert alike(judge, ours)


def test_short_answers_have_the_law_of_the_verified_gaussian() -> None:
    """OpenDP's Gaussian on our lattice, whose scale is 2^38 steps and more, in bins of equal chance."""
    calibrated = calibrate(1.0, 0.25, 4_000)
    ours = ExactNoise().gaussian(np.zeros(calibrated.entries), calibrated) / calibrated.scale
    verified = Sampler(seeded(4))
    steps = Fraction(calibrated.scale) / Fraction(calibrated.step)
    judge = np.array([verified.gaussian(steps) for _ in range(400)], dtype=float) / float(steps)
    edges = stats.norm.ppf(np.linspace(0.0, 1.0, 25))
    for draws in (ours, judge):
        assert stats.chisquare(np.histogram(draws, edges)[0]).pvalue > ALARM


def test_other_laws_are_told_apart() -> None:
    """Control: zero kept with both signs, and a scale off by a tenth."""
    draws = discrete_gaussian(1.5, 20_000, seeded(6)).tolist()
    assert fits(draws, gaussian_law(Fraction(3, 2)))
    assert not fits(draws, gaussian_law(Fraction(33, 20)))
    assert not fits([*draws, *(0 for x in draws if x == 0)], gaussian_law(Fraction(3, 2)))
    assert not alike(draws, discrete_gaussian(1.65, 20_000, seeded(7)).tolist())


@pytest.mark.parametrize("sigma", [0.4, 1.7, 33.3, 1.37 * 2.0**30])
@pytest.mark.parametrize("proposals", [3_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_the_same_bytes_are_kept_as_in_exact_arithmetic(sigma: float, proposals: int) -> None:
    """The staircase read off its description: y = +-(W G + u), kept if V C < 2^G exp(-y^2 / (2 sigma^2))."""
    words = np.frombuffer(seeded(5)(16 * proposals), dtype=np.uint64)
    staircase = Staircase.under(sigma)

    def none_left(count: int) -> bytes:
        raise AssertionError("64 bits decide")

    ours = accepted(staircase, words[:proposals], words[proposals:], none_left).tolist()
    assert ours == [y for y in map(judge_of(staircase), *np.split(words, 2)) if y is not None]


def judge_of(staircase: Staircase) -> Callable[[np.uint64, np.uint64], int | None]:
    width = 2**staircase.bits

    def judged(proposal: np.uint64, uniform: np.uint64) -> int | None:
        word, offset = int(proposal), int(proposal) % width
        flips = f"{(word // width) % 2**23:023b}"
        tosses = flips.index("1")
        y = width * tosses + offset
        with mpmath.workdps(60):
            bound = mpmath.mpf(2) ** tosses * mpmath.exp(
                -(mpmath.mpf(y) ** 2) / (2 * mpmath.mpf(staircase.sigma) ** 2)
            )
            below = mpmath.mpf(int(uniform)) / 2**64 * mpmath.mpf(staircase.peak) < bound
        negative = word >= 2**63
        if not below or (negative and y == 0):
            return None
        return -y if negative else y

    return judged
