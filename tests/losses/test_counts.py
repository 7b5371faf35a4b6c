"""The loss of counts: its constants, its sums in both kernels, and how far one record moves each of them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import sottovoce as sv
from sottovoce import losses
from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError
from sottovoce.losses import Poisson
from sottovoce.losses.limited import Limited
from tests.strategies import attack

HIGHS = (1.0, 1.5, 20.0, 1e6)


def exact(t: mpf) -> mpf:
    """g, written once more: e^t before 0, and behind it the antiderivative of g'' = e^{-2t}."""
    return mpmath.exp(t) if t <= 0 else 1 + t * mpf(3) / 2 - (1 - mpmath.exp(-2 * t)) / 4


def records(X: Any, y: Any, **options: Any) -> sv.Records:
    return sv.Records.from_arrays(X, y, target=(0, 1), radius=float(options.pop("radius", 1.0)), **options)


def test_values_and_derivatives_are_those_of_the_definition() -> None:
    loss, grid = Poisson(7.0), np.concatenate([-np.logspace(-6, 2.5, 40), [0.0], np.logspace(-6, 2.5, 40)])
    with mp.workdps(60):
        for t in grid.tolist():
            at = mpf(t) - (mpf(10) ** -25 if t == 0 else 0)
            wanted = [float(mpmath.diff(exact, at, order, h=mpf(10) ** -30)) for order in range(3)]
            found = [float(ask(np.array([t]))[0]) for ask in (loss.value, loss.first, loss.second)]
            assert found == pytest.approx(wanted, rel=1e-14, abs=1e-30)


def test_no_constant_is_too_small_and_none_can_be_made_smaller_by_much() -> None:
    loss, t = Poisson(3.0), np.linspace(-40.0, 40.0, 400_001)
    first, second = loss.first(t), loss.second(t)
    third = np.diff(second) / np.diff(t)
    slopes = np.maximum(np.abs(first), np.abs(first - 1.0))
    assert 0.999 * loss.slope < slopes.max() <= loss.slope
    assert 0.0 <= second.min() <= second.max() <= loss.curvature_high == 1.0
    assert 0.99 * loss.third < np.abs(third).max() <= loss.third
    middle = 0.5 * (second[1:] + second[:-1])
    seen = middle > 1e-12
    assert (np.abs(third[seen]) <= loss.bend * middle[seen] * (1 + 1e-6)).all()
    assert (loss.value(t) - np.maximum(t, 0.0) >= 0.0).all()


@pytest.mark.parametrize("t", [-1e308, -1e300, 1e300, 1e308])
def test_nothing_overflows(t: float) -> None:
    loss = Poisson(2.0)
    with np.errstate(over="raise", invalid="raise"):
        assert np.isfinite([loss.first(np.array([t])), loss.second(np.array([t]))]).all()
        assert loss.value(np.array([t / 2])) >= 0.0


@attack
@given(high=st.sampled_from(HIGHS), reach=st.floats(0.0, 30.0), seed=st.integers(0, 10**9))
def test_slopes_and_values_within_reach_are_bounded(high: float, reach: float, seed: int) -> None:
    rng, loss = np.random.default_rng(seed), Poisson(high)
    products = np.append(rng.uniform(-reach, reach, 200), [reach, -reach])
    y = rng.choice([0.0, 1.0, 0.3], products.size)
    t = products - loss.shift
    assert np.abs(loss.first(t) - y).max() <= loss.slope_within(reach)
    assert (loss.value(t) - y * t).max() <= loss.value_within(reach) * (1 + 1e-12)
    assert (loss.value(t) - y * t).min() >= 0.0


def neighbouring(seed: int, high: float, counted: bool) -> tuple[sv.Risk, sv.Risk, np.ndarray]:
    """Few records, extreme ones first among them, and weights that put them where slopes peak."""
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    w = rng.normal(size=dim) * 10.0 ** rng.uniform(-3, 1.5)
    along = w / np.linalg.norm(w)

    def row() -> np.ndarray:
        side = rng.normal(size=dim)
        shapes = [along, -along, side / np.linalg.norm(side), np.zeros(dim)]
        return np.asarray(shapes[rng.integers(4)])

    X, y = np.array([row() for _ in range(n)]), rng.choice([0.0, 1.0, 0.5], n)
    q = rng.choice([0.0, 0.5, 1.0], n) if counted else None
    other_X, other_y, other_q = X.copy(), y.copy(), None if q is None else q.copy()
    other_X[0], other_y[0] = row(), rng.choice([0.0, 1.0])
    if other_q is not None:
        other_q[0] = rng.choice([0.0, 1.0])
    sides = [(X, y, q), (other_X, other_y, other_q)]
    one, other = (sv.Risk(records(*side[:2], sample_weight=side[2]), Poisson(high)) for side in sides)
    return one, other, w


@attack
@given(seed=st.integers(0, 10**9), high=st.sampled_from(HIGHS), counted=st.booleans())
def test_no_query_moves_further_than_its_bound(seed: int, high: float, counted: bool) -> None:
    one, other, w = neighbouring(seed, high, counted)
    step, bounds = np.ones_like(w) * 0.3, one.bounds
    moved = {
        "gradient": np.linalg.norm(one.gradient(w) - other.gradient(w)) / bounds.gradient(w),
        "value": abs(one.value(w) - other.value(w)) / bounds.value(w),
        "hessian": np.linalg.norm(one.hessian(w) - other.hessian(w)) / bounds.hessian(w),
        "scores": np.linalg.norm(one.score_moment(w) - other.score_moment(w)) / bounds.score_moment(w),
        "trials": np.linalg.norm(one.trials(w, step[None]) - other.trials(w, step[None]))
        / np.linalg.norm(step)
        / bounds.trials(w, step[None]),
        "line": abs(one.along(w, step).decrease(1.0) - other.along(w, step).decrease(1.0))
        / bounds.difference(w, step),
    }
    assert max(moved.values()) <= 1.0 + 1e-12, moved


@attack
@given(seed=st.integers(0, 10**9), high=st.sampled_from(HIGHS))
def test_no_query_moves_further_when_a_record_counts_nothing(seed: int, high: float) -> None:
    one, _, w = neighbouring(seed, high, counted=False)
    block = one.records._rows.block(0)  # type: ignore[union-attr]
    q = np.append([0.0], np.ones(one.n - 1))
    other = sv.Risk(records(block.features, block.targets, sample_weight=q), Poisson(high))
    bounds = replace(one.bounds, relation=Relation.ZERO_OUT)
    assert np.linalg.norm(one.gradient(w) - other.gradient(w)) <= bounds.gradient(w)
    assert abs(one.value(w) - other.value(w)) <= bounds.value(w)
    assert np.linalg.norm(one.hessian(w) - other.hessian(w)) <= bounds.hessian(w)


def test_the_gradients_bound_is_attained() -> None:
    X = np.array([[1.0], [0.5]])
    one, other = (sv.Risk(records(side * X, [1.0, 1.0]), Poisson(20.0)) for side in (1.0, -1.0))
    far = np.abs(one.gradient(np.zeros(1)) - other.gradient(np.zeros(1)))[0]
    first = 2.0 * (1.0 - 1.0 / 20.0) / 2.0
    assert far == pytest.approx(first * 1.5, rel=1e-6)
    assert one.bounds.gradient(np.zeros(1)) == pytest.approx(first, rel=1e-6)


@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_sums_are_those_of_the_reference(csr: bool, weighted: bool, monkeypatch: Any) -> None:
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 9)) * (rng.random((700, 9)) < 0.6)
    q = rng.random(700) if weighted else None
    held = records(sparse.csr_array(X) if csr else X, rng.random(700), sample_weight=q)
    risk, w, steps = sv.Risk(held, Poisson(2.0)), 3.0 * rng.normal(size=9), rng.normal(size=(2, 9))
    found = []
    for path in ("reference", "compiled"):
        monkeypatch.setenv("SOTTOVOCE_KERNELS", path)
        value, gradient = risk.value_and_gradient(w)
        parts = [[value, risk.value(w), risk.along(w, steps[0]).decrease(0.7)], gradient, risk.gradient(w)]
        parts += [risk.hessian(w).ravel(), risk.score_moment(w).ravel(), risk.trials(w, steps)]
        found.append(np.concatenate(parts))
    np.testing.assert_allclose(*found, rtol=1e-13, atol=1e-14)
    t = risk.records._rows.block(0).features @ w - math.log(2.0)  # type: ignore[union-attr]
    y = risk.records._rows.targets  # type: ignore[union-attr]
    terms = np.array([float(exact(mpf(float(s)))) for s in t]) - y * t
    assert found[0][0] == pytest.approx(np.mean(terms if q is None else q * terms), rel=1e-12)


def test_a_loss_reads_its_parameter_from_text() -> None:
    assert losses.by_text("cauchy:0.2") == losses.Cauchy(0.2)
    assert losses.by_text("softplus-hinge:7") == losses.SoftplusHinge(7.0)
    assert losses.by_text("poisson:20") == Poisson(20.0)
    assert losses.by_text("logistic") == losses.Logistic()
    assert losses.by_text("pseudo-huber") == losses.PseudoHuber(1.0)
    assert losses.by_text("cauchy") == losses.Cauchy(0.25)
    assert losses.by_name("cauchy") == losses.Cauchy(1.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cauchy:", "takes a number"),
        ("cauchy:much", "takes a number"),
        ("cauchy:0", "must be a finite number"),
        ("cauchy:-1", "must be a finite number"),
        ("logistic:2", "takes none"),
        ("poisson", "needs the bound"),
        ("huber:2", "smooth variant"),
        ("nothing:2", "unknown"),
    ],
)
def test_a_text_that_is_no_loss_is_refused(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        losses.by_text(text)


def test_what_is_no_bounded_count_is_refused() -> None:
    X = np.zeros((3, 1))
    with pytest.raises(ParameterError, match="count / high"):
        sv.Risk(sv.Records.from_arrays(X, [0, 1, 2], target=(0, 2)), Poisson(2.0))
    with pytest.raises(ParameterError, match="limited of convex losses of margins"):
        Limited(Poisson(2.0), 0.5)
    for target, loss in (((-1, 20), "poisson"), ((0, 0.5), "poisson"), ((0, 20), Poisson(10.0))):
        with pytest.raises(ParameterError, match=r"target=\(0, 20\)"):
            sv.PrivateRegressor(delta=1e-5, target=target, loss=loss).fit(X, [0, 1, 2])  # type: ignore[arg-type]


def of_event(t: mpf, y: int) -> mpf:
    """The complementary log-log, written once more."""
    return -mpmath.log(1 - mpmath.exp(-mpmath.exp(t))) if y else exact(t)


def test_the_complementary_log_log_is_its_definition_and_keeps_its_constants() -> None:
    law, loss = losses.Cloglog().law, losses.Cloglog()
    grid = np.concatenate([np.linspace(-30.0, -1e-3, 60), np.linspace(1e-3, 3.5, 40)])
    with mp.workdps(60):
        for y in (0, 1):
            labels = np.full(grid.size, float(y))
            found = law.values(grid, labels), law.slopes(grid, labels), law.curvatures(grid, labels)
            for order, seen in enumerate(found):
                wanted = [
                    float(mpmath.diff(partial(of_event, y=y), mpf(t), order, h=mpf(10) ** -30))
                    for t in grid.tolist()
                ]
                assert seen == pytest.approx(wanted, rel=1e-6, abs=1e-12)
    t = np.linspace(-400.0, 400.0, 200_001)
    for y in (0.0, 1.0):
        labels = np.full(t.size, y)
        slopes, bends = law.slopes(t, labels), law.curvatures(t, labels)
        assert np.isfinite(law.values(t, labels)).all()
        assert (np.abs(slopes) <= loss.slope).all()
        assert ((bends >= 0.0) & (bends <= loss.curvature_high)).all()
