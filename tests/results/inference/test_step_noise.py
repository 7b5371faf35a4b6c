"""Every method states the noise of its steps, from what it asked for anyway."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.methods.curvature import Bend
from sottovoce.methods.momentum_noise import in_user_weights, momentum_variance
from sottovoce.methods.noise_account import START, NoiseAccount, Place
from sottovoce.methods.noise_propagation import NO_STEP, UNFOLLOWED, StepNoise
from sottovoce.methods.steps import Step
from sottovoce.methods.turned_steps import LARGEST_TURNED, by_hessian, turned_noise
from sottovoce.planning.dry_run import Planned
from sottovoce.queries import Preconditioner
from sottovoce.results.inference.coefficient_noise import CoefficientNoise
from tests import problems
from tests.results.inference.test_coefficient_noise import made_up

BUDGET = sv.Budget(1.0, 1e-6)
LOOSE = sv.Tolerance(gradient=0.1)
TESTED = ("dp-gd", "opt", "opt-ls", "opt-b", "2opt", "2opt-ls", "2opt-b", "tr", "tr-b")
FREE = ("cubic", "descent-b", "accelerate")


def ratio(risk, method: str, tolerance: sv.Tolerance | None, runs: int = 40, epsilon: float = 1.0) -> float:
    """Stated noise, in the middle of runs, over the scatter of the weights: the geometric mean of weights."""
    budget = sv.Budget(epsilon, 1e-6)
    found = [
        sv.minimize(risk, budget=budget, method=method, tolerance=tolerance, simulate=seed)
        for seed in range(runs)
    ]
    stated = np.median([result.coefficient_noise for result in found], axis=0)
    return float(np.exp(np.log(stated / np.std([result.weights for result in found], axis=0, ddof=1)).mean()))


@pytest.mark.parametrize("method", ["opt-ls", "tr"])
def test_stated_noise_of_the_papers_methods_is_about_the_scatter_of_weights(method: str) -> None:
    assert 0.5 < ratio(made_up(), method, LOOSE, runs=20) < 2.0


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "classes", "epsilon"), [(4_000, 4, 2, 1.0), (20_000, 5, 3, 3.0)])
@pytest.mark.parametrize("method", TESTED + FREE + ("majorize",))
def test_stated_noise_of_every_method_is_about_the_scatter_of_weights(
    method: str, n: int, d: int, classes: int, epsilon: float
) -> None:
    assert 0.5 < ratio(made_up(n, d, classes), method, LOOSE, epsilon=epsilon) < 2.0


@pytest.mark.slow
@pytest.mark.parametrize("method", FREE)
def test_stated_noise_holds_without_a_tolerance(method: str) -> None:
    assert 0.5 < ratio(made_up(), method, None) < 2.0


@pytest.mark.parametrize("method", TESTED + FREE + ("majorize",))
def test_the_account_asks_nothing_and_moves_nothing(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> tuple[sv.Result, int, int]:
        batched = method.endswith("-b")
        ledger = sv.Ledger(BUDGET, currency="renyi", order=16) if batched else sv.Ledger(BUDGET)
        result = sv.minimize(
            problems.logistic(2_000, 3),
            budget=BUDGET,
            method=method,
            tolerance=sv.Tolerance(gradient=0.02),
            ledger=ledger,
            simulate=0,
        )
        return result, len(ledger.history), ledger.units_spent

    kept, charges, units = run()
    monkeypatch.setattr(NoiseAccount, "add", lambda *_: None)
    monkeypatch.setattr(NoiseAccount, "left", lambda *_: CoefficientNoise())
    bare, bare_charges, bare_units = run()
    assert kept.coefficient_noise is not None
    assert kept.coefficient_noise.shape == kept.weights.shape
    assert np.array_equal(kept.weights, bare.weights)
    assert (charges, units) == (bare_charges, bare_units)
    assert kept.trace == bare.trace


def test_noise_of_steps_that_turn_is_what_simulated_steps_leave() -> None:
    """Random bases, lengths and curvatures that share no direction; in a mean of points, too."""
    rng = np.random.default_rng(1)
    problem = problems.logistic(50, 3).problem
    step_noises, points = [], np.zeros((60_000, 3))
    reached = []
    for _ in range(4):
        basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        lengths, curvature = rng.uniform(0.3, 1.2, 3), rng.uniform(0.1, 0.9, 3)
        beside = rng.uniform(0.0, 0.1, 3)
        noise = rng.normal(size=points.shape) * np.sqrt((0.2 * lengths) ** 2 + beside)
        points = points - ((points @ basis) * lengths * curvature + noise) @ basis.T
        reached.append(points)
        step_noises.append(StepNoise(lengths, 0.2, curvature, basis, beside))
    for weights in ([0.0, 0.0, 0.0, 1.0], [0.0, 0.2, 0.3, 0.5]):
        mean = sum(weight * point for weight, point in zip(weights, reached, strict=True))
        exact = np.cov(np.asarray(mean).T)
        found = turned_noise(step_noises, weights, problem)
        assert found.covariance is not None
        assert np.allclose(found.covariance, exact, atol=0.02 * float(np.trace(exact)))
        assert np.allclose(found.deviations, np.sqrt(np.diag(exact)), rtol=0.02)


def test_a_step_by_a_hessian_has_the_noise_of_both_its_answers() -> None:
    """Newton's step from noisy answers, drawn again and again, scatters as its step_noise says."""
    rng = np.random.default_rng(2)
    hessian, gradient = np.diag([1.0, 2.0, 4.0]), np.array([1.0, -1.0, 2.0])
    scale, drawn = 0.03, []
    for _ in range(6_000):
        noise = rng.normal(scale=scale / np.sqrt(2.0), size=(3, 3))
        noisy = hessian + (noise + noise.T) / np.sqrt(2.0)
        drawn.append(-np.linalg.solve(noisy, gradient + rng.normal(scale=0.05, size=3)))
    step = -gradient / np.diag(hessian)
    step_noise = by_hessian(Planned(gradient, 0.05, 1), Planned(hessian, scale, 1), step)
    assert step_noise is not None
    assert step_noise.basis is not None
    stated = np.abs(step_noise.basis) @ step_noise.added
    assert np.allclose(stated, np.var(drawn, axis=0), rtol=0.1)
    assert np.allclose(step_noise.lengths @ np.abs(step_noise.basis), 1.0 / np.diag(hessian))


