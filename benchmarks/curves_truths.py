"""`python -m benchmarks.curves_truths`: linear, additive and auto models where the truth is known.

Ringnorm and twonorm (Breiman; 20 columns), a checkerboard of two columns among ten, an additive truth of ten
columns, a linear one of fifty, and pure noise: 10,000 records to train on, 20,000 to measure with, ranges
declared from what the law allows, zero-out, delta 1e-6, seeded noise. The excess is the log loss less that of
the true probabilities on the same records. How "auto" chooses columns was settled on these truths with seeds
0 to 9 (and, before, 500 to 502 and 70,000); report others (`--seed`, 100,000 on). `--path` runs twelve
epsilons from .1 to 8; `--wide` declares every range a hundred times too wide. Each run is a line of
benchmarks/results/curves_truths.jsonl as it comes, and is not run again; `--page` writes
the tables of the page.

`--coverage SETS` draws as many tables of two curves, 20,000 records each, fits them with inference at
epsilon 3, and prints how often the 95 % band of an effect holds the truth. `--speed ROWS` takes the ratio
of an additive pass to a linear one, by turns, and `--fits ROWS` times whole fits, ours and others'."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from scipy.special import expit

import sottovoce as sv
from benchmarks.sections import PAGES, replace
from sottovoce.data.schema import Numeric, Schema, Target
from sottovoce.features.curves import MOST_KNOTS, curved

KEPT = Path(__file__).parent / "results" / "curves_truths.jsonl"
PAGE = PAGES / "curves-results.md"
MODELS = ("linear", "additive", "smooth", "auto")
PATH = tuple(np.geomspace(0.1, 8.0, 12).round(3).tolist())
TRAIN, TEST = 10_000, 20_000
WIDE = 100.0
RULE = 6
"""Raised when what "auto" does is changed: only rows of this one are shown, here and in benchmarks.curves."""


class Drawn(NamedTuple):
    """Columns within [-reach, reach], and the true log odds."""

    x: Any
    odds: Any
    reach: float


def ringnorm(n: int, rng: np.random.Generator) -> Drawn:
    """Class 1 is normal with variance 4, the other with variance 1 about (2, ..., 2) / sqrt(20)."""
    centre, first = 2.0 / math.sqrt(20.0), rng.random(n) < 0.5
    x = rng.standard_normal((n, 20))
    x = np.where(first[:, None], 2.0 * x, x + centre)
    odds = ((x - centre) ** 2).sum(axis=1) / 2.0 - (x**2).sum(axis=1) / 8.0 - 20.0 * math.log(2.0)
    return Drawn(x, odds, 8.0)


def twonorm(n: int, rng: np.random.Generator) -> Drawn:
    """Two normals about (2, ..., 2) / sqrt(20) and its opposite: linear log odds."""
    centre = 2.0 / math.sqrt(20.0)
    sign = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    x = rng.standard_normal((n, 20)) + centre * sign[:, None]
    return Drawn(x, 2.0 * centre * x.sum(axis=1), 5.0)


def checkerboard(n: int, rng: np.random.Generator) -> Drawn:
    """The product of two signs among ten columns: no curve of one column says anything."""
    x = rng.uniform(-1.0, 1.0, (n, 10))
    return Drawn(x, 2.0 * np.sign(x[:, 0] * x[:, 1]), 1.0)


def additive(n: int, rng: np.random.Generator) -> Drawn:
    """Three columns that bend, three that do not, four that say nothing."""
    x = rng.uniform(-1.0, 1.0, (n, 10))
    bent = 2.0 * np.cos(3.0 * x[:, 0]) + 2.0 * np.abs(x[:, 1]) + np.exp(1.5 * x[:, 2]) - 2.5
    return Drawn(x, bent + x[:, 3:6] @ np.array([1.0, -1.0, 0.5]), 1.0)


def linear(n: int, rng: np.random.Generator) -> Drawn:
    """Fifty columns with slopes that fall from 1 to 1/50, signs in turn; log odds of sd 2."""
    x = rng.uniform(-1.0, 1.0, (n, 50))
    slopes = np.where(np.arange(50) % 2, -1.0, 1.0) * np.linspace(1.0, 0.02, 50)
    return Drawn(x, x @ slopes * (2.0 / math.sqrt(float((slopes**2).sum()) / 3.0)), 1.0)


def noise(n: int, rng: np.random.Generator) -> Drawn:
    """Labels that depend on nothing, three in ten of the second class."""
    return Drawn(rng.uniform(-1.0, 1.0, (n, 10)), np.full(n, math.log(3.0 / 7.0)), 1.0)


TRUTHS: dict[str, Callable[[int, np.random.Generator], Drawn]] = {
    kind.__name__: kind for kind in (ringnorm, twonorm, checkerboard, additive, linear, noise)
}


def labelled(drawn: Drawn, rng: np.random.Generator) -> Any:
    y = rng.random(len(drawn.x)) < expit(drawn.odds)
    columns = {f"x{place}": column for place, column in enumerate(drawn.x.T)}
    return pa.table({**columns, "y": y.astype(np.int64)})


def log_loss(table: Any, odds: Any) -> float:
    signs = 2.0 * table["y"].to_numpy() - 1.0
    return float(np.mean(np.logaddexp(0.0, -signs * odds)))


def one_run(truth: str, epsilon: float, wide: bool, seed: int, kinds: list[str]) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    given = TRUTHS[truth](TRAIN, rng)
    train, held = labelled(given, rng), TRUTHS[truth](TEST, rng)
    test = labelled(held, rng)
    reach = given.reach * (WIDE if wide else 1.0)
    columns = tuple(Numeric(f"x{place}", -reach, reach) for place in range(given.x.shape[1]))
    schema = Schema(columns, Target("y", classes=(0, 1)))
    found = {}
    for kind in kinds:
        options: dict[str, Any] = {"relation": "zero-out", "model": kind, "simulate": seed}
        model = sv.fit(train, schema, epsilon=epsilon, delta=1e-6, **options)
        found[kind] = log_loss(test, model.decision_function(test)) - log_loss(test, held.odds)
    return found


def stored() -> list[dict[str, Any]]:
    return [json.loads(line) for line in KEPT.read_text("utf-8").splitlines()] if KEPT.exists() else []


def measured(truth: str, epsilon: float, wide: bool, seed: int, kinds: list[str]) -> None:
    about = {"truth": truth, "epsilon": epsilon, "wide": wide, "seed": seed, "rule": RULE}
    known = {kind for row in stored() if about.items() <= row.items() for kind in row["excess"]}
    if left := [kind for kind in kinds if kind not in known]:
        found = one_run(truth, epsilon, wide, seed, left)
        print(
            truth,
            epsilon,
            "wide" if wide else "",
            seed,
            {k: round(v, 5) for k, v in found.items()},
            flush=True,
        )
        with KEPT.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**about, "excess": found}) + "\n")


Cells: TypeAlias = "dict[tuple[bool, str, float], dict[str, dict[int, float]]]"


def cells_of(rows: list[dict[str, Any]]) -> Cells:
    """The excess by ranges, truth and epsilon, by model, by seed."""
    cells: Cells = {}
    for row in rows:
        if row.get("rule") != RULE:
            continue
        cell = cells.setdefault((row["wide"], row["truth"], row["epsilon"]), {})
        for kind, excess in row["excess"].items():
            cell.setdefault(kind, {})[row["seed"]] = excess
    return cells


def excesses(cells: Cells) -> list[str]:
    """Means over runs with their standard errors; the ratio is of means, its error that of paired runs."""
    lines = [
        f"| truth | runs | {' | '.join(MODELS)} | auto over the best of the others |",
        "| --- | --- |" + " --- |" * (len(MODELS) + 1),
    ]
    for (wide, truth, epsilon), cell in sorted(cells.items()):
        if wide or epsilon != 1.0:
            continue
        shown = [_shown(list(cell[kind].values())) if kind in cell else "" for kind in MODELS]
        others = [kind for kind in cell if kind != "auto"]
        ratio = ""
        if others and "auto" in cell:
            best = min(others, key=lambda kind: float(np.mean(list(cell[kind].values()))))
            both = sorted(cell["auto"].keys() & cell[best].keys())
            mine, other = (np.array([cell[kind][seed] for seed in both]) for kind in ("auto", best))
            gap = mine - other * (mine.mean() / other.mean())
            error = (
                float(gap.std(ddof=1) / math.sqrt(len(both)) / other.mean()) if len(both) > 1 else math.nan
            )
            ratio = f"{mine.mean() / other.mean():.3f} ± {error:.3f} ({best})"
        runs = max(map(len, cell.values()))
        lines.append(f"| {truth} | {runs} | {' | '.join(shown)} | {ratio} |")
    return lines


def path(cells: Cells) -> list[str]:
    """The excess over the twelve epsilons, where all were run."""
    paths: dict[tuple[str, str], dict[float, list[float]]] = {}
    for (wide, truth, epsilon), cell in cells.items():
        if not wide and epsilon in PATH:
            for kind, excess in cell.items():
                paths.setdefault((truth, kind), {})[epsilon] = list(excess.values())
    lines = ["| truth | model | runs | excess by epsilon | largest rise | in standard errors |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for (truth, kind), found in sorted(paths.items()):
        if len(found) < len(PATH):
            continue
        told = ", ".join(f"{np.mean(found[e]):.4f} at {e:g}" for e in sorted(found))
        rise, errors = largest_rise(found)
        runs = min(map(len, found.values()))
        lines.append(f"| {truth} | {kind} | {runs} | {told} | {rise:.5f} | {errors:.1f} |")
    return lines


def widened(cells: Cells) -> list[str]:
    """What ranges 100 times as wide cost, over the same seeds."""
    lines = ["| truth | epsilon | model | runs | as drawn | x 100 | rise of the excess |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    for wide, truth, epsilon in sorted(cells):
        for kind, found in cells[wide, truth, epsilon].items() if wide else ():
            known = cells.get((False, truth, epsilon), {}).get(kind, {})
            both = sorted(found.keys() & known.keys())
            before, after = ([part[seed] for seed in both] for part in (known, found))
            rise = 100.0 * (np.mean(after) / np.mean(before) - 1.0)
            cell = f"{len(both)} | {_shown(before)} | {_shown(after)} | {rise:.0f} %"
            lines.append(f"| {truth} | {epsilon:g} | {kind} | {cell} |")
    return lines


def largest_rise(path: dict[float, list[float]]) -> tuple[float, float]:
    """From any smaller epsilon to a larger one, the largest rise of the mean in standard errors of the
    difference: as a number, and in these."""
    means = [(float(np.mean(path[e])), float(np.var(path[e], ddof=1)) / len(path[e])) for e in sorted(path)]
    rises = [
        (later - before, (later - before) / max(math.sqrt(first + second), 1e-12))
        for place, (before, first) in enumerate(means)
        for later, second in means[place + 1 :]
    ]
    return max(rises, key=lambda rise: rise[1])


COVERED = 20_000
BANDS = KEPT.with_name("curves_bands.jsonl")
INNER = slice(10, 91, 4)
TWO_CURVES: dict[str, Callable[[Any], Any]] = {
    "a": lambda x: 1.5 * np.sin(2.5 * x),
    "b": lambda x: 1.5 * x**2,
}


def coverage(sets: int, seed: int) -> None:
    """Of two smooth curves, at 21 interior places each: how often the band holds the truth, where there is
    one. Each set is a line of benchmarks/results/curves_bands.jsonl, and is not fitted again."""
    rows = [json.loads(line) for line in BANDS.read_text("utf-8").splitlines()] if BANDS.exists() else []
    known = {row["seed"]: row for row in rows if row["rule"] == RULE}
    for place in range(seed, seed + sets):
        if place not in known:
            known[place] = {"seed": place, "rule": RULE, **_held(place)}
            with BANDS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(known[place]) + "\n")
    for name in TWO_CURVES:
        marks = np.array([list(known[place][name]) for place in range(seed, seed + sets)])
        told, held = (marks != "-").sum(axis=0), (marks == "1").sum(axis=0)
        each = np.sort(100.0 * held / np.maximum(told, 1))
        print(
            f"{name}: {sets} sets, resolved {100.0 * told.mean() / sets:.1f} %, covered "
            f"{100.0 * held.sum() / max(told.sum(), 1):.1f} %, by place {each[0]:.1f} to {each[-1]:.1f} %"
        )


def _held(seed: int) -> dict[str, str]:
    """A mark a place: 1 where the band of the effect holds the truth, 0 where not, - where there is none.
    Effects are centred, as the truth is here, over the marginal that was released."""
    rng = np.random.default_rng(seed)
    x = {name: rng.uniform(-1.0, 1.0, COVERED) for name in TWO_CURVES}
    odds = sum(curve(x[name]) for name, curve in TWO_CURVES.items()) - 0.5
    table = pa.table({**x, "y": (rng.random(COVERED) < expit(odds)).astype(np.int64)})
    schema = Schema(tuple(Numeric(name, -1.0, 1.0) for name in TWO_CURVES), Target("y", classes=(0, 1)))
    options: dict[str, Any] = {"model": "additive", "inference": 0.5, "simulate": seed}
    model = sv.fit(table, schema, epsilon=3.0, delta=1e-6, relation="zero-out", **options)
    found = {}
    for effect in model.effects():
        assert effect.places is not None
        assert effect.interval is not None
        edges, curve = np.array(effect.marginal.edges), TWO_CURVES[effect.column]
        over = float(np.diff(effect.marginal.law) @ curve((edges[1:] + edges[:-1]) / 2.0))
        truth = curve(effect.places) - over
        low, high = effect.interval.T
        marks = np.where(np.isfinite(low), np.where((low <= truth) & (truth <= high), "1", "0"), "-")
        found[effect.column] = "".join(marks[INNER])
    return found


def speed(rows: int) -> None:
    """A pass over rows of 12 numbers, additive over linear, by turns."""
    whole, _, _ = _drawn(rows)
    risks = [_risk_of(whole, read) for read in (TWELVE, curved(TWELVE, MOST_KNOTS))]
    del whole
    passes = _by_turns([lambda risk=risk: risk.value_and_gradient(np.zeros(risk.dim)) for risk in risks], 5)
    seconds = " and ".join(f"{np.median(part):.3g} s" for part in passes[::-1])
    print(f"a pass over {rows:,} rows, additive over linear: {_ratio(passes[1], passes[0])}, {seconds}")


def fits(rows: int) -> None:
    """Whole fits of rows of 12 numbers on one thread, over models without privacy, where these are installed:
    seconds of the processor, so that others on the machine do not count much."""
    table, x, y = _drawn(rows)
    calls: dict[str, Callable[[], Any]] = {}
    for kind in ("linear", "additive", "auto"):
        options: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "model": kind, "simulate": 0}
        calls[kind] = lambda options=options: sv.fit(table, TWELVE, **options)
    with suppress(ImportError):
        from sklearn.ensemble import HistGradientBoostingClassifier

        calls["HistGradientBoosting"] = lambda: HistGradientBoostingClassifier().fit(x, y)
    with suppress(ImportError):
        from lightgbm import LGBMClassifier

        calls["LightGBM"] = lambda: LGBMClassifier(n_jobs=1, verbose=-1).fit(x, y)
    with suppress(ImportError):
        from interpret.glassbox import ExplainableBoostingClassifier

        plain = {"interactions": 0, "outer_bags": 4, "n_jobs": 1}
        calls["EBM"] = lambda: ExplainableBoostingClassifier(**plain).fit(x, y)
    few = table.slice(0, 10_000)
    for kind in ("linear", "additive", "auto"):
        sv.fit(few, TWELVE, epsilon=1.0, delta=1e-6, model=kind, simulate=0)
    for name, call in calls.items():
        began = time.process_time()
        call()
        print(f"a fit of {rows:,} rows, {name}: {time.process_time() - began:.1f} s", flush=True)


TWELVE = Schema(tuple(Numeric(f"x{place}", -1.0, 1.0) for place in range(12)), Target("y", classes=(0, 1)))


def _drawn(rows: int) -> tuple[Any, Any, Any]:
    """Twelve numbers, of which one acts by its square and one straight: a table, and the same as arrays."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, (rows, 12)).astype(np.float32)
    y = (rng.random(rows) < expit(2.0 * x[:, 0] ** 2 + x[:, 1])).astype(np.int64)
    return pa.table({**dict(zip(TWELVE.names, x.T, strict=True)), "y": y}), x, y


