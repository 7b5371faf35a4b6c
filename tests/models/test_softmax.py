from __future__ import annotations

import pickle
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import log_softmax, softmax

import sottovoce as sv
from sottovoce.accounting.events import QueryKind
from sottovoce.methods.registry import METHODS
from sottovoce.models.softmax import THIRD
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from tests.accuracy import Accuracy
from tests.doubles import Recorder, Replay, WatchedRisk
from tests.strategies import attack, neighbours, weights
from tests.test_training import BUDGET, LOOSE, everything_said

SLACK = 1.0 + 1e-9
LABELS = ("a", "b", "c", "d")


def arrays(n: int = 300, dim: int = 4, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, dim)) / np.sqrt(dim)
    scores = X @ rng.standard_normal((dim, classes)) * 3.0 + 0.3 * rng.standard_normal((n, classes))
    return X, scores.argmax(axis=1)


def risk_of(
    X: object, y: np.ndarray, classes: int = 3, *, intercept: bool = False, radius: float = 1.0
) -> sv.SoftmaxRisk:
    records = sv.Records.from_arrays(X, y, labels=tuple(range(classes)), intercept=intercept, radius=radius)
    return sv.SoftmaxRisk(records, sv.regularizers.L2(1e-2))


def stored(risk: sv.SoftmaxRisk) -> np.ndarray:
    rows = risk.records._rows
    return np.concatenate([rows.block(i).features for i in range(rows.blocks)]).astype(np.float64)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_value_is_the_mean_log_loss_plus_the_penalty_without_intercepts(intercept: bool) -> None:
    X, y = arrays()
    risk = risk_of(X, y, intercept=intercept)
    W = np.random.default_rng(1).standard_normal((3, risk.records.dim))
    losses = -log_softmax(stored(risk) @ W.T, axis=1)[np.arange(len(y)), y]
    penalized = W[:, :-1] if intercept else W
    assert risk.value(W.ravel()) == pytest.approx(losses.mean() + 0.005 * np.sum(penalized**2), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_derivatives_agree_with_finite_differences(seed: int) -> None:
    risk = risk_of(*arrays(seed=seed), intercept=bool(seed % 2))
    rng = np.random.default_rng(seed)
    w, h = 2.0 * rng.standard_normal(risk.dim), 1e-6
    gradient, hessian = risk.gradient(w), risk.hessian(w)
    for e in np.eye(risk.dim):
        slope = (risk.value(w + h * e) - risk.value(w - h * e)) / (2 * h)
        assert e @ gradient == pytest.approx(slope, abs=1e-8)
        assert np.allclose(
            hessian @ e, (risk.gradient(w + h * e) - risk.gradient(w - h * e)) / (2 * h), atol=1e-7
        )
    assert np.array_equal(hessian, hessian.T)
    assert risk.smallest_eigenvalue(w) == pytest.approx(np.linalg.eigvalsh(hessian)[0], abs=1e-12)


def test_one_pass_gives_the_numbers_of_two_and_of_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    risk = risk_of(*arrays(n=30_000, dim=7, classes=5), classes=5)
    w = np.random.default_rng(0).standard_normal(risk.dim)
    results = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("SOTTOVOCE_THREADS", threads)
        value, gradient = risk.value_and_gradient(w)
        assert value == risk.value(w)
        assert np.array_equal(gradient, risk.gradient(w))
        results.append((value, gradient.tobytes(), risk.hessian(w).tobytes(), risk.gram().tobytes()))
    assert len(set(results)) == 1


def test_sparse_rows_give_the_dense_numbers() -> None:
    X, y = arrays(dim=6)
    X[np.abs(X) < 0.3] = 0.0
    dense, thin = risk_of(X, y), risk_of(sparse.csr_array(X), y)
    w, p = np.random.default_rng(2).standard_normal((2, dense.dim))
    for ask in (
        lambda risk: risk.value(w),
        lambda risk: risk.gradient(w),
        lambda risk: risk.hessian(w),
        lambda risk: risk.gram(),
        lambda risk: risk.trials(w, np.stack([p, -p])),
        lambda risk: risk.along(w, p).decrease(0.7),
    ):
        assert np.allclose(ask(dense), ask(thin), rtol=1e-12, atol=1e-14)


def test_trials_and_lines_are_differences_of_values() -> None:
    risk = risk_of(*arrays(), intercept=True)
    rng = np.random.default_rng(0)
    w, directions = rng.standard_normal(risk.dim), rng.standard_normal((3, risk.dim))
    falls = [risk.value(w) - risk.value(w + p) for p in directions]
    assert np.allclose(risk.trials(w, directions), falls, atol=1e-13)
    for p, fall in zip(directions, falls, strict=True):
        assert risk.along(w, p).decrease(1.0) == pytest.approx(fall, abs=1e-13)
        half = risk.value(w) - risk.value(w + 0.5 * p)
        assert risk.along(w, p).decrease(0.5) == pytest.approx(half, abs=1e-13)


def test_extreme_weights_give_finite_answers() -> None:
    risk = risk_of(*arrays(n=20))
    w = np.zeros(risk.dim)
    w[0] = risk.problem.weight_limit
    assert np.isfinite(risk.value(w))
    assert np.isfinite(risk.gradient(w)).all()
    assert np.isfinite(risk.hessian(w)).all()


@st.composite
def softmax_neighbours(draw: st.DrawFn) -> tuple[sv.SoftmaxRisk, sv.SoftmaxRisk, np.ndarray, np.ndarray]:
    """Two risks that differ in one record, weights to compare them at, and two steps from there."""
    case = draw(neighbours())
    classes = draw(st.integers(3, 5))
    y = np.array([draw(st.integers(0, classes - 1)) for _ in range(case.n)])
    other = y.copy()
    other[case.place] = draw(st.integers(0, classes - 1))
    dim = case.features.shape[1]
    shape = draw(st.sampled_from(["parallel", "two classes", "free"]))
    W = np.stack([draw(weights(dim)) for _ in range(classes)])
    if shape == "parallel":
        W = np.outer([draw(st.sampled_from([-1.0, 0.0, 1.0])) for _ in range(classes)], case.weights)
    elif shape == "two classes":
        W = np.zeros((classes, dim))
        W[:2] = case.weights, -case.weights
    steps = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).standard_normal((2, W.size))
    steps *= draw(st.sampled_from([1e-3, 1.0, 100.0]))
    here, there = (
        risk_of(X, labels, classes, radius=case.radius)
        for X, labels in ((case.features, y), (case.other_features, other))
    )
    return here, there, W.ravel(), steps


