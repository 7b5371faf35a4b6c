"""Slopes limited without bias: bounded, a right model's weights left alone, one formula in every kernel."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from mpmath import mp, mpf
from pyarrow import parquet
from scipy import sparse

import sottovoce as sv
from sottovoce.accounting.relations import Relation
from sottovoce.data.schema import Categorical, Numeric, Schema, Target
from sottovoce.errors import ParameterError
from sottovoce.losses.limited import Limited
from sottovoce.losses.unbiased import UnbiasedLimited
from sottovoce.queries import Preconditioner
from tests import problems

LIMITS = (0.5, 0.5 + 2.0**-40, 0.6, 0.75, 0.9, 0.999, 1.0 - 2.0**-53, 1.0)
HOSTILE = np.array(
    [0.0, 5e-324, 1e-308, 1e-160, 1e-9, 0.4, 1.0, 36.0, 699.0, 701.0, 709.5, 745.2, 1e9, 1e300]
)
HOSTILE = np.concatenate([HOSTILE, -HOSTILE, np.linspace(-9.0, 9.0, 37)])


def exact_slope(t: float, limit: float) -> mpf:
    """As the definition has it: the logistic slope times min(1, m / max(p, 1-p)), in fifty digits."""
    with mp.workdps(50):
        s = 1 / (1 + mpmath.exp(mpf(t)))
        return -s * min(mpf(1), mpf(limit) / max(s, 1 / (1 + mpmath.exp(-mpf(t)))))


@pytest.mark.parametrize("limit", LIMITS)
def test_slopes_are_logistic_ones_weighed_by_the_prediction(limit: float) -> None:
    with np.errstate(all="raise"):
        slopes = UnbiasedLimited(limit).first(HOSTILE)
    for t, slope in zip(HOSTILE.tolist(), slopes.tolist(), strict=True):
        truth = exact_slope(min(t, 800.0), limit)
        assert abs(slope - truth) <= 1e-15 * abs(truth) + 1e-304, t
    assert np.abs(slopes).max() == limit


@pytest.mark.parametrize("limit", LIMITS)
def test_values_and_curvatures_belong_to_the_slopes(limit: float) -> None:
    loss, t = UnbiasedLimited(limit), np.linspace(-12.0, 12.0, 48_001)
    step = t[1] - t[0]
    slopes = loss.first(t)
    grown = np.concatenate([[0.0], np.cumsum((slopes[1:] + slopes[:-1]) / 2.0 * step)])
    np.testing.assert_allclose(loss.value(t) - loss.value(t[:1]), grown, atol=1e-6)
    between = np.diff(slopes) / step
    bends = loss.second(t)
    jumps = np.abs(np.abs(t[1:] + t[:-1]) / 2.0 - loss.corner) <= step
    np.testing.assert_allclose(between[~jumps], ((bends[1:] + bends[:-1]) / 2.0)[~jumps], atol=1e-6)
    assert loss.value(np.array([-1e300])).item() == pytest.approx(limit * 1e300)
    assert 0.0 <= loss.value(np.array([50.0])).item() <= math.exp(-50.0)
    assert np.all(loss.value(HOSTILE) >= 0.0)


@pytest.mark.parametrize("limit", LIMITS)
def test_it_is_convex_and_no_constant_is_too_small_or_too_large(limit: float) -> None:
    loss = UnbiasedLimited(limit)
    near = loss.corner * (1.0 + np.array([-1e-9, 0.0, 1e-9]))
    t = np.sort(np.concatenate([np.linspace(-20.0, 20.0, 8001), near, -near]))
    between = np.diff(loss.first(t)) / np.maximum(np.diff(t), 1e-300)
    assert np.all(np.diff(loss.first(t)) >= 0.0)
    assert loss.curvature_high == max(0.25, 1.0 - limit)
    wide = np.diff(t) > 1e-6
    assert between[wide].max() <= loss.curvature_high * (1.0 + 1e-9)
    assert loss.second(t).max() == pytest.approx(loss.curvature_high, rel=1e-2)
    for reach in (0.0, 0.3, 2.0, 50.0):
        within = np.abs(loss.first(np.linspace(-reach, reach, 1001))).max()
        assert within <= loss.slope_within(reach) <= within * (1.0 + 1e-12)


@pytest.mark.parametrize("limit", LIMITS)
def test_labels_that_follow_the_model_pull_nowhere(limit: float) -> None:
    """phi'(-t)/phi'(t) = e^t: the mean slope at the true weights is 0, row by row. Cut off, it is not."""
    t, loss = np.linspace(-30.0, 30.0, 601), UnbiasedLimited(limit)
    np.testing.assert_allclose(loss.first(-t), np.exp(t) * loss.first(t), rtol=1e-14)
    chance = 1.0 / (1.0 + np.exp(-t))
    assert np.abs(chance * loss.first(t) - (1.0 - chance) * loss.first(-t)).max() < 1e-15
    if limit < 0.99:
        cut = Limited(sv.losses.Logistic(), limit)
        assert np.abs(chance * cut.first(t) - (1.0 - chance) * cut.first(-t)).max() > 0.2 * (1.0 - limit) ** 2


def test_the_logistic_loss_alone_is_limited_so_and_down_to_one_half() -> None:
    logistic = sv.losses.Logistic()
    assert logistic.limited(0.5) == UnbiasedLimited(0.5)
    assert logistic.limited(0.49) == Limited(logistic, 0.49)
    for other in (sv.losses.SoftplusHinge(), sv.losses.PseudoHuber()):
        assert other.limited(0.7 * other.slope) == Limited(other, 0.7 * other.slope)
    t = np.linspace(-9.0, 9.0, 181)
    np.testing.assert_array_equal(UnbiasedLimited(1.0).first(t), logistic.first(t))
    np.testing.assert_allclose(UnbiasedLimited(1.0).value(t), logistic.value(t), rtol=1e-15)
    refused: tuple[Any, ...] = (0.49, 1.5, math.nan, np.ones(2))
    for limit in refused:
        with pytest.raises(ParameterError, match="must be a finite number"):
            UnbiasedLimited(limit)


def risk_of(row: np.ndarray, label: int, weight: float = 1.0) -> sv.Risk:
    """One record of radius at most 3 among four."""
    X = np.vstack([row, 3.0 * np.eye(3)])
    records = sv.Records.from_arrays(
        X, [label, 1, 1, -1], labels=(-1, 1), radius=3.0, sample_weight=[weight, 1, 1, 1], weight_cap=1.0
    )
    return sv.Risk(records, sv.losses.Logistic())


@pytest.mark.parametrize("limit", [0.5, 0.55, 0.75, 0.95])
@pytest.mark.parametrize("capped", [False, True])
def test_no_pair_of_records_passes_the_charge_at_any_weights(limit: float, capped: bool) -> None:
    """Rows of any angle with the weights and three lengths, both labels, weights of length 0 to 1e6."""
    turns = np.linspace(0.0, math.pi, 13)
    rows = np.array([[math.cos(a), math.sin(a), 0.0] for a in turns] + [[-1e-6, 1.0, 0.0]])
    rows = np.concatenate([length * rows for length in (3.0, 1.0, 0.01)])
    preconditioner = Preconditioner(scale=np.array([1.0, 2.0, 0.5]), cap=1.5) if capped else None
    risks = [risk_of(row, label) for row in rows for label in (-1, 1)] + [risk_of(rows[0], 1, 0.0)]
    asked = risks if preconditioner is None else [risk.preconditioned(preconditioner) for risk in risks]
    for length in (0.0, 1e-3, 0.3, 2.0, 30.0, 1e6):
        w = np.array([length, 0.0, 0.0])
        answers = np.array([risk.limited_gradient(w, limit) for risk in asked])
        gaps = np.linalg.norm(answers[:, None] - answers, axis=2)
        bounds = asked[0].bounds.limited(limit)
        assert gaps.max() <= bounds.gradient(w)
        assert gaps[-1].max() <= replace(bounds, relation=Relation.ZERO_OUT).gradient(w)
        assert bounds.gradient(w) <= 2.0 * limit * asked[0].problem.influence / 4 * (1.0 + 1e-6)


def test_half_the_slope_costs_anywhere_what_a_query_at_zero_costs() -> None:
    risk = problems.logistic()
    at_zero = risk.bounds.gradient(np.zeros(risk.dim))
    for length in (0.0, 1.0, 1e3):
        w = np.full(risk.dim, length)
        assert risk.bounds.limited(0.5).gradient(w) == pytest.approx(at_zero, rel=1e-6)
    assert risk.bounds.gradient(np.full(risk.dim, 1e3)) > 1.9 * at_zero


def test_the_bounds_are_those_of_the_limited_loss() -> None:
    limited = problems.logistic().bounds.limited(0.5)
    assert limited.problem.slope == limited.loss.slope == 0.5
    assert limited.vector_sum(np.ones(5)).band.largest <= 0.5


def compact(numbers: np.ndarray, y: np.ndarray, folder: Path | None) -> sv.Records:
    """Encoded rows in memory, or in a file that is read again in every pass."""
    columns = (Numeric("a", -1.0, 1.0), Categorical("c", tuple("uvw")), Categorical("d", tuple("xy")))
    table = pa.table(
        {
            "a": numbers,
            "c": ["uvw"[i % 3] for i in range(y.size)],
            "d": ["xy"[i % 2] for i in range(y.size)],
            "y": y,
        }
    )
    schema = Schema(columns, Target("y", classes=(-1, 1)))
    if folder is None:
        records = sv.Records.from_table(table, schema)
        assert records._rows.layout is not None
        return records
    parquet.write_table(table, folder / "rows.parquet", row_group_size=256)
    return sv.Records.from_parquet(folder / "rows.parquet", schema, memory=1, spool=False)


@pytest.mark.parametrize("limit", [0.5, 0.7])
@pytest.mark.parametrize("held", ["dense", "sparse", "weighted", "compact", "parquet"])
def test_every_kind_of_rows_gives_the_same_limited_gradient_compiled_or_not(
    limit: float, held: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 6)) * (rng.random((700, 6)) < 0.6)
    X *= 0.99 / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    y, q = rng.choice([-1, 1], size=700), rng.random(700)
    w = 8.0 * rng.normal(size=6)
    declared: dict[str, Any] = {"sample_weight": q, "weight_cap": 1.0} if held == "weighted" else {}
    if held in ("compact", "parquet"):
        records = compact(X[:, 0], y, tmp_path if held == "parquet" else None)
        w = 8.0 * rng.normal(size=records.dim)
    else:
        X = sparse.csr_array(X) if held == "sparse" else X
        records = sv.Records.from_arrays(X, y, labels=(-1, 1), **declared)
    answers = []
    for kernels in ("reference", "compiled"):
        monkeypatch.setenv("SOTTOVOCE_KERNELS", kernels)
        answers.append(sv.Risk(records, sv.losses.Logistic()).limited_gradient(w, limit))
    np.testing.assert_allclose(answers[0], answers[1], rtol=0, atol=1e-14)
    if held == "dense":
        stored = X.astype(np.float32).astype(float)
        p = 1.0 / (1.0 + np.exp(-(stored @ w)))
        pulls = (p - (y > 0)) * np.minimum(1.0, limit / np.maximum(p, 1.0 - p))
        np.testing.assert_allclose(answers[0], pulls @ stored / 700, atol=1e-14)