def _risk_of(table: Any, schema: Schema) -> Any:
    return sv.Risk(sv.Records.from_table(table, schema), sv.losses.Logistic(), sv.regularizers.L2(1e-6))


def _by_turns(calls: list[Callable[[], Any]], rounds: int) -> Any:
    """Seconds of each call in each round, the first round left out."""
    found = np.zeros((len(calls), rounds + 1))
    for turn in range(rounds + 1):
        for place, call in enumerate(calls):
            began = time.perf_counter()
            call()
            found[place, turn] = time.perf_counter() - began
    return found[:, 1:]


def _ratio(own: Any, other: Any) -> str:
    ratios = own / other
    return f"{np.median(own) / np.median(other):.2f} ({ratios.min():.2f} to {ratios.max():.2f})"


def _shown(values: list[float]) -> str:
    error = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
    return f"{np.mean(values):.5f} ± {error:.5f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curves_truths", description=__doc__)
    parser.add_argument("--truths", default=",".join(TRUTHS))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--epsilons", default="1.0")
    parser.add_argument("--path", action="store_true")
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=100_000)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--coverage", type=int, metavar="SETS")
    parser.add_argument("--speed", type=int, metavar="ROWS")
    parser.add_argument("--fits", type=int, metavar="ROWS")
    asked = parser.parse_args()
    if asked.coverage:
        coverage(asked.coverage, asked.seed)
        return
    if asked.speed:
        speed(asked.speed)
        return
    if asked.fits:
        fits(asked.fits)
        return
    if asked.page:
        cells = cells_of(stored())
        replace(PAGE, "curves-truths", excesses(cells))
        replace(PAGE, "curves-truths-path", path(cells))
        replace(PAGE, "curves-truths-wide", widened(cells))
        return
    epsilons = PATH if asked.path else tuple(map(float, asked.epsilons.split(",")))
    for seed in range(asked.seed, asked.seed + asked.runs):
        for truth in asked.truths.split(","):
            for epsilon in epsilons:
                measured(truth, epsilon, asked.wide, seed, asked.models.split(","))


if __name__ == "__main__":
    main()
