"""Standard errors are those of the sample and of the noise; where a direction is lost, intervals say so."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from sottovoce.inference.allotment import Allotment
from sottovoce.inference.boxed import minimized
from sottovoce.inference.estimate import OneStep
from sottovoce.inference.inversion import Inversion
from sottovoce.inference.terms import UserTerms, coded, plain_terms
from tests.inference.populations import overlapping, quadratic, symmetric_noise

HESSIAN = np.array([[0.6, 0.1, 0.0], [0.1, 0.4, -0.1], [0.0, -0.1, 0.5]])
NONE = np.zeros((0, 3))
QUANTILE = 3.8415


@pytest.mark.parametrize(
    "noise",
    [
        {"gradient_scale": 1e-4, "hessian_scale": 1e-4},
        {"gradient_scale": 0.05, "hessian_scale": 1e-4},
        {"gradient_scale": 1e-3, "hessian_scale": 0.03, "n": 100_000},
    ],
    ids=["sample", "gradient", "hessian"],
)
def test_errors_in_units_of_their_standard_errors_are_normal(noise: dict[str, float]) -> None:
    """3 x 3,000 of them: within 1.96 in 95 % and of variance 1, as if 3,000 were independent."""
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(3000):
        estimate = OneStep.of(quadratic(rng, HESSIAN, 0.3 * np.array([1.0, -1.0, 0.5]), **noise), NONE)
        assert estimate.is_resolved
        ratios.append(estimate.values(np.eye(3)) / np.sqrt(np.diag(estimate.covariance)))
    held = np.mean(np.abs(ratios) < 1.96)
    assert 0.93 < held < 0.97
    assert np.mean(np.square(ratios)) == pytest.approx(1.0, abs=0.13)


def test_errors_that_rest_on_a_noisy_hessian_have_few_degrees_of_freedom() -> None:
    """Where the smallest eigenvalue is six of its noise's sds Student's quantile keeps 95 % (3,000 runs: 93.4
    to 96.6 but for odds of 1e-4), the normal one does not; of three at once, too."""
    rng = np.random.default_rng(11)
    held, normal, together = [], [], []
    for _ in range(3000):
        found = quadratic(rng, HESSIAN, np.zeros(3), n=10_000, gradient_scale=0.02, hessian_scale=0.055)
        estimate = OneStep.of(found, NONE)
        if not estimate.is_resolved:
            continue
        errors, freedom = estimate.errors(estimate.direction(np.eye(3)))
        ratio = np.abs(estimate.values(np.eye(3))) / errors
        held.append(ratio < special.stdtrit(freedom, 0.975))
        normal.append(ratio < 1.96)
        together.append(np.all(ratio < special.stdtrit(freedom, 0.5 + 0.5 * 0.95 ** (1 / 3))))
    assert len(held) > 2000
    assert np.all(np.mean(held, axis=0) > 0.934)
    assert np.mean(held) > np.mean(normal) + 0.003
    assert np.mean(together) > 0.934


def test_degrees_of_freedom_are_those_of_errors_that_stray_as_much() -> None:
    """Over 1,500 draws the variance of a squared error v is 2 v^2 / freedom, for noise of either matrix: one
    such variance has an sd of 4 %, so that 25 % off has odds below 1e-6."""
    rng, n = np.random.default_rng(12), 1000
    still = replace(quadratic(rng, HESSIAN, np.zeros(3), n=n, hessian_scale=0.0), gradient=np.zeros(3))
    for name, scale in (("hessian", 0.004), ("moment", 0.02)):
        exact = replace(still, **{f"{name}_scale": scale}, gradient_scale=0.01 * (name == "hessian"))
        errors, freedom = OneStep.of(exact, NONE).errors(np.eye(3))
        drawn = [
            OneStep.of(replace(exact, **{name: HESSIAN + symmetric_noise(rng, 3, scale)}), NONE)
            for _ in range(1500)
        ]
        squares = [estimate.errors(np.eye(3))[0] ** 2 for estimate in drawn]
        np.testing.assert_allclose(np.var(squares, axis=0), 2.0 * errors**4 / freedom, rtol=0.25)


def test_the_part_of_the_sample_is_what_is_left_without_noise() -> None:
    rng = np.random.default_rng(2)
    estimate = OneStep.of(
        quadratic(rng, HESSIAN, np.zeros(3), gradient_scale=0.02, hessian_scale=1e-9, n=400), NONE
    )
    np.testing.assert_allclose(estimate.sampling_covariance, np.linalg.inv(HESSIAN) / 400, rtol=1e-4)
    extra = estimate.covariance - estimate.sampling_covariance
    np.testing.assert_allclose(extra, 0.02**2 * np.linalg.inv(HESSIAN @ HESSIAN), rtol=1e-4)


def test_a_direction_without_meaning_is_left_out_and_moves_no_contrast() -> None:
    """Adding the same to all three weights changes nothing: differences have errors, and finite ones."""
    rng = np.random.default_rng(3)
    flat = np.ones((1, 3))
    projection = np.eye(3) - np.ones((3, 3)) / 3.0
    found = quadratic(
        rng, projection @ HESSIAN @ projection + 1e-12 * np.eye(3), np.zeros(3), hessian_scale=0.01
    )
    assert not OneStep.of(found, NONE).is_resolved
    estimate = OneStep.of(found, flat)
    assert estimate.is_resolved
    contrasts = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
    assert np.all(np.abs(estimate.values(contrasts)) < 0.5)
    np.testing.assert_allclose(estimate.direction(np.ones((1, 3))), 0.0, atol=1e-9)


def statistics(hessian_scale: float, smallest: float, runs: int) -> list[float]:
    """The test's statistic of the true value of each coefficient."""
    rng = np.random.default_rng(4)
    hessian = np.diag([0.5, 0.4, smallest])
    found = []
    for _ in range(runs):
        estimate = OneStep.of(
            quadratic(rng, hessian, np.array([0.2, -0.2, 0.5]), hessian_scale=hessian_scale), NONE
        )
        test = Inversion(estimate, np.eye(3), np.full(3, math.inf))
        found += [test.least(place, 0.0, test.best, QUANTILE)[0] for place in range(3)]
    return found


