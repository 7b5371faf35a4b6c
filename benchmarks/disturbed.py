"""A fit on Dask workers while one of them is killed, one is added and one is slowed tenfold.

    python -m benchmarks.disturbed [ROWS]

prints the largest difference of the weights from those of an undisturbed fit, which must be 0, and seconds
of both. ROWS is 5 x 10^7 if not told. The rows are those of Covertype's schema, made on the workers.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

import numpy as np

import sottovoce as sv
from benchmarks.parquet import schema
from sottovoce.datasets import covertype

ROWS = 5 * 10**7
PARTS = 16
WORKERS = 3
SLOWED = (0.9, 0.1)
"""Seconds of every one that the slowed worker is stopped and that it runs."""


def disturbed(n: int, pause: float = 2.0) -> dict[str, float]:
    """Two simulated fits; during the second the workers are disturbed, `pause` seconds after one another."""
    from distributed import Client, LocalCluster

    local: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=WORKERS, **local) as cluster, Client(cluster) as client:
        records = sv.Records.from_dask(_frame(n), schema=schema(), client=client)
        risk = sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-6))
        _fit(risk)
        began = time.perf_counter()
        wanted = _fit(risk)
        between = time.perf_counter()
        slow, victim = list(client.run(os.getpid).values())[:2]
        over = threading.Event()
        disturber = threading.Thread(target=_disturb, args=(cluster, slow, victim, pause, over))
        disturber.start()
        found = _fit(risk)
        ended = time.perf_counter()
        over.set()
        disturber.join()
        survivors = set(client.run(os.getpid).values())
        return {
            "rows": records.n,
            "workers killed": float(victim not in survivors),
            "workers added": float(len(cluster.workers) - WORKERS),
            "seconds undisturbed": between - began,
            "seconds disturbed": ended - between,
            "largest difference of weights": float(np.abs(found - wanted).max()),
        }


def _disturb(cluster: Any, slow: int, victim: int, pause: float, over: threading.Event) -> None:
    over.wait(pause)
    os.kill(victim, signal.SIGKILL)
    over.wait(pause)
    cluster.scale(WORKERS + 1)
    stopped, running = SLOWED
    while not over.is_set():
        os.kill(slow, signal.SIGSTOP)
        time.sleep(stopped)
        os.kill(slow, signal.SIGCONT)
        over.wait(running)


def _fit(risk: sv.Risk) -> np.ndarray:
    budget = sv.Budget(epsilon=1.0, delta=0.1 / risk.n)
    return sv.minimize(risk, budget=budget, simulate=0).weights


def _frame(n: int) -> Any:
    """A dask dataframe whose partitions are made of Covertype's rows, each number moved a little."""
    import dask.dataframe as dd
    import pandas as pd

    def part(number: int) -> pd.DataFrame:
        table, rng = covertype.load().two_classes(), np.random.default_rng(number)
        chosen = rng.integers(0, table.cover.size, n // PARTS)
        moved = (table.numeric[chosen] + rng.integers(-5, 6, (chosen.size, 10))).astype(np.int16)
        columns: dict[str, Any] = {name: moved[:, place] for place, name in enumerate(covertype.NUMERIC)}
        codes = {"Wilderness": table.wilderness, "Soil": table.soil, "Cover": table.cover}
        return pd.DataFrame(columns | {name: held[chosen].astype(np.int8) for name, held in codes.items()})

    return dd.from_map(part, range(PARTS), meta=part(0).iloc[:0])


def main() -> None:
    n = int(float(sys.argv[1])) if len(sys.argv) > 1 else ROWS
    for name, figure in disturbed(n).items():
        print(f"{name:40} {figure:12.6g}")


if __name__ == "__main__":
    main()
