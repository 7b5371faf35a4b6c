"""Inline SVG charts of what was released. Every mark says its value on hover; a table says it to everyone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sottovoce.report import axes
from sottovoce.report.markup import element, number, percent, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sottovoce.results.result import Result, TraceRow

_MOST_DOTS = 120


def gradient(result: Result) -> str | None:
    """Noisy gradient norm by step above the length of noise alone, on a logarithmic scale."""
    rows = [(step, row) for step, row in enumerate(result.trace) if row.gradient_norm]
    if not rows:
        return None
    norms = [row.gradient_norm or 0.0 for _, row in rows]
    noises = [row.gradient_noise for _, row in rows if row.gradient_noise]
    bound = result.certificate.gradient_norm_at_most
    certified = [bound] if math.isfinite(bound) else []
    x = axes.across(len(result.trace))
    y = axes.upward(min(norms + noises + certified), max(norms + noises + certified), logarithmic=True)
    marks = [
        _band(rows, x, y),
        _certified(bound, y),
        _line([(step, norm) for (step, _), norm in zip(rows, norms, strict=True)], x, y),
        *(_dot(step, row, x, y) for step, row in rows[:: -(-len(rows) // _MOST_DOTS)]),
    ]
    summary = (
        f"Noisy gradient norm over {len(rows)} steps, from {number(norms[0])} to {number(norms[-1])}; "
        f"certified bound {number(bound)}."
    )
    return _svg(axes.frame(x, y, below="step", beside="noisy gradient norm") + "".join(marks), summary)


def curvature(result: Result) -> str | None:
    """Noisy smallest eigenvalue by step, each with a whisker down to what is certain."""
    rows = [(step, row) for step, row in enumerate(result.trace) if row.curvature is not None]
    if not rows:
        return None
    values = [row.curvature or 0.0 for _, row in rows]
    lows = [value - (row.curvature_margin or 0.0) for value, (_, row) in zip(values, rows, strict=True)]
    bound = result.certificate.curvature_at_least
    x = axes.across(len(result.trace))
    certified = [bound] if math.isfinite(bound) else []
    y = axes.upward(min([0.0, *certified, *lows]), max([0.0, *certified, *values]), logarithmic=False)
    marks = [_certified(bound, y)]
    for (step, row), value, low in zip(rows, values, lows, strict=True):
        at = x.place(step)
        label = f"step {step}: noisy {number(value)}"
        if row.curvature_margin is not None:
            label += f", truly at least {number(low)}"
        whisker = element("line", class_="whisker", x1=at, x2=at, y1=y.place(value), y2=y.place(low))
        marks.append(whisker + _circle(at, y.place(value), label))
    summary = f"Noisy smallest eigenvalue at {len(rows)} steps, last {number(values[-1])}."
    return _svg(axes.frame(x, y, below="step", beside="smallest eigenvalue") + "".join(marks), summary)


def spending(shares: Sequence[tuple[str, float]]) -> str:
    """One bar of the whole budget, a part for each kind of query; what is unspent is left empty."""
    parts, at = [], 0.0
    for place, (name, share) in enumerate(shares):
        label = f"{name}: {percent(share)} of the budget"
        part = element(
            "rect", _title(label), class_=f"part c{place % 6}", x=at, y=0, width=440 * share, height=26
        )
        parts.append(element("g", part, class_="mark", data_tip=label))
        at += 440.0 * share
    whole = element("rect", class_="whole", x=0, y=0, width=440, height=26)
    listed = ", ".join(f"{name} {percent(share)}" for name, share in shares)
    return element(
        "svg",
        whole + "".join(parts),
        class_="bar",
        viewBox="0 0 440 26",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"Budget spent by kind of query: {listed}.",
    )


def span(value: float, reach: float) -> str:
    """A dot between -reach and reach on a stem from zero."""
    x = axes.Scale(-reach, reach, 6.0, 314.0)
    marks = element("line", class_="zero", x1=x.place(0.0), x2=x.place(0.0), y1=0, y2=20)
    marks += element("line", class_="stem", x1=x.place(0.0), x2=x.place(value), y1=10, y2=10)
    return _plot(marks + _circle(x.place(value), 10.0, number(value)))


def forest(value: float, low: float, high: float, x: axes.Scale, inner: float) -> str:
    """A dot with its interval, and darker the part, `inner` times as wide, that the sample alone has."""
    none = x.place(1.0 if x.logarithmic else 0.0)
    marks = element("line", class_="zero", x1=none, x2=none, y1=0, y2=20)
    marks += element("line", class_="interval", x1=x.place(low), x2=x.place(high), y1=10, y2=10)
    middle, ends = x.place(value), (x.place(low), x.place(high))
    near = middle - inner * (middle - ends[0]), middle + inner * (ends[1] - middle)
    marks += element("line", class_="sampling", x1=near[0], x2=near[1], y1=10, y2=10)
    return _plot(marks + _circle(middle, 10.0, number(value)))


def forest_axis(x: axes.Scale) -> str:
    """Ticks below a forest plot."""
    marks = element("line", class_="grid", x1=x.start, x2=x.end, y1=1, y2=1)
    for value in x.ticks():
        at = x.place(value)
        marks += element("line", class_="grid", x1=at, x2=at, y1=1, y2=5)
        marks += element("text", number(value), class_="tick middle", x=at, y=17)
    return _plot(marks)


def _plot(marks: str) -> str:
    return element("svg", marks, class_="span", viewBox="0 0 320 20", aria_hidden="true")


def _svg(content: str, summary: str) -> str:
    return element(
        "svg",
        content,
        class_="chart",
        viewBox=f"0 0 {axes.WIDTH:g} {axes.HEIGHT:g}",
        role="img",
        aria_label=summary,
    )


def _band(rows: list[tuple[int, TraceRow]], x: axes.Scale, y: axes.Scale) -> str:
    known = [(step, row.gradient_noise) for step, row in rows if row.gradient_noise]
    if not known:
        return ""
    points = [(x.place(step), y.place(noise)) for step, noise in known]
    edge = [(points[0][0] - 6.0, points[0][1]), *points, (points[-1][0] + 6.0, points[-1][1])]
    floor = y.start
    outline = [(edge[0][0], floor), *edge, (edge[-1][0], floor)]
    last = number(known[-1][1])
    return element(
        "g",
        element("polygon", _title("the length noise alone would have"), points=_points(outline)),
        class_="band mark",
        data_tip=f"the length noise alone would have, {last} at the last step",
    )


def _certified(bound: float, y: axes.Scale) -> str:
    """A dashed line at the bound; none where nothing is certified."""
    if not math.isfinite(bound):
        return ""
    at = y.place(bound)
    return element("line", class_="bound", x1=axes.LEFT, x2=axes.WIDTH - axes.RIGHT, y1=at, y2=at)


def _line(values: list[tuple[int, float]], x: axes.Scale, y: axes.Scale) -> str:
    return element(
        "polyline", class_="line", points=_points([(x.place(step), y.place(value)) for step, value in values])
    )


def _dot(step: int, row: TraceRow, x: axes.Scale, y: axes.Scale) -> str:
    norm = row.gradient_norm or 0.0
    label = f"step {step}, {row.kind}: {number(norm)}"
    if row.gradient_noise:
        label += f", noise alone {number(row.gradient_noise)}"
    return _circle(x.place(step), y.place(norm), label)


def _circle(x: float, y: float, label: str) -> str:
    """A dot inside a larger invisible one, so that a finger finds it."""
    dot = element("circle", class_="dot", cx=x, cy=y, r=3.4)
    return element(
        "g",
        _title(label) + element("circle", class_="hit", cx=x, cy=y, r=10) + dot,
        class_="mark",
        data_tip=label,
    )


def _title(label: str) -> str:
    return element("title", text(label))


def _points(places: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
