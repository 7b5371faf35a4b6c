"""`sottovoce fit`: from a table to a private model and its report."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.groups import Amendments, Charged, Inferred, LargeReading, Promise, Trained, grouped
from sottovoce.cli.options import (
    OUTPUT,
    PRIVACY,
    TRAINING,
    AsJson,
    Data,
    Force,
    Persons,
    Quiet,
    Sign,
    delta_of,
)


@grouped
def fit(
    data: Data,
    schema: Annotated[
        Path, typer.Option(help="Declared columns, see `sottovoce schema`.", show_default=False)
    ],
    promise: Promise,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Model file to write (JSON).", rich_help_panel=OUTPUT)
    ],
    charged: Charged,
    trained: Trained,
    inferred: Inferred,
    reading: LargeReading,
    amendments: Amendments,
    report: Annotated[
        Path | None, typer.Option(help="Also write this HTML page.", rich_help_panel=OUTPUT)
    ] = None,
    persons: Persons = None,
    model: Annotated[
        str,
        typer.Option(
            help="linear; additive: a curve of every number over its declared range; smooth: with surfaces "
            "of pairs that act together; or auto: what is worth it of both. Curves need their columns' "
            "marginals, which are released with the model.",
            rich_help_panel=TRAINING,
        ),
    ] = "linear",
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="Stop at the first point whose gradient norm is certified below this.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    evaluate: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Hold out this share of the rows and of the budget to measure the model, such as 0.1.",
            rich_help_panel=TRAINING,
        ),
    ] = 0.0,
    purpose: Annotated[str, typer.Option(help="What the model is for, for its report.")] = "",
    contact: Annotated[str, typer.Option(help="Whom to ask about it, for its report.")] = "",
    no_further: Annotated[
        bool,
        typer.Option(
            "--no-further",
            help="With --resume: charge nothing more, and make the best model the answers so far allow.",
            rich_help_panel=PRIVACY,
        ),
    ] = False,
    sign: Sign = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train a private model on a table.

    Example: sottovoce fit claims.csv --schema schema.toml --epsilon 1 --delta 1e-6 -o model.json
    """
    from sottovoce import fitting
    from sottovoce.accounting.resume import Resume
    from sottovoce.cli import output as out
    from sottovoce.cli.exits import ExitCode
    from sottovoce.cli.outputs import place_for, require_free, save_paid
    from sottovoce.cli.signing import require_key, signed
    from sottovoce.data.schema import Schema
    from sottovoce.errors import ParameterError
    from sottovoce.features.effects import sparklines
    from sottovoce.files import write
    from sottovoce.report import render
    from sottovoce.report.about import About
    from sottovoce.report.markup import capital
    from sottovoce.results.inference.listing import listing
    from sottovoce.results.result import Stop, Tolerance

    if quiet:
        os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "critical")
    if no_further and charged.resume is None:
        raise ParameterError("--no-further goes with --resume RUN.")
    declared = amendments.of(Schema.load(schema))
    signature = None if sign is None else require_key(sign).beside(output)
    require_free((output, report, signature), inputs=(*data, schema), ledger=charged.ledger, force=force)
    account = charged.account()
    if not (quiet or as_json):
        out.aside(
            "nothing is charged yet. To see first whether the schema fits the table, for its owner's eyes "
            f"only: sottovoce check {' '.join(map(str, data))} --schema {schema}"
        )
    named = charged.dataset or data[0].name.split(".")[0]
    with out.warned():
        found = fitting.fit(
            reading.table(data),
            declared,
            epsilon=promise.epsilon,
            delta=delta_of(promise.delta),
            relation=promise.relation,
            persons=persons,
            **asdict(trained),
            model=model,
            tolerance=None if tolerance is None else Tolerance(gradient=tolerance),
            inference=inferred.asked,
            evaluate=evaluate,
            reading=reading.how,
            about=About(dataset=named, purpose=purpose, contact=contact),
            ledger=account,
            simulate=charged.simulate,
            progress=out.is_watched() and not quiet,
            resume=None if charged.resume is None else Resume(charged.resume, further=not no_further),
        )
    written = {"model": str(save_paid(found.to_file(), output, force=force))}
    if sign is not None:
        written["signature"] = str(signed(Path(written["model"]), sign, force=force))
    ending = ExitCode.SHORT if found.result.stop is Stop.CUT_SHORT else ExitCode.OK
    if report is not None:
        told = charged.told()
        page = render(found.result, replace(found.card(), account=told))
        with place_for(report, force=force) as place:
            write(place, page)
        written["report"] = str(place)
    summary = None if found.result.inference is None else found.summary()
    if as_json:
        listed = (
            {"coefficients": [line.to_dict() for line in found.coefficients()]}
            if summary is None
            else {"summary": summary.to_dict()}
        )
        figures = {figure.name: asdict(figure) for figure in found.figures}
        out.say_json({**written, **out.summary(found.result), **listed, "figures": figures})
    if as_json or quiet:
        raise typer.Exit(ending)
    result = found.result
    out.say(
        {
            "Guarantee": result.guarantee,
            **({"Together": f"epsilon={promise.epsilon:g}, evaluation included"} if found.figures else {}),
            "Certificate": result.certificate,
            "Stopped": result.stop,
            **{capital(figure.name): out.measured(figure, result.guarantee.unit) for figure in found.figures},
            **out.caveats(result.caveats),
            "Wrote": ", ".join(written.values()),
        }
    )
    if summary is not None:
        out.say_text(str(summary))
    elif found.marginals:
        out.say_text(sparklines(found.effects(), found.surfaces()))
    else:
        out.say_text(listing(found.coefficients(), result.noise.reason))
    if account is None and not result.simulated:
        out.remark("No ledger was charged: another model on these records adds its budget to this one.")
    raise typer.Exit(ending)
