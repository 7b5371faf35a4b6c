"""Ranges declared far too wide are drawn in by released marginals, where next to nobody is beyond."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.accounting import Budget, Ledger
from sottovoce.accounting.events import QueryKind
from sottovoce.data.schema import Numeric, Schema, Target
from sottovoce.features.curves import spline
from sottovoce.features.marginals import BINS, Marginal
from sottovoce.features.zoom import narrowed, tightened, window

pa = pytest.importorskip("pyarrow")


def schema(reach: float) -> Schema:
    return Schema((Numeric("a", -reach, reach), Numeric("b", -1.0, 1.0)), Target("y", classes=(0, 1)))


def table(n: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1.0, 1.0, (2, n))
    y = rng.random(n) < 1.0 / (1.0 + np.exp(1.0 - 4.0 * np.abs(a) - b))
    return pa.table({"a": a, "b": b, "y": y.astype(np.int64)})


def log_loss(model: Any, rows: Any) -> float:
    labels = rows["y"].to_numpy()
    return float(-np.mean(np.log(model.predict_proba(rows)[np.arange(labels.size), labels])))


def marginal(shares: Any, noise: float) -> Marginal:
    return Marginal("a", tuple(np.linspace(-100.0, 100.0, BINS + 1).tolist()), tuple(shares), noise)


def test_a_range_a_hundred_times_too_wide_costs_little() -> None:
    fresh = table(10_000, seed=1)
    options: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-6, "relation": "zero-out", "simulate": 0}
    fitted = {reach: sv.fit(table(10_000), schema(reach), model="auto", **options) for reach in (1.0, 100.0)}
    line = sv.fit(table(10_000), schema(1.0), **options)
    close, wide = (log_loss(model, fresh) for model in fitted.values())
    assert wide - close < 0.1 * (log_loss(line, fresh) - close)
    column = fitted[100.0].schema.columns[0]
    assert -4.0 < column.low <= -1.0 < 1.0 <= column.high < 4.0
    assert fitted[100.0].schema.columns[1].low == -1.0
    assert fitted[100.0].marginals[0].edges[0] == column.low
    assert [row.kind for row in fitted[100.0].result.trace][:2] == ["marginals", "marginals again"]
    assert "marginals again" not in {row.kind for row in fitted[1.0].result.trace}
    assert fitted[100.0].result.guarantee.epsilon == 4.0


def test_the_second_look_is_charged() -> None:
    ledger = Ledger(Budget(4.0, 1e-6, "zero-out"))
    options: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-6, "relation": "zero-out", "simulate": 0}
    sv.fit(table(10_000), schema(100.0), model="additive", ledger=ledger, **options)
    queries = [grant.event.query for grant in ledger.history]  # type: ignore[union-attr]
    assert queries[:2] == [QueryKind.MARGINALS, QueryKind.MARGINALS]
    assert queries.count(QueryKind.MARGINALS) == 2


def test_with_inference_ranges_stay_as_declared() -> None:
    declared = replace(
        schema(100.0), columns=(Numeric("a", -100.0, 100.0, shape="curve"), Numeric("b", -1.0, 1.0))
    )
    options: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-6, "simulate": 0, "inference": 0.3}
    model = sv.fit(table(3_000), declared, model="auto", **options)
    assert model.schema.columns[0].low == -100.0  # type: ignore[attr-defined]


def test_a_range_is_kept_where_a_tail_is_seen_or_noise_could_hide_one() -> None:
    narrow, tail = np.zeros(BINS), np.zeros(BINS)
    narrow[31:33] = 0.5
    tail[0], tail[1:] = 0.92, 0.08 / (BINS - 1)
    plain = schema(100.0)
    only = replace(plain, columns=plain.columns[:1])
    assert narrowed(only, (marginal(narrow, 1e-4),)).columns[0] != only.columns[0]
    assert narrowed(only, (marginal(narrow, 0.01),)) == only
    assert narrowed(only, (marginal(tail, 1e-4),)) == only
    assert narrowed(only, (marginal(np.full(BINS, 1.0 / BINS), 1e-4),)) == only
    scaled = replace(only, columns=(replace(only.columns[0], centre=0.0),))  # type: ignore[call-arg]
    assert narrowed(scaled, (marginal(narrow, 1e-4),)) == scaled


def test_a_narrower_range_holds_all_bins_with_records_and_keeps_the_sum() -> None:
    shares = np.zeros(BINS)
    shares[20:30] = 0.1
    shares[0] = 0.0003
    drawn, (kept,) = tightened(
        replace(schema(100.0), columns=schema(100.0).columns[:1]), (marginal(shares, 1e-4),)
    )
    edges = np.linspace(-100.0, 100.0, BINS + 1)
    assert (drawn.columns[0].low, drawn.columns[0].high) == (edges[15], edges[35])  # type: ignore[attr-defined]
    assert sum(kept.shares) == pytest.approx(shares.sum())
    assert window(marginal(np.zeros(BINS), 0.1), 1.0) is None


@pytest.mark.parametrize(
    ("low", "high"),
    [(1e16, 1e16 + 1024.0), (1e15, 1e15 + 2.0), (-1e16 - 1024.0, -1e16), (0.0, 1e-80), (1e6, 1e6 + 1e-3)],
)
@pytest.mark.parametrize("model", ["additive", "smooth"])
def test_no_range_is_too_narrow_for_floats_once_marginals_are_charged(
    model: str, low: float, high: float
) -> None:
    """All records in one place: ranges are drawn in and knots put where floats are next to each other."""
    n = 20_000
    rng = np.random.default_rng(0)
    b = rng.uniform(0.0, 1.0, n)
    rows = pa.table({"a": np.full(n, (low + high) / 2.0), "b": b, "y": (b > 0.5).astype(np.int64)})
    declared = Schema((Numeric("a", low, high), Numeric("b", 0.0, 1.0)), Target("y", classes=(0, 1)))
    found = sv.fit(rows, declared, epsilon=8.0, delta=1e-6, model=model, simulate=0)
    assert np.isfinite(found.predict_proba(rows)).all()
    assert len(found.effects()) == 2


@pytest.mark.parametrize("bins", [2, 5, 12, 64])
@pytest.mark.parametrize("knots", [1, 4, 9])
def test_knots_lie_inside_however_few_bins_are_left(bins: int, knots: int) -> None:
    """A range that was drawn in has fewer bins: a knot at its end would be refused after the charge."""
    for place in range(bins):
        shares = np.eye(bins)[place]
        kept = Marginal("a", tuple(np.linspace(-1.0, 1.0, bins + 1).tolist()), tuple(shares), 1e-3)
        found = spline(Numeric("a", -1.0, 1.0), knots, kept, apart=True).knots
        assert np.diff([-1.0, *found, 1.0]).min() > 0.0
