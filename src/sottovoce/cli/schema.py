"""`sottovoce schema`: a template to declare columns in, from their names alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.groups import Reading, grouped
from sottovoce.cli.options import OUTPUT, AsJson, Data, Force, Quiet


@grouped
def schema(
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="TOML file to write.", rich_help_panel=OUTPUT)
    ],
    reading: Reading,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write a schema to fill in, from the column names only: no row is read.

    Types, bounds, categories and classes are yours to declare, from what is known without the data.
    """
    from sottovoce.cli import output as out
    from sottovoce.cli.outputs import place_for, require_free
    from sottovoce.data.schema import Schema
    from sottovoce.data.sources import column_names
    from sottovoce.files import write

    require_free((output,), inputs=tuple(data), force=force)
    names = column_names(reading.table(data), reading.how)
    trimmed = [name.strip() for name in names]
    template = Schema.template(trimmed if len(set(trimmed)) == len(names) else names)
    with place_for(output, force=force) as place:
        write(place, template)
    if as_json:
        out.say_json({"schema": str(place), "columns": list(names)})
    elif not quiet:
        out.say(
            {
                "Wrote": f"{place}, {len(names)} columns to declare. Replace every question mark in it.",
                "Check": "The names are the first line of the data. If that is a record, delete this file.",
            }
        )
