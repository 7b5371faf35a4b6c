"""What each part of `adapt`, and each constant not derived, is worth on tables that chose none of them.

    python -m benchmarks.adapt_ablation parts|constants [--tables 7000,7001] [--epsilons .3,3] [--seeds 2]
    python -m benchmarks.adapt_ablation parts --shuffled      # targets shuffled: no column tells anything

Tables are those of `benchmarks.monotone` of these numbers with at most `--entries` entries: of each kind one
or two, which are generated and chose nothing. The excess of a run is its held-out loss less the least that
any weights have on the held-out rows. Variants are compared with the method as it is at the same epsilon and
seed; noise has the same seed. Printed is the geometric mean over all runs of the ratio of both excesses, its
standard error between tables, and on how many tables the mean ratio is above 1: the part earns its place
there, or the change of the constant costs. Each run is a line of `--out`; runs that are there are not made
again.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

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

TABLES = "7000,7001,7002,7003,7004,7006,7007,7008,7009,7011,7012,7013"
"""Of 7000 to 7013 those with at most 200 columns."""
PARTS: dict[str, list[tuple[Any, str, Any]]] = {
    "limits on slopes": [(LogisticCurvature, "_place", lambda self, inside, outset: 0)],
    "a larger first gradient": [(descent, "_LONGEST_START", 0.0)],
    "learned scales": [(coordinates, "_FLOORS", (100.0,))],
    "hidden curvature": [(posterior, "_FACTORS", np.ones(1))],
    "unknown strength of the signal": [(posterior, "_SIZES", np.ones(1))],
    "no signal among the hypotheses": [
        (posterior, "_SIZES", posterior._SIZES[3:]),
        (posterior, "_NOTHING", posterior._UNUSUAL),
    ],
    "chance in the records": [
        (residuals.ResidualCurvature, "sampling", lambda self, sizes: np.zeros_like(sizes)),
        (LogisticCurvature, "sampling", lambda self, sizes: np.zeros_like(sizes)),
    ],
    "longer caps for long tails": [(second_moments, "_TAILS", 0.0)],
    "averaging where answers are precise": [(posterior, "_TELLING", 1e12)],
    "denial of a T too small for what was found": [(posterior, "_DENIED", 1e12)],
    "counting residuals again": [(residuals, "COUNTED_AFTER", ()), (method, "COUNTED_AFTER", ())],
}
CONSTANTS: list[tuple[Any, str]] = [
    (posterior, "_SIZE_DOUBT"),
    (posterior, "_UNUSUAL"),
    (posterior, "_NOTHING"),
    (posterior, "_CURVATURE_DOUBT"),
    (posterior, "_FIRST_DOUBT"),
    (posterior, "_CORRELATED"),
    (posterior, "_LEAST_GAIN"),
    (posterior, "_TELLING"),
    (posterior, "_OVERSHOT"),
    (posterior, "_HIDDEN"),
    (posterior, "_LONGEST"),
    (posterior, "_DENIED"),
    (coordinates, "POWER"),
    (coordinates, "_UNCERTAIN"),
    (coordinates, "_TOLD_APART"),
    (coordinates, "_UNEVEN"),
    (coordinates, "_ROUGH"),
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
    (method, "SHARE"),
]
FACTORS = (0.5, 2.0)
OPTIONS = {"steps": 30, "moments_share": 0.04, "gram_share": 0.04, "measure_share": 0.03}


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


def least(table: Table) -> float:
    """The least held-out loss of any weights."""
    X, y = table.held_out, table.truth
    if table.regression:
        return table.loss(np.linalg.lstsq(X, y, rcond=None)[0])

    def value_and_gradient(w: np.ndarray) -> tuple[float, np.ndarray]:
        gap = 1.0 / (1.0 + np.exp(-X @ w)) - y
        return table.loss(w), X.T @ gap / len(y)

    start = np.zeros(X.shape[1])
    options = {"maxiter": 1000, "ftol": 1e-12, "gtol": 1e-8}
    done = optimize.minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    return table.loss(done.x)


def shuffled(table: Table, number: int) -> Table:
    """The same rows, targets in another order."""
    rng = np.random.default_rng([number, 36])
    return replace(table, y=rng.permutation(table.y), truth=rng.permutation(table.truth))


class Variant(NamedTuple):
    """What is changed: attributes of modules, and options of the method."""

    changes: list[tuple[Any, str, Any]]
    options: dict[str, Any]


def variants(what: str) -> dict[str, Variant]:
    """By name; the method as it is comes first and has none."""
    made = {"": Variant([], {})}
    if what == "parts":
        return made | {name: Variant(changes, {}) for name, changes in PARTS.items()}
    for place, name in CONSTANTS:
        where, value = place.__name__.rpartition(".")[2], getattr(place, name)
        for factor in FACTORS:
            made[f"{where}.{name} = {value:g}, {factor:g}"] = Variant([(place, name, factor * value)], {})
    for name, value in OPTIONS.items():
        for factor in FACTORS:
            made[f"{name} = {value:g}, {factor:g}"] = Variant([], {name: type(value)(factor * value)})
    return made


class Runs:
    """Losses that are known, one line of a file each."""

    def __init__(self, path: Path) -> None:
        self.path, self.known = path, dict[str, float]()
        if path.exists():
            self.known = dict(json.loads(line) for line in path.read_text().splitlines())

    def loss(self, risk: Any, table: Table, key: str, variant: Variant, epsilon: float, seed: int) -> float:
        key = f"{table.name}, {key}, {epsilon:g}, {seed}"
        if key not in self.known:
            budget = sv.Budget(epsilon=epsilon, delta=1e-6)
            with changed(variant.changes):
                made = method.Adapt(**variant.options)
                run = sv.minimize(risk, budget=budget, method=made, simulate=3000 + seed)
            self.known[key] = table.loss(run.weights)
            with self.path.open("a") as file:
                file.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]


def compared(ratios: np.ndarray) -> str:
    """Of log ratios, tables by runs: mean, standard error between tables, tables above 1."""
    means = ratios.mean(axis=1)
    error = means.std(ddof=1) / math.sqrt(len(means))
    above = int((means > 0.0).sum())
    return f"{math.exp(means.mean()):.3f} +- {math.exp(means.mean()) * error:.3f} | {above} of {len(means)}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("parts", "constants"))
    parser.add_argument("--tables", default=TABLES)
    parser.add_argument("--epsilons", default=".3,3")
    parser.add_argument("--entries", type=int, default=60_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--shuffled", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("/tmp/adapt-ablation.jsonl"))
    options = parser.parse_args()
    numbers, epsilons = map(int, options.tables.split(",")), [float(e) for e in options.epsilons.split(",")]
    runs, made = Runs(options.out), variants(options.what)
    excess: dict[str, list[list[float]]] = {name: [] for name in made}
    for number in numbers:
        table = drawn(number, options.entries)
        if options.shuffled:
            table = replace(shuffled(table, number), name=f"{table.name}, shuffled")
        lowest, risk = least(table), table.risk()
        for name, variant in made.items():
            found = [
                runs.loss(risk, table, name, variant, epsilon, seed)
                for epsilon in epsilons
                for seed in range(options.seeds)
            ]
            excess[name].append([loss - lowest for loss in found])
        plain = np.reshape(excess[""][-1], (len(epsilons), -1)).mean(axis=1).round(5)
        print(f"{table.name}: constant {table.constant - lowest:.5f}, excess {plain.tolist()}", flush=True)
    ratios = {name: np.log(excess[name]) - np.log(excess[""]) for name in made if name}
    print(f"| {options.what} | excess | tables above 1 |\n| --- | ---: | ---: |")
    for name, ratio in ratios.items():
        print(f"| {name} | {compared(ratio)} |")
    for part, epsilon in enumerate(epsilons):
        print(f"epsilon {epsilon:g}:")
        for name, ratio in ratios.items():
            print(f"  {name}: {compared(ratio[:, part * options.seeds : (part + 1) * options.seeds])}")


if __name__ == "__main__":
    main()
