"""The cubic model is minimized globally, and `cubic` certifies from noisy answers alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.accounting.events import QueryKind
from sottovoce.methods.base import Goal
from sottovoce.methods.cubic import Cubic
from sottovoce.methods.cubic_model import CubicModel, minimize_cubic
from sottovoce.planning.dry_run import Planned
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from tests import problems

BUDGET = sv.Budget(epsilon=2.0, delta=1e-5)


def model_value(g: np.ndarray, H: np.ndarray, M: float, p: np.ndarray) -> float:
    return float(g @ p + 0.5 * p @ H @ p + M / 6.0 * np.linalg.norm(p) ** 3)


def random_model(seed: int, dim: int, hard: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    vectors, _ = np.linalg.qr(rng.standard_normal((dim, dim)))
    values = rng.standard_normal(dim) * 10.0 ** rng.integers(-4, 3)
    H = (vectors * values) @ vectors.T
    g = rng.standard_normal(dim) * 10.0 ** rng.integers(-4, 3)
    if hard:
        lowest = vectors[:, np.argmin(values)]
        g = 1e-3 * (g - lowest * (lowest @ g))
    return g, (H + H.T) / 2.0


@given(st.integers(0, 10**6), st.integers(1, 8), st.booleans(), st.sampled_from([1e-3, 1.0, 50.0]))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_the_step_meets_the_conditions_of_a_global_minimum(seed: int, dim: int, hard: bool, M: float) -> None:
    """(H + M r/2) p = -g and H + M r/2 is positive semidefinite, r = ||p||: necessary and sufficient."""
    g, H = random_model(seed, dim, hard)
    p = minimize_cubic(g, H, M)
    shift = 0.5 * M * np.linalg.norm(p)
    size = max(1e-12, np.linalg.norm(g), np.abs(np.linalg.eigvalsh(H)).max() * np.linalg.norm(p))
    assert np.linalg.norm(H @ p + shift * p + g) <= 1e-6 * size
    assert np.linalg.eigvalsh(H)[0] + shift >= -1e-6 * max(1e-12, np.abs(np.linalg.eigvalsh(H)).max())


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_no_sampled_step_beats_the_model_minimum(seed: int, hard: bool) -> None:
    g, H = random_model(seed, 3, hard)
    best = minimize_cubic(g, H, 1.0)
    lowest = model_value(g, H, 1.0, best)
    rng = np.random.default_rng(seed)
    radius = max(1e-6, float(np.linalg.norm(best)))
    for _ in range(300):
        p = rng.standard_normal(3) * radius * rng.exponential()
        assert model_value(g, H, 1.0, p) >= lowest - 1e-9 * max(1.0, abs(lowest))


def test_the_hard_case_leaves_a_saddle_where_the_gradient_is_zero() -> None:
    p = minimize_cubic(np.zeros(2), np.diag([-1.0, 2.0]), 4.0)
    assert np.abs(p) == pytest.approx([0.5, 0.0])
    assert model_value(np.zeros(2), np.diag([-1.0, 2.0]), 4.0, p) == pytest.approx(-1.0 / 24.0)


def test_the_hard_case_adds_the_lowest_eigenvector_to_the_rest_of_the_step() -> None:
    p = minimize_cubic(np.array([0.0, 0.3]), np.diag([-1.0, 2.0]), 1.0)
    assert p[1] == pytest.approx(-0.1)
    assert np.linalg.norm(p) == pytest.approx(2.0)


def test_a_flat_convex_model_without_gradient_stays_put() -> None:
    assert np.array_equal(minimize_cubic(np.zeros(3), np.eye(3), 1.0), np.zeros(3))


def test_the_reported_decrease_is_the_models_own() -> None:
    g, H = random_model(3, 5, hard=False)
    model = CubicModel.of(g, H)
    p = model.step(2.0)
    assert model.decrease(p, 2.0) == pytest.approx(-model_value(g, H, 2.0, p))
    assert model.decrease(p, 2.0) >= 0.0


def test_eigenvalues_within_the_noise_are_raised_to_it_and_clearly_negative_ones_kept() -> None:
    model = CubicModel.of(np.ones(4), np.diag([-3.0, -0.1, 0.05, 5.0]), noise=0.5)
    assert sorted(model.values) == pytest.approx([-3.0, 0.5, 0.5, 5.0])


def ask(risk: sv.Risk, seed: int = 0, budget: sv.Budget = BUDGET) -> tuple[Oracle, sv.Ledger]:
    ledger = sv.Ledger(budget)
    return Oracle(risk, ledger.run(budget), SimulatedNoise(seed)), ledger


def test_cubic_certifies_a_nonconvex_problem_in_a_few_steps() -> None:
    risk = problems.sigmoid(n=50_000)
    for seed in range(5):
        result = sv.minimize(
            risk,
            budget=BUDGET,
            method="cubic",
            tolerance=sv.Tolerance(gradient=0.02, curvature=0.02),
            start=np.random.default_rng(seed).standard_normal(5),
            simulate=seed,
        )
        assert result.stop is sv.Stop.CERTIFIED
        assert len(result.trace) <= 6
        assert np.linalg.norm(risk.gradient(result.weights)) <= 0.02
        assert risk.smallest_eigenvalue(result.weights) >= -0.02


def test_the_ladder_is_one_release_a_visit_and_the_second_order_test_asks_nothing_more() -> None:
    risk = problems.sigmoid(n=50_000)
    queries, ledger = ask(risk)
    goal = Goal(tolerance=sv.Tolerance(gradient=0.01, curvature=0.001), confidence=0.99)
    outcome = Cubic().run(queries, np.full(5, 1.5), goal, lambda row: None)
    asked = [grant.event.query for grant in ledger.history]
    steps = sum(row.kind == "cubic step" for row in outcome.trace)
    assert steps >= 1
    assert asked.count(QueryKind.TRIALS) == steps
    assert set(asked) <= {QueryKind.GRADIENT, QueryKind.HESSIAN, QueryKind.TRIALS}
    assert asked.count(QueryKind.HESSIAN) <= len(outcome.trace)


def test_when_no_rung_shows_a_decrease_the_guaranteed_step_is_taken() -> None:
    """A ladder whose trials all look bad must leave the step for M itself."""
    risk = problems.logistic(n=20_000)
    queries, _ = ask(risk)

    class Pessimist:
        """Answers like the oracle but reports that every trial rises."""

        def __getattr__(self, name: str) -> object:
            return getattr(queries, name)

        def trials(self, w: np.ndarray, directions: np.ndarray, units: int) -> object:
            answer = queries.trials(w, directions, units)
            return Planned(np.full(len(directions), -1.0), answer.scale, answer.units)

    goal = Goal(tolerance=None, confidence=0.99)
    seen = []
    Cubic(free_steps=1).run(Pessimist(), np.zeros(5), goal, seen.append)  # type: ignore[arg-type]
    bold = []
    queries, _ = ask(risk)
    Cubic(free_steps=1).run(queries, np.zeros(5), goal, bold.append)
    assert 0.0 < seen[0].step_length < bold[0].step_length


def test_cubic_without_a_tolerance_spends_the_budget_within_twenty_passes() -> None:
    for risk in (problems.sigmoid(n=20_000), problems.logistic(n=20_000, dim=60)):
        queries, ledger = ask(risk)
        goal = Goal(tolerance=None, confidence=0.99)
        outcome = Cubic().run(queries, np.zeros(risk.dim), goal, lambda row: None)
        assert outcome.stop is sv.Stop.FINISHED
        assert ledger.units_left <= 1e-6 * ledger.units_cap
        assert len(ledger.history) == 20
        assert risk.value(outcome.weights) < risk.value(np.zeros(risk.dim))


@given(
    n=st.integers(30, 3000),
    gradient=st.floats(1e-4, 0.5),
    curvature=st.floats(1e-6, 0.5),
    steps=st.integers(1, 4),
    passes=st.integers(15, 20),
    seed=st.integers(0, 10**6),
    convex=st.booleans(),
)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_no_run_asks_more_than_its_passes(
    n: int, gradient: float, curvature: float, steps: int, passes: int, seed: int, convex: bool
) -> None:
    """Whatever the wish: the cap is public and counts every query, the certificate's included."""
    risk = problems.logistic(n, 3) if convex else problems.sigmoid(n, 3)
    start = 2.0 * np.random.default_rng(seed).standard_normal(3)
    method = Cubic(steps=steps, free_steps=steps, passes=passes)
    for wish in (sv.Tolerance(gradient=gradient, curvature=curvature), None):
        queries, ledger = ask(risk, seed)
        outcome = method.run(queries, start, Goal(tolerance=wish, confidence=0.99), lambda row: None)
        assert len(ledger.history) <= passes
        if wish is not None:
            assert len(outcome.trace) <= outcome.tests


