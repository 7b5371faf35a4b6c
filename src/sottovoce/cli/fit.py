"""`sottovoce fit`: from a table to a private model and its report."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.options import (
    OUTPUT,
    PRIVACY,
    TRAINING,
    AsJson,
    ClassWeight,
    Data,
    Dataset,
    Decimal,
    Delimiter,
    Delta,
    Epsilon,
    Force,
    Invalid,
    LedgerFile,
    Neighbours,
    Part,
    Person,
    Persons,
    Query,
    Quiet,
    ResumeRun,
    Sign,
    Simulate,
    Weight,
    WeightCap,
    class_weight_of,
    delta_of,
)


def fit(
    data: Data,
    schema: Annotated[
        Path, typer.Option(help="Declared columns, see `sottovoce schema`.", show_default=False)
    ],
    epsilon: Epsilon,
    delta: Delta,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Model file to write (JSON).", rich_help_panel=OUTPUT)
    ],
    report: Annotated[
        Path | None, typer.Option(help="Also write this HTML page.", rich_help_panel=OUTPUT)
    ] = None,
    relation: Neighbours = "replace-one",
    person: Person = None,
    persons: Persons = None,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    part: Part = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="Loss by name, its parameter after a colon: cauchy:0.2. Classes: logistic; a range: "
            "pseudo-huber, or least-squares for its mean; counts: poisson; others in docs/choosing.md.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="linear; additive: a curve of every number over its declared range; smooth: with surfaces "
            "of pairs that act together; or auto: what is worth it of both. Curves need their columns' "
            "marginals, which are released with the model.",
            rich_help_panel=TRAINING,
        ),
    ] = "linear",
    method: Annotated[str, typer.Option(help="Method by name.", rich_help_panel=TRAINING)] = "auto",
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="Stop at the first point whose gradient norm is certified below this.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    regularizer: Annotated[str, typer.Option(help="l2 or tukey.", rich_help_panel=TRAINING)] = "l2",
    strength: Annotated[float, typer.Option(help="Its strength.", rich_help_panel=TRAINING)] = 1e-6,
    weight: Weight = None,
    weight_cap: WeightCap = None,
    class_weight: ClassWeight = None,
    inference: Annotated[
        float,
        typer.Option(
            help="Part of the budget kept for standard errors and intervals, e.g. 0.3.",
            rich_help_panel=TRAINING,
        ),
    ] = 0.0,
    robust: Annotated[
        bool,
        typer.Option(
            help="Standard errors that hold whether or not the model does.", rich_help_panel=TRAINING
        ),
    ] = False,
    anyway: Annotated[
        bool,
        typer.Option(
            "--anyway",
            help="Spend on --inference even if no coefficient is expected to be determined.",
            rich_help_panel=TRAINING,
        ),
    ] = False,
    within: Annotated[
        float | None,
        typer.Option(
            metavar="BOUND",
            help="What standard errors assume of effects that noise hides: off by no more than this.",
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
    simulate: Simulate = None,
    invalid: Invalid = "raise",
    delimiter: Delimiter = ",",
    decimal: Decimal = ".",
    query: Query = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Read a Parquet file on the workers of this Dask scheduler; `local` starts some here.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Read a Parquet file on so many processes, by Dask.")
    ] = None,
    spool: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where encoded rows of a Parquet file go that do not fit into memory; else the system's.",
        ),
    ] = None,
    no_spool: Annotated[
        bool, typer.Option("--no-spool", help="Write no encoded rows: read the file again at every pass.")
    ] = False,
    resume: ResumeRun = None,
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
    from sottovoce.cli.tables import table_of
    from sottovoce.data.schema import Schema
    from sottovoce.errors import ParameterError
    from sottovoce.features.effects import sparklines
    from sottovoce.files import write
    from sottovoce.report import render
    from sottovoce.report.markup import capital
    from sottovoce.results.inference.listing import listing
    from sottovoce.results.result import Stop, Tolerance

    if quiet:
        os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "critical")
    if no_further and resume is None:
        raise ParameterError("--no-further goes with --resume RUN.")
    declared = Schema.load(schema)
    if within is not None:
        declared = replace(declared, within=within)
    signature = None if sign is None else require_key(sign).beside(output)
    require_free((output, report, signature), inputs=(*data, schema), ledger=ledger, force=force)
    account = out.open_ledger(ledger, dataset, part)
    if not (quiet or as_json):
        out.aside(
            "nothing is charged yet. Whether the schema fits the table's cells tells, to their owner alone: "
            f"sottovoce check {' '.join(map(str, data))} --schema {schema}"
        )
    with out.warned():
        trained = fitting.fit(
            table_of(data, query),
            declared,
            epsilon=epsilon,
            delta=delta_of(delta),
            relation=relation,
            person=person,
            persons=persons,
            weight=weight,
            weight_cap=weight_cap,
            class_weight=class_weight_of(class_weight),
            dataset=dataset or data[0].name.split(".")[0],
            loss=loss,
            model=model,
            regularizer=regularizer,
            strength=strength,
            method=method,
            tolerance=None if tolerance is None else Tolerance(gradient=tolerance),
            inference=inference,
            robust=robust,
            anyway=anyway,
            evaluate=evaluate,
            purpose=purpose,
            contact=contact,
            ledger=account,
            simulate=simulate,
            invalid=invalid,
            delimiter=delimiter,
            decimal=decimal,
            dask=dask,
            workers=workers,
            spool=not no_spool if spool is None else spool,
            progress=out.is_watched() and not quiet,
            resume=None if resume is None else Resume(resume, further=not no_further),
        )
    written = {"model": str(save_paid(trained.to_file(), output, force=force))}
    if sign is not None:
        written["signature"] = str(signed(Path(written["model"]), sign, force=force))
    ending = ExitCode.SHORT if trained.result.stop is Stop.CUT_SHORT else ExitCode.OK
    if report is not None:
        told = "" if ledger is None or dataset is None else out.account_of(ledger, dataset)
        page = render(trained.result, replace(trained.card(), account=told))
        with place_for(report, force=force) as place:
            write(place, page)
        written["report"] = str(place)
    summary = None if trained.result.inference is None else trained.summary()
    summarized = {} if summary is None else {"summary": summary.to_dict()}
    if as_json:
        listed = {"coefficients": [line.to_dict() for line in trained.coefficients()]}
        figures = {figure.name: asdict(figure) for figure in trained.figures}
        out.say_json({**written, **out.summary(trained.result), **summarized, **listed, "figures": figures})
    if as_json or quiet:
        raise typer.Exit(ending)
    result = trained.result
    out.say(
        {
            "Guarantee": result.guarantee,
            **({"Together": f"epsilon={epsilon:g}, evaluation included"} if trained.figures else {}),
            "Certificate": result.certificate,
            "Stopped": result.stop,
            **{
                capital(figure.name): out.measured(figure, result.guarantee.unit)
                for figure in trained.figures
            },
            **out.caveats(result.caveats),
            "Wrote": ", ".join(written.values()),
        }
    )
    if summary is not None:
        out.say_text(str(summary))
    elif trained.marginals:
        out.say_text(sparklines(trained.effects(), trained.surfaces()))
    else:
        out.say_text(listing(trained.coefficients(), result.noise.reason))
    if account is None and not result.simulated:
        out.remark("No ledger was charged: another model on these records adds its budget to this one.")
    raise typer.Exit(ending)
