"""The section on coefficients: every weight with its name and, where one holds, its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.report import charts, words
from sottovoce.report.markup import element, number, text

if TYPE_CHECKING:
    from sottovoce.report.card import Card
    from sottovoce.result import Result

SHOWN = 30


def coefficients(result: Result, card: Card) -> str:
    """Largest first; past the first thirty they fold away."""
    unit = 1.0 if card.unit is None else card.unit
    values = [unit * float(weight) for weight in result.weights]
    bounds = [(unit * low, unit * high) for low, high in _bounds(result)]
    names = card.names(len(values))
    order = sorted(range(len(values)), key=lambda j: (-abs(values[j]), j))
    reach = max(
        [abs(bound) for pair in bounds for bound in pair] + [abs(value) for value in values] + [1e-300]
    )
    rows = [_row(names[j], values[j], bounds[j], reach, bool(result.intervals)) for j in order]
    parts = [_meaning(card)]
    if result.intervals:
        parts.append(element("p", words.with_intervals(result.intervals.confidence)))
    else:
        parts.append(words.without_intervals(result.intervals.reason))
    parts.append(_table(rows[:SHOWN], bool(result.intervals)))
    if len(rows) > SHOWN:
        rest = _table(rows[SHOWN:], bool(result.intervals))
        parts.append(element("details", element("summary", f"The other {len(rows) - SHOWN}") + rest))
    return "".join(parts)


def _bounds(result: Result) -> list[tuple[float, float]]:
    if result.intervals:
        return list(zip(result.intervals.low, result.intervals.high, strict=True))
    return [(float(weight), float(weight)) for weight in result.weights]


def _meaning(card: Card) -> str:
    if card.unit is None:
        return element("p", "The weights as released, largest first.")
    goal = f" for {text(card.target)}" if card.target else ""
    return element(
        "p",
        f"How far each feature moves the score{goal}: a number on its way from the middle of its declared "
        "range to the upper end, a category by being present. Largest first.",
    )


def _row(name: str, value: float, bounds: tuple[float, float], reach: float, bounded: bool) -> str:
    low, high = bounds
    shown = number(value)
    if bounded:
        shown += element("small", f"{number(low)} to {number(high)}")
    cells = [element("th", text(name), scope="row"), element("td", shown, class_="value")]
    cells.append(element("td", charts.span(value, low, high, reach), class_="plot"))
    return element("tr", "".join(cells))


def _table(rows: list[str], bounded: bool) -> str:
    heads = ["feature", "effect and interval" if bounded else "effect", ""]
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
