"""Plans against runs: how many seeds reach a part or a multiple of what `sv.plan` says can be reached.

    python -m benchmarks.plans [seeds]

Two noisy half-spaces, n = 20,000, 20 columns, epsilon 1, delta 1e-6, L2 1e-3, noise simulated by seed. A plan
is right if 1.25 times its tolerance is certified and a fraction of it is not.
"""

from __future__ import annotations

import sys

import numpy as np

import sottovoce as sv
from sottovoce.methods.registry import METHODS

FACTORS = (1.25, 1.0, 0.5, 0.25)
BUDGET = sv.Budget(epsilon=1.0, delta=1e-6)
PENALTY = sv.regularizers.L2(1e-3)
LOSSES = {"logistic": sv.losses.Logistic(), "sigmoid": sv.losses.Sigmoid()}


def half_spaces(n: int, dim: int) -> sv.Records:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, dim)) / np.sqrt(dim)
    truth = rng.standard_normal(dim)
    y = np.where(X @ truth + 0.3 * rng.standard_normal(n) > 0, 1, -1)
    return sv.Records.from_arrays(X, y, labels=(-1, 1))


def row(held: sv.Records, loss: str, method: str, seeds: int) -> str:
    planned = sv.plan(
        n=held.n,
        dim=held.dim,
        loss=LOSSES[loss],
        regularizer=PENALTY,
        budget=BUDGET,
        method=method,
        timed=False,
    )
    risk = sv.Risk(held, LOSSES[loss], PENALTY)
    cells = []
    for factor in FACTORS:
        gradient = factor * planned.gradient
        usual = np.sqrt(risk.problem.hessian_lipschitz * gradient)
        wish = sv.Tolerance(gradient=gradient, curvature=max(usual, planned.curvature))
        runs = [
            sv.minimize(risk, budget=BUDGET, method=method, tolerance=wish, simulate=seed)
            for seed in range(seeds)
        ]
        cells.append(f"{sum(run.stop is sv.Stop.CERTIFIED for run in runs)} of {seeds}")
    return f"| {loss} | {method} | {planned.gradient:.4f} | {' | '.join(cells)} |"


def main(seeds: int) -> None:
    held = half_spaces(20_000, 20)
    print("| loss | method | planned gradient | " + " | ".join(f"{f:g} times" for f in FACTORS) + " |")
    print("| --- " * (3 + len(FACTORS)) + "|")
    for loss in LOSSES:
        for method in METHODS:
            print(row(held, loss, method, seeds), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 5)
