"""The output folder: tables as Markdown and CSV, cells as JSON, charts as SVG, and one page of all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sottovoce.files import write
from sottovoce.report.series import standalone
from sottovoce_studies import exports, markdown, page
from sottovoce_studies.charts import charts, pages
from sottovoce_studies.store import Store
from sottovoce_studies.study import RUNS, Study

if TYPE_CHECKING:
    from sottovoce_studies.summary import Summary

CHARTS = "charts"


def write_all(study: Study, cells: Sequence[Summary]) -> list[Path]:
    """Write every rendering of the cells beside their runs; each file is replaced in one step."""
    store, seeds = Store(study.folder / RUNS), study.selection.seeds
    (study.folder / CHARTS).mkdir(parents=True, exist_ok=True)
    drawn = {
        (table, calibration, name): svg
        for table, calibration, group in pages(cells)
        for name, svg in charts(group, store.runs).items()
    }
    files = {
        f"{CHARTS}/{table.name}-{calibration}-{name}.svg": standalone(svg)
        for (table, calibration, name), svg in drawn.items()
    }
    contents = {
        "tables.md": markdown.document(cells, seeds, store, list(files)),
        "cells.csv": exports.csv_text(cells),
        "cells.json": exports.json_text(cells, store.sessions),
        "page.html": page.render(cells, seeds, store, drawn),
    }
    for name, content in {**files, **contents}.items():
        write(study.folder / name, content)
    return [study.folder / name for name in contents]
