"""The paper's lemmas attacked on random functions, with as much noise as eq. bounded_noise allows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from sottovoce.methods.curvature import downhill
from sottovoce.methods.lanczos import smallest_pair
from sottovoce.methods.paper.constants import Curve, NoiseShare, SearchShare, trial_count
from sottovoce.methods.paper.subproblem import minimize_in_ball
from sottovoce.results.result import Tolerance

NOISE, SEARCH = NoiseShare(), SearchShare()


@dataclass(frozen=True)
class Waves:
    """f(w) = sum a_j cos(<k_j, w> + b_j): G = sum a |k|^2 and M = sum a |k|^3, attained where waves align."""

    amplitudes: np.ndarray
    numbers: np.ndarray
    phases: np.ndarray

    @property
    def curve(self) -> Curve:
        lengths = np.linalg.norm(self.numbers, axis=1)
        return Curve(float(self.amplitudes @ lengths**2), float(self.amplitudes @ lengths**3))

    def value(self, w: np.ndarray) -> float:
        return float(self.amplitudes @ np.cos(self.numbers @ w + self.phases))

    def gradient(self, w: np.ndarray) -> np.ndarray:
        return -(self.amplitudes * np.sin(self.numbers @ w + self.phases)) @ self.numbers

    def hessian(self, w: np.ndarray) -> np.ndarray:
        weights = self.amplitudes * np.cos(self.numbers @ w + self.phases)
        return -(self.numbers.T * weights) @ self.numbers


@dataclass(frozen=True)
class Visit:
    """A function, a point, the exact values there and noisy ones at the largest noise allowed."""

    f: Waves
    w: np.ndarray
    noisy: np.ndarray
    direction: np.ndarray
    eigenvalue: float
    tolerance: Tolerance


def visits(count: int, seed: int) -> list[Visit]:
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        waves = int(rng.integers(1, 4))
        f = Waves(rng.uniform(0.2, 1.0, waves), rng.standard_normal((waves, 2)), rng.uniform(0, 7, waves))
        curve = f.curve
        tolerance = Tolerance(
            gradient=float(rng.uniform(0.05, 0.6)) * math.sqrt(curve.smoothness),
            curvature=float(rng.uniform(0.05, 0.6)) * curve.smoothness,
        )
        bend = NOISE.curvature_gradient * tolerance.curvature**2 / curve.hessian_lipschitz
        room = min(NOISE.gradient * tolerance.gradient, bend)
        w = rng.uniform(-3, 3, 2)
        error = rng.standard_normal(2)
        noisy = f.gradient(w) + room * error / np.linalg.norm(error)
        raw = rng.standard_normal((2, 2))
        raw = raw + raw.T
        matrix = f.hessian(w) + NOISE.curvature * tolerance.curvature * raw / np.linalg.norm(raw, 2)
        direction, eigenvalue = downhill(matrix, noisy)
        found.append(Visit(f, w, noisy, direction, eigenvalue, tolerance))
    return found


VISITS = visits(2_500, 1)
STEEP = [v for v in VISITS if np.linalg.norm(v.noisy) > v.tolerance.gradient]
BENT = [
    v
    for v in VISITS
    if np.linalg.norm(v.noisy) <= v.tolerance.gradient and v.eigenvalue < -v.tolerance.curvature
]
DONE = [
    v
    for v in VISITS
    if np.linalg.norm(v.noisy) <= v.tolerance.gradient and v.eigenvalue >= -v.tolerance.curvature
]


def test_every_kind_of_visit_occurs_often() -> None:
    assert min(len(STEEP), len(BENT), len(DONE)) > 150


def test_short_steps_decrease_by_at_least_min_dec() -> None:
    for v in STEEP:
        fall = v.f.value(v.w) - v.f.value(v.w - v.noisy / v.f.curve.smoothness)
        assert fall >= NOISE.short_decrease(v.f.curve, v.tolerance)
    for v in BENT:
        length = 2.0 * abs(v.eigenvalue) / v.f.curve.hessian_lipschitz
        fall = v.f.value(v.w) - v.f.value(v.w + length * v.direction)
        assert fall >= NOISE.short_decrease(v.f.curve, v.tolerance)


def test_min_dec_is_not_far_from_attained() -> None:
    """Decrease over its bound, smallest of all visits: a bound many times too small would show."""
    ratios = []
    for v in BENT:
        length = 2.0 * abs(v.eigenvalue) / v.f.curve.hessian_lipschitz
        fall = v.f.value(v.w) - v.f.value(v.w + length * v.direction)
        cubic = 2.0 * (1 / 3 - NOISE.curvature_gradient - NOISE.curvature) * abs(v.eigenvalue) ** 3
        ratios.append(fall * v.f.curve.hessian_lipschitz**2 / cubic)
    assert 1.0 <= min(ratios) < 12.0


def test_sufficient_decrease_holds_at_the_fallback_lengths_and_shorter_ones() -> None:
    for v in STEEP:
        longest = SEARCH.gradient_fallback(NOISE, v.f.curve)
        for length in longest * np.array([1.0, 0.5, 0.01]):
            fall = v.f.value(v.w) - v.f.value(v.w - length * v.noisy)
            assert fall >= SEARCH.gradient * length * float(v.noisy @ v.noisy) * (1 - 1e-9)
    low, high = SEARCH.roots(NOISE)
    for v in BENT:
        longest = SEARCH.curvature_fallback(NOISE, v.f.curve, v.eigenvalue)
        for length in longest * np.array([1.0, 0.6, low / high]):
            fall = v.f.value(v.w) - v.f.value(v.w + length * v.direction)
            assert fall >= 0.5 * SEARCH.curvature * length**2 * abs(v.eigenvalue) * (1 - 1e-9)


def test_the_roots_solve_the_papers_quadratic() -> None:
    for t in SEARCH.roots(NOISE):
        middle = 1.0 - NOISE.curvature - SEARCH.curvature
        assert -t * t / 6 + middle * t / 2 - NOISE.curvature_gradient == pytest.approx(0.0, abs=1e-15)


def test_a_search_that_errs_by_what_is_tolerated_still_decreases_by_min_dec() -> None:
    """Lemma ls_decrease: any length from the fallback up whose trial falls short by half at most."""
    for v in STEEP + BENT:
        steep = np.linalg.norm(v.noisy) > v.tolerance.gradient
        if steep:
            shortest = SEARCH.gradient_fallback(NOISE, v.f.curve)
            required, direction = SEARCH.gradient * shortest * float(v.noisy @ v.noisy), -v.noisy
        else:
            shortest = SEARCH.curvature_fallback(NOISE, v.f.curve, v.eigenvalue)
            required = 0.5 * SEARCH.curvature * shortest**2 * abs(v.eigenvalue)
            direction = v.direction
        assert required / 2 >= SEARCH.decrease(NOISE, v.f.curve, v.tolerance) * (1 - 1e-12)
        assert v.f.value(v.w) - v.f.value(v.w + shortest * direction) >= required * (1 - 1e-9)


def test_no_length_tried_is_shorter_than_the_fallback() -> None:
    for shrink in (0.1, 0.5, 0.6, 0.9):
        for longer in (1.5, 7.0, 20.0, 1000.0):
            count = trial_count(shrink, longer)
            assert longer * shrink ** (count - 1) >= 1.0 > longer * shrink**count


def test_where_the_run_ends_the_truth_is_within_the_widened_tolerance() -> None:
    for v in DONE:
        assert np.linalg.norm(v.f.gradient(v.w)) <= (1 + NOISE.gradient) * v.tolerance.gradient
        lowest = np.linalg.eigvalsh(v.f.hessian(v.w))[0]
        assert lowest >= -(1 + NOISE.curvature) * v.tolerance.curvature


def test_the_direction_of_negative_curvature_never_climbs() -> None:
    for v in VISITS:
        assert float(v.direction @ v.noisy) <= 0.0
        assert np.linalg.norm(v.direction) == pytest.approx(1.0)


def test_lanczos_finds_the_smallest_eigenvalue_from_above_to_its_precision() -> None:
    rng = np.random.default_rng(2)
    for dim in (3, 60, 300):
        raw = rng.standard_normal((dim, dim))
        matrix = (raw + raw.T) / 2.0
        values = np.linalg.eigvalsh(matrix)
        found, direction = smallest_pair(matrix, precision=1e-3)
        assert values[0] - 1e-9 <= found <= values[0] + 1e-3 * np.abs(values).max()
        assert direction @ matrix @ direction == pytest.approx(found, abs=1e-8)


@pytest.mark.parametrize("case", ["interior", "boundary", "hard"])
def test_the_trust_region_step_meets_its_optimality_conditions(case: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        basis = np.linalg.qr(rng.standard_normal((5, 5)))[0]
        values = np.sort(rng.uniform(0.5, 2.0, 5)) - (0.0 if case == "interior" else 1.0)
        parts = 0.1 * rng.standard_normal(5)
        if case == "hard":
            values[0], parts[0] = -1.0, 0.0
        matrix, gradient, radius = (basis * values) @ basis.T, basis @ parts, 1.0
        step = minimize_in_ball(gradient, matrix, radius)
        assert np.linalg.norm(step) <= radius * (1 + 1e-9)
        image = matrix @ step + gradient
        multiplier = max(0.0, -float(step @ image) / float(step @ step))
        assert image + multiplier * step == pytest.approx(np.zeros(5), abs=1e-6)
        assert multiplier >= -values[0] - 1e-6
        if case != "interior":
            assert np.linalg.norm(step) == pytest.approx(radius) or multiplier < 1e-6
