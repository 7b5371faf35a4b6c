"""`sottovoce summary`: print a model's coefficients again, otherwise; nothing is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.options import OUTPUT, AsJson, Force


def summary(
    model: Annotated[Path, typer.Argument(help="A model file, fitted with --inference.", show_default=False)],
    exp: Annotated[bool, typer.Option("--exp", help="Odds ratios, or rate ratios of counts.")] = False,
    against: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=CATEGORY", help="Another category to compare with; may be repeated."),
    ] = None,
    per: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=UNITS", help="A number per so many units; may be repeated."),
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    simultaneous: Annotated[bool, typer.Option("--simultaneous", help="All intervals hold at once.")] = False,
    within: Annotated[
        float | None,
        typer.Option(
            metavar="BOUND", help="What is assumed of effects that noise hides.", show_default=False
        ),
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Also test whether all levels of this column are alike."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write the table as CSV.", rich_help_panel=OUTPUT)
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the table as HTML.", rich_help_panel=OUTPUT)
    ] = None,
    latex: Annotated[
        Path | None, typer.Option("--latex", help="Write the table as LaTeX.", rich_help_panel=OUTPUT)
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Print the coefficients of a model again: other units, references, levels. Asks nothing of the data.

    Example: sottovoce summary model.json --exp --against health=excellent --per age=10 --level 0.9
    """
    from sottovoce.cli import output as out
    from sottovoce.cli.outputs import place_for, require_free
    from sottovoce.files import write

    wanted = {csv: "to_csv", html: "to_html", latex: "to_latex"}
    wanted.pop(None, None)
    require_free(tuple(wanted), inputs=(model,), force=force)
    found = out.load_model(model).summary(
        exp=exp,
        against=against or (),
        per=units_of(per or []),
        level=level,
        simultaneous=simultaneous,
        within=within,
    )
    tests = [found.wald(name) for name in test or []]
    written = []
    for path, form in wanted.items():
        assert path is not None
        with place_for(path, force=force) as place:
            write(place, getattr(found, form)())
        written.append(str(place))
    if as_json:
        out.say_json({**found.to_dict(), "tests": [one.to_dict() for one in tests], "written": written})
        return
    if not written:
        out.say_text(str(found))
    for one in tests:
        out.say_text(str(one))
    if written:
        out.say({"Wrote": ", ".join(written)})


def units_of(given: list[str]) -> dict[str, float]:
    """{column: units} from "age=10"."""
    from sottovoce.errors import ParameterError

    found = {}
    for text in given:
        name, _, size = text.rpartition("=")
        try:
            found[name] = float(size)
        except ValueError:
            found[name] = 0.0
        if not name or not found[name] > 0.0:
            raise ParameterError("per must be a column and a number above 0, such as age=10.", argument="per")
    return found
