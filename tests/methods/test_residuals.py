"""Regression pays for residuals, not for the declared range."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.methods.adapt.coordinates import Coordinates, Prior
from sottovoce.methods.adapt.residuals import ResidualScale
from sottovoce.methods.adapt.second_moments import SecondMoments, widened
from sottovoce.planning.dry_run import Planned
from sottovoce.queries import Preconditioner, ResidualBands
from sottovoce.queries.residuals import edges


def table(n: int = 6_000, noise: float = 0.05, seed: int = 0) -> tuple[sv.Risk, np.ndarray, np.ndarray]:
    """Twenty columns that explain targets of sd 0.3 but for `noise`, the last one constant."""
    rng = np.random.default_rng(seed)
    Z = np.clip(rng.standard_normal((n, 20)), -4.0, 4.0)
    beta = np.random.default_rng(100).standard_normal(20)
    score = 0.3 * (Z @ beta) / np.linalg.norm(beta)
    y = np.clip(score + noise * rng.standard_normal(n), -1.0, 1.0)
    X = np.column_stack([Z / 8.0, np.full(n, 0.4)])
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1) * (1.0 + 2.0**-20))[:, None]
    records = sv.Records.from_arrays(X, y, target=(-1.0, 1.0), constant=True)
    return sv.Risk(records, sv.losses.PseudoHuber(), sv.regularizers.L2(1e-6)), X, y


def scale_of(t: np.ndarray, noise: float, seed: int = 0) -> ResidualScale:
    problem = table(50)[0].problem
    ends = np.append(edges(problem), 0.0)
    below = np.array([np.mean(np.abs(t) < end) for end in ends[:-1]])
    shares = -np.diff(np.concatenate([[1.0], below, [0.0]]))
    seen = shares + noise * np.random.default_rng(seed).standard_normal(shares.size)
    return ResidualScale.of(Planned(seen, noise, 1), problem)


@pytest.mark.parametrize("size", [0.01, 0.07, 0.4])
def test_noisy_counts_tell_the_scale_of_residuals(size: float) -> None:
    t = size * np.random.default_rng(1).standard_normal(100_000)
    for seed in range(5):
        found = scale_of(t, 0.03, seed)
        assert 0.6 * size < found.deviation < 1.7 * size
        assert found.within(size) == pytest.approx(0.68, abs=0.12)
        assert np.all(np.diff(found.below) >= 0.0)


def test_records_that_count_half_tell_the_same() -> None:
    t = 0.07 * np.random.default_rng(1).standard_normal(100_000)
    plain, problem = scale_of(t, 0.001), table(50)[0].problem
    shares = np.diff(plain.below, prepend=0.0, append=1.0)[::-1]
    half = ResidualScale.of(Planned(0.5 * shares, 0.001, 1), problem)
    np.testing.assert_allclose(half.below, plain.below, atol=0.01)


def test_counts_without_noise_are_believed_whatever_the_law() -> None:
    rng = np.random.default_rng(2)
    t = np.where(rng.random(100_000) < 0.8, 0.02, 0.9) * rng.choice([-1.0, 1.0], 100_000)
    found = scale_of(t, 1e-5)
    assert found.within(0.1) == pytest.approx(0.8, abs=0.01)
    assert found.beyond(0.1) == pytest.approx(0.2 * 0.65, rel=0.3)


def test_counts_that_noise_hides_say_what_was_expected_before() -> None:
    found = [scale_of(np.zeros(10), 30.0, seed).deviation for seed in range(5)]
    assert 0.1 < min(found) < max(found) < 1.0


def test_small_residuals_cost_little_noise_and_are_counted_as_the_fit_improves() -> None:
    """Least squares has .0025. Before residuals were counted the mean square was .0033 to .0040 here."""
    risk, X, y = table()
    for seed in range(2):
        found = sv.minimize(risk, budget=sv.Budget(epsilon=1.0, delta=1e-6), method="adapt", simulate=seed)
        assert np.mean((X @ found.weights - y) ** 2) < 0.00285
        assert sum(row.kind == "residuals counted" for row in found.trace) == 6
        assert "slopes limited" in found.objective


def test_a_plan_counts_these_queries_too() -> None:
    plan = sv.plan(
        n=2_000,
        dim=21,
        loss=sv.losses.PseudoHuber(),
        target=(-1.0, 1.0),
        budget=sv.Budget(epsilon=1.0, delta=1e-6),
        method="adapt",
    )
    asked = {noise.query: noise.times for noise in plan.noise}
    assert asked[ResidualBands.kind.value] == 6


def test_ranges_declared_ten_times_too_wide_cost_little() -> None:
    risk, X, y = table(3_000, noise=0.1)
    wide = sv.Records.from_arrays(X, y / 10.0, target=(-1.0, 1.0), constant=True)
    apart = sv.Risk(wide, sv.losses.PseudoHuber(), sv.regularizers.L2(1e-6))
    budget = sv.Budget(epsilon=1.0, delta=1e-6)
    plain = [sv.minimize(risk, budget=budget, method="adapt", simulate=s).weights for s in range(2)]
    far = [10.0 * sv.minimize(apart, budget=budget, method="adapt", simulate=s).weights for s in range(2)]
    squares = [np.mean([np.mean((X @ w - y) ** 2) for w in ends]) for ends in (plain, far)]
    assert squares[1] < 1.15 * squares[0]


def test_where_nothing_is_to_be_found_weights_are_shorter_than_those_of_least_squares() -> None:
    """Least squares explain 21/6,000 of targets that are noise; what is expected of records to come is 0."""
    _, X, _ = table()
    y = np.clip(0.3 * np.random.default_rng(9).standard_normal(len(X)), -1.0, 1.0)
    records = sv.Records.from_arrays(X, y, target=(-1.0, 1.0), constant=True)
    risk = sv.Risk(records, sv.losses.PseudoHuber(), sv.regularizers.L2(1e-6))
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    found = sv.minimize(risk, budget=sv.Budget(epsilon=8.0, delta=1e-6), method="adapt", simulate=0)
    assert np.linalg.norm(X @ found.weights) < 0.5 * np.linalg.norm(X @ exact)


@pytest.mark.parametrize(
    ("lost", "noise", "longer"), [(0.15, 0.01, False), (0.4, 0.01, True), (0.4, 5.0, False)]
)
def test_caps_are_longer_where_they_take_more_than_from_normal_rows(
    lost: float, noise: float, longer: bool
) -> None:
    diagonal = np.ones(20)
    chosen = Coordinates(Preconditioner(scale=diagonal, cap=4.0), 0.9 * diagonal, 0.01 * diagonal, 0.9)
    gram = Planned((1.0 - lost) * np.eye(20), noise, 1)
    found = SecondMoments(0.7 * diagonal, np.eye(20), 0.1, 1e-4)
    there, grown = widened(chosen, found, gram, Prior(0.3, 0.3, 0.9, 0.3), 2_000.0)
    assert (there.preconditioner.cap > 4.5) is longer
    assert bool(grown.spectrum[0] > 0.75) is longer
    assert there.preconditioner.cap <= 4.0 * np.sqrt(20.0)