def test_noise_of_accelerated_steps_is_what_simulated_steps_leave() -> None:
    rng = np.random.default_rng(3)
    curvature, scales, weights = (
        np.array([0.02, 0.3, 0.9]),
        [0.3, 0.1, 0.2, 0.2, 0.3],
        [0.0, 0.0, 0.2, 0.3, 0.5],
    )
    place, speed, mean = np.zeros((60_000, 3)), np.zeros((60_000, 3)), np.zeros((60_000, 3))
    for scale, weight in zip(scales, weights, strict=True):
        gradient = curvature * (place + 0.8 * speed) + rng.normal(scale=scale, size=place.shape)
        speed = 0.8 * speed - 0.7 * gradient
        place = place + speed
        mean = mean + weight * place
    assert np.allclose(momentum_variance(0.7, 0.8, scales, weights, curvature), mean.var(axis=0), rtol=0.04)


def test_noise_in_coordinates_is_stated_in_the_users_weights() -> None:
    """For more columns than are formed at once, with a shift: w = M'u for u of unit variance."""
    rng = np.random.default_rng(4)
    columns = 600
    shift = np.append(rng.normal(size=columns - 1), 0.0)
    preconditioner = Preconditioner(
        scale=rng.uniform(0.5, 2.0, columns), cap=1.0, shift=shift, constant=columns - 1
    )
    exact = np.sqrt(np.diag(preconditioner.matrix.T @ preconditioner.matrix))
    assert np.allclose(in_user_weights(preconditioner, 4.0, 1).deviations, 2.0 * exact)
    assert np.allclose(in_user_weights(preconditioner, 4.0, 2).deviations, np.tile(np.sqrt(2.0) * exact, 2))


