"""The tables on a terminal: rows are methods, columns epsilons, the paper's figure muted below ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from sottovoce_studies import words
from sottovoce_studies.settings import Table
from sottovoce_studies.summary import Summary

if TYPE_CHECKING:
    from rich.table import Table as RichTable
    from rich.text import Text


def tables(cells: Sequence[Summary], seeds: int) -> Iterator[RichTable]:
    """One table for each data set, loss, setting and calibration, in the order of the cells."""
    for (table, calibration), group in groupby(cells, lambda cell: (cell.cell.table, cell.cell.calibration)):
        yield _table(table, calibration, list(group), seeds)


def _table(table: Table, calibration: str, cells: list[Summary], seeds: int) -> RichTable:
    from rich.table import Table as RichTable

    epsilons = sorted({cell.cell.epsilon for cell in cells})
    shown = RichTable(
        title=f"{table.title}: {words.CALIBRATIONS[calibration]}", title_justify="left", show_lines=True
    )
    shown.add_column("method", style="bold", no_wrap=True)
    for epsilon in epsilons:
        shown.add_column(f"epsilon {epsilon:g}")
    for method, row in groupby(cells, lambda cell: cell.cell.method):
        by_epsilon = {cell.cell.epsilon: cell for cell in row}
        shown.add_row(method, *(_cell(by_epsilon[epsilon], seeds) for epsilon in epsilons))
    return shown


def _cell(cell: Summary, seeds: int) -> Text:
    from rich.text import Text

    lines = words.ours(cell, seeds)
    text = Text(lines[0], style="green" if cell.solved else "")
    for line in lines[1:]:
        text.append(f"\n{line}", style="not bold default")
    printed = words.theirs(cell.printed)
    if printed:
        text.append(f"\n{printed}", style="dim not green")
    return text
