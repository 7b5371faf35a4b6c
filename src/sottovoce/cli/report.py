"""`sottovoce report`: the page to show a privacy officer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.options import OUTPUT, AsJson, Force, Quiet


def report(
    run: Annotated[
        Path, typer.Argument(help="A saved run (Result.save) or a model file (fit).", show_default=False)
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="HTML file to write.", rich_help_panel=OUTPUT)
    ],
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Also say what is spent and left in the ledger that was charged.", show_default=False
        ),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            help="Also say what an attack found: what `sottovoce audit --json` printed.", show_default=False
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write one self-contained page: what is guaranteed, what was reached, where the budget went.

    It opens offline, asks nothing of any server, and holds nothing that was not released already.
    """
    from sottovoce.audit.evidence import evidence
    from sottovoce.cli import output as out
    from sottovoce.cli.outputs import insist_free, place_for
    from sottovoce.files import read_json, write
    from sottovoce.report import Card, render

    insist_free((output,), inputs=(run,) if audit is None else (run, audit), ledger=ledger, force=force)
    result, card = out.saved_run(run)
    told = Card() if card is None else card
    if ledger is not None:
        told = replace(told, account=out.account_of(ledger, out.dataset_of(ledger, result)))
    if audit is not None:
        found = evidence(read_json(audit, "audit"), result.guarantee)
        told = replace(told, audit=found)
    page = render(result, told)
    with place_for(output, force=force) as place:
        write(place, page)
    if as_json:
        out.say_json({"report": str(place)})
    elif not quiet:
        out.say({"Wrote": place})
