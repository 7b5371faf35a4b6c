"""The study as one HTML page with its charts inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from sottovoce.report.markup import element, text
from sottovoce.report.page import document
from sottovoce_studies import markdown, words
from sottovoce_studies.settings import Table
from sottovoce_studies.store import Store
from sottovoce_studies.summary import Summary

_CAPTIONS = {
    "loss": "Final loss against epsilon.",
    "path": "True gradient norm along the run, computed outside of it.",
    "time": "What a loss took in seconds.",
}

Drawn = Mapping[tuple[Table, str, str], str]


def render(cells: Sequence[Summary], seeds: int, store: Store, drawn: Drawn) -> str:
    """A section for each table: both calibrations, rows methods, columns epsilons, then the charts."""
    tables = list(dict.fromkeys(cell.cell.table for cell in cells))
    links = "".join(f'<a href="#{table.name}">{text(table.title)}</a>' for table in tables)
    header = element(
        "header",
        element("p", "Sottovoce reproduces a paper", class_="brand")
        + element("h1", text("Gao & Wright, run again"))
        + element("p", text(words.EXACT), class_="callout")
        + "".join(element("p", text(line)) for line in markdown.made(store.sessions))
        + element("nav", links, aria_label="Tables"),
    )
    sections = "\n".join(
        _section(table, [c for c in cells if c.cell.table == table], seeds, drawn) for table in tables
    )
    counted = markdown.grids(cells, seeds, store)
    tallies = "\n".join(grid.html(f"kernel-{place}") for place, grid in enumerate(counted))
    return document("Gao & Wright, run again", header + tallies + sections)


def _section(table: Table, cells: list[Summary], seeds: int, drawn: Drawn) -> str:
    parts = [element("h2", text(table.title))]
    for calibration, group in groupby(
        sorted(cells, key=lambda cell: cell.cell.calibration), lambda cell: cell.cell.calibration
    ):
        members = list(group)
        if not any(cell.runs for cell in members):
            continue
        figures = "".join(
            element("figure", drawn[key] + element("figcaption", _CAPTIONS[name]))
            for name in _CAPTIONS
            if (key := (table, calibration, name)) in drawn
        )
        parts += [
            element("h3", text(words.CALIBRATIONS[calibration].capitalize())),
            element("div", _table(members, seeds), class_="scroll"),
            element("div", figures, class_="figures"),
        ]
    return element("section", "".join(parts), id=table.name)


def _table(cells: list[Summary], seeds: int) -> str:
    epsilons = sorted({cell.cell.epsilon for cell in cells})
    heads = "".join(
        element("th", text(name), scope="col") for name in ("method", *(f"ε {e:g}" for e in epsilons))
    )
    rows = []
    for method, group in groupby(cells, lambda cell: cell.cell.method):
        by_epsilon = {cell.cell.epsilon: cell for cell in group}
        filled = "".join(_cell(by_epsilon[epsilon], seeds) for epsilon in epsilons)
        rows.append(element("tr", element("th", text(method), scope="row") + filled))
    body = element("tbody", "".join(rows))
    return element("table", element("thead", element("tr", heads)) + body, class_="cells")


def _cell(cell: Summary, seeds: int) -> str:
    first, *rest = words.ours(cell, seeds)
    lines = [element("strong", text(first), class_="solved" if cell.solved else None)]
    lines += [text(line) for line in rest]
    printed = words.theirs(cell.printed)
    if printed:
        lines.append(element("small", text(printed)))
    return element("td", "<br>".join(lines))
