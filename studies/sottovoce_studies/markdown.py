"""The tables as Markdown: both calibrations side by side, the paper's figure in small print below ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sottovoce_studies import batches, tallies, words
from sottovoce_studies.charts import NAMES
from sottovoce_studies.grid import Grid
from sottovoce_studies.settings import ROWS, Table
from sottovoce_studies.store import Store
from sottovoce_studies.summary import Summary

_ALT = {
    "loss": "final loss against epsilon",
    "path": "gradient norm against passes",
    "time": "final loss against seconds",
}


def document(cells: Sequence[Summary], seeds: int, store: Store, drawn: Sequence[str]) -> str:
    """All tables on one page with their charts; `drawn` names the chart files that exist."""
    tables = list(dict.fromkeys(cell.cell.table for cell in cells))
    parts = [
        "# Tables of the reproduction",
        f"Written by `sottovoce reproduce`. {words.EXACT}",
        _how_to_read(),
        *made(store.sessions),
        *(paragraph for grid in grids(cells, seeds, store) for paragraph in grid.markdown()),
    ]
    for table in tables:
        of_table = [cell for cell in cells if cell.cell.table == table]
        parts += [f"## {table.title}", _table(of_table, seeds), *_charts(table, drawn)]
    return "\n\n".join(parts) + "\n"


def grids(cells: Sequence[Summary], seeds: int, store: Store) -> list[Grid]:
    """The tables that count over all others."""
    found = [tallies.solved(cells), tallies.claims(cells)]
    if any(trial.cell.method in batches.METHODS for trial in store.runs):
        found.append(batches.batches(store.runs))
    short = tallies.short(cells, seeds)
    return [*found, short] if short.rows else found


def made(sessions: Sequence[dict[str, Any]]) -> list[str]:
    """Machine, versions and dates of the sessions that made the runs."""
    if not sessions:
        return []
    last = sessions[-1]
    versions = ", ".join(
        f"{name} {last[key]}"
        for name, key in (
            ("Sottovoce", "version"),
            ("Python", "python"),
            ("NumPy", "numpy"),
            ("SciPy", "scipy"),
            ("numba", "numba"),
        )
        if last.get(key)
    )
    loads = [session["load"] for session in sessions if session.get("load") is not None]
    busy = f" Load at the start of a session: {min(loads):.1f} to {max(loads):.1f}." if loads else ""
    return [
        f"Made from {sessions[0]['started'][:16]} to {last['started'][:16]} UTC (starts of the first and the "
        f"last of {len(sessions)} sessions) on {last['processor']}, {last['cores']} cores, each run on one "
        f"thread; {versions}.{busy}"
    ]


def _how_to_read() -> str:
    return (
        "In a cell: final loss, mean ± standard deviation over the seeds; processor seconds, which other "
        "work on the machine hardly changes; passes over the data (a query about all records is one, one "
        "about a batch of m is m/n); Hessian evaluations; runs certified (both tolerances proven from noisy "
        "answers, 99 % confidence); runs inside both tolerances by exact values. As published, *stopped* "
        "counts runs that ended by the paper's own test on noisy answers. *Cut*: ended by this study after "
        f"the stated visits. In small print the paper, with its {words.CROSS} where one of five runs did "
        "not stop."
    )


def _table(cells: Sequence[Summary], seeds: int) -> str:
    columns = sorted(
        {(cell.cell.epsilon, cell.cell.calibration) for cell in cells if cell.runs},
        key=lambda c: (c[0], c[1]),
    )
    if not columns:
        return "Not run."
    found = {(cell.cell.method, cell.cell.epsilon, cell.cell.calibration): cell for cell in cells}
    methods = [method for method in ROWS if any(cell.cell.method == method for cell in cells)]
    heads = [f"epsilon {epsilon:g}, {words.CALIBRATIONS[kind]}" for epsilon, kind in columns]
    lines = [f"| method | {' | '.join(heads)} |", "| --- |" + " --- |" * len(heads)]
    for method in methods:
        row = [_cell(found.get((method, *column)), seeds) for column in columns]
        lines.append(f"| {method} | {' | '.join(row)} |")
    return "\n".join(lines)


def _cell(cell: Summary | None, seeds: int) -> str:
    if cell is None:
        return ""
    lines = words.ours(cell, seeds)
    if cell.runs:
        lines[0] = f"**{lines[0]}**"
    printed = words.theirs(cell.printed)
    return "<br>".join([*lines, f"<small>{printed}</small>"] if printed else lines)


def _charts(table: Table, drawn: Sequence[str]) -> list[str]:
    lines = []
    for calibration, said in words.CALIBRATIONS.items():
        files = [(kind, f"charts/{table.name}-{calibration}-{kind}.svg") for kind in NAMES]
        shown = [f"![{_ALT[kind]}, {said}]({name})" for kind, name in files if name in drawn]
        if shown:
            lines += [f"Charts, {said}:", " ".join(shown)]
    return lines
