"""docs/leaderboard.md and its charts, from the stored cells alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.contest import Cell, stored
from benchmarks.leaderboard import regression
from benchmarks.leaderboard.contenders import CLASSIFIERS, REGRESSORS, RELATIONS
from benchmarks.sections import PAGES, replace, where
from sottovoce.report import axes
from sottovoce.report.series import Plot, Point, Series, chart, standalone

OURS = "sottovoce (default)"
MISSING = "not run"
WORSE = 2.0
"""Standard errors of a difference up to which two figures are level."""
TALLEST = 2.0
"""Of the least loss at the smallest epsilon: what is above is left off the chart."""


def write() -> None:
    found = stored("leaderboard")
    for own, name, summary in _parts(found["cells"]):
        (PAGES / "charts" / name).write_text(_drawn(own, summary), encoding="utf-8")
    replace(PAGES / "leaderboard.md", "leaderboard", [where(found), "", *section(found["cells"])])


def section(cells: Sequence[Cell]) -> Iterator[str]:
    """The verdict, then a table and a chart for each table and relation."""
    yield from _verdict(cells)
    for own, name, summary in _parts(cells):
        heading = f"### {own[0]['table']}, {own[0]['relation']}"
        yield from ("", heading, "", *_table(own), "", f"![{summary}](charts/{name})")


def _parts(cells: Sequence[Cell]) -> Iterator[tuple[list[Cell], str, str]]:
    """The cells of each table and relation, the name of their chart and what it shows."""
    for table in dict.fromkeys(cell["table"] for cell in cells):
        for relation in RELATIONS:
            own = [c for c in cells if c["table"] == table and c["relation"] == relation]
            if own:
                summary = f"{_figure(own)[0].capitalize()} against epsilon on {table} under {relation}."
                yield own, f"leaderboard-{table}-{relation}.svg", summary


def _names(cells: Sequence[Cell]) -> list[str]:
    return list(REGRESSORS if cells[0]["table"] in regression.NAMES else CLASSIFIERS)


def _figure(cells: Sequence[Cell]) -> tuple[str, str]:
    if cells[0]["table"] in regression.NAMES:
        return "mean squared error", "variance explained"
    return "log loss", "accuracy"


def _table(cells: Sequence[Cell]) -> Iterator[str]:
    epsilons = sorted({cell["epsilon"] for cell in cells})
    loss, share = _figure(cells)
    yield f"| {loss} ({share}) | " + " | ".join(f"{epsilon:g}" for epsilon in epsilons) + " |"
    yield "| --- |" + " --- |" * len(epsilons)
    for name in _names(cells):
        shown = [_shown(_cell(cells, name, epsilon)) for epsilon in epsilons]
        yield f"| {name} | " + " | ".join(shown) + " |"


def _cell(cells: Sequence[Cell], name: str, epsilon: float) -> Cell | None:
    return next((c for c in cells if c["contender"] == name and c["epsilon"] == epsilon), None)


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return MISSING
    digits = 5 if cell["table"] in regression.NAMES else 4
    figure = f"{np.mean(cell['loss']):.{digits}f} ± {_error(cell):.{digits}f}"
    return f"{figure} ({100 * np.mean(cell['accuracy']):.1f} %)"


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
        judged += bool(rivals)
        ahead = [(float(np.mean(own["loss"]) - np.mean(c["loss"])), c) for c in rivals]
        worse = [(gap, c) for gap, c in ahead if gap > WORSE * math.hypot(_error(own), _error(c))]
        if worse:
            behind.append((own, *max(worse, key=lambda pair: pair[0])))
    yield (
        f"Of {judged} cells the default is ahead of, or within two standard errors of, every rival in "
        f"{judged - len(behind)}."
    )
    if behind:
        yield from ("", "| behind | epsilon | by | of |", "| --- | --- | --- | --- |")
        for own, gap, best in behind:
            digits = 5 if own["table"] in regression.NAMES else 4
            cell = f"{own['table']}, {own['relation']} | {own['epsilon']:g}"
            yield f"| {cell} | {gap:.{digits}f} | {best['contender']} |"


def _drawn(cells: Sequence[Cell], summary: str) -> str:
    epsilons = sorted({float(c["epsilon"]) for c in cells})
    first = [float(np.mean(c["loss"])) for c in cells if c["epsilon"] == epsilons[0]]
    tallest = TALLEST * min(first)
    series = []
    for place, name in enumerate(_names(cells)):
        own = sorted((c for c in cells if c["contender"] == name), key=lambda c: float(c["epsilon"]))
        points = [(float(c["epsilon"]), float(np.mean(c["loss"]))) for c in own]
        said = [Point(x, y, f"{name}, epsilon {x:g}: {y:.4f}") for x, y in points if y <= tallest]
        if said:
            variant, colour = divmod(place, 6)
            series.append(Series(name=name, colour=colour, variant=variant, points=said))
    heights = sorted(point.y for one in series for point in one.points)
    loss, _ = _figure(cells)
    plot = Plot(
        x=axes.sideways(epsilons[0], epsilons[-1], logarithmic=True),
        y=axes.upward(heights[0], heights[-1], logarithmic=False),
        marks=epsilons,
        below="epsilon",
        beside=f"{loss} on held-out rows",
    )
    note = "Means over seeds; far larger losses are left out."
    return standalone(chart(series, plot, summary=summary, note=note))
