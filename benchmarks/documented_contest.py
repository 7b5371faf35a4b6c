"""Ours, untuned, beside rivals tuned for free, on `benchmarks.documented_tables`' twenty.

    python -m benchmarks.documented_contest FOLDER [--runs 3] [--tables A,B]
    python -m benchmarks.documented_contest FOLDER --ebm EBM/bin/python     DP-EBM at its defaults
    python -m benchmarks.documented_contest FOLDER --page                   writes the tables of the page

Epsilon 0.3 and 1, delta 1/n, a record is counted or not (zero-out, which is what DP-EBM promises, too). A
fifth of the rows is held out, the same for all. The figures are log loss of classes, mean squared error of
numbers over the variance held out, and Poisson deviance of counts over that of their mean. Rivals are those
of the leaderboard, tuned as there, on the rows that our encoder makes; of counts they are told the log-linear
mean and the scale of the counts. DP-EBM has no counts. "Told more" is the linear model of whoever says before
that squares are what matters, or that counts are mostly small: `loss="least-squares"`, or `high` an eighth of
what the table declares; it is measured as the others are. Each run is a line of
benchmarks/results/documented.jsonl, and is not run again."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd

import sottovoce as sv
from benchmarks import sections
from benchmarks.curves import standing
from benchmarks.leaderboard.adassp import adaptive
from benchmarks.leaderboard.descents import batches, full_passes
from benchmarks.leaderboard.query import Contender, Judged, Outcome, Query, least
from benchmarks.leaderboard.regression import Regression
from benchmarks.leaderboard.tables import SEED, Classification
from benchmarks.split import Split

EPSILONS, RELATION, FIRST = (0.3, 1.0), "zero-out", 7000
KEPT = Path(__file__).parent / "results" / "documented.jsonl"
OURS = ("linear", "additive", "auto", "linear, told more")
RIVALS = ("DP-GD", "DP-SGD", "AdaSSP")
EBM, PLAIN = "DP-EBM, its defaults", "linear, not private"
SCALES = (1 / 32, 1 / 4)
"""Of the largest declared count, what rivals take for one; the better is shown."""


@final
@dataclass(frozen=True, eq=False)
class Counts(Split):
    """Log-linear means of counts; `unit` divides the loss, and with it what is clipped."""

    unit: float

    def clipped_sum(self, chosen: Any, w: np.ndarray, clip: np.ndarray) -> np.ndarray:
        rows = self.X[chosen]
        slopes = (np.exp(np.minimum(rows @ w, 20.0)) - self.y[chosen, None]) / self.unit
        limit = clip / np.maximum(np.linalg.norm(rows, axis=1), 1e-9)[:, None]
        return np.asarray(rows.T @ np.clip(slopes, -limit, limit), dtype=np.float64)

    def judge(self, w: np.ndarray) -> tuple[float, float]:
        loss = deviance(self.marks, np.exp(np.minimum(self.held @ w, 20.0)))
        return loss, loss

    def risk(self) -> sv.Risk:
        raise NotImplementedError("ours reads the table itself")


def deviance(counts: np.ndarray, means: np.ndarray) -> float:
    """Poisson's, over that of the counts' own mean."""

    def of(told: np.ndarray) -> float:
        told = np.maximum(told, 1e-9)
        return float(np.sum(counts * np.log(np.maximum(counts, 1e-9) / told) - counts + told))

    return of(means) / of(np.full(len(counts), counts.mean()))


@final
@dataclass(frozen=True, eq=False)
class Table:
    """One of the twenty, and the rows that are held out."""

    name: str
    frame: pd.DataFrame
    schema: sv.Schema

    @cached_property
    def parts(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        order = np.random.default_rng(SEED).permutation(len(self.frame))
        held, rest = np.split(order, [len(order) // 5])
        return self.frame.iloc[rest].reset_index(drop=True), self.frame.iloc[held].reset_index(drop=True)

    @property
    def kind(self) -> str:
        aim = self.schema.target
        assert aim is not None
        return "classes" if aim.classes else ("count" if aim.count else "number")

    @cached_property
    def variance(self) -> float:
        return float(np.var(self.parts[1]["answer"]))

    def split(self, unit: float = 1.0) -> Any:
        encode = sv.BoundedEncoder(self.schema).transform
        X, held = (np.asarray(encode(part), dtype=np.float32) for part in self.parts)
        y, marks = (part["answer"].to_numpy(float) for part in self.parts)
        aim, rows = self.schema.target, (self.name, X)
        assert aim is not None
        delta = 1.0 / len(y)
        if self.kind == "classes":
            return Classification(
                *rows, np.where(y > 0, 1, -1), held, np.where(marks > 0, 1, -1), delta, True
            )
        if self.kind == "count":
            return Counts(*rows, y, held, marks, delta, unit * float(aim.high or 1.0))
        half, middle = (aim.high - aim.low) / 2.0, (aim.high + aim.low) / 2.0  # type: ignore[operator]
        return Regression(*rows, (y - middle) / half, held, (marks - middle) / half, delta)

    def loss(self, model: sv.Model) -> float:
        held = self.parts[1]
        truth = held["answer"].to_numpy(float)
        if self.kind == "classes":
            chance = np.clip(model.predict_proba(held)[:, 1], 1e-12, 1.0 - 1e-12)
            return float(-np.mean(np.where(truth > 0, np.log(chance), np.log1p(-chance))))
        told = np.asarray(model.predict(held), dtype=float)
        return (
            deviance(truth, told)
            if self.kind == "count"
            else float(np.mean((told - truth) ** 2)) / self.variance
        )


def read(folder: Path, name: str) -> Table:
    schema = sv.Schema.load(folder / f"{name}.toml")
    text = {column.name: "string" for column in schema.columns if column.labels is not None}
    return Table(name, pd.read_csv(folder / f"{name}.csv", dtype=text, keep_default_na=False), schema)


def rivals_of(kind: str) -> dict[str, Contender]:
    common: dict[str, Contender] = {"DP-GD": full_passes, "DP-SGD": batches}
    return common | {"AdaSSP": adaptive} if kind == "number" else common


def tuned(table: Table, contender: Contender, epsilon: float, seeds: list[int]) -> Outcome:
    """Counts twice, at two scales."""
    units = SCALES if table.kind == "count" else (1.0,)
    found = [contender(Query(table.split(unit), epsilon, RELATION), seeds) for unit in units]
    return found[least([judged for judged, _ in found])]


def losses(table: Table, judged: Judged) -> list[float]:
    scale = 1.0
    if table.kind == "number":
        scale = float(np.var(table.split().marks))
    return [loss / scale for loss, _ in judged]


def stored() -> list[dict[str, Any]]:
    return [json.loads(line) for line in KEPT.read_text("utf-8").splitlines()] if KEPT.exists() else []


def keep(**row: Any) -> None:
    with KEPT.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    print(row, flush=True)


def missing(table: Table, model: str, epsilon: float, runs: int) -> Iterator[int]:
    done = {
        row["run"]
        for row in stored()
        if (row["table"], row["model"], row["epsilon"]) == (table.name, model, epsilon)
    }
    return (run for run in range(runs) if run not in done)


def told(table: Table, kind: str) -> tuple[sv.Schema, dict[str, Any]]:
    """The schema and the options of one of ours."""
    if kind != OURS[-1]:
        return table.schema, {"model": kind}
    if table.kind == "number":
        return table.schema, {"model": "linear", "loss": "least-squares"}
    aim = table.schema.target
    assert aim is not None
    assert aim.high is not None
    return replace(table.schema, target=replace(aim, high=max(1, aim.high // 8))), {"model": "linear"}


def compared(table: Table, epsilon: float, runs: int) -> None:
    train = table.parts[0]
    about: dict[str, Any] = {"table": table.name, "kind": table.kind, "n": len(train), "epsilon": epsilon}
    for kind in OURS:
        if (kind == "auto") > (table.kind == "classes") or (kind == OURS[-1]) > (table.kind != "classes"):
            continue
        schema, more = told(table, kind)
        for run in missing(table, kind, epsilon, runs):
            budget: dict[str, Any] = {"epsilon": epsilon, "delta": 1.0 / len(train), "relation": RELATION}
            model = sv.fit(train, schema, simulate=FIRST + run, **more, **budget)
            keep(**about, model=kind, run=run, loss=table.loss(model))
    for name, contender in rivals_of(table.kind).items():
        if list(missing(table, name, epsilon, runs)):
            judged, setting = tuned(table, contender, epsilon, [FIRST + run for run in range(runs)])
            for run, loss in enumerate(losses(table, judged)):
                keep(**about, model=name, run=run, loss=loss, setting=setting)


def without_privacy(table: Table) -> float:
    """The loss of the straight line of most likelihood on the same rows, hardly penalized."""
    from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

    kinds: dict[str, Any] = {
        "classes": LogisticRegression(C=1e6, max_iter=5000, fit_intercept=False),
        "number": LinearRegression(fit_intercept=False),
        "count": PoissonRegressor(alpha=1e-8, max_iter=5000, fit_intercept=False),
    }
    board = table.split()
    return losses(table, [board.judge(kinds[table.kind].fit(board.X, board.y).coef_.ravel())])[0]


def bending(table: Table, python: Path, runs: int) -> None:
    """DP-EBM in its own environment, told the declared ranges and categories."""
    train, held = table.parts
    with tempfile.TemporaryDirectory() as folder:
        train.to_csv(f"{folder}/train.csv", index=False)
        held.to_csv(f"{folder}/test.csv", index=False)
        (Path(folder) / "schema.json").write_text(json.dumps(table.schema.to_dict()))
        wanted = {epsilon: list(missing(table, EBM, epsilon, runs)) for epsilon in EPSILONS}
        asked = {"runs": wanted, "delta": 1.0 / len(train), "first": FIRST}
        (Path(folder) / "asked.json").write_text(json.dumps(asked))
        script = Path(__file__).with_name("documented_ebm.py")
        done = subprocess.run(
            [str(python), "-I", str(script), folder], check=True, capture_output=True, text=True
        )
        about = {"table": table.name, "kind": table.kind, "n": len(train), "model": EBM}
        for line in done.stdout.splitlines():
            keep(**about, **json.loads(line))


def page(rows: list[dict[str, Any]]) -> list[str]:
    """All cells; below, whom each of ours is behind."""
    cells: dict[tuple[str, float], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    about = {row["table"]: row for row in rows}
    plain = {row["table"]: row["loss"] for row in rows if row["model"] == PLAIN}
    for row in rows:
        if row["model"] != PLAIN:
            cells[row["table"], row["epsilon"]][row["model"]].append(row["loss"])
    heads = ["table", "predicts", "n", "epsilon", *OURS, *RIVALS, EBM, PLAIN]
    lines = [f"| {' | '.join(heads)} |", "| --- | --- |" + " ---: |" * (len(heads) - 2)]
    for (table, epsilon), found in sorted(cells.items()):
        shown = [_shown(found.get(model, [])) for model in (*OURS, *RIVALS, EBM)]
        shown.append(f"{plain[table]:.4f}" if table in plain else "")
        first = about[table]
        lines.append(f"| {table} | {first['kind']} | {first['n']:,} | {epsilon:g} | {' | '.join(shown)} |")
    lines += ["", "| ours | beside | ahead | level | behind |", "| --- | --- |" + " ---: |" * 3]
    lost: list[str] = []
    for kind in ("classes", "number", "count"):
        for mine, others in (("linear", RIVALS), (OURS[-1], RIVALS), ("additive", (EBM,)), ("auto", (EBM,))):
            counts: dict[str, int] = defaultdict(int)
            for (table, epsilon), found in sorted(cells.items()):
                beside = [found[model] for model in others if found.get(model)]
                if about[table]["kind"] != kind or not found.get(mine) or not beside:
                    continue
                best = min(beside, key=lambda part: float(np.mean(part)))
                verdict = standing(found[mine], best)
                counts[verdict] += 1
                if verdict == "behind":
                    name = next(model for model in others if found.get(model) is best)
                    gap = np.mean(found[mine]) - np.mean(best)
                    lost.append(f"| {table} | {epsilon:g} | {mine} | {name} | {gap:.4f} |")
            if counts:
                other = "the best of DP-GD, DP-SGD, AdaSSP" if others is RIVALS else EBM
                counted = " | ".join(str(counts[part]) for part in ("ahead", "level", "behind"))
                lines.append(f"| {mine}, {kind} | {other} | {counted} |")
    lines += [
        "",
        "Every loss:",
        "",
        "| table | epsilon | ours | behind | by |",
        "| --- | ---: | --- | --- | ---: |",
    ]
    return [*lines, *lost]


def _shown(part: list[float]) -> str:
    if not part:
        return ""
    error = np.std(part, ddof=1) / np.sqrt(len(part)) if len(part) > 1 else float("nan")
    return f"{np.mean(part):.4f} ({error:.4f})"


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("folder", type=Path)
    given.add_argument("--tables", default="")
    given.add_argument("--runs", type=int, default=3)
    given.add_argument("--ebm", type=Path, help="run DP-EBM by this Python, and nothing else")
    given.add_argument("--page", action="store_true")
    asked = given.parse_args()
    names = (
        asked.tables.split(",") if asked.tables else sorted(path.stem for path in asked.folder.glob("*.toml"))
    )
    if asked.page:
        sections.replace(sections.PAGES / "leaderboard.md", "documented", page(stored()))
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            table = read(asked.folder, name)
            if asked.ebm is not None and table.kind != "count":
                bending(table, asked.ebm, asked.runs)
            elif asked.ebm is None:
                for run in missing(table, PLAIN, 0.0, 1):
                    about = {"table": name, "kind": table.kind, "n": len(table.parts[0]), "epsilon": 0.0}
                    keep(**about, model=PLAIN, run=run, loss=without_privacy(table))
                for epsilon in EPSILONS:
                    compared(table, epsilon, asked.runs)


if __name__ == "__main__":
    main()