def test_after_the_bold_steps_one_hessian_serves_every_other() -> None:
    risk = problems.logistic(n=20_000)
    queries, ledger = ask(risk)
    outcome = Cubic().run(queries, np.zeros(5), Goal(tolerance=None, confidence=0.99), lambda row: None)
    asked = [grant.event.query for grant in ledger.history]
    kinds = [row.kind for row in outcome.trace]
    assert asked.count(QueryKind.HESSIAN) == asked.count(QueryKind.TRIALS) == kinds.count("cubic step") == 2
    assert kinds.count("newton step") >= 10
    gradients = [grant.units for grant in ledger.history if grant.event.query is QueryKind.GRADIENT]
    assert gradients[:-1] == sorted(gradients[:-1])


def test_a_hessian_that_no_longer_fits_is_met_with_shorter_steps() -> None:
    """Far out the loss is flat: the first Hessians promise steps much too long. 0.3318 is the minimum."""
    risk = problems.logistic(n=50_000)
    for seed in range(3):
        start = 25.0 * np.random.default_rng(seed).standard_normal(5)
        result = sv.minimize(risk, budget=BUDGET, method="cubic", start=start, simulate=seed)
        assert risk.value(start) > 1.5
        assert risk.value(result.weights) < 0.3318 + 0.002


def test_a_model_reused_for_another_gradient_steps_against_it_in_every_direction() -> None:
    model = CubicModel.of(np.ones(3), np.diag([-2.0, 0.5, 3.0])).settled(np.array([1.0, -1.0, 0.5]))
    assert sorted(model.values) == [0.5, 2.0, 3.0]
    assert model.step(1e-9) == pytest.approx([-0.5, 2.0, -0.5 / 3.0], rel=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"free_steps": 0},
        {"ladder": ()},
        {"ladder": (1.0,)},
        {"hessian_share": 0.5},
        {"fraction": 0.0},
        {"relaxation": 2.0},
        {"passes": 11},
    ],
)
def test_a_wrong_setting_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(sv.errors.ParameterError):
        Cubic(**wrong)  # type: ignore[arg-type]


def test_too_many_weights_for_a_hessian_are_refused_with_the_way_out() -> None:
    wide = replace(problems.logistic(n=10, dim=5).problem, dim=6000)
    with pytest.raises(sv.errors.ParameterError, match="majorize"):
        Cubic().require_possible(wide, Goal(tolerance=None, confidence=0.9))
