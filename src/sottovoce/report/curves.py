"""Curves to look at: each column's effect over its range, with the noise in it and the records below."""

from __future__ import annotations

import base64
import math
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.report import axes
from sottovoce.report.markup import element, number, text
from sottovoce.report.series import standalone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sottovoce.report.card import Card, DrawnEffect

SHOWN = 12
_FOOT = 30.0
"""Height of the histogram below a curve."""

_ROW, _NAMES, _WIDEST, _LONGEST = 19.0, 132.0, 40.0, 18
"""Of levels: the height of a row, the width of names and of the largest share, and a name's most letters."""


_ASIDE, _PICTURE = "margin: .5em 1em .5em 0; width: 26em; max-width: 100%", "width: 100%"


def curves(card: Card) -> str:
    """A figure a column, the most important first; after twelve, folded."""
    goal = text(card.target) if card.target else "the target"
    inferred = any(effect.interval for effect in card.effects)
    said = element(
        "p",
        f"What each column adds to the score for {goal}, the columns that move it most first. "
        f"{_BAND[inferred]} Grey bars show the released marginal: how the data spread over the column.",
    )
    figures = [_figure(effect) for effect in card.effects]
    shown = element("div", "".join(figures[:SHOWN]), class_="figures")
    if len(figures) > SHOWN:
        rest = element("summary", f"The other {len(figures) - SHOWN} columns")
        shown += element("details", rest + element("div", "".join(figures[SHOWN:]), class_="figures"))
    return said + shown + _together(card) + _numbers(card.effects)


def _together(card: Card) -> str:
    """Pairs of columns that act together: how far they move the score beyond what is drawn."""
    if not card.pairs:
        return ""
    said = element(
        "p",
        "Columns that act together: each is drawn on average over the other's records. Beyond that the pair "
        "moves the score by what is said here (sd over records, the two columns taken for independent).",
    )
    cells = ((text(name), number(spread)) for name, spread in card.pairs)
    rows = "".join(element("tr", "".join(element("td", cell) for cell in row)) for row in cells)
    head = "".join(element("th", name, scope="col") for name in ("pair", "moves the score by"))
    table = element("table", element("thead", element("tr", head)) + element("tbody", rows))
    return said + element("div", table, class_="scroll")


_BAND = (
    "The band is about two standard deviations of the noise for privacy; sampling error comes on top.",
    "The band is the 95 % interval at each place, with the noise for privacy and the sampling error. It is "
    "about the estimate that the coefficients are of, so that the line, by which the model predicts, may "
    "leave it. There is no band where noise hides the effect.",
)
"""What a band is, without inference and with it."""


def pictures(effects: Sequence[DrawnEffect]) -> str:
    """The figures as pictures that bring their own colours, for a place without the page's style."""
    found = []
    for effect in effects:
        drawn = base64.b64encode(standalone(_chart(effect)).encode()).decode()
        shown = element("img", src=f"data:image/svg+xml;base64,{drawn}", alt=effect.name, style=_PICTURE)
        found.append(element("figure", shown + element("figcaption", _spread(effect)), style=_ASIDE))
    return element("div", "".join(found), style="display: flex; flex-wrap: wrap")


def _figure(effect: DrawnEffect) -> str:
    return element("figure", _chart(effect) + element("figcaption", _spread(effect)))


def _spread(effect: DrawnEffect) -> str:
    return f"{text(effect.name)}: moves the score by {number(effect.importance)} (sd over the records)"


def _chart(effect: DrawnEffect) -> str:
    return _curve(effect) if effect.places else _levels(effect)


def _ends(effect: DrawnEffect) -> tuple[float, float]:
    """Of all values with their bands, and 0."""
    ends = [end for pair in effect.band for end in pair if math.isfinite(end)]
    return min([0.0, *effect.values, *ends]), max([0.0, *effect.values, *ends])


def _upright(effect: DrawnEffect) -> axes.Scale:
    scale = axes.upward(*_ends(effect), logarithmic=False)
    return axes.Scale(scale.low, scale.high, scale.start - _FOOT, scale.end)


def _curve(effect: DrawnEffect) -> str:
    x = axes.Scale(effect.places[0], effect.places[-1], axes.LEFT, axes.WIDTH - axes.RIGHT)
    y = _upright(effect)
    points = list(zip(effect.places, effect.values, strict=True))
    marks = [_bars(effect, x), _zero(y)]
    for known, part in groupby(
        zip(effect.places, effect.band, strict=False), lambda at: math.isfinite(at[1][0])
    ):
        if known:
            held = list(part)
            above, below = [(at, high) for at, (_, high) in held], [(at, low) for at, (low, _) in held]
            outline = _places([*above, *reversed(below)], x, y)
            marks.append(element("g", element("polygon", points=outline), class_="band"))
    marks.append(element("polyline", class_="line", points=_places(points, x, y)))
    frame = axes.frame(x, y, below=effect.name, beside="effect on the score", marks=x.ticks())
    label = f"Effect of {effect.name}, from {number(effect.values[0])} to {number(effect.values[-1])}."
    return _svg(frame + "".join(marks), label)


