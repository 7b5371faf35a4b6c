"""A plan as a page: what was asked for, what privacy may cost in accuracy over epsilon, and all in full."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from sottovoce.report import axes
from sottovoce.report.markup import element, number, text
from sottovoce.report.page import document, figure

if TYPE_CHECKING:
    from sottovoce.planning.accuracy import AccuracyForecast, AccuracyLost
    from sottovoce.planning.planner import Plan
    from sottovoce.planning.wishes import Wish
    from sottovoce.results.inference.forecast import CoefficientForecast

CAPTION = "Points of accuracy lost, both scales logarithmic; less than 0.01 is drawn as 0.01."
_LEAST = 0.01


def render_plan(plan: Plan) -> str:
    """One self-contained page, from public numbers alone."""
    facts = (
        ("\u03b5", number(plan.epsilon)),
        ("\u03b4", number(plan.delta)),
        ("records", f"{plan.n:,}"),
        ("weights", f"{plan.weights:,}"),
    )
    tiles = "".join(element("div", element("dt", text(k)) + element("dd", text(v))) for k, v in facts)
    header = element(
        "header",
        element("p", "Sottovoce plan", class_="brand")
        + element("h1", "What this budget can buy")
        + _lead(plan)
        + element("dl", tiles, class_="tiles"),
    )
    parts = [
        "" if not plan.wishes else wanted(plan.wishes),
        "" if plan.coefficients is None else errors(plan.coefficients, plan.unit),
        "" if plan.accuracy is None else expected(plan.accuracy, plan.epsilon),
        element("h2", "In full") + element("pre", text(plan), class_="plain"),
    ]
    sections = "".join(element("section", part) for part in parts if part)
    return document("Sottovoce plan", header + sections)


def _lead(plan: Plan) -> str:
    """What was asked for first: a wish, standard errors, accuracy, or else the gradient."""
    if plan.wishes:
        first = plan.wishes[0]
        missed = first.epsilon is None
        said = (
            str(first) if missed else f"{first.wanted} is expected at \u03b5\u00a0=\u00a0{first.epsilon:.2g}"
        )
        return element("p", text(_capital(said)), class_="lead warning" if missed else "lead neutral")
    if plan.coefficients is not None:
        lines = plan.coefficients.lines
        sure = sum(math.isfinite(line.error) for line in lines)
        said = f"{sure} of {len(lines)} coefficients are expected to be determined"
        return element("p", said, class_="lead neutral" if sure else "lead warning")
    if plan.accuracy is not None:
        lost = points(plan.accuracy.here.typical)
        return element("p", f"Privacy is expected to cost {lost} points of accuracy", class_="lead")
    return element("p", f"A gradient norm of {number(plan.gradient)} can be certified", class_="lead")


def wanted(wishes: tuple[Wish, ...]) -> str:
    """The epsilon that each wish asks for, with its range."""
    return element("h2", "What is wanted") + "".join(
        element("p", text(_sentence(str(one)))) for one in wishes
    )


def errors(forecast: CoefficientForecast, unit: str) -> str:
    """The standard error to expect of every coefficient."""
    heads = element("tr", element("th", "term") + element("th", "standard error"))
    rows = (element("tr", element("td", text(one.term)) + element("td", text(one))) for one in forecast.lines)
    return (
        element("h2", "Standard errors to expect")
        + element("p", f"For {unit}s as declared, in the units of the schema.")
        + element("table", element("thead", heads) + element("tbody", "".join(rows)), class_="grid-of-words")
    )


def expected(forecast: AccuracyForecast, epsilon: float) -> str:
    """The chart over epsilon with its legend, and the prior it rests on."""
    keys = [
        ("stroke", "typical"),
        ("noise", "range"),
        ("dash", "the epsilon below"),
    ]
    return (
        element("h2", "Accuracy lost to privacy")
        + "".join(element("p", _options(text(_sentence(line)))) for line in str(forecast).splitlines())
        + figure(chart(forecast, epsilon), keys, CAPTION)
        + slider(forecast, epsilon)
    )


def slider(forecast: AccuracyForecast, epsilon: float) -> str:
    """An epsilon to move: the line of the chart goes with it, and a sentence says what it costs.

    Without the script the sentence of this budget stands there."""
    x = _across(forecast)
    steps = [(x.place(one.epsilon), f"\u03b5 = {one.epsilon:.2g}: {one}") for one in forecast.fine]
    if not steps:
        return ""
    nearest = min(range(len(steps)), key=lambda place: abs(math.log(forecast.fine[place].epsilon / epsilon)))
    moved = element(
        "input",
        id="epsilon",
        type="range",
        min=0,
        max=len(steps) - 1,
        value=nearest,
        aria_label="epsilon",
        data_places=" ".join(f"{place:.1f}" for place, _ in steps),
        data_sentences="|".join(sentence for _, sentence in steps),
    )
    said = element("output", text(f"\u03b5 = {epsilon:.2g}: {forecast.here}"), id="cost", for_="epsilon")
    label = element("label", "Move epsilon " + moved.removesuffix("</input>"))
    return element("p", label, class_="slider") + element("p", said)


def chart(forecast: AccuracyForecast, epsilon: float) -> str:
    """The range as a band and the typical loss as a line, over epsilon; a dashed line at this budget's."""
    found = sorted(
        {one.epsilon: one for one in (*forecast.over_epsilon, forecast.here)}.values(), key=_epsilon
    )
    x = _across(forecast)
    y = axes.upward(_LEAST, max(100 * one.high for one in found), logarithmic=True)

    def line(values: list[float]) -> list[str]:
        pairs = zip(found, values, strict=True)
        return [f"{x.place(one.epsilon):.1f},{y.place(max(_LEAST, 100 * value)):.1f}" for one, value in pairs]

    band = line([one.high for one in found]) + line([one.low for one in found])[::-1]
    at = x.place(epsilon)
    marks = (
        element("g", element("polygon", points=" ".join(band)), class_="band")
        + element("polyline", class_="line", points=" ".join(line([one.typical for one in found])))
        + element("line", class_="bound", id="here", x1=at, x2=at, y1=axes.TOP, y2=axes.HEIGHT - axes.BOTTOM)
    )
    drawn = axes.frame(
        x,
        y,
        below="epsilon",
        beside="points of accuracy lost",
        marks=[one.epsilon for one in forecast.over_epsilon],
    )
    return element(
        "svg",
        drawn + marks,
        class_="chart",
        viewBox=f"0 0 {axes.WIDTH:g} {axes.HEIGHT:g}",
        role="img",
        aria_label=f"Accuracy lost over epsilon: {points(forecast.here.typical)} points at {number(epsilon)}",
    )


def _across(forecast: AccuracyForecast) -> axes.Scale:
    found = [one.epsilon for one in (*forecast.over_epsilon, forecast.here)]
    return axes.sideways(min(found), max(found), logarithmic=True)


def points(share: float) -> str:
    """A share of rows in percentage points, two digits."""
    return number(100.0 * share, 2) if math.isfinite(share) else ""


def _sentence(line: str) -> str:
    return f"{_capital(line.strip())}."


def _options(line: str) -> str:
    """Options as code, in which no line ends."""
    return re.sub(r"--\w+ [\d.]+\d", lambda found: element("code", found[0], class_="option"), line)


def _capital(line: str) -> str:
    return line[0].upper() + line[1:]


def _epsilon(found: AccuracyLost) -> float:
    return found.epsilon
