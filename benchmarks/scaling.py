"""How a pass grows with rows, columns and threads, and how much memory it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np

from sottovoce.data.records import Records
from sottovoce.losses import Logistic
from sottovoce.models.linear import Risk
from sottovoce.planning import bench

GRADIENT = "value and gradient"
ENTRIES = 2 * 10**7


def scaling(rounds: int) -> dict[str, Any]:
    by_rows = {n: _timed(n, 54, rounds) for n in (10**4, 10**5, 10**6, 3 * 10**6, 10**7)}
    by_columns = {d: _timed(ENTRIES // d, d, rounds) for d in (10, 54, 200, 1000, 2000)}
    by_threads = {}
    for count in (1, 2):
        os.environ["SOTTOVOCE_THREADS"] = str(count)
        by_threads[count] = _timed(10**6, 54, rounds)
    del os.environ["SOTTOVOCE_THREADS"]
    growth = by_rows[10**7][GRADIENT] / by_rows[10**6][GRADIENT] / 10
    return {
        **bench.machine(),
        "seconds by rows, 54 columns": by_rows,
        f"seconds by columns, {ENTRIES:,} entries": by_columns,
        "seconds by threads, 10^6 x 54": by_threads,
        "peak memory over float32 data": memory(),
        "demands": {"time per row, 10^7 over 10^6 rows": [growth, "between 0.8 and 1.25"]},
    }


def _timed(n: int, dim: int, rounds: int) -> dict[str, float]:
    rng = np.random.default_rng(0)
    X = rng.random((n, dim), dtype=np.float32)
    X *= 1.0 / np.sqrt(dim)
    y = rng.choice(np.array([-1, 1], np.int8), n)
    w = np.cos(np.arange(dim))
    short = w.astype(np.float32)
    risk = Risk(Records.from_arrays(X, y, labels=(-1, 1)), Logistic())
    calls = {bench.YARDSTICK: lambda: X @ short, GRADIENT: lambda: risk.value_and_gradient(w)}
    return bench.fastest(calls, rounds)


def memory() -> float:
    """Peak memory added by records and one of each pass, over the float32 data, in a fresh process."""
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory"], check=True, capture_output=True, text=True
    )
    return float(answer.stdout)
