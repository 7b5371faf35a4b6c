"""Counts of residuals in dyadic bands: how far one record moves them, and who may ask."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting import Ledger
from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from sottovoce.queries import ResidualBands
from sottovoce.queries.residuals import BANDS, edges

N = 40


def risk(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> sv.Risk:
    declared = {} if weights is None else {"sample_weight": weights, "weight_cap": 1.0}
    records = sv.Records.from_arrays(X, y, target=(-1.0, 1.0), **declared)
    return sv.Risk(records, sv.losses.PseudoHuber())


def table(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 3)) / 3.0
    return X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None], rng.uniform(-1.0, 1.0, N)


def bands(risk: sv.Risk, w: np.ndarray) -> np.ndarray:
    return np.asarray(ResidualBands(w).exact(risk))


def test_every_record_lies_in_the_band_of_its_residual() -> None:
    X, y = table()
    w = np.array([0.5, -1.0, 0.2])
    made = risk(X, y)
    held = made.records._rows
    t = np.abs(np.asarray(X, dtype=np.float32).astype(float) @ w - np.asarray(held.targets))
    ends = np.concatenate([[np.inf], edges(made.problem), [0.0]])
    counted = [np.sum((t >= low) & (t < high)) for high, low in itertools.pairwise(ends)]
    np.testing.assert_allclose(bands(made, w), np.array(counted) / N, atol=1e-12)
    assert len(ends) == BANDS + 1


@pytest.mark.parametrize("weighted", [False, True])
def test_no_neighbour_moves_the_counts_past_what_is_charged_and_some_attain_it(weighted: bool) -> None:
    """600 replacements, by records near and far from their prediction, of any weight; a null record counts
    nothing, so that zeroing out moves the counts by its weight over n."""
    rng = np.random.default_rng(1)
    X, y = table()
    counts = rng.uniform(0.0, 1.0, N) if weighted else None
    if counts is not None:
        counts[0] = 1.0
    w = np.array([2.0, -1.0, 0.5])
    before = risk(X, y, counts)
    here, query = bands(before, w), ResidualBands(w)
    charged = query.sensitivity(before.bounds)
    worst = 0.0
    for _ in range(600):
        other, target = X.copy(), y.copy()
        row = rng.standard_normal(3) * 10.0 ** rng.uniform(-6.0, 1.0)
        other[0] = row / max(1.0, float(np.linalg.norm(row)))
        target[0] = rng.choice([-1.0, 1.0, rng.uniform(-1.0, 1.0), float(np.clip(other[0] @ w, -1.0, 1.0))])
        worst = max(worst, float(np.linalg.norm(bands(risk(other, target, counts), w) - here)))
    assert worst <= charged
    assert worst == pytest.approx(math.sqrt(2.0) / N, rel=1e-9)
    zeroed = query.sensitivity(replace(before.bounds, relation=Relation.ZERO_OUT))
    assert zeroed == pytest.approx(1.0 / N, rel=1e-6)


def test_the_charge_is_in_the_ledger_and_noise_has_the_scale_stated() -> None:
    X, y = table()
    budget = sv.Budget(epsilon=1.0, delta=1e-6)
    ledger = Ledger(budget)
    made = risk(np.tile(X, (50, 1)), np.tile(y, 50))
    oracle = Oracle(made, ledger.run(budget), SimulatedNoise(3))
    answer = oracle.ask(ResidualBands(np.zeros(3)), oracle.units_left // 2)
    assert [grant.event.query for grant in ledger.history] == ["residual bands"]
    gap = np.linalg.norm(answer.value - bands(made, np.zeros(3)))
    assert 0.2 * math.sqrt(BANDS) < gap / answer.scale < 3.0 * math.sqrt(BANDS)


def test_labels_have_no_residuals_and_asking_for_them_costs_nothing() -> None:
    X, y = table()
    two = sv.Records.from_arrays(X, np.where(y > 0, 1, -1), labels=(-1, 1))
    three = sv.Records.from_arrays(X, np.digitize(y, [-0.3, 0.3]), labels=(0, 1, 2))
    budget = sv.Budget(epsilon=1.0, delta=1e-6)
    for made in (sv.Risk(two, sv.losses.Logistic()), sv.SoftmaxRisk(three)):
        ledger = Ledger(budget)
        oracle = Oracle(made, ledger.run(budget), SimulatedNoise(0))
        with pytest.raises(ParameterError):
            oracle.ask(ResidualBands(np.zeros(made.dim)), oracle.units_left)
        assert not ledger.history
