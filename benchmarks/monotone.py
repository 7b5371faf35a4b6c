"""Does the loss of the default method ever rise with epsilon? Generated tables, twelve budgets.

    python -m benchmarks.monotone --minutes 70       # 200 tables, twelve epsilons, two runs each
    python -m benchmarks.monotone --confirm          # anew: what rose, cells above the constant
    python -m benchmarks.monotone --summary          # what was found so far

Tables with few entries come first. Each ends as a line of benchmarks/results/monotone.jsonl with the
processor time of a run; a study that is stopped, or has used its minutes, goes on after the last line.

A table is drawn from its number alone: its kind, 1,000 to 100,000 rows, 5 to 600 columns. Loss is that of
20,000 other rows of the same law: log loss, or the mean square of regressions. Tables from 1,000 on are those
that constants of the method were looked at with.

What is counted was written down before the first table was run:
- *A rise*: from one epsilon to the next the mean of two runs rises by more than two standard errors, the
  variance at an epsilon being the mean over it and its neighbours. By chance that happens in about one step
  of seventeen where nothing falls (t law, four degrees of freedom), in fewer where the loss falls.
- *Confirmed*: each rise is run anew with eight other seeds at both epsilons and must again exceed two
  standard errors: by chance 3.3 % of them (14 degrees of freedom). Confirmed rises are beyond chance where
  they are more than the 99 % quantile of that binomial law; each of more than 1 % of what is at stake is
  looked into.
- *Worse than the constant*: the mean loss of a cell is above the best constant's by more than three times
  what noise adds to it, which is twice the gap between the mean loss of two runs and the loss at their mean
  weights, averaged over the cell and its neighbours.
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
from scipy import stats

import sottovoce as sv

EPSILONS = np.geomspace(0.1, 10.0, 12)
RESULTS = Path(__file__).parent / "results" / "monotone.jsonl"
_HELD_OUT = 20_000
_ANEW = range(100, 108)
"""Seeds of the runs that are to confirm a rise."""
_MEANS = range(600, 612)
"""Seeds of the runs whose mean weights tell whether a cell above the constant is noise."""
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


def runs_of(table: Table, epsilons: np.ndarray, seeds: range) -> tuple[np.ndarray, np.ndarray]:
    """Held-out losses, epsilons by runs, and the loss at the mean of the weights at each epsilon."""
    risk, found, middles = table.risk(), [], []
    for epsilon in epsilons:
        budget = sv.Budget(epsilon=float(epsilon), delta=1e-6)
        weights = [sv.minimize(risk, budget=budget, method="auto", simulate=seed).weights for seed in seeds]
        found.append([table.loss(w) for w in weights])
        middles.append(table.loss(np.mean(weights, axis=0)))
    return np.array(found), np.array(middles)


def pooled(values: np.ndarray) -> np.ndarray:
    """The mean over each cell and its neighbours."""
    sums = np.convolve(values, np.ones(3), mode="same")
    return np.asarray(sums / np.convolve(np.ones_like(values), np.ones(3), mode="same"))


def judged(found: np.ndarray, middles: np.ndarray, constant: float) -> dict[str, Any]:
    """Steps that rise, the largest rise relative to what is at stake, cells worse than the constant."""
    mean, variance = found.mean(axis=1), pooled(found.var(axis=1, ddof=1)) / found.shape[1]
    rise, doubt = np.diff(mean), np.sqrt(variance[1:] + variance[:-1])
    stake = max(constant - float(mean.min()), 1e-12)
    noise = pooled(2.0 * (mean - middles))
    return {
        "rises": np.flatnonzero(rise > 2.0 * doubt).tolist(),
        "largest": float(np.max(rise / stake)),
        "worse than constant": np.flatnonzero(mean > constant + 3.0 * noise + 1e-6).tolist(),
    }


def examined(number: int, entries: int, runs: int) -> dict[str, Any]:
    """All that is kept of a table."""
    table, start = drawn(number, entries), time.process_time()
    found, middles = runs_of(table, EPSILONS, range(runs))
    row = {"number": number, "table": table.name, "entries": entries, "constant": table.constant}
    row |= judged(found, middles, table.constant)
    seconds = (time.process_time() - start) / found.size
    kept = {"losses": np.round(found, 7).tolist(), "middles": np.round(middles, 7).tolist()}
    return row | {"seconds": round(seconds, 3)} | kept


def confirmed(row: dict[str, Any], step: int) -> dict[str, Any]:
    """A rise anew, with other seeds: how large it is, in units of what is at stake and of standard errors."""
    table = drawn(row["number"], row["entries"])
    found, _ = runs_of(table, EPSILONS[step : step + 2], _ANEW)
    rise = float(found[1].mean() - found[0].mean())
    error = math.sqrt(float(found.var(axis=1, ddof=1).sum()) / found.shape[1])
    stake = max(row["constant"] - float(np.min(np.mean(row["losses"], axis=1))), 1e-12)
    return {"step": step, "stake": rise / stake, "errors": rise / max(error, 1e-300), "rise": rise}


def cell_anew(row: dict[str, Any], cell: int) -> dict[str, Any]:
    """A cell above the constant anew: mean loss, its standard error, and the loss at the mean weights."""
    found, middles = runs_of(drawn(row["number"], row["entries"]), EPSILONS[cell : cell + 1], _MEANS)
    error = float(found.std(ddof=1)) / math.sqrt(found.size)
    return {"cell": cell, "mean": float(found.mean()), "error": error, "at mean weights": float(middles[0])}


def summary(rows: list[dict[str, Any]]) -> str:
    """Rises, those confirmed, and cells worse than the constant, beside what chance would show."""
    steps = sum(len(row["losses"]) - 1 for row in rows)
    rises = sum(len(row["rises"]) for row in rows)
    anew = [(row["table"], each) for row in rows for each in row.get("confirmed", [])]
    again = [(name, each) for name, each in anew if each["errors"] > 2.0]
    most = int(stats.binom.ppf(0.99, len(anew), 0.033)) if anew else 0
    worse = {row["table"]: row["worse than constant"] for row in rows if row["worse than constant"]}
    return "\n".join(
        [
            f"{len(rows)} tables, {steps} steps from one epsilon to the next",
            f"{rises} rises beyond two standard errors, on {sum(bool(row['rises']) for row in rows)} tables; "
            f"by chance at most {0.058 * steps:.0f}",
            f"{len(anew)} of them anew: {len(again)} rise again; by chance at most {most}",
            f"of those above 1 % of what is at stake: {[each for each in again if each[1]['stake'] > 0.01]}",
            f"cells worse than the constant: {sum(map(len, worse.values()))}, {worse}",
            *(
                f"{row['table']}, {row['constant']:.4f}: {each}"
                for row in rows
                for each in row.get("anew", [])
            ),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--again", default="", help="numbers of tables to run anew")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--confirm", action="store_true", help="run what rose anew")
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
    if options.summary or options.confirm:
        ordered = []
    for number in [number for number in ordered if number not in done]:
        if time.process_time() > 60.0 * options.minutes:
            break
        rows = [row for row in rows if row["number"] != number]
        rows.append(examined(number, options.entries, options.runs))
        print(json.dumps({key: value for key, value in rows[-1].items() if key != "losses"}), flush=True)
        options.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for row in rows if options.confirm else ():
        if "confirmed" not in row and time.process_time() < 60.0 * options.minutes:
            row["confirmed"] = [confirmed(row, step) for step in row["rises"]]
            row["anew"] = [cell_anew(row, cell) for cell in row["worse than constant"]]
            options.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(summary(rows))


if __name__ == "__main__":
    main()
