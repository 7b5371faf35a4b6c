"""Gradients clipped as asked, with a count, and bands of norms: no example moves them past their charge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.accounting import Relation
from sottovoce.errors import ParameterError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from sottovoce.queries.clipped import COUNTED, EDGES, ClippedGradient, GradientBands  # noqa: E402
from tests.autodiff import models  # noqa: E402

NASTY = [0.0, 1.0, -1.0, 1e-30, 1e8, -1e30, 1e160, float("inf"), float("nan")]
numbers = st.one_of(st.sampled_from(NASTY), st.floats(-4.0, 4.0))
rows = st.lists(numbers, min_size=3, max_size=3)


def fused(A: np.ndarray, y: np.ndarray, **more: Any) -> sv.autodiff.TorchRisk:
    """A chain of known layers."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))

    def loss(outputs: Any, targets: Any) -> Any:
        return models.quarter_square(outputs[:, 0], targets)

    return sv.autodiff.TorchRisk(module, loss, (A, y), **more)


def mapped(A: np.ndarray, y: np.ndarray, **more: Any) -> sv.autodiff.TorchRisk:
    """Example by example."""
    return sv.autodiff.TorchRisk(models.Squared(3), models.quarter_square, (A, y), **more)


@pytest.mark.parametrize("made", [fused, mapped])
@settings(max_examples=25, deadline=None)
@given(rows, numbers, rows, numbers, st.sampled_from([1e-6, 0.3, 50.0]))
def test_replacing_an_example_moves_no_answer_past_its_charge(made, a, s, b, t, clip) -> None:  # type: ignore[no-untyped-def]
    A, y = models.phase_data(5, 3, seed=1)
    ends = []
    for row, target in ((a, s), (b, t)):
        X = A.copy()
        X[2] = row
        ends.append(made(X, np.where(np.arange(5) == 2, target, y), dtype=torch.float32))
    w = ends[0].start + 0.3
    for query in (ClippedGradient(w, clip), GradientBands(w)):
        moved = np.linalg.norm(np.asarray(query.exact(ends[0])) - np.asarray(query.exact(ends[1])))
        assert moved <= query.sensitivity(ends[0].bounds)


@pytest.mark.parametrize("made", [fused, mapped])
@settings(max_examples=25, deadline=None)
@given(rows, numbers, st.sampled_from([1e-6, 0.3, 50.0]))
def test_leaving_an_example_out_moves_no_answer_past_its_charge(made, a, s, clip) -> None:  # type: ignore[no-untyped-def]
    """As from a Poisson batch: sums are divided by the same number."""
    A, y = models.phase_data(5, 3, seed=1)
    A[2] = a
    whole = made(A, np.where(np.arange(5) == 2, s, y))
    here, there = whole.subset(np.arange(5), 5), whole.subset(np.array([0, 1, 3, 4]), 5)
    w, bounds = whole.start + 0.3, replace(whole.bounds, relation=Relation.ZERO_OUT)
    for query in (ClippedGradient(w, clip), GradientBands(w)):
        moved = np.linalg.norm(np.asarray(query.exact(here)) - np.asarray(query.exact(there)))
        assert moved <= query.sensitivity(bounds)


def test_the_charges_are_attained() -> None:
    """An overlong gradient against its opposite and against nobody; a long one against a short one."""
    X, y = np.full((4, 1), 1e3), np.array([1.0, 1.0, 1.0, -1.0])
    module = models.Linear(1)

    def risk(first: float, label: float) -> sv.autodiff.TorchRisk:
        held = X.copy()
        held[0] = first
        return sv.autodiff.TorchRisk(module, models.logistic, (held, np.where(np.arange(4) == 0, label, y)))

    w, clip = np.zeros(1), 0.5
    up, down, short = risk(1e3, 1.0), risk(1e3, -1.0), risk(1e-3, 1.0)
    query, bands = ClippedGradient(w, clip), GradientBands(w)
    moved = np.linalg.norm(query.exact(up) - query.exact(down))
    assert moved == pytest.approx(2.0 * clip / 4, rel=1e-6)
    zeroed = replace(up.bounds, relation=Relation.ZERO_OUT)
    gone = np.linalg.norm(query.exact(up) - query.exact(up.subset(np.array([1, 2, 3]), 4)))
    assert gone == pytest.approx(query.sensitivity(zeroed), rel=1e-6)
    assert gone == pytest.approx(clip / 4 * np.hypot(1.0, COUNTED / 2.0), rel=1e-6)
    whole = ClippedGradient(w, 500.0 * (1.0 + 1e-9))
    gone = np.linalg.norm(whole.exact(up) - whole.exact(up.subset(np.array([1, 2, 3]), 4)))
    assert whole.unclipped(whole.exact(up)) == pytest.approx(1.0)
    assert gone == pytest.approx(whole.sensitivity(zeroed), rel=1e-6)
    apart = np.linalg.norm(bands.exact(up) - bands.exact(short))
    assert apart == pytest.approx(bands.sensitivity(up.bounds), rel=1e-6)


