"""Standard errors are those of the sample and of the noise; what a hidden direction holds has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from sottovoce.results.inference.allotment import Allotment
from sottovoce.results.inference.design import Levels
from sottovoce.results.inference.findings import LastAnswers
from sottovoce.results.inference.score_moment import ScoreMoment
from sottovoce.results.inference.standard_errors import OneStep
from sottovoce.results.inference.terms import UserTerms, coded, plain_terms
from tests.results.inference.populations import overlapping, quadratic, symmetric_noise

HESSIAN = np.array([[0.6, 0.1, 0.0], [0.1, 0.4, -0.1], [0.0, -0.1, 0.5]])
OTHER_SHAPE = np.diag([0.2, 0.9, 0.5])
NONE = np.zeros((0, 3))


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
    for name, scale, whole in (("hessian", 0.004, HESSIAN), ("moment", 0.02, OTHER_SHAPE)):
        exact = replace(still, moment=OTHER_SHAPE, **{f"{name}_scale": scale})
        exact = replace(exact, gradient_scale=0.01 * (name == "hessian"))
        errors, freedom = OneStep.of(exact, NONE).errors(np.eye(3))
        drawn = [
            OneStep.of(replace(exact, **{name: whole + symmetric_noise(rng, 3, scale)}), NONE)
            for _ in range(1500)
        ]
        squares = [estimate.errors(np.eye(3))[0] ** 2 for estimate in drawn]
        np.testing.assert_allclose(np.var(squares, axis=0), 2.0 * errors**4 / freedom, rtol=0.25)


def test_scores_keep_the_shape_that_noise_does_not_make() -> None:
    """400 answers with noise as large as the moment. Where it has the Hessian's shape traces are 1.09 times
    its own on average (one has an sd of 0.64, their mean of 0.03), 1.34 times if only eigenvalues below 0
    were cut off; where noise is small another shape is kept."""
    rng = np.random.default_rng(13)
    values, vectors = np.linalg.eigh(HESSIAN)
    ratios = []
    for _ in range(400):
        found = ScoreMoment.of(HESSIAN + symmetric_noise(rng, 3, 0.6), 0.6, values, vectors)
        ratios.append(np.trace(found.value) / np.trace(HESSIAN))
    assert np.mean(ratios) < 1.25
    seen = ScoreMoment.of(OTHER_SHAPE + symmetric_noise(rng, 3, 0.01), 0.01, values, vectors)
    np.testing.assert_allclose(seen.value, OTHER_SHAPE, atol=0.05)
    assert seen.kept > 0.98


def test_a_hessian_that_changed_widens_by_the_way_and_not_by_the_noise() -> None:
    """A step of 1 whose noise is small counts whole, one that noise alone makes does not."""
    exact = quadratic(np.random.default_rng(14), HESSIAN, np.zeros(3), n=10**8, hessian_scale=0.0)
    for length, scale, grown in ((1.0, 1e-6, True), (0.01, 0.05, False)):
        found = replace(exact, gradient=HESSIAN @ [length, 0.0, 0.0], gradient_scale=scale)
        still, moved = (OneStep.of(replace(found, third=third), NONE) for third in (0.0, 0.3))
        added = (moved.covariance - still.covariance)[0, 0]
        assert added == pytest.approx(moved.change**2 * length**2 if grown else 0.0, rel=1e-6, abs=1e-15)
        assert (moved.change > 0.05) == grown


@pytest.mark.parametrize("moved", np.linspace(-2.5, 2.5, 81))
def test_a_rare_level_that_moved_far_is_not_determined_or_its_interval_holds_the_truth(moved: float) -> None:
    """Rates whose logarithm is 0 for everybody, one record in 25 of a rare level. The Hessian is asked there;
    noise of the first gradient leads the level astray by `moved`, and the last gradient is exact. All records
    together hardly show that the level's own curvature is another one by then."""
    share, nothing = 0.04, np.zeros((0, 2))
    hessian = np.array([[1.0, share], [share, share]])
    found = LastAnswers(
        n=10**9,
        outputs=1,
        weights=np.array([0.0, moved]),
        moved=np.array([0.0, moved]),
        basis=np.eye(2),
        gradient=np.full(2, share * np.expm1(moved)),
        hessian=hessian,
        moment=hessian,
        gradient_scale=1e-5,
        hessian_scale=1e-5,
        moment_scale=1e-5,
        robust=False,
        likelihood=True,
        constant=0,
        third=1.0,
        spread=1.0 + share,
    )
    levels = Levels(np.array([[0.0, 1.0]]), np.array([[0.0], [1.0]]))
    estimate = OneStep.of(found, nothing, np.eye(2), levels)
    middle, level = estimate.determined(np.eye(2))
    errors, _ = estimate.errors(np.eye(2))
    off = np.abs(estimate.values(np.eye(2)))
    assert middle
    assert off[0] < 3.0 * errors[0] < 0.01
    assert level or abs(moved) > 0.8
    assert not level or -1.0 < moved < 1.8
    assert not level or off[1] < 2.0 * errors[1]


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


