"""`sottovoce export`: a model for another tool, which then needs no Sottovoce."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.options import OUTPUT, AsJson, Force, Quiet

if TYPE_CHECKING:
    from sottovoce.model import Model


class Format(StrEnum):
    """What a model can become."""

    SQL = "sql"
    ONNX = "onnx"
    SKLEARN = "sklearn"
    SKOPS = "skops"
    JSON = "json"
    R = "r"


def export(
    model: Annotated[Path, typer.Argument(help="A model file from `sottovoce fit`.", show_default=False)],
    kind: Annotated[
        Format,
        typer.Option(
            "--format",
            help="sql: one SELECT for DuckDB and PostgreSQL; onnx; sklearn: a pickled Pipeline; skops: the "
            "same without code; json: coefficients; r: a script with coefficients and predict().",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.", rich_help_panel=OUTPUT)],
    table: Annotated[str | None, typer.Option(help="sql: the table to score.", show_default=False)] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write a model for another tool. The guarantee travels with it where the format has room.

    Example: sottovoce export model.json --format sql --table claims -o score.sql
    """
    from sottovoce.cli import output as out
    from sottovoce.cli.outputs import place_for, require_free
    from sottovoce.errors import ParameterError
    from sottovoce.files import write

    if kind is Format.SQL and table is None:
        raise ParameterError("name the table that the SQL is to score: --table NAME.")
    if kind is not Format.SQL and table is not None:
        raise ParameterError("--table goes with --format sql alone: leave it out.")
    require_free((output,), inputs=(model,), force=force)
    content = _content(out.load_model(model), kind, table or "")
    with place_for(output, force=force) as place:
        write(place, content)
    if as_json:
        out.say_json({"export": str(place), "format": kind.value})
    elif not quiet:
        out.say({"Wrote": place})


def _content(model: Model, kind: Format, table: str) -> str | bytes:
    match kind:
        case Format.SQL:
            return model.to_sql(table) + ";\n"
        case Format.ONNX:
            return bytes(model.to_onnx().SerializeToString())
        case Format.SKLEARN:
            import pickle

            return pickle.dumps(model.to_sklearn())
        case Format.SKOPS:
            return _skops(model)
        case Format.JSON:
            return model.to_json()
        case _:
            return model.to_r()


def _skops(model: Model) -> bytes:
    from sottovoce.errors import ParameterError

    try:
        import skops.io
    except ImportError:
        raise ParameterError("--format skops needs skops. Install it: pip install skops.") from None
    return bytes(skops.io.dumps(model.to_sklearn()))