@pytest.mark.parametrize("smallest", [0.1, 0.03, 1e-6])
def test_the_inverted_test_keeps_the_truth_however_flat_the_risk(smallest: float) -> None:
    """600 statistics at 95 %: fewer than 92 % kept has odds below 1e-3 even if all were independent."""
    kept = np.mean(np.array(statistics(0.03, smallest, 200)) <= QUANTILE)
    assert kept >= 0.92


def test_ends_are_where_the_test_ends_and_agree_with_the_formula_where_it_holds() -> None:
    rng = np.random.default_rng(5)
    estimate = OneStep.of(quadratic(rng, HESSIAN, np.full(3, 0.1), hessian_scale=0.002), NONE)
    test = Inversion(estimate, np.eye(3), np.full(3, math.inf))
    errors = np.sqrt(np.diag(estimate.covariance))
    for place in range(3):
        middle = estimate.values(np.eye(3))[place]
        for side in (-1, 1):
            assert test.end(place, side, QUANTILE) == pytest.approx(
                middle + side * 1.96 * errors[place], abs=0.06 * errors[place]
            )


def test_a_flat_direction_takes_all_ends_away_and_a_public_bound_brings_them_back() -> None:
    rng = np.random.default_rng(6)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    hessian = turn @ np.diag([0.5, 0.4, 1e-9]) @ turn.T
    estimate = OneStep.of(quadratic(rng, hessian, np.zeros(3), hessian_scale=0.02), NONE)
    free = Inversion(estimate, np.eye(3), np.full(3, math.inf))
    assert estimate.ratio < 1.96
    assert [free.end(place, side, QUANTILE) for place in range(3) for side in (-1, 1)] == [
        -math.inf,
        math.inf,
    ] * 3
    bound = Inversion(estimate, np.eye(3), np.full(3, 2.0))
    for place in range(3):
        assert -2.0 <= bound.end(place, -1, QUANTILE) < bound.end(place, 1, QUANTILE) <= 2.0


def far_from_home(seed: int) -> Inversion:
    """A test after a step so long that the Hessian may have changed on the way: all parts of M count."""
    found = quadratic(np.random.default_rng(seed), HESSIAN, np.array([0.3, 0.2, -0.5]), hessian_scale=0.1)
    moved = replace(found, third=0.1, moved=np.array([0.3, 0.3, 0.1]))
    return Inversion(OneStep.of(moved, NONE), np.eye(3), np.full(3, math.inf))


