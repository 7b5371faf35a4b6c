"""Stated noise of coefficients over their scatter from run to run, for every method.

    python -m benchmarks.coefficient_noise [METHOD ...] [--runs 40]
    python -m benchmarks.coefficient_noise --declared [--runs 40]

Made-up records, the same in all runs of a setting; noise is drawn by `simulate` 0, 1, ... The figures are the
ratio of the stated sd, its median over runs, to the sd of the weights: the geometric mean over the weights,
the least and the most of them. `--declared` is of the table of `benchmarks.rare_levels`, one record in 25
without an answer, by the default method and coefficient by coefficient. Measured figures are in
docs/inference-results.md.
"""

from __future__ import annotations

import argparse

import numpy as np
from tests.results.inference.test_coefficient_noise import made_up

import sottovoce as sv
from benchmarks import rare_levels
from sottovoce.methods import METHODS

SETTINGS = ((4_000, 4, 2, 1.0, 0.1), (30_000, 4, 2, 1.0, 0.05), (20_000, 5, 3, 3.0, 0.1))
"""Records, columns, classes, epsilon, tolerance of the gradient."""


def ratios(method: str, setting: tuple[int, int, int, float, float], runs: int) -> np.ndarray:
    """For each weight."""
    n, columns, classes, epsilon, tolerance = setting
    risk = made_up(n, columns, classes)
    found = [
        sv.minimize(
            risk,
            budget=sv.Budget(epsilon, 1e-6),
            method=method,
            tolerance=sv.Tolerance(gradient=tolerance),
            simulate=seed,
        )
        for seed in range(runs)
    ]
    stated = np.median([result.coefficient_noise for result in found], axis=0)
    return np.asarray(stated / np.std([result.weights for result in found], axis=0, ddof=1))


def declared(runs: int) -> None:
    """The default method on a table with its schema, coefficient by coefficient."""
    frame = rare_levels.table(8_000, rare_levels.FIRST)
    found = {"columns": rare_levels.COLUMNS, "target": rare_levels.TARGETS["classes"]}
    schema = sv.Schema.from_dict(found)
    print("epsilon | coefficient | mean | true sd | stated | stated over true")
    for epsilon in rare_levels.EPSILONS:
        listed = [
            sv.fit(frame, schema, epsilon=epsilon, delta=1e-6, simulate=seed).coefficients()
            for seed in range(runs)
        ]
        for lines in zip(*listed, strict=True):
            values = np.array([line.estimate for line in lines])
            stated, true = np.median([line.noise for line in lines]), np.std(values, ddof=1)
            figures = (f"{number:.3g}" for number in (values.mean(), true, stated, stated / true))
            print(f"{epsilon:g}", lines[0].term, *figures, sep=" | ", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coefficient_noise", description=__doc__)
    parser.add_argument("methods", nargs="*", choices=[[], *METHODS], help="which to run")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--declared", action="store_true", help="a table with missing cells")
    asked = parser.parse_args()
    if asked.declared:
        declared(asked.runs)
        return
    print("method", *(f"n={n} d={d} K={k} eps={e:g} tol={t:g}" for n, d, k, e, t in SETTINGS), sep=" | ")
    for method in asked.methods or METHODS:
        cells = []
        for setting in SETTINGS:
            found = ratios(method, setting, asked.runs)
            mean = float(np.exp(np.log(found).mean()))
            cells.append(f"{mean:.2f} ({found.min():.2f} to {found.max():.2f})")
        print(method, *cells, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
