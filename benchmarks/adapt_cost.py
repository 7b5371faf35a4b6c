"""What a query of `adapt` costs beside one of `majorize`, and the memory of a run.

    python -m benchmarks.adapt_cost

Processor time over the queries charged, Covertype, seven runs of each by turns after one that compiles:
least, median and largest ratio. Memory is the rise of the high-water mark over records and a run, in units of
the float32 data, with all code loaded and compiled before."""

from __future__ import annotations

import time

import numpy as np

import sottovoce as sv
from benchmarks import adapt_problems as made
from benchmarks.memory import forget_peak, peak_memory

RUNS = 7


def query(task: made.Table, method: str, seed: int) -> float:
    """Seconds of processor time for a query charged."""
    budget = sv.Budget(epsilon=1.0, delta=task.delta)
    ledger = sv.Ledger(budget)
    start = time.process_time()
    sv.minimize(task.risk, budget=budget, method=method, simulate=seed, ledger=ledger)
    return (time.process_time() - start) / len(ledger.history)


def main() -> None:
    task = made.covertype()
    for method in ("adapt", "majorize"):
        query(task, method, 0)
    ratios = np.sort([query(task, "adapt", run) / query(task, "majorize", run) for run in range(RUNS)])
    print("query of adapt over one of majorize:", ratios[[0, RUNS // 2, -1]].round(3))
    X, y, delta = task.X.copy(), task.y, task.delta
    del task
    forget_peak()
    before = peak_memory()
    query(made.Table("covertype", X, y, X[:1], y[:1], delta), "adapt", 0)
    print("memory over the float32 data:", round((peak_memory() - before) / X.nbytes, 3))


if __name__ == "__main__":
    main()
