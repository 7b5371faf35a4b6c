"""A summary as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from sottovoce.inference.listing import MARK
from sottovoce.inference.summary import UNDETERMINED

if TYPE_CHECKING:
    from sottovoce.inference.summary import Coefficient, Summary


def heads(summary: Summary) -> list[str]:
    error = 100.0 * (1.0 - summary.level) / 2.0
    low, high = f"[{error / 100:.3g}", f"{1.0 - error / 100:.3g}]"
    return ["", summary.ratio if summary.exp else "coef", "std err", "z", "P>|z|", low, high, "privacy"]


def cells(line: Coefficient) -> list[str]:
    if not line.resolved:
        return [line.term, UNDETERMINED, *[""] * 6]
    mark = f" {MARK}" if line.below_noise else ""
    privacy = f"{100.0 * line.privacy:.0f} %{mark}"
    return [
        line.term,
        _number(line.estimate),
        _number(line.error),
        f"{line.statistic:.2f}",
        "<0.001" if line.p_value < 0.0005 else f"{line.p_value:.3f}",
        _number(line.low),
        _number(line.high),
        privacy,
    ]


def notes(summary: Summary) -> list[str]:
    """What is to be known about the table, a sentence a line."""
    width = "all intervals at once" if summary.simultaneous else "each interval"
    if not any(line.resolved for line in summary.lines):
        return _sentences(summary)
    said = [
        f"{100.0 * summary.level:g} % confidence for {width}, of the sample and of the noise for privacy. "
        "Estimates are without the penalty; `privacy` is the part of the variance due to the noise.",
        "Standard errors hold whether or not the model does."
        if summary.robust
        else "Standard errors take the model to be right; robust=True does without.",
    ]
    if any(line.below_noise for line in summary.lines):
        said.append(f"{MARK} The estimate is smaller than the sd of the noise for privacy in it.")
    return said + _sentences(summary)


def _sentences(summary: Summary) -> list[str]:
    said = [f"{column}: compared with {name}." for column, name in summary.references.items()]
    return said + [f"{remark[0].upper()}{remark[1:]}." for remark in summary.remarks]


def text_table(summary: Summary) -> str:
    rows = [heads(summary), *map(cells, summary.lines)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    rule = "-" * max(map(len, lines))
    return "\n".join([lines[0], rule, *lines[1:], rule, *notes(summary)])


def html_table(summary: Summary) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads(summary))
    body = "".join(
        "<tr>"
        + "".join(
            f"<td>{html.escape(cell)}</td>" if place else f"<th>{html.escape(cell)}</th>"
            for place, cell in enumerate(cells(line))
        )
        + "</tr>"
        for line in summary.lines
    )
    said = "".join(f"<p>{html.escape(note)}</p>" for note in notes(summary))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{said}"


def _number(value: float) -> str:
    if value and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.3e}"
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.1f}"