def test_a_hessian_too_large_to_follow_leaves_the_length_of_its_step() -> None:
    size = LARGEST_TURNED + 1
    gradient = Planned(np.ones(size), 0.1, 1)
    assert by_hessian(gradient, Planned(np.eye(size), 0.1, 1), np.ones(size)) is None
    account, problem = NoiseAccount(), problems.logistic(50, size).problem
    account.add(problem, gradient, Step(-0.5 * np.ones(size)))
    assert np.allclose(account.left(problem, Place(1)).deviations, 0.5 * 0.1)


def test_a_step_along_negative_curvature_adds_its_own_noise_and_keeps_what_was_there() -> None:
    bend = Bend(lambda g: (g, -0.5), units=1, noise=0.1, settles=True)
    step = bend.passed(Step(np.array([0.0, 2.0, 0.0])), -0.5)
    assert step.step_noise is not None
    account, problem = NoiseAccount(), problems.sigmoid(50, 3).problem
    account.add(problem, Planned(np.ones(3), 0.3, 1), Step(-np.ones(3)))
    before = account.left(problem, Place(1)).deviations
    account.add(problem, Planned(np.ones(3), 0.3, 1), step)
    after = account.left(problem, Place(2)).deviations
    assert before is not None
    assert after is not None
    assert np.sum(after**2 - before**2) == pytest.approx((2.0 * 0.1 / 0.5) ** 2)
    lost = bend.passed(Step(np.array([0.0, 2.0, 0.0])), -0.01).step_noise
    assert lost is not None
    assert 3 * float(np.mean(lost.added)) == pytest.approx(4.0)


def test_noise_is_that_of_the_steps_that_led_to_the_point_returned() -> None:
    account, problem = NoiseAccount(), problems.logistic(50, 3).problem
    for _ in range(3):
        account.add(problem, Planned(np.ones(3), 0.3, 1), Step(-0.1 * np.ones(3)))
    assert account.left(problem, START).reason == NO_STEP
    blind = NoiseAccount()
    blind.add(problem, None, Step(np.ones(3)))
    assert blind.left(problem, Place(1)).reason == UNFOLLOWED
    first = account.left(problem, Place(1)).deviations
    last = account.left(problem, Place(3)).deviations
    mean = account.left(problem, Place(3, (1 / 3, 1 / 3, 1 / 3))).deviations
    assert first is not None
    assert np.allclose(first, 0.03)
    assert np.all(first < mean)
    assert np.all(mean < last)


def test_many_steps_of_many_weights_are_kept_by_their_lengths() -> None:
    problem, lengths = problems.logistic(50, 3).problem, np.array([0.1, 0.2, 0.3])
    gradient = Planned(np.ones(3), 0.3, 1)
    step = Step(-lengths, step_noise=StepNoise(lengths, 0.3, None))
    whole, short = NoiseAccount(), NoiseAccount(room=4)
    for account in (whole, short):
        account.add(problem, gradient, step)
        account.add(problem, gradient, step)
    assert all(step_noise.lengths.size == 1 for step_noise in short.step_noises)
    finely, evenly = (account.left(problem, Place(2)).deviations for account in (whole, short))
    assert finely is not None
    assert evenly is not None
    assert np.sum(evenly**2) == pytest.approx(np.sum(finely**2), rel=0.05)


def test_noise_of_the_papers_methods_survives_a_file() -> None:
    result = sv.minimize(problems.logistic(), budget=BUDGET, method="tr", tolerance=LOOSE, simulate=0)
    raw = json.loads(json.dumps(result.to_dict()))
    assert np.array_equal(sv.Result.from_dict(raw).coefficient_noise, result.coefficient_noise)
    assert result.noise.covariance is not None
