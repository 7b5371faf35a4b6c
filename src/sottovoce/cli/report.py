"""`sottovoce report`: the page to show a privacy officer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.options import OUTPUT, AsJson, Force, Quiet, Signers


def report(
    run: Annotated[
        Path, typer.Argument(help="A saved run (Result.save) or a model file (fit).", show_default=False)
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="HTML file to write.", rich_help_panel=OUTPUT)
    ] = None,
    registry: Annotated[
        Path | None,
        typer.Option(
            help="Entry to write for the registry of deployments that OpenDP keeps (YAML).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
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
    purpose: Annotated[
        str, typer.Option(help="registry: what the model is for, unless the fit was told.")
    ] = "",
    curator: Annotated[list[str] | None, typer.Option(help="registry: who publishes the model.")] = None,
    region: Annotated[str, typer.Option(help="registry: the region the data describe.")] = "",
    sector: Annotated[str, typer.Option(help="registry: Healthcare, Government, ...")] = "",
    published: Annotated[str, typer.Option(help="registry: the date of publication, 2026-11-18.")] = "",
    author: Annotated[list[str] | None, typer.Option(help="registry: who wrote the entry.")] = None,
    signers: Signers = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write one self-contained page: what is guaranteed, what was reached, where the budget went.

    It opens offline, asks nothing of any server, and holds nothing that was not released already. With
    --registry also, or only, an entry for OpenDP's registry, in which what no run knows is marked.
    """
    from sottovoce.audit.evidence import evidence
    from sottovoce.cli import output as out
    from sottovoce.cli.outputs import place_for, require_free
    from sottovoce.errors import ParameterError
    from sottovoce.files import read_json, write
    from sottovoce.report import Card, render
    from sottovoce.report.registry import Publication, as_yaml, blanks, entry

    if output is None and registry is None:
        raise ParameterError("name a file to write: -o report.html, --registry deployment.yaml, or both.")
    inputs = (run,) if audit is None else (run, audit)
    require_free((output, registry), inputs=inputs, ledger=ledger, force=force)
    about = Publication(
        purpose=purpose,
        curators=tuple(curator or ()),
        region=region,
        sector=sector,
        published=published,
        authors=tuple(author or ()),
    )
    result, card = out.saved_run(run, signers)
    told = Card() if card is None else card
    if ledger is not None:
        told = replace(told, account=out.account_of(ledger, out.dataset_of(ledger, result)))
    if audit is not None:
        found = evidence(read_json(audit, "audit"), result.guarantee)
        told = replace(told, audit=found)
    written: dict[str, str] = {}
    left: list[str] = []
    if registry is not None:
        filled = entry(result, told, about)
        left = blanks(filled)
        with place_for(registry, force=force) as place:
            write(place, as_yaml(filled))
        written["registry"] = str(place)
    if output is not None:
        page = render(result, told)
        with place_for(output, force=force) as place:
            write(place, page)
        written["report"] = str(place)
    if as_json:
        out.say_json({**written, **({} if registry is None else {"blanks": left})})
    elif not quiet:
        out.say({"Wrote": ", ".join(written.values()), **({"To fill in": ", ".join(left)} if left else {})})
