"""The section on coefficients: each with its name and, where the run kept budget for it, its interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sottovoce.report import axes, charts, words
from sottovoce.report.markup import element, number, text

if TYPE_CHECKING:
    from sottovoce.report.card import Card
    from sottovoce.results.inference.summary import Coefficient, Summary
    from sottovoce.results.result import Result

SHOWN = 30
UNDETERMINED = "not determined"
FARTHEST_RATIO = 1000.0


def coefficients(result: Result, card: Card) -> str:
    """A table and a forest plot in the order of the schema where there are intervals, else the weights, the
    surest first; after thirty, folded."""
    if result.inference is None:
        return _weights(result, card)
    summary = card.summary or result.summary()
    rows = [(name, line) for name, line in summary.rows if line is None or not _is_intercept(line)]
    rows += [(line.term, line) for line in summary.lines if _is_intercept(line)]
    scale = _scale(summary)
    heads = [
        "term",
        summary.ratio if summary.exp else "estimate",
        f"{100.0 * summary.level:g}\u00a0% interval",
        "p",
        "privacy",
    ]
    body = [_line(name, line, scale, heads) for name, line in rows]
    if scale is not None:
        body.append(
            element("tr", element("td", "") * 5 + element("td", charts.forest_axis(scale), class_="plot"))
        )
    said = element("p", words.with_intervals(summary, drawn=scale is not None)) + _remarks(summary)
    told = element("h3", "For a methods section") + element(
        "blockquote", text(words.methods(result, summary))
    )
    references = "".join(element("li", text(line)) for line in words.references(result))
    return (
        said
        + _table(body, [*heads, ""])
        + _survival(card)
        + told
        + element("ul", references, class_="caption")
    )


def _survival(card: Card) -> str:
    """Chances to live past the ends of the declared intervals, for rows that the schema decides."""
    if not card.survival:
        return ""
    heads = ["", *(f"past {end:g}" for end in card.survival[0].ends)]
    rows = [
        _row([curve.name, *map(_chance, curve.chances)], "", heads, plotted=False) for curve in card.survival
    ]
    said = (
        "The chance to live past the end of each interval, with 95\u00a0% intervals: numbers at the middle "
        "of their declared range, categories at their references, and with one other category each."
    )
    return element("h3", "Survival") + element("p", said) + _table(rows, heads)


def _chance(found: tuple[float, float, float]) -> str:
    middle, low, high = found
    if math.isnan(middle):
        return UNDETERMINED
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def _is_intercept(line: Coefficient) -> bool:
    return line.term.endswith("intercept")


def _scale(summary: Summary) -> axes.Scale | None:
    """What holds all intervals but the intercept's and the place of no effect; None where there is none."""
    lines = [line for line in summary.lines if line.resolved and not _is_intercept(line)]
    if not lines:
        return None
    none = 1.0 if summary.exp else 0.0
    low, high = min([none, *(line.low for line in lines)]), max([none, *(line.high for line in lines)])
    if summary.exp:
        low, high = max(low, none / FARTHEST_RATIO), min(high, none * FARTHEST_RATIO)
    return axes.along(low, high, logarithmic=summary.exp)


def _weights(result: Result, card: Card) -> str:
    unit = 1.0 if card.unit is None else card.unit
    values = [unit * float(weight) for weight in result.weights]
    found = result.coefficient_noise
    noise = [None] * len(values) if found is None else [unit * float(sd) for sd in found]
    names = card.names(len(values))
    order = sorted(range(len(values)), key=lambda j: _doubt(values[j], noise[j]))
    reach = max([abs(value) for value in values] + [1e-300])
    rows = [
        _row(
            [names[j], number(values[j]), _noise(values[j], noise[j])],
            charts.span(values[j], reach),
            ["feature", "effect", "noise"],
        )
        for j in order
    ]
    said = _meaning(card, ordered=found is not None) + words.without_intervals()
    said += element("p", words.noise(result.noise.reason))
    return said + _folded(rows, ["feature", "effect", "noise", ""])


def _doubt(value: float, noise: float | None) -> float:
    """Noise per effect, by which rows are sorted, so that noise does not lead; 0 where none is known."""
    return 0.0 if noise is None else noise / max(abs(value), 1e-300)


def _noise(value: float, noise: float | None) -> str:
    """About the sd of the noise; marked where the effect is smaller."""
    if noise is None:
        return ""
    if abs(value) >= noise:
        return number(noise)
    return element("strong", f"{number(noise)} *", title="the effect is smaller than its noise")


def _line(name: str, line: Coefficient | None, scale: axes.Scale | None, heads: list[str]) -> str:
    if line is None:
        return _row([name, "reference", "", "", ""], "", heads)
    if not line.resolved:
        return _row([name, UNDETERMINED, "", "", ""], "", heads)
    ends = f"{_shown(line.low)} to {_shown(line.high)}"
    p_value = "&lt; 0.001" if line.p_value < 0.0005 else f"{line.p_value:.3f}"
    plot = ""
    if scale is not None and not _is_intercept(line):
        inner = math.sqrt(max(0.0, 1.0 - line.privacy))
        plot = charts.forest(line.estimate, line.low, line.high, scale, inner)
    share = f"{100.0 * line.privacy:.0f}\u00a0%"
    return _row([name, _shown(line.estimate), ends, p_value, share], plot, heads)


def _shown(value: float) -> str:
    """Three decimals where ratios and effects per unit mostly lie."""
    return f"{value:.3f}" if 0.02 <= abs(value) < 10.0 else number(value)


def _row(cells: list[str], plot: str, heads: list[str], *, plotted: bool = True) -> str:
    """A row of a table; where it is too narrow for columns each number carries its head."""
    head, *rest = cells
    found = element("th", text(head), scope="row")
    found += "".join(
        element("td", cell, class_="value", data_label=label) if cell else element("td", "")
        for cell, label in zip(rest, heads[1:], strict=True)
    )
    return element("tr", found + (element("td", plot, class_="plot") if plotted else ""))


def _remarks(summary: Summary) -> str:
    shown = [group.reference for group in summary.groups]
    said = [
        f"{column}: compared with {name}." for column, name in summary.references.items() if name not in shown
    ]
    said += [f"{remark[0].upper()}{remark[1:]}." for remark in summary.remarks]
    return "".join(element("p", text(sentence)) for sentence in said)


def _meaning(card: Card, *, ordered: bool) -> str:
    order = "farthest above their noise first" if ordered else "in the order declared"
    if card.unit is None:
        return element("p", f"The weights as released, {order}.")
    goal = f" for {text(card.target)}" if card.target else ""
    return element(
        "p",
        f"How far each feature moves the score{goal}: a number on its way from the middle of its declared "
        f"range to the upper end, a category by being present; {order}.",
    )


def _folded(rows: list[str], heads: list[str]) -> str:
    shown = _table(rows[:SHOWN], heads)
    if len(rows) <= SHOWN:
        return shown
    rest = element("summary", f"The other {len(rows) - SHOWN}") + _table(rows[SHOWN:], heads)
    return shown + element("details", rest)


def _table(rows: list[str], heads: list[str]) -> str:
    head = "".join(
        element("th", text(name), scope="col") if name else element("td", "", aria_hidden="true")
        for name in heads
    )
    table = element(
        "table",
        element("thead", element("tr", head)) + element("tbody", "".join(rows)),
        class_="coefficients",
    )
    return element("div", table, class_="scroll")
