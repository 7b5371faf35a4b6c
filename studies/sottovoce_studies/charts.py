"""The study's charts: loss against epsilon, gradient norm against passes, seconds against loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sottovoce.report import axes
from sottovoce.report.series import Plot, Point, Series, chart
from sottovoce_studies.paper import Spread
from sottovoce_studies.settings import ROWS, Table, Trial
from sottovoce_studies.summary import Summary
from sottovoce_studies.trial import Run
from sottovoce_studies.words import CALIBRATIONS, figure

_FAMILIES = ("tr", "opt", "2opt", "dp-gd", "majorize", "cubic")
_PRINTED = "hollow: the paper; crosses: the paper, where a run did not stop"
NAMES = ("loss", "path", "time")


def charts(cells: Sequence[Summary], runs: Mapping[Trial, Run]) -> dict[str, str]:
    """The charts of one table under one calibration, by name; those without a point are left out."""
    table, calibration = cells[0].cell.table, cells[0].cell.calibration
    title = f"{table.title}, {CALIBRATIONS[calibration]}"
    found = {"loss": loss(cells, title), "path": path(cells, runs, title), "time": time(cells, title)}
    return {name: drawn for name, drawn in found.items() if drawn}


def loss(cells: Sequence[Summary], title: str) -> str:
    """Mean final loss against epsilon, a line a method, with the paper's points set apart sideways."""
    epsilons = sorted({c.cell.epsilon for c in cells})
    reach = max(epsilons) - min(epsilons)
    series = [
        _series(
            method,
            [
                Point(c.cell.epsilon, mean.mean, f"{method}, epsilon {c.cell.epsilon:g}: {_told(mean)}")
                for c in group
                if (mean := c.final_loss) is not None
            ],
            [
                Point(
                    c.cell.epsilon + _aside(method) * reach,
                    printed.loss.mean,
                    f"paper, {method}, epsilon {c.cell.epsilon:g}: {_told(printed.loss)}",
                    crossed=not printed.terminated,
                )
                for c in group
                if (printed := c.printed) is not None and printed.loss is not None
            ],
        )
        for method, group in _by_method(cells)
    ]
    x = axes.sideways(min(epsilons), max(epsilons), logarithmic=False)
    return _chart(series, x, epsilons, "epsilon", "final loss", title, _PRINTED)


def path(cells: Sequence[Summary], runs: Mapping[Trial, Run], title: str) -> str:
    """True gradient norm against passes over the data, at the smallest epsilon, of the first seed."""
    epsilon = min(c.cell.epsilon for c in cells)
    series = []
    for method, group in _by_method(c for c in cells if c.cell.epsilon == epsilon):
        run = runs.get(Trial(group[0].cell, 0))
        if run is None or not run.path:
            continue
        points = [
            Point(at, norm, f"{method}: {figure(norm)} after {figure(at)} passes") for at, norm in run.path
        ]
        series.append(_series(method, points, []))
    places = [p.x for one in series for p in one.points]
    if not places:
        return ""
    x = axes.sideways(min(places), max(places), logarithmic=True)
    said = f"{title}, epsilon {epsilon:g}"
    note = f"epsilon {epsilon:g}, first seed; dashed green: the tolerance"
    return _chart(
        series,
        x,
        x.ticks(),
        "passes over the data",
        "true gradient norm",
        said,
        note,
        level=cells[0].cell.table.tolerance.gradient,
    )


def time(cells: Sequence[Summary], title: str) -> str:
    """Mean final loss against mean seconds, a mark an epsilon, with the paper's clock on eight cores."""
    series = [
        _series(
            method,
            [
                Point(
                    max(c.seconds.mean, 1e-3),
                    c.final_loss.mean,
                    f"{method}, epsilon {c.cell.epsilon:g}: {figure(c.seconds.mean)} s, "
                    f"{_told(c.final_loss)}",
                )
                for c in group
                if c.seconds is not None and c.final_loss is not None
            ],
            [
                Point(
                    max(printed.seconds.mean, 0.05),
                    printed.loss.mean,
                    f"paper, {method}, epsilon {c.cell.epsilon:g}: {printed.seconds.mean:g} s, "
                    f"{_told(printed.loss)}",
                )
                for c in group
                if (printed := c.printed) is not None and printed.seconds and printed.loss
            ],
            joined=False,
        )
        for method, group in _by_method(cells)
    ]
    seconds = [p.x for one in series for p in (*one.points, *one.references)]
    if not seconds:
        return ""
    x = axes.sideways(min(seconds), max(seconds), logarithmic=True)
    note = "hollow: the paper, clock seconds on eight cores"
    return _chart(series, x, x.ticks(), "processor seconds", "final loss", title, note)


def _chart(
    series: Sequence[Series],
    x: axes.Scale,
    marks: Sequence[float],
    below: str,
    beside: str,
    title: str,
    note: str,
    level: float | None = None,
) -> str:
    shown = [one for one in series if one.points or one.references]
    if not any(one.points for one in shown):
        return ""
    values = [p.y for one in shown for p in (*one.points, *one.references)]
    if level is not None:
        values.append(level)
    y = axes.upward(min(values), max(values), logarithmic=level is not None)
    plot = Plot(x=x, y=y, marks=marks, below=below, beside=beside, level=level)
    names = ", ".join(one.name for one in shown)
    return chart(shown, plot, summary=f"{title}: {beside} against {below} for {names}.", note=note)


def _series(method: str, points: list[Point], references: list[Point], *, joined: bool = True) -> Series:
    family = next(name for name in _FAMILIES if method.removesuffix("-b").removesuffix("-ls") == name)
    variant = 1 if method.endswith("-b") else 2 if method.endswith("-ls") else 0
    return Series(
        name=method,
        colour=_FAMILIES.index(family),
        variant=variant,
        points=points,
        references=references,
        joined=joined,
    )


def _by_method(cells: Iterable[Summary]) -> list[tuple[str, list[Summary]]]:
    given = list(cells)
    groups = ((method, [c for c in given if c.cell.method == method]) for method in ROWS)
    return [(method, group) for method, group in groups if group]


def _aside(method: str) -> float:
    """A small shift, so that equal figures of the paper do not hide each other."""
    return 0.009 * (ROWS.index(method) - 3.5)


def _told(of: Spread) -> str:
    return f"loss {of.mean:.3f} ± {of.sd:.3f}"


def pages(cells: Sequence[Summary]) -> list[tuple[Table, str, list[Summary]]]:
    """Cells grouped as charts are: by table and calibration, those without a single run left out."""
    groups: dict[tuple[Table, str], list[Summary]] = {}
    for cell in cells:
        groups.setdefault((cell.cell.table, cell.cell.calibration), []).append(cell)
    return [(*key, group) for key, group in groups.items() if any(cell.runs for cell in group)]
