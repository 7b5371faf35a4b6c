"""Does the loss of the default method ever rise with epsilon? Generated tables, twelve budgets.

    python -m benchmarks.monotone --minutes 70       # 200 tables, twelve epsilons, three runs each
    python -m benchmarks.monotone --again 2,17       # these tables anew
    python -m benchmarks.monotone --summary          # what was found so far

Tables with few entries come first. Each ends as a line of benchmarks/results/monotone.jsonl with the
processor time of a run; a study that is stopped, or has used its minutes, goes on after the last line.

A table is drawn from its number alone: its kind, 1,000 to 100,000 rows, 5 to 600 columns. Loss is that of
20,000 other rows of the same law: log loss, or the mean square of regressions. Counted are steps from one
epsilon to the next in which the mean loss rises by more than two standard errors, and runs worse than
the best constant by more than their scatter explains. Tables from 1,000 on are those that constants of the
method were looked at with.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv

EPSILONS = np.geomspace(0.1, 10.0, 12)
RESULTS = Path(__file__).parent / "results" / "monotone.jsonl"
_HELD_OUT = 20_000
LARGEST = 4_000_000
"""Entries of a table: rows are fewer where columns are many."""


@dataclass(frozen=True)
class Table:
    """Rows within the unit ball, their last column constant; targets are 0 and 1 or in [-1, 1]."""

    name: str
    X: np.ndarray
    y: np.ndarray
    held_out: np.ndarray
    truth: np.ndarray
    regression: bool
    indicators: tuple[tuple[int, int], ...] = ()

    def risk(self) -> sv.Risk:
        extra = {"target": (-1.0, 1.0)} if self.regression else {"labels": (0, 1)}
        records = sv.Records.from_arrays(self.X, self.y, constant=True, indicators=self.indicators, **extra)
        loss = sv.losses.PseudoHuber() if self.regression else sv.losses.Logistic()
        return sv.Risk(records, loss, sv.regularizers.L2(1e-6))

    def loss(self, weights: np.ndarray) -> float:
        scores = self.held_out @ weights
        if self.regression:
            return float(np.mean((scores - self.truth) ** 2))
        return float(np.mean(np.logaddexp(0.0, -scores * (2 * self.truth - 1))))

    @property
    def constant(self) -> float:
        """Loss of the best constant."""
        if self.regression:
            return float(np.var(self.truth))
        p = float(np.mean(self.truth))
        return float(-p * math.log(p) - (1.0 - p) * math.log(1.0 - p))


def shape(number: int, entries: int = LARGEST) -> tuple[int, int, np.random.Generator]:
    """Rows and columns of the table of this number, and the generator that draws the rest of its law."""
    law = np.random.default_rng([number, 34])
    columns = round(math.exp(law.uniform(math.log(5), math.log(600))))
    n = min(math.exp(law.uniform(math.log(1_000), math.log(100_000))), max(entries / columns, 1_000))
    return round(n), columns, law


def drawn(number: int, entries: int = LARGEST) -> Table:
    """The table of this number, with at most so many entries."""
    n, columns, law = shape(number, entries)
    kind = list(_KINDS)[number % len(_KINDS)]
    regression = bool(law.random() < 0.3)
    make = _KINDS[kind](law, columns)
    parts = []
    for part, count in ((0, n), (1, _HELD_OUT)):
        rng = np.random.default_rng([number, 35, part])
        Z, score = make(rng, count)
        parts.append((Z, score, rng))
    middle, spread = float(np.median(parts[0][1])), float(parts[0][1].std())
    strength = 30.0 if kind == "separable" else math.exp(law.uniform(math.log(0.5), math.log(6.0)))
    noise = math.exp(law.uniform(math.log(0.03), math.log(0.5)))
    made = []
    for Z, score, rng in parts:
        score = (score - middle) / spread
        if regression:
            tail = rng.standard_t(3, score.size) if kind == "heavy tails" else rng.standard_normal(score.size)
            y: np.ndarray = np.clip(0.4 * score * math.sqrt(1.0 - noise**2) + 0.4 * noise * tail, -1.0, 1.0)
        else:
            y = (rng.random(score.size) < 1.0 / (1.0 + np.exp(-strength * score))).astype(int)
        made += [_bounded(Z), y]
    name = f"{number} {kind}{' regression' if regression else ''} {n} x {made[0].shape[1]}"
    return Table(name, *made, regression, _levels(columns) if kind == "one-hot" else ())


Sampler = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def _plain(law: np.random.Generator, columns: int) -> Sampler:
    scale, beta = np.exp(law.normal(0.0, 1.0, columns)), law.standard_normal(columns)

    def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        Z = rng.standard_normal((n, columns))
        return np.clip(Z / 4.0, -1.0, 1.0) * (scale / scale.max()), Z @ beta

    return sample


def _collinear(law: np.random.Generator, columns: int) -> Sampler:
    hidden = max(1, columns // 5)
    mix, beta = law.standard_normal((hidden, columns)) / math.sqrt(hidden), law.standard_normal(columns)

    def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        Z = rng.standard_normal((n, hidden)) @ mix + 0.1 * rng.standard_normal((n, columns))
        return np.clip(Z / 4.0, -1.0, 1.0), Z @ beta

    return sample


def _heavy(law: np.random.Generator, columns: int) -> Sampler:
    beta = law.standard_normal(columns)

    def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        Z = rng.standard_t(2.0, (n, columns))
        return np.clip(Z / 20.0, -1.0, 1.0), np.clip(Z, -20.0, 20.0) @ beta

    return sample


def _levels(columns: int) -> tuple[tuple[int, int], ...]:
    """Blocks of two to nine indicators."""
    edges, place = [], 0
    while place < columns:
        size = min(2 + (5 * len(edges)) % 8, columns - place)
        edges.append((place, place + size))
        place += size
    return tuple(edges)


def _one_hot(law: np.random.Generator, columns: int) -> Sampler:
    blocks, beta = _levels(columns), law.standard_normal(columns)
    odds = [law.dirichlet(np.full(stop - start, 0.7)) for start, stop in blocks]

    def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        Z = np.zeros((n, columns))
        for (start, stop), chance in zip(blocks, odds, strict=True):
            Z[np.arange(n), start + rng.choice(stop - start, n, p=chance)] = 1.0
        return Z, Z @ beta

    return sample


def _fourier(law: np.random.Generator, columns: int) -> Sampler:
    """Random Fourier features of six numbers, of which a quadratic form decides."""
    inputs, waves = 6, max(columns - 6, 4)
    length = np.exp(law.uniform(math.log(0.3), math.log(1.5), waves)) * math.sqrt(inputs)
    mix, phase = law.standard_normal((inputs, waves)) / length, law.uniform(0.0, 2.0 * math.pi, waves)
    form, line = law.standard_normal((inputs, inputs)), law.standard_normal(inputs)

    def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        Z = rng.standard_normal((n, inputs))
        held = np.hstack([np.clip(Z / 4.0, -1.0, 1.0), np.cos(Z @ mix + phase) * math.sqrt(inputs / waves)])
        return held, np.einsum("ij,jk,ik->i", Z, form, Z) / 3.0 + Z @ line

    return sample


def _splines(law: np.random.Generator, columns: int) -> Sampler:
    """Hat functions on five even knots of skewed numbers, most of them near one end of their range."""
    knots = np.linspace(0.0, 1.0, 5)
    inputs = max(1, columns // 5)
    beta = law.standard_normal(inputs)

    def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        Z = np.clip(np.maximum(0.0, rng.standard_normal((n, inputs)) - 0.3) ** 2 / 6.0, 0.0, 1.0)
        hats = [np.maximum(0.0, 1.0 - np.abs(column[:, None] - knots) / knots[1]) for column in Z.T]
        return np.hstack(hats), np.log1p(20.0 * Z) @ beta

    return sample


_KINDS: dict[str, Callable[[np.random.Generator, int], Sampler]] = {
    "scales": _plain,
    "collinear": _collinear,
    "separable": _plain,
    "heavy tails": _heavy,
    "one-hot": _one_hot,
    "fourier": _fourier,
    "splines": _splines,
}


def _bounded(Z: np.ndarray) -> np.ndarray:
    """Rows with a constant column, divided by the largest length that the kind's ranges allow."""
    largest = np.sqrt((np.abs(Z).max(axis=0) ** 2).sum() + 1.0) if Z.shape[1] < 3 else None
    length = (
        float(largest)
        if largest is not None
        else math.sqrt(1.0 + float(np.quantile((Z**2).sum(axis=1), 0.99)))
    )
    rows = np.column_stack([Z, np.ones(len(Z))]) / length
    return np.asarray(rows / np.maximum(1.0, np.linalg.norm(rows, axis=1) * (1.0 + 2.0**-20))[:, None])


