"""`sottovoce check`: what the schema finds in the data, for its owner alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.exits import ExitCode
from sottovoce.cli.groups import Reading, grouped
from sottovoce.cli.options import AsJson, Data

WARNING = (
    "For the owner of the data only: these counts are exact and no privacy protects them. "
    "Do not publish them, and do not choose bounds or categories by them."
)


@grouped
def check(
    data: Data,
    schema: Annotated[
        Path, typer.Option(help="Declared columns, see `sottovoce schema`.", show_default=False)
    ],
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Count what the schema finds: missing, undeclared, clipped, untrimmed cells, columns that say nothing.

    Spends no budget and is not private: for the eyes of whoever may see the data itself. Ends with status 4
    where no cell of a column is what the schema declares, such as categories in another case.
    """
    from sottovoce.cli import output as out
    from sottovoce.data.filesets import called
    from sottovoce.data.inspection import inspect
    from sottovoce.data.schema import Schema
    from sottovoce.report.progress import waiting

    declared = Schema.load(schema)
    with waiting(out.is_watched(), f"reading {called(data)}"):
        found = inspect(reading.table(data), declared, reading.how)
    useless = [part for part in found if part.useless]
    if as_json:
        out.say_json({"warning": WARNING, "columns": [part.to_dict() for part in found]})
        raise typer.Exit(ExitCode.USELESS if useless else 0)
    from rich.table import Table

    shown = Table(title=f"{found[0].rows:,} rows", title_justify="left")
    for heading in ("column", "missing", "undeclared", "clipped", "untrimmed", ""):
        shown.add_column(heading, justify="left" if heading in ("column", "") else "right")
    for part in found:
        counts = (part.missing, part.undeclared, part.clipped, part.untrimmed)
        remark = "encoded alike in every row" if part.constant else ""
        remark = part.useless or (remark if part.persons is None else f"{part.persons:,} persons")
        shown.add_row(out.shown_safely(part.column), *(f"{count:,}" for count in counts), remark)
    out.console().print(shown)
    out.remark(WARNING)
    for part in useless:
        out.aside(
            f"{part.column}: {part.useless}. A fit would spend its budget on a column that says nothing."
        )
    raise typer.Exit(ExitCode.USELESS if useless else 0)
