"""Replace one example by anything: no answer moves further than its bound."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.accounting import Relation

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from sottovoce.autodiff.clipping import clipped_numbers, clipped_sum  # noqa: E402
from sottovoce.privacy.noise import SimulatedNoise  # noqa: E402
from sottovoce.privacy.oracle import Oracle  # noqa: E402
from sottovoce.queries import Gradient, Trials  # noqa: E402
from tests.autodiff import models  # noqa: E402
from tests.doubles import Recorder  # noqa: E402

NASTY = [0.0, 1.0, -1.0, 1e-30, 1e8, -1e30, 1e160, 1e300, float("inf"), float("-inf"), float("nan")]
numbers = st.one_of(st.sampled_from(NASTY), st.floats(-4.0, 4.0))
rows = st.lists(numbers, min_size=3, max_size=3)


def risk(A: np.ndarray, y: np.ndarray) -> sv.autodiff.TorchRisk:
    return sv.autodiff.TorchRisk(
        models.Squared(3), models.quarter_square, (A, y), gradient_clip=0.5, curvature_clip=0.25
    )


@settings(max_examples=25, deadline=None)
@given(rows, numbers, rows, numbers, st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=3))
def test_replacing_one_example_moves_each_answer_at_most_its_bound(a, s, b, t, w) -> None:  # type: ignore[no-untyped-def]
    A, y = models.phase_data(5, 3, seed=1)
    here, there = A.copy(), A.copy()
    here[2], there[2] = a, b
    first, second = (
        risk(here, np.where(np.arange(5) == 2, s, y)),
        risk(there, np.where(np.arange(5) == 2, t, y)),
    )
    at, v = np.array(w), np.array([0.6, 0.0, -0.8])
    bounds = first.bounds

    def moved(ask) -> float:  # type: ignore[no-untyped-def]
        return float(np.linalg.norm(np.subtract(ask(first), ask(second))))

    assert moved(lambda f: f.gradient(at)) <= bounds.gradient(at)
    assert moved(lambda f: f.gradient_change(at, 0.5 * v)) <= bounds.gradient_change(at, 0.5 * v)
    assert moved(lambda f: f.gradient_change(at, 9.0 * v)) <= bounds.gradient_change(at, 9.0 * v)
    assert moved(lambda f: f.curvature_product(at, v)) <= bounds.curvature_product(at)
    assert moved(lambda f: f.hessian(at)) <= bounds.hessian(at)
    assert moved(lambda f: f.smallest_eigenvalue(at)) <= bounds.smallest_eigenvalue(at)
    assert moved(lambda f: f.value(at)) <= bounds.value(at)
    assert moved(lambda f: f.along(at, v).decrease(0.5)) <= bounds.difference(at, 0.5 * v)
    steps = np.stack([v, 0.1 * v, -v])
    lengths = np.linalg.norm(steps, axis=1)
    assert moved(lambda f: f.trials(at, steps) / lengths) <= bounds.trials(at, steps)


def test_the_bounds_are_attained() -> None:
    """Two examples of opposite, overlong gradients use the bound up."""
    X, y = np.full((4, 1), 1e3), np.array([1.0, 1.0, 1.0, -1.0])
    ends = [
        sv.autodiff.TorchRisk(
            models.Linear(1),
            models.logistic,
            (X, np.where(np.arange(4) == 0, label, y)),
            gradient_clip=0.5,
            curvature_clip=0.25,
        )
        for label in (1.0, -1.0)
    ]
    moved = abs(float(ends[0].gradient(np.zeros(1))[0] - ends[1].gradient(np.zeros(1))[0]))
    assert moved == pytest.approx(ends[0].bounds.gradient(np.zeros(1)), rel=1e-6)


def test_a_query_that_lies_about_a_module_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its examples are cut to what is charged for, whatever a query says of itself."""
    monkeypatch.setattr(Gradient, "sensitivity", lambda self, bounds: 1e-9)
    monkeypatch.setattr(Gradient, "exact", lambda self, risk: 1e9 * risk.start)
    A, y = models.phase_data(5, 3, seed=1)
    budget = sv.Budget(2.0, 1e-6)
    ledger, noise = sv.Ledger(budget), Recorder(SimulatedNoise(0))
    Oracle(risk(1e3 * A, y), ledger.run(budget), noise).gradient(np.ones(3), 10**6)
    assert ledger.history[0].event.sensitivity >= 2.0 * 0.5 / 5
    assert np.linalg.norm(noise.exact[0]) <= 0.5


def test_overlong_products_of_opposite_sign_attain_their_bound() -> None:
    """At w = 0 the curvature of phase retrieval has the sign of -y: two examples bend up and down."""
    A, y = models.phase_data(5, 3, seed=1)
    A[2], at, v = (1e3, 0.0, 0.0), np.zeros(3), np.array([1.0, 0.0, 0.0])
    ends = [risk(A, np.where(np.arange(5) == 2, label, y)) for label in (1e3, -1e3)]
    moved = np.linalg.norm(np.subtract(*(end.curvature_product(at, v) for end in ends)))
    assert moved == pytest.approx(ends[0].bounds.curvature_product(at), rel=1e-6)