@attack
@given(softmax_neighbours())
def test_no_replaced_record_moves_an_answer_past_its_bound(case) -> None:  # type: ignore[no-untyped-def]
    here, there, w, steps = case
    w = here.problem.within_limit(w)
    bounds, lengths = here.bounds, np.linalg.norm(steps, axis=1)
    assert bounds == there.bounds
    moved = np.linalg.norm(here.gradient(w) - there.gradient(w))
    assert moved <= bounds.gradient(w) * SLACK
    norms = [np.linalg.norm(risk.gradient(w)) for risk in (here, there)]
    assert abs(norms[0] - norms[1]) <= bounds.gradient_norm(w) * SLACK
    assert np.linalg.norm(here.hessian(w) - there.hessian(w)) <= bounds.hessian(w) * SLACK
    eigenvalues = [risk.smallest_eigenvalue(w) for risk in (here, there)]
    assert abs(eigenvalues[0] - eigenvalues[1]) <= bounds.smallest_eigenvalue(w) * SLACK
    assert np.linalg.norm(here.gram() - there.gram()) <= bounds.gram() * SLACK
    trials = (here.trials(w, steps) - there.trials(w, steps)) / lengths
    assert np.linalg.norm(trials) <= bounds.trials(w, steps) * SLACK
    lines = [risk.along(w, steps[0]) for risk in (here, there)]
    for gamma in (1.0, 0.3):
        assert (
            abs(lines[0].decrease(gamma) - lines[1].decrease(gamma)) <= bounds.difference(w, steps[0]) * SLACK
        )


