"""Five million rows on Dask workers: overhead of a pass, one worker against two, and a worker killed."""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.data.dask_partitions import passed
from sottovoce.kernels.passes import gradient
from sottovoce.planning import bench

DIM = 54
PARTS = 2
BETWEEN_KILLS = 3.0
"""Seconds before the worker dies: past the first passes of the fit, before its last."""


def dask(rounds: int, n: int = 5 * 10**6) -> dict[str, Any]:
    """Overhead of a pass: its time less the longest time a worker needs for its own parts, pass by pass."""
    with _cluster(2) as client:
        risk = _risk(client, n)
        w = np.cos(np.arange(DIM))
        risk.gradient(w)
        whole, own, overheads = [], [], []
        for _ in range(4 * rounds):
            whole.append(_seconds(risk, w))
            own.append(_slowest_worker(client, risk, w))
            overheads.append(whole[-1] - own[-1])
        undisturbed, disturbed, killed = _fits(client, risk)
    by_workers = {1: _passes_of_one_worker(n, w, rounds), 2: {"gradient": min(whole)}}
    return {
        **bench.machine(),
        "rows": n,
        "seconds a pass": min(whole),
        "seconds of the slower worker": min(own),
        "seconds by workers, of one thread each": by_workers,
        "workers killed during a fit": killed,
        "demands": {
            "overhead of a pass, ms, fastest of both": [1e3 * (min(whole) - min(own)), "at most 50"],
            "overhead of a pass, ms, median": [1e3 * statistics.median(overheads), "at most 50"],
            "difference of weights after a kill": [float(np.abs(undisturbed - disturbed).max()), "0"],
        },
    }


def _passes_of_one_worker(n: int, w: np.ndarray, rounds: int) -> dict[str, float]:
    with _cluster(1) as client:
        risk = _risk(client, n)
        risk.gradient(w)
        return {"gradient": min(_seconds(risk, w) for _ in range(2 * rounds))}


def _fits(client: Any, risk: sv.Risk) -> tuple[np.ndarray, np.ndarray, int]:
    """The same simulated fit undisturbed, and with a worker killed by signal while it runs."""
    undisturbed = _fit(risk)
    victim = next(iter(client.run(os.getpid).values()))
    killer = threading.Timer(BETWEEN_KILLS, os.kill, (victim, signal.SIGKILL))
    killer.start()
    disturbed = _fit(risk)
    killer.cancel()
    killer.join()
    survivors = set(client.run(os.getpid).values())
    return undisturbed, disturbed, int(victim not in survivors)


def _fit(risk: sv.Risk) -> np.ndarray:
    budget = sv.Budget(epsilon=1.0, delta=1 / risk.n)
    return sv.minimize(risk, budget=budget, simulate=0).weights


def _risk(client: Any, n: int) -> sv.Risk:
    import dask.array as da

    def chunk(block_id: tuple[int, int]) -> np.ndarray:
        return np.random.default_rng(block_id[0]).random((n // PARTS, DIM), dtype=np.float32) / 8

    X = da.map_blocks(
        chunk, chunks=((n // PARTS,) * PARTS, (DIM,)), dtype=np.float32, meta=np.empty((0, 0), np.float32)
    )
    y = da.map_blocks(lambda part: np.where(part[:, 0] > 1 / 16, 1, -1), X, drop_axis=1, dtype=int)
    return sv.Risk(sv.Records.from_dask(X, y, labels=(-1, 1), client=client), sv.losses.Logistic())


def _seconds(risk: sv.Risk, w: np.ndarray) -> float:
    start = time.perf_counter()
    risk.gradient(w)
    return time.perf_counter() - start


def _slowest_worker(client: Any, risk: sv.Risk, w: np.ndarray) -> float:
    parts = risk.records._rows._held
    return max(client.gather([client.submit(_own_seconds, part, w, pure=False) for part in parts]))


def _own_seconds(part: Any, w: np.ndarray) -> float:
    """On a worker: the pass over its part alone."""
    start = time.perf_counter()
    passed(part, part.fingerprint, None, gradient, (sv.losses.Logistic(), w), {})
    return time.perf_counter() - start


@contextmanager
def _cluster(workers: int) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        yield client