def losses(table: Table, method: str, runs: int, first_seed: int = 0) -> np.ndarray:
    """Held-out losses, epsilons by runs."""
    risk = table.risk()
    found = []
    for epsilon in EPSILONS:
        budget = sv.Budget(epsilon=float(epsilon), delta=1e-6)
        seeds = range(first_seed, first_seed + runs)
        found.append(
            [table.loss(sv.minimize(risk, budget=budget, method=method, simulate=s).weights) for s in seeds]
        )
    return np.array(found)


def judged(found: np.ndarray, constant: float) -> dict[str, float]:
    """Rises beyond two standard errors, the largest rise relative to what is at stake, and bad runs."""
    mean, error = found.mean(axis=1), found.std(axis=1, ddof=1) / math.sqrt(found.shape[1])
    rise, doubt = np.diff(mean), np.hypot(error[1:], error[:-1])
    stake = max(constant - float(mean.min()), 1e-12)
    scatter = float(found.std(axis=1, ddof=1).max())
    return {
        "rises": int(np.sum(rise > 2.0 * doubt)),
        "largest": float(np.max(rise / stake)),
        "largest beyond two": float(np.max((rise - 2.0 * doubt) / stake)),
        "worse than constant": int(np.sum(found > constant + 3.0 * scatter + 1e-9)),
    }


