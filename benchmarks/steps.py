"""Would fewer steps of `adapt` do where noise hardly matters?

    python -m benchmarks.steps [TABLE ...]

prints the excess loss of runs with 10, 15, 20 and 30 steps, mean of three seeds of simulated noise. What
noise does depends on n mu alone: a table is repeated, and the budget chosen, so that n mu is 10^6 or 10^7,
about what 5 x 10^6 and 5 x 10^7 records have at epsilon 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import optimize
from scipy.stats import norm

import sottovoce as sv
from benchmarks import adapt_problems as made
from sottovoce.methods.adapt import Adapt

TABLES: dict[str, Callable[[], made.Table]] = {
    "covertype": made.covertype,
    "covertype, bounds": made.rescaled,
    "ijcnn1": made.ijcnn1,
    "adult": made.adult,
    "trap": made.trap,
    "strong": made.strong,
}
STEPS, LARGE, SEEDS = (10, 15, 20, 30), (1e6, 1e7), range(7000, 7003)
LARGEST_MU = 2.5
"""Noise on a lattice carries no larger budget for every number of columns."""


def epsilon_of(mu: float, delta: float) -> float:
    """The epsilon that mu has at this delta."""

    def left(epsilon: float) -> float:
        tail = np.exp(epsilon + norm.logcdf(-epsilon / mu - mu / 2.0))
        return float(norm.cdf(-epsilon / mu + mu / 2.0) - tail - delta)

    return float(optimize.brentq(left, 1e-6, 1000.0))


def excess(table: made.Table, scale: float, steps: int) -> float:
    """Mean excess loss of runs on the table, repeated until n mu is `scale`."""
    times = max(1, int(np.ceil(scale / LARGEST_MU / table.n)))
    large = replace(table, X=np.tile(table.X, (times, 1)), y=np.tile(table.y, times)) if times > 1 else table
    budget = sv.Budget(epsilon=epsilon_of(scale / large.n, table.delta), delta=table.delta)
    runs = [
        sv.minimize(large.risk, budget=budget, method=Adapt(steps=steps), simulate=seed) for seed in SEEDS
    ]
    return float(np.mean([table.risk.value(run.weights) for run in runs])) - table.best[1]


def main() -> None:
    print(f"{'table':20}{'n mu':>8}" + "".join(f"{f'{steps} steps':>12}" for steps in STEPS))
    for name in sys.argv[1:] or TABLES:
        table = TABLES[name]()
        for scale in LARGE:
            found = [excess(table, scale, steps) for steps in STEPS]
            print(f"{name:20}{scale:8.0e}" + "".join(f"{figure:12.2e}" for figure in found), flush=True)


if __name__ == "__main__":
    main()
