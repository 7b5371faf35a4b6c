"""The section on coefficients: each with its name and, where the run kept budget for it, its interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sottovoce.report import charts, words
from sottovoce.report.markup import element, number, text

if TYPE_CHECKING:
    from sottovoce.inference.summary import Coefficient, Summary
    from sottovoce.report.card import Card
    from sottovoce.result import Result

SHOWN = 30
UNDETERMINED = "not determined"


def coefficients(result: Result, card: Card) -> str:
    """A forest plot where there are intervals, else the weights, the surest first; after thirty, folded."""
    if result.inference is None:
        return _weights(result, card)
    summary = card.summary or result.summary()
    ends = [bound for line in summary.lines for bound in (line.low, line.high, line.estimate)]
    reach = max([abs(bound) for bound in ends if math.isfinite(bound)] + [1e-300])
    rows = [_line(line, reach) for line in summary.lines]
    said = element("p", words.with_intervals(summary.level)) + _remarks(summary)
    return said + _folded(rows, ["term", "estimate and interval", "p", ""])


def _weights(result: Result, card: Card) -> str:
    unit = 1.0 if card.unit is None else card.unit
    values = [unit * float(weight) for weight in result.weights]
    found = result.coefficient_noise
    noise = [None] * len(values) if found is None else [unit * float(sd) for sd in found]
    names = card.names(len(values))
    order = sorted(range(len(values)), key=lambda j: _doubt(values[j], noise[j]))
    reach = max([abs(value) for value in values] + [1e-300])
    rows = [
        _row([names[j], number(values[j]), _noise(values[j], noise[j])], charts.span(values[j], reach))
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


def _line(line: Coefficient, reach: float) -> str:
    if not line.resolved:
        return _row([line.term, UNDETERMINED, ""], "")
    ends = element("small", f"{_end(line.low)} to {_end(line.high)}")
    inner = math.sqrt(max(0.0, 1.0 - line.privacy))
    plot = charts.forest(line.estimate, line.low, line.high, reach, inner)
    p_value = "&lt; 0.001" if line.p_value < 0.0005 else f"{line.p_value:.3f}"
    return _row([line.term, number(line.estimate) + ends, p_value], plot)


def _row(cells: list[str], plot: str) -> str:
    head, *rest = cells
    found = element("th", text(head), scope="row")
    found += "".join(element("td", cell, class_="value") for cell in rest)
    return element("tr", found + element("td", plot, class_="plot"))


def _end(bound: float) -> str:
    return number(bound) if math.isfinite(bound) else ("-" if bound < 0 else "") + "&infin;"


def _remarks(summary: Summary) -> str:
    said = [f"{column}: compared with {name}." for column, name in summary.references.items()]
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
