"""`adapt` on classes of unequal size and on wide tables, to set two versions of the code side by side.

    python -m benchmarks.adapt_classes [--cases nothing,adult] [--first 5000] [--runs 10]
    PYTHONPATH=/tmp/before/src:. python -m benchmarks.adapt_classes      # the code of another checkout

- `nothing`: 2,000 rows of 20 columns without signal, a tenth of them of one class; excess of log loss over
  the best constant, eight runs, each on rows of its own.
- `adult`: log loss and accuracy on the test file, three runs; `covertype`: excess log loss, three runs.
- `ringnorm`: log loss on 20,000 other rows; 5,000 rows of Breiman's ringnorm with 300 random Fourier features
  besides its 20 columns, eight runs.
- `wide`: log loss on other rows; logistic tables of `benchmarks.monotone`, two runs each.

Replace one, delta 1e-6 (1/n for Covertype). Seeds are counted from `--first` on. Each line has the mean, its
standard error, and the runs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import sottovoce as sv
from benchmarks import adapt_problems, monotone

WIDE = (6031, 6042, 6043, 6044, 6046, 6075, 6097)
"""One table of each kind with more than 230 columns."""


class Cell(NamedTuple):
    """A figure of some runs; `run` gives that of a seed."""

    name: str
    epsilon: float
    runs: int
    run: Callable[[int], list[float]]


def fitted(risk: Any, epsilon: float, delta: float, seed: int) -> np.ndarray:
    budget = sv.Budget(epsilon=epsilon, delta=delta)
    return np.asarray(sv.minimize(risk, budget=budget, method="adapt", simulate=seed).weights)


def logistic(X: np.ndarray, y: np.ndarray) -> Any:
    records = sv.Records.from_arrays(X, y, labels=(0, 1), constant=True)
    return sv.Risk(records, sv.losses.Logistic(), sv.regularizers.L2(1e-6))


def log_loss(odds: np.ndarray, y: np.ndarray | float) -> float:
    return float(np.mean(np.logaddexp(0.0, odds) - y * odds))


def nothing() -> Iterator[Cell]:
    def run(epsilon: float, seed: int) -> list[float]:
        rng = np.random.default_rng([seed, 1])
        X, held_out = (rng.standard_normal((n, 20)) / math.sqrt(60.0) for n in (2_000, 20_000))
        X, held_out = (np.column_stack([rows, np.full(len(rows), 0.5)]) for rows in (X, held_out))
        X /= np.maximum(1.0, np.linalg.norm(X, axis=1) * (1.0 + 2.0**-20))[:, None]
        weights = fitted(logistic(X, (rng.random(2_000) < 0.1).astype(int)), epsilon, 1e-6, seed)
        return [log_loss(held_out @ weights, 0.1) - log_loss(np.full(1, math.log(1.0 / 9.0)), 0.1)]

    for epsilon in (0.53, 1.9, 4.3, 10.0):
        yield Cell("nothing", epsilon, 8, lambda seed, e=epsilon: run(e, seed))


def adult() -> Iterator[Cell]:
    table = adapt_problems.adult()

    def run(epsilon: float, seed: int) -> list[float]:
        judged = table.judge(fitted(table.risk, epsilon, table.delta, seed))
        return [judged["loss"], judged["accuracy"]]

    for epsilon in (0.1, 0.3, 1.0, 3.0):
        yield Cell("adult", epsilon, 3, lambda seed, e=epsilon: run(e, seed))


def covertype() -> Iterator[Cell]:
    table = adapt_problems.covertype()
    for epsilon in (0.1, 0.2, 1.0):
        yield Cell(
            "covertype",
            epsilon,
            3,
            lambda seed, e=epsilon: [table.judge(fitted(table.risk, e, table.delta, seed))["excess"]],
        )


def ringnorm() -> Iterator[Cell]:
    waves = np.random.default_rng(7)
    length = np.exp(waves.uniform(math.log(0.15), math.log(0.6), 300)) * math.sqrt(20.0)
    mix = waves.standard_normal((20, 300)) / length
    phase = waves.uniform(0.0, 2.0 * math.pi, 300)

    def drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, n)
        X = rng.standard_normal((n, 20)) * np.where(y == 0, 2.0, 1.0)[:, None]
        X = np.clip((X + np.where(y == 0, 0.0, 2.0 / math.sqrt(20.0))[:, None]) / 8.0, -1.0, 1.0)
        rows = [X / math.sqrt(21.0), np.cos(X @ mix + phase) / math.sqrt(300.0)]
        rows.append(np.full((n, 1), 1.0 / math.sqrt(21.0)))
        return np.hstack(rows) * math.sqrt(0.5) * (1.0 - 2.0**-20), y

    risk, (held_out, labels) = logistic(*drawn(5_000, 0)), drawn(20_000, 1)
    for epsilon in (2.0, 5.0):
        yield Cell(
            "ringnorm",
            epsilon,
            8,
            lambda seed, e=epsilon: [log_loss(held_out @ fitted(risk, e, 1e-6, seed), labels)],
        )


def wide() -> Iterator[Cell]:
    for number in WIDE:
        table = monotone.drawn(number, 400_000)
        risk = table.risk()
        for epsilon in (0.3, 1.5, 6.0):
            yield Cell(
                table.name,
                epsilon,
                2,
                lambda seed, e=epsilon, risk=risk, table=table: [table.loss(fitted(risk, e, 1e-6, seed))],
            )


CASES: dict[str, Callable[[], Iterator[Cell]]] = {
    case.__name__: case for case in (nothing, adult, covertype, ringnorm, wide)
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--first", type=int, default=5_000)
    parser.add_argument("--runs", type=int, help="of every cell, instead of its own number")
    given = parser.parse_args()
    for case in given.cases.split(","):
        for name, epsilon, usual, run in CASES[case]():
            runs = given.runs or usual
            found = np.array([run(given.first + k) for k in range(runs)])
            for figure in found.T:
                error = figure.std(ddof=1) / math.sqrt(runs)
                print(f"{name} {epsilon:g}: {figure.mean():.6f} +- {error:.6f} {figure.round(6)}", flush=True)


if __name__ == "__main__":
    main()
