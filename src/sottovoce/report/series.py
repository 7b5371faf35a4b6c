"""A chart of several named series: lines with marks, references as hollow marks, and a legend of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import final

from sottovoce.report import axes
from sottovoce.report.markup import element, text

_ROW, _COLUMNS = 17.0, 4
_LETTER = 6.0
"""About the width of one letter of the legend."""


@final
@dataclass(frozen=True)
class Point:
    """A place and what its tip says; `crossed` marks a reference that failed."""

    x: float
    y: float
    label: str
    crossed: bool = False


@final
@dataclass(frozen=True, kw_only=True)
class Series:
    """One name: its colour (0 to 5), its variant (mark and dash, 0 to 2), its points and references."""

    name: str
    colour: int
    variant: int
    points: Sequence[Point] = ()
    references: Sequence[Point] = field(default=())
    joined: bool = True


@final
@dataclass(frozen=True, kw_only=True)
class Plot:
    """Scales and labels of a chart; `level` is a line across it, such as a tolerance."""

    x: axes.Scale
    y: axes.Scale
    marks: Sequence[float]
    below: str
    beside: str
    level: float | None = None


def chart(series: Sequence[Series], plot: Plot, *, summary: str, note: str) -> str:
    """An inline SVG; `note` stands below the legend and says what hollow marks are."""
    columns = _columns(series)
    rows = -(-len(series) // columns)
    height = axes.HEIGHT + _ROW * (rows + 1) + 6.0
    level = plot.y.place(plot.level) if plot.level is not None else None
    content = [
        axes.frame(plot.x, plot.y, below=plot.below, beside=plot.beside, marks=plot.marks),
        ""
        if level is None
        else element("line", class_="bound", x1=axes.LEFT, x2=axes.WIDTH - axes.RIGHT, y1=level, y2=level),
        *(_drawn(one, plot) for one in series),
        *(_entry(one, *divmod(place, columns), axes.WIDTH / columns) for place, one in enumerate(series)),
        element("text", text(note), class_="tick", x=8.0, y=height - 6.0),
    ]
    return element(
        "svg",
        "".join(content),
        class_="chart series",
        viewBox=f"0 0 {axes.WIDTH:g} {height:g}",
        role="img",
        aria_label=summary,
    )


def standalone(svg: str) -> str:
    """The chart as a file of its own, with its style, for light and dark readers."""
    style = "".join(
        files("sottovoce.report").joinpath(name).read_text("utf-8") for name in ("colours.css", "chart.css")
    )
    own = "svg { background: var(--sheet); font-family: system-ui, sans-serif; }"
    opened, rest = svg.split(">", 1)
    size = f'width="{axes.WIDTH:g}" xmlns="http://www.w3.org/2000/svg"'
    return f"{opened} {size}><style>{style}{own}</style>{rest}\n"


def _drawn(one: Series, plot: Plot) -> str:
    places = [(plot.x.place(p.x), plot.y.place(p.y)) for p in one.points]
    parts = []
    if one.joined and len(places) > 1:
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(element("polyline", class_="line", points=joined))
    for point in one.references:
        at = (plot.x.place(point.x), plot.y.place(point.y))
        mark = _cross(*at) if point.crossed else _shape(one.variant, *at, "hollow")
        parts.append(_tipped(mark, point, at))
    for point, at in zip(one.points, places, strict=True):
        parts.append(_tipped(_shape(one.variant, *at, "shape"), point, at))
    return element("g", "".join(parts), class_=f"m{one.colour} v{one.variant}")


def _columns(series: Sequence[Series]) -> int:
    """How many entries of the legend stand side by side: as many as the longest name leaves room for."""
    longest = 40.0 + _LETTER * max(len(one.name) for one in series)
    return max(1, min(_COLUMNS, int(axes.WIDTH / longest)))


def _entry(one: Series, row: int, column: int, width: float) -> str:
    """A sample of the line with its mark, and the name."""
    x, y = 8.0 + column * width, axes.HEIGHT + 10.0 + row * _ROW
    line = element("line", class_="line", x1=x, x2=x + 24.0, y1=y, y2=y) if one.joined else ""
    mark = _shape(one.variant, x + 12.0, y, "shape")
    name = element("text", text(one.name), class_="tick", x=x + 30.0, y=y + 4.0)
    return element("g", line + mark + name, class_=f"m{one.colour} v{one.variant}")


def _tipped(mark: str, point: Point, at: tuple[float, float]) -> str:
    title = element("title", text(point.label))
    hit = element("circle", class_="hit", cx=at[0], cy=at[1], r=8)
    return element("g", title + hit + mark, class_="mark", data_tip=point.label)


def _shape(variant: int, x: float, y: float, kind: str) -> str:
    if variant == 1:
        return element("rect", class_=kind, x=x - 3.4, y=y - 3.4, width=6.8, height=6.8)
    if variant == 2:
        corners = f"{x:.1f},{y - 4.6:.1f} {x + 4.2:.1f},{y + 3.2:.1f} {x - 4.2:.1f},{y + 3.2:.1f}"
        return element("polygon", class_=kind, points=corners)
    return element("circle", class_=kind, cx=x, cy=y, r=3.7)


def _cross(x: float, y: float) -> str:
    strokes = f"M{x - 3.6:.1f} {y - 3.6:.1f}l7.2 7.2m0 -7.2l-7.2 7.2"
    return element("path", class_="hollow", d=strokes)