@pytest.mark.parametrize("smallest", [0.05, 0.01, 1e-6])
def test_what_is_determined_is_covered_however_flat_another_direction_is(smallest: float) -> None:
    """1,000 runs of three coefficients; the third is hidden and displaced by as much as is assumed, at two
    standard deviations. Fewer than 91 % of either of the others has odds below 1e-6."""
    rng = np.random.default_rng(4)
    turn = np.linalg.qr(np.eye(3) + 0.1 * rng.normal(size=(3, 3)))[0]
    hessian, held, seen = turn @ np.diag([0.5, 0.4, smallest]) @ turn.T, [], []
    for _ in range(1000):
        away = turn @ np.array([0.2, -0.2, rng.normal(scale=0.3)])
        found = quadratic(rng, hessian, away, hessian_scale=0.03)
        estimate = OneStep.of(found, NONE, 0.3**2 * np.eye(3))
        errors, freedom = estimate.errors(along := estimate.direction(turn.T))
        reach = special.stdtrit(freedom, 0.975) * errors
        held.append(np.abs(estimate.values(turn.T)) <= reach)
        seen.append(estimate.determined(along))
    assert np.all(np.mean(seen, axis=0)[:2] >= 0.995)
    assert np.mean(seen, axis=0)[2] < (0.05 if smallest < 0.02 else 0.5)
    assert np.all(np.mean(held, axis=0)[:2] >= 0.91)


def test_a_coefficient_that_lies_in_a_hidden_direction_is_not_determined() -> None:
    rng = np.random.default_rng(6)
    found = quadratic(rng, np.diag([0.5, 0.4, 1e-9]), np.zeros(3), hessian_scale=0.02)
    estimate = OneStep.of(found, NONE)
    assert estimate.hidden.shape == (3, 1)
    assert estimate.determined(np.eye(3)).tolist() == [True, True, False]
    assert not estimate.determined(np.array([[1.0, 0.0, 1.0]])).any()
    free = OneStep.of(found, NONE, np.zeros((3, 3)))
    assert np.all(estimate.errors(np.eye(3))[0] > free.errors(np.eye(3))[0])
    assert estimate.errors(np.eye(3))[0][2] ** 2 >= estimate.assumed[2, 2] > 0.0


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
    np.testing.assert_allclose(coding.spread, np.eye(3))
    assert coding.names == ("x0", "x1", "x2")
    np.testing.assert_array_equal(coding.matrix, np.eye(3))
    assert isinstance(plain_terms(found), UserTerms)


def test_where_the_hessian_may_be_another_one_the_step_is_not_taken_for_an_estimate() -> None:
    rng = np.random.default_rng(5)
    near = quadratic(rng, HESSIAN, np.zeros(3), n=10_000, gradient_scale=1e-3, hessian_scale=1e-4)
    far = replace(near, gradient=np.array([0.5, 0.0, 0.0]), third=0.0)
    assert OneStep.of(far, NONE).determined(np.eye(3)).all()
    lost = OneStep.of(replace(far, third=1e3), NONE)
    assert lost.change > 2.0
    assert not lost.determined(np.eye(3)).any()