def examined(number: int, entries: int, runs: int) -> dict[str, Any]:
    """All that is kept of a table."""
    table, start = drawn(number, entries), time.process_time()
    found = losses(table, "auto", runs)
    row = {"number": number, "table": table.name, "entries": entries, "constant": table.constant}
    row |= judged(found, table.constant)
    seconds = (time.process_time() - start) / found.size
    return row | {"seconds": round(seconds, 3), "losses": np.round(found, 7).tolist()}


def summary(rows: list[dict[str, Any]]) -> str:
    """Rises and bad runs, beside what three runs of no difference would show.

    The difference of two means of three runs, over its standard error, has nearly a t law of four degrees of
    freedom: above 2 in 5.8 % of cases by chance where nothing falls, in fewer where the loss falls."""
    steps = sum(len(row["losses"]) - 1 for row in rows)
    rises = [row for row in rows if row["rises"]]
    beyond = [row for row in rows if row["largest beyond two"] > 0.05]
    return "\n".join(
        [
            f"{len(rows)} tables, {steps} steps from one epsilon to the next",
            f"{sum(row['rises'] for row in rows)} rises beyond two standard errors, on {len(rises)} tables; "
            f"by chance at most {0.058 * steps:.0f}",
            f"beyond that by more than 5 % of what is at stake: {[row['table'] for row in beyond]}",
            f"{sum(row['worse than constant'] for row in rows)} runs worse than a constant, on "
            f"{[row['table'] for row in rows if row['worse than constant']]}",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--again", default="", help="numbers of tables to run anew")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--entries", type=int, default=LARGEST)
    parser.add_argument("--minutes", type=float, default=math.inf, help="processor time to use")
    parser.add_argument("--part", default="0/1", help="k/m: every m-th table from the k-th on, for processes")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    again = {int(number) for number in options.again.split(",") if number}
    done = {row["number"] for row in rows} - again
    wanted = again or set(range(options.first, options.first + options.tables))
    part, parts = map(int, options.part.split("/"))
    ordered = sorted(wanted, key=lambda number: math.prod(shape(number, options.entries)[:2]))[part::parts]
    for number in () if options.summary else [number for number in ordered if number not in done]:
        if time.process_time() > 60.0 * options.minutes:
            break
        rows = [row for row in rows if row["number"] != number]
        rows.append(examined(number, options.entries, options.runs))
        print(json.dumps({key: value for key, value in rows[-1].items() if key != "losses"}), flush=True)
        options.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(summary(rows))


if __name__ == "__main__":
    main()
