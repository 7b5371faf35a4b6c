"""Compact rows of Covertype against the dense ones of the same schema and one float32 `X @ w` of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sottovoce as sv
from benchmarks.parquet import schema
from sottovoce.datasets import covertype
from sottovoce.planning import bench

RUNS = 5
"""Ratios are measured so often; the least and the largest are stated."""

COMPACT, DENSE = "value and gradient, compact", "value and gradient, dense"


def compact(rounds: int) -> dict[str, Any]:
    """In cache: all passes of both forms."""
    X, dense, held = _forms(1)
    w = np.cos(np.arange(dense.dim))
    short, directions = w.astype(np.float32), np.outer([1.0, 0.5, 0.25, 0.125, 0.0625], -w)
    calls: dict[str, Callable[[], object]] = {
        bench.YARDSTICK: lambda: X @ short,
        DENSE: lambda: dense.value_and_gradient(w),
        COMPACT: lambda: held.value_and_gradient(w),
        "Hessian, dense": lambda: dense.hessian(w),
        "Hessian, compact": lambda: held.hessian(w),
        "Gram, compact": lambda: held.gram(),
        "five trials in one pass, compact": lambda: held.trials(w, directions),
        "margins for a line search, compact": lambda: held.along(w, -w),
    }
    found, spread = _runs(
        calls,
        rounds,
        {
            "value and gradient over X @ w": (COMPACT, bench.YARDSTICK, "at most 1"),
            "Hessian over the dense one": ("Hessian, compact", "Hessian, dense", "at most 0.5"),
        },
    )
    layout = held.records._rows.layout
    memory = layout.row_bytes / (4 * layout.dim)
    return _result(found, spread | {"memory over dense float32": [memory, "at most 0.3"]}, X)


def compact_tiled(rounds: int) -> dict[str, Any]:
    """The rows eight times over, which no cache holds."""
    X, dense, held = _forms(8)
    w = np.cos(np.arange(dense.dim))
    short = w.astype(np.float32)
    calls: dict[str, Callable[[], object]] = {
        bench.YARDSTICK: lambda: X @ short,
        DENSE: lambda: dense.value_and_gradient(w),
        COMPACT: lambda: held.value_and_gradient(w),
    }
    limit = {"value and gradient over X @ w": (COMPACT, bench.YARDSTICK, "at most 0.5")}
    return _result(*_runs(calls, rounds, limit), X)


def _runs(
    calls: dict[str, Callable[[], object]], rounds: int, wanted: dict[str, tuple[str, str, str]]
) -> tuple[dict[str, float], dict[str, Any]]:
    """The fastest times of all runs, and each wanted ratio: its median over runs, least and largest."""
    runs = [bench.fastest(calls, max(1, rounds // RUNS)) for _ in range(RUNS)]
    demands: dict[str, Any] = {}
    for name, (one, other, limit) in wanted.items():
        ratios = sorted(run[one] / run[other] for run in runs)
        demands[f"{name}, median of {RUNS} runs"] = [ratios[RUNS // 2], limit]
        demands[f"{name}, least"] = [ratios[0], ""]
        demands[f"{name}, largest"] = [ratios[-1], ""]
    return {name: min(run[name] for run in runs) for name in calls}, demands


def _result(best: dict[str, float], demands: dict[str, Any], X: np.ndarray) -> dict[str, Any]:
    facts = {"rows": len(X), "columns": X.shape[1], **bench.machine()}
    return bench.Timings(best, facts).to_dict() | {"demands": demands}


def _forms(tiles: int) -> tuple[np.ndarray, sv.Risk, sv.Risk]:
    """Dense one-hot rows, and risks over dense and over compact records of the same rows."""
    import pyarrow as pa

    table = covertype.load().two_classes()
    columns: dict[str, Any] = dict(zip(covertype.NUMERIC, table.numeric.T, strict=True))
    columns |= {"Wilderness": table.wilderness, "Soil": table.soil, "Cover": table.cover}
    whole = pa.table({name: np.tile(held, tiles) for name, held in columns.items()})
    declared = schema()
    X = sv.BoundedEncoder(declared).fit(whole).transform(whole)
    y = np.tile(table.cover, tiles)
    dense = sv.Records.from_arrays(X, y, labels=(1, 2), constant=True)
    held = sv.Records.from_table(whole, declared)
    one, other = (sv.Risk(records, sv.losses.Logistic()) for records in (dense, held))
    return X, one, other