@pytest.mark.parametrize("size", [0.0, 1.0, 30.0, 1e4])
def test_rounding_stays_within_its_allowance_of_sixty_digit_arithmetic(size: float) -> None:
    X, y = arrays(n=40, dim=3)
    risk = risk_of(X, y)
    W = size * np.random.default_rng(1).standard_normal((3, 3))
    total, gradient = Decimal(0), [[Decimal(0)] * 3 for _ in range(3)]
    with localcontext() as context:
        context.prec = 60
        strength = Decimal(risk.regularizer.strength)
        weights = [[Decimal(float(v)) for v in row] for row in W]
        for row, label in zip(stored(risk), y, strict=True):
            x = [Decimal(float(v)) for v in row]
            powers = [sum((a * b for a, b in zip(x, w, strict=True)), Decimal(0)).exp() for w in weights]
            chances = [power / sum(powers) for power in powers]
            total -= chances[label].ln() / 40
            for k in range(3):
                for j in range(3):
                    gradient[k][j] += (chances[k] - (k == label)) * x[j] / 40
        penalty = sum(v * v for row in weights for v in row) * strength / 2
        pulled = [
            [g + strength * v for g, v in zip(*rows, strict=True)]
            for rows in zip(gradient, weights, strict=True)
        ]
        value, computed = risk.value_and_gradient(W.ravel())
        off = [
            float(Decimal(float(c)) - e)
            for c, e in zip(computed, (v for row in pulled for v in row), strict=True)
        ]
        value_off = float(abs(Decimal(value) - total - penalty))
    w, bounds = W.ravel(), risk.bounds
    regularizer, norm = risk.regularizer, float(np.linalg.norm(W))
    allowed = {"slope": risk.problem.slope, "weight_norm": norm}
    assert np.linalg.norm(off) <= Accuracy(bounds.arithmetic).gradient(
        curvature=0.5, added=float(np.linalg.norm(regularizer.gradient(w))), **allowed
    )
    assert value_off <= Accuracy(bounds.arithmetic).value(
        highest=bounds.number_sum(w).span.high, added=regularizer.value(w), **allowed
    )


def test_the_bounds_are_nearly_attained() -> None:
    """At zero weights by opposite records of one class, at large ones by certain and wrong predictions."""
    for scale in (0.0, 50.0):
        W = np.zeros((3, 2))
        W[:2, 0] = scale, -scale
        x = np.array([np.sin(0.3), np.cos(0.3)])
        mirrored = np.array([x[0], -x[1]])
        here, there = (risk_of(row[None, :], np.array([1])) for row in (x, mirrored))
        moved = np.linalg.norm(here.gradient(W.ravel()) - there.gradient(W.ravel()))
        assert moved >= 0.9 * here.bounds.gradient(W.ravel())


def test_no_third_derivative_exceeds_the_declared_constant() -> None:
    """The third central moment of a unit direction under p, over many p and directions."""
    rng = np.random.default_rng(0)
    for classes in (2, 3, 5, 9):
        p = softmax(rng.standard_normal((20_000, classes)) * rng.choice([0.5, 2.0, 5.0], (20_000, 1)), axis=1)
        v = rng.standard_normal((20_000, classes)) * rng.choice([0.02, 1.0], (20_000, classes))
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        centred = v - np.sum(p * v, axis=1, keepdims=True)
        assert np.abs(np.sum(p * centred**3, axis=1)).max() <= THIRD
    chance = 0.5 + 0.5 / np.sqrt(3.0)
    p, v = np.array([chance, 1 - chance]), np.array([1.0, -1.0]) / np.sqrt(2.0)
    assert abs(np.sum(p * (v - p @ v) ** 3)) > 0.9999 * THIRD * (0.27217 / 0.2722)


def test_half_the_gram_matrix_majorizes_every_hessian() -> None:
    risk = risk_of(*arrays(classes=4), classes=4)
    Q = np.kron(np.eye(4), 0.5 * risk.gram()) + 1e-2 * np.eye(risk.dim)
    for seed in range(20):
        w = 3.0 * np.random.default_rng(seed).standard_normal(risk.dim)
        assert np.linalg.eigvalsh(Q - risk.hessian(w))[0] >= -1e-12


def test_the_gram_matrix_is_charged_for_columns_and_answers_for_all_weights() -> None:
    risk = risk_of(*arrays())
    ledger = sv.Ledger(BUDGET)
    watched = WatchedRisk(risk)  # type: ignore[arg-type]
    ask = Oracle(watched, ledger.run(BUDGET), SimulatedNoise(0))  # type: ignore[arg-type]
    units = ask.units_left // 4
    assert ask.gram(units).value.shape == (4, 4)
    assert ask.gradient(np.zeros(12), units).value.shape == (12,)
    assert ask.hessian(np.zeros(12), units).value.shape == (12, 12)
    entries = {grant.event.query: grant.event.entries for grant in ledger.history}
    assert entries == {QueryKind.GRAM: 10, QueryKind.GRADIENT: 12, QueryKind.HESSIAN: 78}
    assert watched.touched == 3


