"""A summary as text for a terminal, as HTML, LaTeX and CSV, with the rows that others are compared with."""

from __future__ import annotations

import csv
import html
import io
from typing import TYPE_CHECKING

from sottovoce.results.inference.listing import MARK
from sottovoce.results.inference.summary import COLUMNS, UNDETERMINED

if TYPE_CHECKING:
    from sottovoce.results.inference.summary import Coefficient, Summary

REFERENCE = "reference"
_ROBUST = (
    "Standard errors are robust: they do not take the model to be right; but where the noise blurs how "
    "scores vary, they take one dispersion for all."
)
_ROBUST_COUNTS = (
    "Standard errors are robust: the variance of a count need not be its mean, as with quasi-Poisson and "
    "negative binomial errors; where the noise blurs how it varies, they take one dispersion for all."
)
_SPECIAL = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


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


def _shown(summary: Summary) -> list[list[str]]:
    return [[name, REFERENCE, *[""] * 6] if line is None else cells(line) for name, line in summary.rows]


def notes(summary: Summary) -> list[str]:
    """What is to be known about the table, a sentence a line."""
    width = "all intervals at once" if summary.simultaneous else "each interval"
    if not any(line.resolved for line in summary.lines):
        return _sentences(summary)
    said = [
        f"{100.0 * summary.level:g} % confidence for {width}, of the sample and of the noise for privacy. "
        "Estimates are without the penalty. The column privacy is the part of the variance due to the noise.",
        _ROBUST_COUNTS
        if summary.robust and summary.ratio == "rate ratio"
        else _ROBUST
        if summary.robust
        else "Standard errors take the model to be right; robust=True does without.",
    ]
    if summary.exp:
        said.append(f"Errors and z are those of the logarithm of the {summary.ratio}.")
    if any(line.below_noise for line in summary.lines):
        said.append(f"{MARK} The estimate is smaller than the sd of the noise for privacy in it.")
    return said + _sentences(summary)


def _sentences(summary: Summary) -> list[str]:
    said = [
        f"{column}: compared with {name}."
        for column, name in summary.references.items()
        if not any(group.reference == name for group in summary.groups)
    ]
    return said + [f"{remark[0].upper()}{remark[1:]}." for remark in summary.remarks]


def text_table(summary: Summary) -> str:
    shown = [heads(summary), *_shown(summary)]
    widths = [max(len(row[place]) for row in shown) for place in range(len(shown[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in shown
    ]
    rule = "-" * max(map(len, lines))
    return "\n".join([lines[0], rule, *lines[1:], rule, *notes(summary)])


def html_table(summary: Summary) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads(summary))
    body = "".join(
        "<tr>"
        + "".join(
            f"<td>{html.escape(cell)}</td>" if place else f"<th>{html.escape(cell)}</th>"
            for place, cell in enumerate(row)
        )
        + "</tr>"
        for row in _shown(summary)
    )
    said = "".join(f"<p>{html.escape(note)}</p>" for note in notes(summary))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{said}"


def latex_table(summary: Summary) -> str:
    """A tabular with rules of the package booktabs, and the notes below it."""
    lines = [" & ".join(map(_escaped, row)) + r" \\" for row in (heads(summary), *_shown(summary))]
    said = "\n\n".join(map(_escaped, notes(summary)))
    return (
        "\\begin{tabular}{lrrrrrrr}\n\\toprule\n"
        + f"{lines[0]}\n\\midrule\n"
        + "\n".join(lines[1:])
        + f"\n\\bottomrule\n\\end{{tabular}}\n\n{said}\n"
    )


def csv_table(summary: Summary) -> str:
    """As `frame(references=True)`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, "reference_row"])
    for values, (_, line) in zip(summary.values(references=True), summary.rows, strict=True):
        writer.writerow(map(_plain, (*values, line is None)))
    return out.getvalue()


def _plain(value: str | float | None) -> str:
    """Ten digits: those that differ by how a sum was rounded are left out."""
    if value is None or isinstance(value, str):
        return value or ""
    return str(value).lower() if isinstance(value, bool) else f"{value:.10g}"


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def _number(value: float) -> str:
    if value and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.3e}"
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.1f}"