def test_the_tests_gradient_and_hessian_are_those_of_its_statistic() -> None:
    test, eta, h = far_from_home(8), np.array([0.7, -1.0, 0.4]), 1e-5
    assert test.estimate.change > 0.01
    _, slope, bend = test.statistic(eta)
    for place, unit in enumerate(np.eye(3)):
        ahead, behind = test.statistic(eta + h * unit), test.statistic(eta - h * unit)
        assert slope[place] == pytest.approx((ahead[0] - behind[0]) / (2 * h), rel=1e-6)
        np.testing.assert_allclose(bend[place], (ahead[1] - behind[1]) / (2 * h), rtol=1e-5)


def test_no_value_is_rejected_that_some_point_of_a_grid_speaks_for() -> None:
    """The statistic has several valleys where the Hessian is all but lost; a box ends them."""
    grid, spoken = np.linspace(-3.0, 3.0, 13), 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        lost = quadratic(rng, np.diag([0.5, 0.05, 0.02]), np.array([0.5, -1.0, 1.0]), hessian_scale=0.05)
        test = Inversion(OneStep.of(lost, NONE), np.eye(3), np.full(3, 3.0))
        for value in (-1.0, 0.5, 1.0):
            points = (np.array([value, a, b]) - test.centre for a in grid for b in grid)
            if min(test.statistic(point)[0] for point in points) <= QUANTILE:
                spoken += 1
                assert test.least(0, value, test.best, QUANTILE)[0] <= QUANTILE
    assert spoken > 10


def test_a_box_holds_the_least_value_at_its_edge_and_saddles_are_left() -> None:
    def bowl(x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        return float((x - 5.0) @ (x - 5.0)), 2.0 * (x - 5.0), 2.0 * np.eye(2)

    value, x = minimized(bowl, np.zeros(2), np.array([1.0, math.inf]))
    np.testing.assert_allclose(x, [1.0, 5.0], atol=1e-2)
    assert value == pytest.approx(16.0, rel=1e-4)

    def saddle(x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        a, b = x
        bend = np.diag([2.0, 3.0 * b**2 - 1.0])
        return float(a * a + 0.25 * b**4 - 0.5 * b * b), np.array([2.0 * a, b**3 - b]), bend

    assert minimized(saddle, np.array([1.0, 1e-3]), np.full(2, 3.0))[0] == pytest.approx(-0.25, abs=1e-4)


@pytest.mark.parametrize(("depth", "down"), [(-0.5, True), (-0.05, False), (0.0, False)])
def test_a_hessian_curves_down_only_where_noise_alone_would_not(depth: float, down: bool) -> None:
    """Three directions, noise of 0.05: eigenvalues of 0 are spread by 2.45 times as much."""
    found = quadratic(np.random.default_rng(9), HESSIAN, np.zeros(3), hessian_scale=0.05)
    estimate = OneStep.of(replace(found, hessian=np.diag([0.5, 0.4, depth])), NONE)
    assert estimate.curves_down is down
    assert not estimate.is_resolved


def test_a_hessian_that_will_not_stand_out_gets_more_of_the_budget() -> None:
    """By public facts alone, and never so much that nothing is left for the gradient."""
    logistic = overlapping(100).problem
    many, few = (Allotment.expected(replace(logistic, n=n), 0.1) for n in (1_000_000, 500))
    assert (many.resolved, few.resolved) == (True, False)
    assert few.hessian > many.hessian
    for parts in (many, few):
        spent = parts.coordinates + parts.hessian + parts.first + parts.scores
        assert parts.last == pytest.approx(1.0 - spent)
        assert parts.last > 0.1
    wider = replace(logistic, n=40_000, dim=200)
    assert Allotment.expected(replace(logistic, n=40_000), 0.1).resolved
    assert not Allotment.expected(wider, 0.1).resolved


def test_terms_of_arrays_are_their_weights() -> None:
    found = quadratic(np.random.default_rng(7), HESSIAN, np.zeros(3))
    coding = coded(plain_terms(found), found)
    assert coding.names == ("x0", "x1", "x2")
    np.testing.assert_array_equal(coding.matrix, np.eye(3))
    assert isinstance(plain_terms(found), UserTerms)
