"""Shares of the budget compared: equal, growing, tracking the noisy trace; with and without a tolerance.

    python -m benchmarks.budget [seeds]

Real Covertype, epsilon 0.1 to 1, delta = 1/n, from zeros, the same seeds for every rule. Without a tolerance
the figure is the excess logistic loss (L2 1e-6); with one, how many runs certify a gradient of 0.003 and how
much of the budget they use.
"""

from __future__ import annotations

import sys

import numpy as np

import sottovoce as sv
from benchmarks.utility import minimum, records, risk_of, spent_share
from sottovoce.methods.budget_schedule import Growing, Tracking
from sottovoce.methods.majorize import Majorize

FREE = {
    "equal shares, plain steps": Majorize(shares=Growing(power=0.0), relaxation=1.0),
    "equal shares": Majorize(shares=Growing(power=0.0)),
    "growing shares (default)": Majorize(shares=Growing()),
    "growing faster, power 1": Majorize(shares=Growing(1.0)),
    "growing, plain steps": Majorize(relaxation=1.0),
}
AIMED = {
    "equal shares": Growing(power=0.0),
    "growing shares": Growing(),
    "tracking (default)": Tracking(0.003),
    "tracking, twice even": Tracking(0.003, most=2.0),
}


def free(held: sv.Records, seeds: int) -> None:
    risk = sv.Risk(held, sv.losses.Logistic(), sv.regularizers.L2(1e-6))
    _, best = minimum(risk)
    print("| rule, no tolerance | epsilon 0.1 | 0.2 | 1.0 |\n| --- | --- | --- | --- |")
    for name, method in FREE.items():
        cells = []
        for epsilon in (0.1, 0.2, 1.0):
            budget = sv.Budget(epsilon=epsilon, delta=1.0 / risk.n)
            runs = [sv.minimize(risk, budget=budget, method=method, simulate=seed) for seed in range(seeds)]
            cells.append(f"{np.mean([risk.value(run.weights) - best for run in runs]):.5f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def aimed(held: sv.Records, seeds: int) -> None:
    risk = risk_of(held, "logistic")
    budget = sv.Budget(epsilon=0.2, delta=1.0 / risk.n)
    print(
        "\n| rule, gradient 0.003, epsilon 0.2 | certified | budget used | steps |\n| --- | --- | --- | --- |"
    )
    for name, shares in AIMED.items():
        runs = [
            sv.minimize(
                risk,
                budget=budget,
                method=Majorize(shares=shares),
                tolerance=sv.Tolerance(gradient=0.003),
                simulate=seed,
            )
            for seed in range(seeds)
        ]
        certified = sum(run.stop is sv.Stop.CERTIFIED for run in runs)
        used = np.mean([spent_share(run, budget) for run in runs])
        steps = np.mean([len(run.trace) - 1 for run in runs])
        print(f"| {name} | {certified} of {seeds} | {100 * used:.0f} % | {steps:.1f} |", flush=True)


if __name__ == "__main__":
    number = int(sys.argv[1]) if sys.argv[1:] else 10
    table = records("covtype")
    free(table, number)
    aimed(table, number)
