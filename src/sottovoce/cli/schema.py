"""`sottovoce schema`: a template to declare columns in, from their names alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.options import OUTPUT, AsJson, Data, Delimiter


def schema(
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="TOML file to write.", rich_help_panel=OUTPUT)
    ],
    force: Annotated[
        bool, typer.Option(help="Replace the file if it exists.", rich_help_panel=OUTPUT)
    ] = False,
    delimiter: Delimiter = ",",
    as_json: AsJson = False,
) -> None:
    """Write a schema to fill in, from the column names only: no row is read.

    Types, bounds, categories and classes are yours to declare, from what is known without the data.
    """
    from sottovoce.cli import output as out
    from sottovoce.data.files import column_names
    from sottovoce.data.schema import Schema
    from sottovoce.errors import DataError
    from sottovoce.files import write

    if output.exists() and not force:
        raise DataError(f"{output} exists and may hold your declarations. Name another file, or add --force.")
    names = column_names(data, delimiter=delimiter)
    write(output, Schema.template(names))
    if as_json:
        out.say_json({"schema": str(output), "columns": list(names)})
    else:
        out.say({"Wrote": f"{output}, {len(names)} columns to declare. Replace every question mark in it."})
