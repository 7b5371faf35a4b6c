"""What each part of `adapt`, and each constant not derived, is worth on tables that chose none of them.

    python -m benchmarks.adapt_ablation parts|constants [--tables 3001,3003] [--epsilons .3,3] [--seeds 2]

Tables are those of `benchmarks.monotone` of these numbers with at most `--entries` entries, which are
generated and were not looked at before. Noise is the same for all variants.
Printed is the geometric mean, over tables and budgets, of the excess over the loss reached without privacy,
relative to the method as it is: above 1 the part earns its place, or the change of the constant costs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import optimize

import sottovoce as sv
from benchmarks.monotone import Table, drawn
from sottovoce.methods.adapt import (
    coordinates,
    descent,
    method,
    posterior,
    residuals,
    second_moments,
)
from sottovoce.methods.adapt.expected_curvature import LogisticCurvature

PARTS: dict[str, list[tuple[Any, str, Any]]] = {
    "limits on slopes": [(LogisticCurvature, "_place", lambda self, inside, outset: 0)],
    "a larger first gradient": [(descent, "_LONGEST_START", 0.0)],
    "learned scales": [(coordinates, "_FLOORS", (100.0,))],
    "hidden curvature": [(posterior, "_FACTORS", np.ones(1))],
    "unknown strength of the signal": [(posterior, "_SIZES", np.ones(1))],
    "no signal among the hypotheses": [(posterior, "_SIZES", posterior._SIZES[3:])],
    "chance in the records": [
        (residuals.ResidualCurvature, "sampling", lambda self, sizes: np.zeros_like(sizes)),
        (LogisticCurvature, "sampling", lambda self, sizes: np.zeros_like(sizes)),
    ],
    "longer caps for long tails": [(second_moments, "_TAILS", 0.0)],
    "averaging where answers are precise": [(posterior, "_TELLING", 1e12)],
    "counting residuals again": [(residuals, "COUNTED_AFTER", ()), (method, "COUNTED_AFTER", ())],
}
CONSTANTS: list[tuple[Any, str]] = [
    (posterior, "_SIZE_DOUBT"),
    (posterior, "_UNUSUAL"),
    (posterior, "_NOTHING"),
    (posterior, "_IDLE"),
    (posterior, "_CURVATURE_DOUBT"),
    (posterior, "_FIRST_DOUBT"),
    (posterior, "_CORRELATED"),
    (posterior, "_LEAST_GAIN"),
    (posterior, "_TELLING"),
    (posterior, "_LONGEST"),
    (coordinates, "_UNCERTAIN"),
    (coordinates, "_CLEAR"),
    (coordinates, "_CHANCE"),
    (coordinates, "_WEIGHTING"),
    (coordinates, "_CORRELATED"),
    (second_moments, "_CLEAR"),
    (second_moments, "_FLOOR"),
    (second_moments, "_USUALLY_LOST"),
    (second_moments, "_TAILS"),
    (descent, "_LONGEST_START"),
    (residuals, "_EXPLAINED"),
    (residuals, "_SKEWED"),
    (residuals, "_USUAL"),
]


@contextmanager
def changed(changes: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """These attributes, for a while."""
    before = [(place, name, place.__dict__[name]) for place, name, _ in changes]
    for place, name, value in changes:
        setattr(place, name, value)
    try:
        yield
    finally:
        for place, name, value in before:
            setattr(place, name, value)


def best(table: Table) -> float:
    """Held-out loss without privacy."""
    if table.regression:
        return table.loss(np.linalg.lstsq(table.X, table.y, rcond=None)[0])
    risk = table.risk()
    done = optimize.minimize(risk.value_and_gradient, risk.start, jac=True, method="L-BFGS-B")
    return table.loss(done.x)


def excesses(tables: dict[int, tuple[Table, float]], epsilons: list[float], seeds: int) -> np.ndarray:
    found = []
    for table, lowest in tables.values():
        risk = table.risk()
        for epsilon in epsilons:
            budget = sv.Budget(epsilon=epsilon, delta=1e-6)
            runs = [sv.minimize(risk, budget=budget, method="adapt", simulate=3000 + s) for s in range(seeds)]
            lost = np.mean([table.loss(run.weights) for run in runs]) - lowest
            found.append(max(lost, 1e-3 * (table.constant - lowest)))
    return np.log(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("parts", "constants"))
    parser.add_argument("--tables", default="3000,3005,3008,3011,3013,3014")
    parser.add_argument("--epsilons", default=".3,3")
    parser.add_argument("--entries", type=int, default=60_000)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    numbers, epsilons = map(int, options.tables.split(",")), [float(e) for e in options.epsilons.split(",")]
    tables = {number: (drawn(number, options.entries), 0.0) for number in numbers}
    tables = {number: (table, best(table)) for number, (table, _) in tables.items()}
    for table, lowest in tables.values():
        print(f"{table.name}: {lowest:.4f} without privacy, {table.constant:.4f} constant", flush=True)
    plain = excesses(tables, epsilons, options.seeds)
    if options.what == "parts":
        print("| without | excess | by table and epsilon |\n| --- | --- | --- |")
        for name, changes in PARTS.items():
            with changed(changes):
                gap = excesses(tables, epsilons, options.seeds) - plain
            print(f"| {name} | {np.exp(gap.mean()):.3f} | {np.round(np.exp(gap), 2).tolist()} |", flush=True)
        return
    print("| constant | value | halved | doubled |\n| --- | --- | --- | --- |")
    for place, name in CONSTANTS:
        value, moved = getattr(place, name), []
        for factor in (0.5, 2.0):
            with changed([(place, name, factor * value)]):
                moved.append(float(np.exp((excesses(tables, epsilons, options.seeds) - plain).mean())))
        where = place.__name__.rpartition(".")[2]
        print(f"| {where}.{name} | {value:g} | {moved[0]:.3f} | {moved[1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
