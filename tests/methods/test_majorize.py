"""`majorize` for every shape of table, and how it spends its budget."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse

import sottovoce as sv
from sottovoce.accounting.events import QueryKind
from sottovoce.methods.adaptive_damping import AdaptiveDamping, adaptive_damping, seen_through_noise
from sottovoce.methods.base import Goal, State
from sottovoce.methods.budget_schedule import BudgetSchedule, Growing, Tracking
from sottovoce.methods.designs import Design
from sottovoce.methods.majorize import Majorize
from sottovoce.methods.majorizers import Majorized, MajorizerShape
from sottovoce.planning.dry_run import Planned
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from sottovoce.problem import Problem
from sottovoce.results.certificate import Levels
from tests import problems

BUDGET = sv.Budget(epsilon=2.0, delta=1e-5)


def sparse_records(n: int, dim: int, nonzeros: int, seed: int = 0, intercept: bool = False) -> sv.Records:
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, dim, size=(n, nonzeros))
    X = sparse.csr_array(
        (np.full(n * nonzeros, nonzeros**-0.5), (np.repeat(np.arange(n), nonzeros), columns.ravel())),
        shape=(n, dim),
    )
    y = np.where(rng.random(n) < 0.5 + 0.4 * np.sign(columns[:, 0] - dim / 2), 1, -1)
    return sv.Records.from_arrays(X, y, labels=(-1, 1), nonzeros=nonzeros, intercept=intercept)


def walk_of(risk: sv.Risk, seed: int = 0, budget: sv.Budget = BUDGET) -> tuple[State, sv.Ledger]:
    ledger = sv.Ledger(budget)
    ask = Oracle(risk, ledger.run(budget), SimulatedNoise(seed))
    levels = Levels(confidence=0.99, gradient_tests=1, curvature_tested=False)
    return State(ask=ask, levels=levels, w=np.zeros(risk.dim), watch=lambda row: None), ledger


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(6, 12))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_k_times_the_diagonal_lies_above_the_gram_matrix(seed: int, nonzeros: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.zeros((30, dim))
    for row in X:
        row[rng.choice(dim, nonzeros, replace=False)] = rng.standard_normal(nonzeros)
    gram = X.T @ X / len(X)
    assert linalg.eigvalsh(nonzeros * np.diag(np.diag(gram)) - gram)[0] >= -1e-12


def test_a_plain_diagonal_is_not_above_the_gram_matrix() -> None:
    X = np.full((1, 4), 0.5)
    gram = X.T @ X
    assert linalg.eigvalsh(np.diag(np.diag(gram)) - gram)[0] < -0.5


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", [sv.losses.Logistic(), sv.losses.Sigmoid()])
@pytest.mark.parametrize("shape", list(MajorizerShape))
def test_every_shape_lies_above_the_hessian_wherever_it_is(
    shape: MajorizerShape, loss: sv.losses.Loss, seed: int
) -> None:
    """Each lift fails with probability e^-8; the seeds are fixed."""
    held = sparse_records(3000, 12, 3, seed)
    risk = sv.Risk(held, loss, sv.regularizers.Tukey(1e-3))
    state, _ = walk_of(risk, seed)
    units = state.ask.units_left // 3
    match shape:
        case MajorizerShape.DENSE:
            rule = Majorized.above_gram(state.ask.gram(units), risk.problem)
            assert rule.basis is not None
            Q = (rule.basis * rule.curvature) @ rule.basis.T
        case MajorizerShape.DIAGONAL:
            Q = np.diag(Majorized.above_squares(state.ask.gram_diagonal(units), risk.problem).curvature)
        case MajorizerShape.SCALAR:
            Q = np.diag(Majorized.above_rows(risk.problem).curvature)
    rng = np.random.default_rng(seed)
    for size in (0.0, 1.0, 10.0):
        w = size * rng.standard_normal(12)
        assert linalg.eigvalsh(Q - risk.hessian(w))[0] >= 0.0


def public(n: int, dim: int, nonzeros: int | None = None) -> Problem:
    return Problem.linear(
        n=n,
        dim=dim,
        radius=1.0,
        loss=sv.losses.Logistic(),
        regularizer=sv.regularizers.L2(0.0),
        nonzeros=nonzeros,
    )


FREE = Goal(tolerance=None, confidence=0.99)
AIMED = Goal(tolerance=sv.Tolerance(gradient=0.01), confidence=0.99)


def shape_of(problem: Problem, mu: float, goal: Goal = FREE) -> MajorizerShape:
    return Majorize().design(problem, mu, goal).shape


@pytest.mark.parametrize("goal", [FREE, AIMED])
def test_the_shape_follows_from_public_numbers(goal: Goal) -> None:
    assert shape_of(public(495_141, 54), 0.05, goal) is MajorizerShape.DENSE
    assert shape_of(public(32_561, 82), 0.1, goal) is MajorizerShape.DENSE
    assert shape_of(public(1000, 54), 0.017, goal) is MajorizerShape.SCALAR
    assert shape_of(public(10**9, 6000), 1.0, goal) is MajorizerShape.SCALAR
    assert shape_of(public(10**6, 100_000, nonzeros=30), 0.3, goal) is MajorizerShape.DIAGONAL
    assert shape_of(public(10**6, 100_000), 0.3, goal) is MajorizerShape.SCALAR
    assert shape_of(public(10**9, 5000), 0.03, goal) is MajorizerShape.DENSE


def test_no_budget_has_a_cliff_and_more_of_it_promises_less_loss() -> None:
    """From one budget to the next the expected loss falls, and never by more than the budget explains."""
    problem = public(32_561, 82)
    designs = [Majorize().design(problem, float(mu), FREE) for mu in np.geomspace(1e-4, 1.0, 200)]
    expected = np.array([design.expected for design in designs])
    ratio = 10.0 ** (4.0 / 199.0)
    assert np.all(expected[1:] <= expected[:-1] * (1.0 + 1e-9))
    assert np.all(expected[1:] >= expected[:-1] / ratio**2 / 1.15)


def test_wide_problems_get_more_steps_and_noisy_ones_more_damping() -> None:
    narrow, wide = (Majorize().design(public(60_000, dim), 0.3, FREE) for dim in (10, 1000))
    assert narrow.steps < wide.steps
    clear, noisy = (Majorize().design(public(60_000, 82), mu, FREE) for mu in (0.5, 0.01))
    assert clear.damping < 0.1 * noisy.damping
    assert Majorize().design(public(60_000, 1000), 0.3, AIMED).damping == 0.0


@pytest.mark.parametrize(
    ("shape", "query"),
    [
        (MajorizerShape.DENSE, QueryKind.GRAM),
        (MajorizerShape.DIAGONAL, QueryKind.GRAM_DIAGONAL),
        (MajorizerShape.SCALAR, None),
    ],
)
def test_each_shape_pays_for_its_own_query_and_no_other(
    shape: MajorizerShape, query: QueryKind | None
) -> None:
    state, ledger = walk_of(problems.logistic())
    design = Design(shape=shape, steps=15, damping=0.1, expected=1.0)
    found = adaptive_damping(
        state, state.ask.units_left // 10, Majorize().designer(state.problem, 1.0), design
    )
    assert isinstance(found, AdaptiveDamping)
    assert (found.majorizer.basis is not None) is (shape is MajorizerShape.DENSE)
    assert [grant.event.query for grant in ledger.history] == ([] if query is None else [query])


def test_what_noise_leaves_in_the_predictor_is_known() -> None:
    """Attacked by sampling: the variance of x'p, p the step that noise alone makes."""
    risk = problems.logistic(n=5000)
    gram = Planned(risk.gram(), 1e-3, 1)
    rule = replace(Majorized.above_gram(gram, risk.problem, 1.5), damping=0.05)
    state, _ = walk_of(risk)
    here = state.gradient(state.ask.units_left // 10)
    rng, varied = np.random.default_rng(0), []
    for _ in range(4000):
        noise = Planned(0.01 * rng.standard_normal(5), 0.01, 1)
        step = rule.gradient_step(state, replace(here, gradient=noise)).vector
        varied.append(step @ gram.value @ step)
    assert rule.basis is not None
    spectrum = np.diag(rule.basis.T @ gram.value @ rule.basis)
    assert rule.noise_left(0.01, spectrum) == pytest.approx(np.mean(varied), rel=0.1)


def test_second_moments_are_seen_through_noise() -> None:
    """A spiked matrix under heavy noise: spikes come back, and what is left shares the trace."""
    rng = np.random.default_rng(3)
    true = np.diag(np.concatenate([[3.0, 1.0], np.full(98, 0.01)]))
    noise = rng.standard_normal((100, 100)) * 0.02
    gram = Planned(true + (noise + noise.T) / 2.0, 0.02, 1)
    seen = seen_through_noise(gram, Majorized.above_gram(gram, public(1000, 100)))
    assert np.sort(seen)[-2:] == pytest.approx([1.0, 3.0], rel=0.1)
    assert seen.sum() == pytest.approx(np.trace(true), rel=0.2)
    assert seen.min() > 0.0


def test_a_hundred_thousand_sparse_columns_train_without_a_matrix() -> None:
    risk = sv.Risk(sparse_records(4_000, 100_000, 8), sv.losses.Logistic(), sv.regularizers.L2(1e-3))
    tracemalloc.start()
    try:
        result = sv.minimize(
            risk, budget=sv.Budget(epsilon=8.0, delta=1e-5), method=Majorize(steps=3), simulate=0
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.stop is sv.Stop.FINISHED
    assert result.weights.shape == (100_000,)
    assert peak < 300e6


def test_a_nonconvex_model_too_wide_for_a_hessian_keeps_its_structural_floor() -> None:
    risk = sv.Risk(sparse_records(500, 6000, 4), sv.losses.Sigmoid(), sv.regularizers.L2(1e-3))
    result = sv.minimize(
        risk, budget=BUDGET, method=Majorize(steps=2), tolerance=sv.Tolerance(gradient=9.0), simulate=0
    )
    assert result.certificate.curvature_at_least == risk.problem.curvature_floor


def test_the_diagonal_beats_the_scalar_on_declared_sparse_rows() -> None:
    held = sparse_records(200_000, 400, 4)
    bare = sv.Risk(held, sv.losses.Logistic(), sv.regularizers.L2(1e-5))
    budget = sv.Budget(epsilon=0.4, delta=1e-6)
    result = sv.minimize(bare, budget=budget, method="majorize", simulate=0)
    assert "gram diagonal" in {row.kind for row in result.trace}
    assert bare.value(result.weights) < bare.value(np.zeros(400)) - 0.01


def test_every_seed_certifies_a_convex_and_a_nonconvex_problem() -> None:
    for risk in (problems.logistic(n=20_000), problems.sigmoid(n=50_000)):
        for seed in range(5):
            result = sv.minimize(
                risk,
                budget=BUDGET,
                tolerance=sv.Tolerance(gradient=0.02, curvature=0.02),
                start=np.random.default_rng(seed).standard_normal(5),
                simulate=seed,
            )
            assert result.stop is sv.Stop.CERTIFIED
            assert np.linalg.norm(risk.gradient(result.weights)) <= result.certificate.gradient_norm_at_most
            assert risk.smallest_eigenvalue(result.weights) >= result.certificate.curvature_at_least


def test_a_saddle_is_left_by_a_cubic_step_and_not_certified() -> None:
    """Targets +1.25 and -1.25 in equal number: at 0 the gradient vanishes and Welsch's loss curves down."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 2)) * 0.25 + np.array([0.7, 0.0])
    y = np.where(np.arange(40_000) % 2, 1.25, -1.25)
    risk = sv.Risk(sv.Records.from_arrays(X, y, target=(-1.25, 1.25)), sv.losses.Welsch(1.0))
    assert risk.smallest_eigenvalue(np.zeros(2)) < -0.2
    for seed in range(5):
        found = sv.minimize(
            risk,
            budget=BUDGET,
            method=Majorize(steps=30),
            tolerance=sv.Tolerance(gradient=0.01, curvature=0.01),
            simulate=seed,
        )
        kinds = [row.kind for row in found.trace]
        assert "cubic step" in kinds
        assert found.stop is sv.Stop.CERTIFIED
        assert risk.smallest_eigenvalue(found.weights) >= -0.01


def test_without_a_tolerance_the_whole_budget_goes_within_35_queries() -> None:
    for risk in (problems.logistic(n=20_000), problems.sigmoid(n=20_000)):
        ledger = sv.Ledger(BUDGET)
        ask = Oracle(risk, ledger.run(BUDGET), SimulatedNoise(0))
        goal = Goal(tolerance=None, confidence=0.99)
        outcome = Majorize().run(ask, np.zeros(5), goal, lambda row: None)
        assert outcome.stop is sv.Stop.FINISHED
        assert ledger.units_left <= 1e-6 * ledger.units_cap
        assert len(ledger.history) <= 35
        assert sum(row.kind == "gradient step" for row in outcome.trace) >= 15
        assert outcome.trace[-1].kind == "measurement"


def test_the_certificate_without_a_tolerance_speaks_of_the_weights_returned() -> None:
    risk = problems.logistic(n=20_000)
    for seed in range(3):
        result = sv.minimize(risk, budget=BUDGET, simulate=seed)
        assert np.linalg.norm(risk.gradient(result.weights)) <= result.certificate.gradient_norm_at_most


def test_a_wide_model_pays_for_its_norm_alone() -> None:
    risk = sv.Risk(sparse_records(5000, 2000, 4), sv.losses.Logistic(), sv.regularizers.L2(1e-3))
    ledger = sv.Ledger(BUDGET)
    ask = Oracle(risk, ledger.run(BUDGET), SimulatedNoise(0))
    goal = Goal(tolerance=None, confidence=0.99)
    outcome = Majorize(steps=2).run(ask, np.zeros(2000), goal, lambda row: None)
    assert QueryKind.GRADIENT_NORM in {grant.event.query for grant in ledger.history}
    true = np.linalg.norm(risk.gradient(outcome.weights))
    assert true <= outcome.certificate.gradient_norm_at_most


@pytest.mark.parametrize("rule", [Growing(power=0.0), Growing(), Growing(power=2.0), Tracking(0.01)])
def test_shares_never_exceed_what_is_left(rule: BudgetSchedule) -> None:
    state, _ = walk_of(problems.logistic())
    left = 10**9
    for visit in range(9):
        units = rule.units(state, left, visit, 9)
        assert 0 <= units <= left
        left -= units
    if not isinstance(rule, Tracking):
        assert left <= 9


def test_growing_shares_grow_and_add_up() -> None:
    state, _ = walk_of(problems.logistic())
    left, given = 10**12, []
    for visit in range(16):
        given.append(Growing().units(state, left, visit, 16))
        left -= given[-1]
    assert given == sorted(given)
    assert given[-1] / given[0] == pytest.approx(4.0, rel=1e-3)


def test_tracking_is_cheap_far_from_the_goal_and_dear_near_it() -> None:
    state, _ = walk_of(problems.logistic(n=20_000))
    far = state.gradient(state.ask.units_left // 100)
    state.evidence = replace(far, gradient=Planned(np.full(5, 1.0), 1e-6, 1))
    cheap = Tracking(1e-3).units(state, state.ask.units_left, 1, 3)
    state.evidence = replace(far, gradient=Planned(np.full(5, 1e-4), 1e-6, 1))
    dear = Tracking(1e-3).units(state, state.ask.units_left, 1, 3)
    assert 3.9 * cheap < dear


@pytest.mark.parametrize(
    "wrong",
    [{"steps": 0}, {"gram_share": 0.6}, {"measure_share": 0.0}, {"relaxation": 2.0}],
)
def test_a_wrong_setting_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(sv.errors.ParameterError):
        Majorize(**wrong)  # type: ignore[arg-type]


def test_relaxed_steps_descend_without_noise() -> None:
    """c (1 - c/2) > 0: from any start, for a majorizer that is above."""
    risk = problems.sigmoid(n=2000)
    rule = Majorized.above_gram(Planned(risk.gram(), 1e-9, 1), risk.problem, relaxation=1.5)
    state, _ = walk_of(risk)
    here = state.gradient(state.ask.units_left // 10)
    for seed in range(5):
        w = 3.0 * np.random.default_rng(seed).standard_normal(5)
        for _ in range(20):
            g = risk.gradient(w)
            p = rule.gradient_step(state, replace(here, gradient=Planned(g, 1e-9, 1))).vector
            assert risk.value(w + p) <= risk.value(w) + 0.75 * 0.5 * float(g @ p) * 0.99 / 1.5 + 1e-15
            w = w + p


@pytest.mark.slow
def test_five_thousand_dense_columns_release_and_use_their_gram_matrix() -> None:
    """pytest -m slow tests/methods/test_majorize.py: about a minute and 2 GB."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 5000)).astype(np.float32) / math.sqrt(5000)
    risk = sv.Risk(
        sv.Records.from_arrays(X, np.where(X[:, 0] > 0, 1, -1), labels=(-1, 1)), sv.losses.Logistic()
    )
    state, _ = walk_of(risk, 0, sv.Budget(epsilon=20.0, delta=1e-5))
    gram = state.ask.gram(state.ask.units_left // 10)
    step = Majorized.above_gram(gram, risk.problem).gradient_step(
        state, state.gradient(state.ask.units_left // 10)
    )
    assert np.isfinite(step.vector).all()