@pytest.mark.parametrize("made", [fused, mapped])
def test_a_person_moves_an_answer_no_further_than_an_example(made) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((12, 3)), rng.standard_normal(12)
    keys = np.array([0, 0, 0, 0, 1, 2, 2, 3, 4, 4, 5, 5])
    B, z = A.copy(), y.copy()
    B[:4], z[:4] = 1e6 * rng.standard_normal((4, 3)), -9.0
    here, there = (made(X, t, groups=keys, persons=6) for X, t in ((A, y), (B, z)))
    w = here.start + 0.3
    for query in (ClippedGradient(w, 0.3), GradientBands(w)):
        moved = np.linalg.norm(np.asarray(query.exact(here)) - np.asarray(query.exact(there)))
        assert 0.0 < moved <= query.sensitivity(here.bounds)


@pytest.mark.parametrize("made", [fused, mapped])
def test_a_person_of_many_examples_counts_once(made) -> None:  # type: ignore[no-untyped-def]
    """A hundred examples that are not cut, against as many that are."""
    A, y = models.phase_data(105, 3, seed=1)
    keys = np.maximum(np.arange(105) - 99, 0)
    short, long = A.copy(), A.copy()
    short[:100], long[:100] = 1e-6, 1e3
    here, there = (made(X, y, groups=keys, persons=6) for X in (short, long))
    w = here.start + 0.3
    query = ClippedGradient(w, 100.0)
    counts = [query.unclipped(query.exact(risk)) for risk in (here, there)]
    assert counts == pytest.approx([1.0, 5.0 / 6.0])
    moved = np.linalg.norm(query.exact(here) - query.exact(there))
    assert moved <= query.sensitivity(here.bounds)


def test_both_ways_of_computing_agree() -> None:
    A, y = models.phase_data(40, 3, seed=2)
    by_layers = fused(A, y)
    alone = fused(A, y)
    assert by_layers.sums._fused is not None
    alone.sums._fused = None
    w = by_layers.start + 0.1
    for query in (ClippedGradient(w, 0.4), GradientBands(w)):
        np.testing.assert_allclose(query.exact(by_layers), query.exact(alone), rtol=1e-9, atol=1e-12)
    gradients = by_layers.sums._terms.gradients(
        by_layers.sums._flat(w), *(part[:-1] for part in by_layers.sums._examples._held)
    )
    norms = np.linalg.norm(gradients.numpy(), axis=1)
    query = ClippedGradient(w, float(np.median(norms)))
    assert query.unclipped(query.exact(by_layers)) == pytest.approx(np.mean(norms <= query.clip))
    bands = GradientBands(w).exact(by_layers)
    assert bands.sum() == pytest.approx(1.0)
    assert bands[0] == pytest.approx(np.mean(norms > EDGES[0]))
    assert np.cumsum(bands)[16] == pytest.approx(np.mean(norms > EDGES[16]))


def test_other_risks_and_undeclared_clips_are_refused_before_a_charge() -> None:
    X, y = models.linear_data(50, 3)
    records = sv.Records.from_arrays(X.astype(float) / 3.0, y, labels=(-1, 1))
    linear, module = sv.Risk(records, sv.losses.Logistic()), models.linear_data(50, 3)
    from sottovoce.methods.clipped_adam import ClippedAdam

    budget = sv.Budget(1.0, 1e-6)
    ledger = sv.Ledger(budget)
    with pytest.raises(ParameterError, match="PyTorch modules"):
        sv.minimize(linear, budget=budget, method=ClippedAdam(), ledger=ledger)
    undeclared = sv.autodiff.TorchRisk(models.Linear(3), models.logistic, module)
    with pytest.raises(ParameterError, match="no clips were declared"):
        sv.minimize(undeclared, budget=budget, method="majorize", ledger=ledger)
    assert not ledger.history
    with pytest.raises(ParameterError, match="or neither"):
        sv.autodiff.TorchRisk(models.Linear(3), models.logistic, module, gradient_clip=1.0)
