"""The tables of docs/study.md and the charts beside it, made from the stored figures alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from benchmarks.contest import Cell, stored
from benchmarks.sections import PAGES, replace, where
from sottovoce.report import axes
from sottovoce.report.series import Plot, Point, Series, chart, standalone

COLOURS = {
    "adapt": 4,
    "majorize": 4,
    "cubic": 5,
    "2opt-ls": 2,
    "DP gradient descent": 0,
    "DP-SGD": 1,
    "diffprivlib": 3,
}
VARIANTS = {"majorize": 1}
SHORT = {"DP gradient descent": "DP-GD"}
LOSSES = {"logistic": 4, "Savage": 1, "sigmoid": 2}
SHOWN_EPSILON = 1.0
NONE = "at random"
MISSING = "not run"


def write() -> None:
    """Tables between their marks, charts as files."""
    study, noise = stored("study"), stored("label-noise")
    page = PAGES / "study.md"
    for figure, digits in (("excess", 5), ("loss", 4), ("accuracy", 4)):
        replace(page, figure, list(by_epsilon(study["cells"], figure, digits)))
    replace(page, "settings", list(best_settings(study["cells"])))
    replace(page, "label noise", list(by_rate(noise["cells"])))
    replace(page, "machine", [where(study)])
    (PAGES / "charts").mkdir(exist_ok=True)
    for name, drawn in charts(study["cells"], noise["cells"]).items():
        (PAGES / "charts" / f"study-{name}.svg").write_text(standalone(drawn), encoding="utf-8")


def by_epsilon(cells: Sequence[Cell], figure: str, digits: int) -> Iterable[str]:
    """A row a contender, a column an epsilon, means over the seeds; the least loss of a column in bold."""
    epsilons = sorted({cell["epsilon"] for cell in cells})
    means = {(cell["contender"], cell["epsilon"]): float(np.mean(cell[figure])) for cell in cells}
    yield f"| epsilon | {' | '.join(f'{epsilon:g}' for epsilon in epsilons)} |"
    yield "| --- |" + " ---: |" * len(epsilons)
    best = {
        e: math.nan if figure == "accuracy" else min(m for (_, at), m in means.items() if at == e)
        for e in epsilons
    }
    for name in COLOURS:
        row = [_shown(means.get((name, e)), best[e], digits) for e in epsilons]
        yield f"| {name} | {' | '.join(row)} |"


def best_settings(cells: Sequence[Cell]) -> Iterable[str]:
    yield "| method | epsilon 0.1 | 1 | 8 | passes | seconds |"
    yield "| --- | --- | --- | --- | ---: | ---: |"
    for name in COLOURS:
        own = {cell["epsilon"]: cell for cell in cells if cell["contender"] == name}
        if own:
            chosen = " | ".join(own[e]["setting"] if e in own else MISSING for e in (0.1, 1.0, 8.0))
            passes, seconds = (max(cell[key] for cell in own.values()) for key in ("passes", "seconds"))
            yield f"| {name} | {chosen} | at most {passes} | at most {seconds:.1f} |"


def by_rate(cells: Sequence[Cell]) -> Iterable[str]:
    """A row for each kind of flips and loss, a column for each rate, a cell for the epsilons."""
    rates, epsilons = (sorted({cell[key] for cell in cells}) for key in ("rate", "epsilon"))
    heads = [f"{epsilon:g}: {100 * rate:.0f} %" for epsilon in epsilons for rate in rates]
    yield f"| flips | loss | {' | '.join(heads)} |"
    yield "| --- | --- |" + " ---: |" * len(heads)
    for kind in dict.fromkeys(cell["flips"] for cell in cells):
        for loss in LOSSES:
            found = [_accuracy(cells, kind, rate, loss, e) for e in epsilons for rate in rates]
            shown = [MISSING if value is None else f"{100 * value:.2f}" for value in found]
            yield f"| {kind} | {loss} | {' | '.join(shown)} |"


def charts(study: Sequence[Cell], noise: Sequence[Cell]) -> dict[str, str]:
    drawn = {
        "excess": _against_epsilon(study, "excess", "excess training loss"),
        "accuracy": _against_epsilon(study, "accuracy", "accuracy on held-out rows"),
    }
    for kind in dict.fromkeys(cell["flips"] for cell in noise):
        drawn[f"flips-{kind.replace(' ', '-')}"] = _against_rate(noise, kind)
    return drawn


def _against_epsilon(cells: Sequence[Cell], figure: str, beside: str) -> str:
    series = []
    for name, colour in COLOURS.items():
        own = sorted((c for c in cells if c["contender"] == name), key=lambda c: float(c["epsilon"]))
        points = [(c["epsilon"], float(np.mean(c[figure]))) for c in own]
        said = [Point(x, y, f"{name}, epsilon {x:g}: {y:.4g}") for x, y in points]
        variant = VARIANTS.get(name, 0)
        series.append(Series(name=SHORT.get(name, name), colour=colour, variant=variant, points=said))
    epsilons = sorted({float(c["epsilon"]) for c in cells})
    x = axes.sideways(epsilons[0], epsilons[-1], logarithmic=True)
    return _plotted(series, x, epsilons, "epsilon", beside, logarithmic=figure == "excess")


def _against_rate(cells: Sequence[Cell], kind: str) -> str:
    rates = sorted({float(cell["rate"]) for cell in cells})
    series = []
    for loss, colour in LOSSES.items():
        found = [(r, _accuracy(cells, kind, r, loss, SHOWN_EPSILON)) for r in rates]
        points = [(100 * r, 100 * value) for r, value in found if value is not None]
        said = [Point(x, y, f"{loss}, {x:.0f} % flipped: {y:.2f} %") for x, y in points]
        series.append(Series(name=loss, colour=colour, variant=0, points=said))
    x = axes.sideways(0.0, 100 * rates[-1], logarithmic=False)
    below = f"labels flipped, {kind}, %"
    return _plotted(series, x, [100 * r for r in rates], below, "clean accuracy, %", logarithmic=False)


def _plotted(
    series: Sequence[Series],
    x: axes.Scale,
    marks: Sequence[float],
    below: str,
    beside: str,
    *,
    logarithmic: bool,
) -> str:
    heights = [point.y for one in series for point in one.points]
    y = axes.upward(min(heights), max(heights), logarithmic=logarithmic)
    plot = Plot(x=x, y=y, marks=marks, below=below, beside=beside)
    summary = f"{beside} against {below} for {', '.join(one.name for one in series)}."
    return chart(series, plot, summary=summary, note="Means over three seeds. Covertype, replaced records.")


def _accuracy(cells: Sequence[Cell], kind: str, rate: float, loss: str, epsilon: float) -> float | None:
    asked = {"flips": kind if rate else NONE, "rate": rate, "loss": loss, "epsilon": epsilon}
    own = (cell for cell in cells if all(cell[key] == value for key, value in asked.items()))
    return next((float(np.mean(cell["accuracy"])) for cell in own), None)


def _shown(value: float | None, best: float, digits: int) -> str:
    if value is None:
        return MISSING
    return f"**{value:.{digits}f}**" if value == best else f"{value:.{digits}f}"
