"""docs/leaderboard.md and its charts, from the stored cells alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.contest import Cell, stored
from benchmarks.leaderboard.rivals import CONTENDERS
from benchmarks.sections import PAGES, replace, where
from sottovoce.report import axes
from sottovoce.report.series import Plot, Point, Series, chart, standalone

OURS = "sottovoce (default)"
MISSING = "not run"
WORSE = 2.0
"""Standard errors of a difference up to which two figures are level."""


def write() -> None:
    found = stored("leaderboard")
    lines = [where(found), ""]
    lines += list(_verdict(found["cells"]))
    for table in dict.fromkeys(cell["table"] for cell in found["cells"]):
        for relation in ("replace-one", "zero-out"):
            own = [c for c in found["cells"] if c["table"] == table and c["relation"] == relation]
            if own:
                lines += ["", f"### {table}, {relation}", "", *_table(own), "", _drawn(own, table, relation)]
    replace(PAGES / "leaderboard.md", "leaderboard", lines)


def _table(cells: Sequence[Cell]) -> Iterator[str]:
    epsilons = sorted({cell["epsilon"] for cell in cells})
    yield "| log loss (accuracy) | " + " | ".join(f"{epsilon:g}" for epsilon in epsilons) + " |"
    yield "| --- |" + " --- |" * len(epsilons)
    for name in CONTENDERS:
        shown = [_shown(_cell(cells, name, epsilon)) for epsilon in epsilons]
        yield f"| {name} | " + " | ".join(shown) + " |"


def _cell(cells: Sequence[Cell], name: str, epsilon: float) -> Cell | None:
    return next((c for c in cells if c["contender"] == name and c["epsilon"] == epsilon), None)


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return MISSING
    return f"{np.mean(cell['loss']):.4f} ± {_error(cell):.4f} ({100 * np.mean(cell['accuracy']):.1f} %)"


def _error(cell: Cell) -> float:
    return float(np.std(cell["loss"], ddof=1)) / math.sqrt(len(cell["loss"]))


def _verdict(cells: Sequence[Cell]) -> Iterator[str]:
    """Where the default is ahead of or level with every rival, and each place where it is not."""
    behind, judged = [], 0
    for own in (each for each in cells if each["contender"] == OURS):
        rivals = [
            c
            for c in cells
            if all(c[key] == own[key] for key in ("table", "relation", "epsilon"))
            and not c["contender"].startswith("sottovoce")
        ]
        if not rivals:
            continue
        judged += 1
        best = min(rivals, key=lambda c: float(np.mean(c["loss"])))
        gap = float(np.mean(own["loss"]) - np.mean(best["loss"]))
        if gap > WORSE * math.hypot(_error(own), _error(best)):
            behind.append((own, best, gap))
    yield (
        f"Of {judged} cells the default is ahead of, or within two standard errors of, every rival in "
        f"{judged - len(behind)}."
    )
    if behind:
        yield from ("", "| behind | epsilon | by | of |", "| --- | --- | --- | --- |")
        for own, best, gap in behind:
            cell = f"{own['table']}, {own['relation']} | {own['epsilon']:g}"
            yield f"| {cell} | {gap:.4f} | {best['contender']} |"


def _drawn(cells: Sequence[Cell], table: str, relation: str) -> str:
    series = []
    for colour, name in enumerate(CONTENDERS):
        own = sorted((c for c in cells if c["contender"] == name), key=lambda c: float(c["epsilon"]))
        points = [(float(c["epsilon"]), float(np.mean(c["loss"]))) for c in own]
        said = [Point(x, y, f"{name}, epsilon {x:g}: {y:.4f}") for x, y in points]
        if said:
            series.append(Series(name=name, colour=colour, variant=0, points=said))
    epsilons = sorted({float(c["epsilon"]) for c in cells})
    heights = sorted(point.y for one in series for point in one.points)
    plot = Plot(
        x=axes.sideways(epsilons[0], epsilons[-1], logarithmic=True),
        y=axes.upward(heights[0], min(heights[-1], 0.8), logarithmic=False),
        marks=epsilons,
        below="epsilon",
        beside="log loss on held-out rows",
    )
    summary = f"Log loss against epsilon on {table} under {relation}."
    name = f"leaderboard-{table}-{relation}.svg"
    drawn = standalone(chart(series, plot, summary=summary, note="Means of five seeds."))
    (PAGES / "charts" / name).write_text(drawn, encoding="utf-8")
    return f"![{summary}](charts/{name})"