def test_overlong_changes_of_gradients_attain_their_bound_near_and_far() -> None:
    """Over a short way the clip of curvature bounds a change, over a long one twice the gradient's clip."""
    X, y, w = np.full((4, 1), 1e3), np.array([1.0, 1.0, 1.0, -1.0]), np.zeros(1)

    def end(label: float, x: float, relation: Relation = Relation.REPLACE_ONE) -> tuple[Any, Any]:
        held, labels = X.copy(), y.copy()
        held[0], labels[0] = x, label
        clips = {"gradient_clip": 0.5, "curvature_clip": 0.25}
        found = sv.autodiff.TorchRisk(models.Squared(1), bent, (held, labels), **clips)
        return found, replace(found.bounds, relation=relation)

    for length in (1e-3, 2.0):
        step = np.full(1, length)
        (up, charged), (down, _) = end(1.0, 10.0), end(-1.0, 10.0)
        moved = np.linalg.norm(up.gradient_change(w, step) - down.gradient_change(w, step))
        assert moved == pytest.approx(charged.gradient_change(w, step), rel=1e-6)
        (alone, charged), (gone, _) = end(1.0, 10.0, Relation.ZERO_OUT), end(1.0, 0.0)
        moved = np.linalg.norm(alone.gradient_change(w, step) - gone.gradient_change(w, step))
        assert moved == pytest.approx(charged.gradient_change(w, step), rel=1e-6)
    assert charged.gradient_change(w, step) == pytest.approx(min(0.25 * 2.0, 2.0 * 0.5) / 4, rel=1e-6)


def bent(outputs: Any, targets: Any) -> Any:
    """Up or down by the label."""
    return targets * outputs


def test_changes_of_a_persons_gradients_count_once() -> None:
    A, y = models.phase_data(12, 3, seed=3)
    keys, B = np.array([0, 0, 0, 0, 1, 2, 2, 3, 4, 4, 5, 5]), A.copy()
    B[:4] = 1e6
    clips = {"gradient_clip": 0.5, "curvature_clip": 0.25, "groups": keys, "persons": 6}
    here, there = (
        sv.autodiff.TorchRisk(models.Squared(3), models.quarter_square, (X, y), **clips) for X in (A, B)
    )
    w, step = np.full(3, 0.3), np.full(3, 0.1)
    moved = np.linalg.norm(here.gradient_change(w, step) - there.gradient_change(w, step))
    assert 0.0 < moved <= here.bounds.gradient_change(w, step)


def test_changes_are_differences_of_gradients_where_nothing_is_cut() -> None:
    held = models.linear_risk(regularizer=sv.regularizers.L2(0.1))
    w, step = np.full(5, 0.3), np.full(5, 0.2)
    difference = held.gradient(w + step) - held.gradient(w)
    np.testing.assert_allclose(held.gradient_change(w, step), difference, rtol=1e-6, atol=1e-9)


def test_trials_are_decreases_per_unit_length_and_each_is_paid_for() -> None:
    """Four equal trials move together, twice as far as one; one of twice the length counts half."""
    A, y = models.phase_data(5, 3, seed=1)
    held, at, v = risk(A, y), np.ones(3), np.array([0.6, 0.0, -0.8])
    one, four = Trials(at, v[None]), Trials(at, np.stack([v] * 4))
    assert four.sensitivity(held.bounds) >= 2.0 * one.sensitivity(held.bounds) * (1.0 - 1e-9)
    long = Trials(at, 2.0 * v[None])
    assert long.exact(held) == pytest.approx(held.trials(at, 2.0 * v[None]) / 2.0)


def test_terms_that_are_not_finite_or_overflow_count_as_zero() -> None:
    terms = torch.tensor(
        [[3.0, 4.0], [float("nan"), 1.0], [float("inf"), 0.0], [1e200, 1e200], [0.3, 0.4], [1e-200, 0.0]],
        dtype=torch.float64,
    )
    np.testing.assert_allclose(clipped_sum(terms, 1.0, torch.ones(6)).numpy(), [0.9, 1.2], rtol=1e-8)
    numbers = torch.tensor([5.0, -5.0, float("nan"), float("inf"), 0.5])
    assert clipped_numbers(numbers, -1.0, 2.0, torch.ones(5)) == 1.5
    assert clipped_numbers(numbers, -1.0, 2.0, torch.tensor([0.5, 1.0, 1.0, 1.0, 0.0])) == 0.0


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.floats(1e-6, 1e6), st.integers(0, 2**31))
def test_no_clipped_term_is_longer_than_allowed(entries: int, limit: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    term = torch.randn(1, entries, generator=generator, dtype=torch.float64) * limit * 3.0
    assert float(np.linalg.norm(clipped_sum(term, limit, torch.ones(1)).numpy())) <= limit


def test_an_example_that_fails_contributes_nothing_and_disturbs_no_other() -> None:
    A, y = models.phase_data(6, 3, seed=0)
    clean = risk(A[:5], y[:5])
    A[5] = np.nan
    broken = risk(A, y)
    w = np.array([0.3, -0.2, 0.1])
    np.testing.assert_allclose(6.0 * broken.gradient(w), 5.0 * clean.gradient(w), rtol=1e-12)
    np.testing.assert_allclose(6.0 * broken.hessian(w), 5.0 * clean.hessian(w), rtol=1e-12)
    assert 6.0 * broken.value(w) == pytest.approx(5.0 * clean.value(w))
