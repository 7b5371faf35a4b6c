"""No two clamped contributions lie farther apart than is charged for, whatever the band; some come close."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import sottovoce as sv
from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError
from sottovoce.losses.limited import Limited
from sottovoce.losses.unbiased import UnbiasedLimited
from sottovoce.trusted.bands import (
    BINS,
    Band,
    Reach,
    Span,
    matrix_distance,
    moment_distance,
    number_distance,
    spectral_distance,
    vector_distance,
)
from tests.strategies import ALL_LOSSES

REPLACE, ZERO = Relation.REPLACE_ONE, Relation.ZERO_OUT
LOSSES = [*ALL_LOSSES, sv.losses.Poisson(20.0), UnbiasedLimited(0.6), Limited(sv.losses.Logistic(), 0.3)]
REACHES = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0)


def reach_of(loss: sv.losses.Loss, far: float, cap: float = 1.0) -> Reach:
    offset = {
        sv.losses.Kind.MARGIN: (0.0, 0.0),
        sv.losses.Kind.RESIDUAL: (-1.0, 1.0),
        sv.losses.Kind.COUNT: (loss.shift, loss.shift),
    }[loss.kind]
    return Reach(far, cap * far, offset, 0.0)


def rows(rng: np.random.Generator, m: int, cap: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows in the plane up to length 1, many of them long, and what they count: q rho <= cap."""
    angle = np.concatenate([rng.uniform(0.0, 2.0 * math.pi, m), np.linspace(0.0, 2.0 * math.pi, m)])
    rho = np.concatenate([rng.choice([0.0, 0.3, cap, 1.0, 1.0], m), np.ones(m)])
    z = rho[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return z, np.minimum(1.0, cap / np.maximum(rho, 1e-300))


def farthest(terms: np.ndarray) -> float:
    if np.linalg.matrix_rank(terms - terms[0], tol=1e-12 * max(1e-300, np.abs(terms).max())) == 2:
        terms = terms[ConvexHull(terms, qhull_options="QJ").vertices]
    return math.sqrt(((terms[:, None] - terms[None]) ** 2).sum(axis=2).max())


def ends(band: Band, reach: Reach, z: np.ndarray, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The worst that any law could contribute: either end of the band, over labels of every kind."""
    offsets = np.where(
        rng.random(len(z)) < 0.7, rng.uniform(*reach.offset, len(z)), rng.choice(reach.offset, len(z))
    )
    t = reach.far * z[:, 0] - offsets
    terms = [(band.clamped(t, np.full(t.size, push)) * q)[:, None] * z for push in (-1e9, 1e9, math.nan)]
    return np.concatenate(terms)


@pytest.mark.parametrize("cap", [1.0, 1.0 / 3.0, 0.05])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_clamped_contributions_lie_farther_apart_than_the_charge_and_some_nearly_do(loss, cap) -> None:
    rng = np.random.default_rng(3)
    for far in REACHES:
        reach = reach_of(loss, far, cap)
        band = loss.slope_band(*reach.interval)
        z, q = rows(rng, 700, cap)
        terms = ends(band, reach, z, q, rng) / cap
        found, charged = farthest(terms), vector_distance(band, reach, REPLACE)
        assert found <= charged * (1.0 + 1e-12)
        assert found >= 0.97 * charged
        longest = float(np.linalg.norm(terms, axis=1).max())
        assert 0.97 * vector_distance(band, reach, ZERO) <= longest
        assert longest <= vector_distance(band, reach, ZERO) * (1.0 + 1e-12)


def test_random_bands_of_any_shape_hold_too() -> None:
    """Dense samples: what climbing misses, angles under a cap above all."""
    rng, ratios = np.random.default_rng(5), []
    for _ in range(60):
        far, cap = float(np.exp(rng.normal(0.5, 1.5))), float(rng.choice([1.0, 0.6, 0.1]))
        low, high = np.sort(rng.normal(0.0, 2.0, 2)) if rng.random() < 0.5 else (0.0, 0.0)
        reach = Reach(far, cap * far, (float(low), float(high)), 0.0)
        bins = int(rng.choice([1, 2, 7, 64]))
        middle = np.cumsum(rng.normal(0.0, 1.0, bins)) / math.sqrt(bins)
        first, last = reach.interval
        if rng.random() < 0.3:
            first, last = first * rng.random() - 0.1, last * rng.random() + 0.1
        band = Band(first, last, middle - rng.exponential(0.2, bins), middle + rng.exponential(0.2, bins))
        z, q = rows(rng, 800, cap)
        terms = ends(band, reach, z, q, rng) / cap
        ratios.append(farthest(terms) / vector_distance(band, reach, REPLACE))
    assert max(ratios) <= 1.0 + 1e-12
    assert float(np.median(ratios)) > 0.97


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-170, 1e-160, 1e59])
def test_tiny_and_huge_bands_are_charged_in_proportion(size: float) -> None:
    """Squares of numbers below 1e-162 are 0; rows c z of opposite directions lie 2 c apart all the same."""
    reach = Reach(1.0, 1.0, (0.0, 0.0), 0.0)
    for lo, hi in ((-1.0, 1.0), (-1.0, 0.0), (0.0, 1.0)):
        band = Band(-1.0, 1.0, np.full(4, lo * size), np.full(4, hi * size))
        assert 2.0 * size <= vector_distance(band, reach, REPLACE) <= 2.0 * size * (1.0 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_proposed_band_cuts_next_to_nothing_off(loss: sv.losses.Loss) -> None:
    """What a narrow band costs is accuracy: slopes, values and curvatures pass unchanged."""
    for far in (0.3, 3.0, 30.0, 1e4):
        first, last = reach_of(loss, far).interval
        t = np.concatenate(
            [np.linspace(first, last, 4001), np.clip(np.linspace(-5.0, 5.0, 4001), first, last)]
        )
        y = np.full(t.size, float(loss.kind is sv.losses.Kind.MARGIN))
        slopes = np.clip(loss.law.slopes(t, y), -loss.slope, loss.slope)
        band = loss.slope_band(first, last)
        assert np.abs(band.clamped(t, slopes) - slopes).max() <= 2e-4 * loss.slope
        curvatures = loss.law.curvatures(t, y)
        span = loss.curvature_span(first, last)
        assert np.abs(span.clamped(curvatures) - curvatures).max() <= 2e-4 * loss.curvature_high


def test_more_bins_would_save_less_than_half_a_percent() -> None:
    kinds = (sv.losses.Logistic(), sv.losses.Savage(), sv.losses.PseudoHuber())
    for loss, far in zip(kinds, (3.0, 10.0, 1.0), strict=True):
        reach = reach_of(loss, far)
        first, last = reach.interval
        edges = np.linspace(first, last, 4 * BINS + 1)
        y = np.full(edges.size, float(loss.kind is sv.losses.Kind.MARGIN))
        slopes = loss.law.slopes(edges, y)
        lo, hi = np.minimum(slopes[1:], slopes[:-1]), np.maximum(slopes[1:], slopes[:-1])
        fine = vector_distance(Band(first, last, lo, hi), reach, REPLACE)
        assert vector_distance(loss.slope_band(first, last), reach, REPLACE) <= 1.005 * fine


def test_numbers_matrices_and_moments_attain_their_distances() -> None:
    rng = np.random.default_rng(0)
    for span in (Span(-1.0, 2.0), Span(0.5, 2.0), Span(-2.0, -0.5), Span(-2.0, 0.1), Span(0.0, 0.0)):
        c = np.concatenate([rng.uniform(span.low, span.high, 60), [span.low, span.high, 0.0]])
        c = np.clip(c, *span)
        q = rng.choice([0.5, 3.0], c.size)
        numbers = np.concatenate([q * c, [0.5 * span.low, 3.0 * span.low, 0.5 * span.high, 3.0 * span.high]])
        assert np.ptp(numbers) == pytest.approx(number_distance(span, 0.5, 3.0, REPLACE), rel=1e-9)
        assert np.abs(numbers).max() == pytest.approx(number_distance(span, 0.5, 3.0, ZERO), rel=1e-9)
        z = rng.normal(size=(c.size, 2))
        z /= np.linalg.norm(z, axis=1)[:, None]
        z = np.concatenate([z, np.tile(np.eye(2), (2, 1)), np.zeros((1, 2))])
        c = np.concatenate([c, [span.low, span.low, span.high, span.high, span.high]])
        matrices = c[:, None, None] * z[:, :, None] * z[:, None, :]
        apart = matrices[:, None] - matrices[None]
        frobenius = np.sqrt((apart**2).sum(axis=(2, 3))).max()
        assert frobenius == pytest.approx(matrix_distance(span, REPLACE), rel=1e-9, abs=1e-300)
        spectral = np.abs(np.linalg.eigvalsh(apart)).max()
        assert spectral == pytest.approx(spectral_distance(span, REPLACE), rel=1e-9, abs=1e-300)
        single = np.sqrt((matrices**2).sum(axis=(1, 2))).max()
        assert single == pytest.approx(matrix_distance(span, ZERO), rel=1e-9, abs=1e-300)
    e, f = np.eye(2) * 3.0
    assert np.linalg.norm(np.outer(e, e) - np.outer(f, f)) == pytest.approx(moment_distance(9.0, REPLACE))
    assert np.linalg.norm(np.outer(e, e)) == pytest.approx(moment_distance(9.0, ZERO))


@pytest.mark.parametrize(
    "given",
    [
        (0.0, 0.0, [0.0], [1.0]),
        (0.0, math.inf, [0.0], [1.0]),
        (1.0, 0.0, [0.0], [1.0]),
        (0.0, 1.0, [2.0], [1.0]),
        (0.0, 1.0, [math.nan], [1.0]),
        (0.0, 1.0, [0.0], [math.inf]),
        (0.0, 1.0, [], []),
        (0.0, 1.0, [0.0, 0.0], [1.0]),
    ],
)
def test_a_band_that_bounds_nothing_is_refused(given) -> None:
    with pytest.raises(ParameterError, match="band"):
        Band(*given)


def test_a_band_cannot_be_changed_once_it_is_charged_for() -> None:
    lo = np.zeros(3)
    band = Band(0.0, 1.0, lo, np.ones(3))
    lo[0] = -9.0
    assert band.lo[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        band.hi[0] = 9.0


def test_the_outer_bins_hold_what_lies_beyond_the_band() -> None:
    """A band of a part of the interval: rows across w and beyond its ends are clamped by its outer bins."""
    for first, last in ((0.5, 1.0), (-1.0, -0.5)):
        reach = Reach(1.0, 1.0, (0.0, 0.0), 0.0)
        band = Band(first, last, np.array([1.0, 0.0]), np.array([1.0, 0.0]))
        band = band if first > 0.0 else Band(first, last, np.array([0.0, 1.0]), np.array([0.0, 1.0]))
        assert vector_distance(band, reach, REPLACE) == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize(("lo", "hi"), [([-3.0, 0.0], [1.0, 2.0]), ([-2.0, -1.0], [0.0, 3.0])])
def test_a_band_is_as_large_as_the_larger_of_its_ends(lo: list[float], hi: list[float]) -> None:
    assert Band(-1.0, 1.0, np.array(lo), np.array(hi)).largest == 3.0