def test_majorize_learns_several_classes_under_one_budget() -> None:
    X, y = arrays(n=30_000, classes=4)
    risk = risk_of(X, y, 4, intercept=True)
    ledger = sv.Ledger(BUDGET)
    result = sv.minimize(risk, budget=BUDGET, ledger=ledger, method="majorize", simulate=0)
    assert ledger.units_spent <= ledger.units_cap
    W = result.weights.reshape(4, 5)
    assert np.mean((X @ W[:, :4].T + W[:, 4]).argmax(axis=1) == y) > 0.848
    assert np.linalg.norm(risk.gradient(result.weights)) <= result.certificate.gradient_norm_at_most
    smallest = risk.smallest_eigenvalue(result.weights)
    assert smallest >= result.certificate.curvature_at_least - 1e-12  # the eigenvalue solver rounds


def test_a_tolerance_is_certified() -> None:
    risk = risk_of(*arrays(n=40_000))
    result = sv.minimize(risk, budget=BUDGET, tolerance=sv.Tolerance(gradient=0.03), simulate=1)
    assert result.stop is sv.Stop.CERTIFIED
    assert np.linalg.norm(risk.gradient(result.weights)) <= 0.03


@pytest.mark.parametrize("options", [{}, {"tolerance": LOOSE}], ids=["spend it all", "tolerance"])
def test_the_same_released_answers_give_the_same_bytes_over_neighbouring_data(
    options: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    X, y = arrays()
    other_X, other_y = X.copy(), y.copy()
    other_X[17], other_y[17] = -100.0 * X[17], (y[17] + 1) % 3
    recorder = Recorder(SimulatedNoise(5))
    first = everything_said(risk_of(X, y), recorder, monkeypatch, caplog, tmp_path, **options)  # type: ignore[arg-type]
    replay = Replay(recorder.tape, simulated=True)
    second = everything_said(risk_of(other_X, other_y), replay, monkeypatch, caplog, tmp_path, **options)  # type: ignore[arg-type]
    assert replay.spent
    assert first == second


def test_what_does_not_fit_is_refused_with_the_way_out() -> None:
    X, y = arrays()
    two = sv.Records.from_arrays(X, (y > 0).astype(int), labels=(0, 1))
    with pytest.raises(sv.errors.ParameterError, match="margin loss"):
        sv.SoftmaxRisk(two)
    with pytest.raises(sv.errors.ParameterError, match="a target"):
        sv.SoftmaxRisk(sv.Records.from_arrays(X, X[:, 0], target=(-1, 1)))
    with pytest.raises(sv.errors.ParameterError, match="Records"):
        sv.SoftmaxRisk(X)  # type: ignore[arg-type]
    risk = risk_of(X, y)
    for bad in (np.zeros(11), np.full(12, np.nan), np.full(12, 1e300), "x"):
        with pytest.raises(sv.errors.ParameterError, match="w must"):
            risk.gradient(bad)  # type: ignore[arg-type]
    with pytest.raises(sv.errors.ParameterError, match="directions"):
        risk.trials(np.zeros(12), np.zeros(12))
    with pytest.raises(sv.errors.ParameterError, match="gamma"):
        risk.along(np.zeros(12), np.ones(12)).decrease(1e300)


def test_nothing_private_is_shown_or_pickled() -> None:
    risk = risk_of(*arrays())
    assert repr(risk) == "SoftmaxRisk(n=300, dim=12, classes=3, regularizer=L2(strength=0.01))"
    line = risk.along(np.zeros(12), np.ones(12))
    assert repr(line) == f"Line({risk!r})"
    for held in (risk, line):
        with pytest.raises(sv.errors.DataError, match="never copied or pickled"):
            pickle.dumps(held)


@pytest.mark.parametrize("method", [name for name in METHODS if name in ("cubic", "opt")])
def test_other_methods_take_softmax_too(method: str) -> None:
    risk = risk_of(*arrays(n=20_000, dim=2))
    result = sv.minimize(
        risk, budget=sv.Budget(8.0, 1e-5), method=method, tolerance=sv.Tolerance(gradient=0.25), simulate=0
    )
    assert np.linalg.norm(risk.gradient(result.weights)) <= result.certificate.gradient_norm_at_most