def _levels(effect: DrawnEffect) -> str:
    """A row a level, so that its name can be read."""
    x = _sideways(effect)
    floor = axes.TOP + _ROW * len(effect.values)
    marks = [element("line", class_="zero", x1=x.place(0.0), x2=x.place(0.0), y1=axes.TOP, y2=floor)]
    for value in x.ticks():
        at = x.place(value)
        marks.append(element("line", class_="grid", x1=at, x2=at, y1=axes.TOP, y2=floor))
        marks.append(axes.tick_below(x, value, floor))
    most = max([*effect.shares, 1e-9])
    for step, (name, value) in enumerate(zip(effect.levels, effect.values, strict=True)):
        at, share = axes.TOP + _ROW * (step + 0.5), max(effect.shares[step], 0.0) / most
        called = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
        marks.append(element("text", text(called), class_="tick end", x=_NAMES - 8.0, y=at + 4.0))
        long = _WIDEST * share
        marks.append(element("rect", class_="share", x=_NAMES, y=at - 5.0, width=long, height=10.0))
        if effect.band and math.isfinite(effect.band[step][0]):
            ends = [x.place(end) for end in effect.band[step]]
            marks.append(element("line", class_="whisker", x1=ends[0], x2=ends[1], y1=at, y2=at))
        said = f"{name}: {number(value)}"
        dot = element("circle", class_="dot", cx=x.place(value), cy=at, r=3.4)
        marks.append(element("g", element("title", text(said)) + dot, class_="mark", data_tip=said))
    below = "effect on the score"
    marks.append(
        element("text", below, class_="label middle", x=(_NAMES + x.end) / 2.0, y=floor + axes.BOTTOM - 6.0)
    )
    names = ", ".join(effect.levels[:6])
    return _svg("".join(marks), f"Effect of {effect.name} at {names}.", floor + axes.BOTTOM)


def _sideways(effect: DrawnEffect) -> axes.Scale:
    low, high = _ends(effect)
    scale = axes.sideways(low, high, logarithmic=False)
    return axes.Scale(scale.low, scale.high, _NAMES + _WIDEST + 6.0, scale.end)


def _zero(y: axes.Scale) -> str:
    at = y.place(0.0)
    return element("line", class_="zero", x1=axes.LEFT, x2=axes.WIDTH - axes.RIGHT, y1=at, y2=at)


def _bars(effect: DrawnEffect, x: axes.Scale) -> str:
    most, floor = max([*effect.shares, 1e-9]), axes.HEIGHT - axes.BOTTOM
    found = []
    for low, high, share in zip(effect.edges[:-1], effect.edges[1:], effect.shares, strict=True):
        top = _FOOT * max(share, 0.0) / most
        wide = max(0.5, x.place(high) - x.place(low))
        found.append(element("rect", class_="share", x=x.place(low), y=floor - top, width=wide, height=top))
    return "".join(found)


def _places(points: Sequence[tuple[float, float]], x: axes.Scale, y: axes.Scale) -> str:
    return " ".join(f"{x.place(at):.1f},{y.place(value):.1f}" for at, value in points)


def _svg(content: str, label: str, height: float = axes.HEIGHT) -> str:
    view = f"0 0 {axes.WIDTH:g} {height:g}"
    return element("svg", content, class_="chart", viewBox=view, role="img", aria_label=label)


def _numbers(effects: Sequence[DrawnEffect]) -> str:
    """The same as a table: nine places of a curve, every level of a category."""
    rows, inferred = [], any(effect.interval for effect in effects)
    for effect in effects:
        chosen = np.unique(np.linspace(0, len(effect.values) - 1, 9).astype(int)) if effect.places else None
        for step in range(len(effect.values)) if chosen is None else chosen.tolist():
            at = number(effect.places[step]) if effect.places else text(effect.levels[step])
            noise = number(effect.noise[step]) if effect.noise else ""
            cells = [text(effect.name), at, number(effect.values[step]), noise]
            if inferred:
                ends = effect.interval[step] if effect.interval else (math.nan, math.nan)
                cells += [number(end) if math.isfinite(end) else "not determined" for end in ends]
            rows.append(element("tr", "".join(element("td", cell) for cell in cells)))
    names = ["column", "at", "effect", "noise (sd)", *(("95 % from", "to") if inferred else ())]
    head = "".join(element("th", name, scope="col") for name in names)
    table = element("table", element("thead", element("tr", head)) + element("tbody", "".join(rows)))
    summary = element("summary", "The curves as numbers")
    return element("details", summary + element("div", table, class_="scroll"))
