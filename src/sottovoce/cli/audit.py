"""`sottovoce audit`: attack a method and see how much privacy it must have lost at least."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.options import AsJson, Dataset, Invalid, LedgerFile, Neighbours
from sottovoce.errors import ParameterError


def audit(
    method: Annotated[str, typer.Option(help="Method by name.")] = "majorize",
    epsilon: Annotated[float, typer.Option(help="The epsilon that is claimed.")] = 1.0,
    delta: Annotated[float, typer.Option(help="The delta that is claimed.")] = 1e-5,
    relation: Neighbours = "replace-one",
    runs: Annotated[
        int, typer.Option(help="Attacks, half on each of two neighbours; more prove more.")
    ] = 2000,
    tolerance: Annotated[
        float | None, typer.Option(help="Tolerance of the gradient, for methods that need one.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the bounds.")] = 0.999,
    exact: Annotated[bool, typer.Option(help="Draw the exact noise instead of a faster stand-in.")] = False,
    one_run: Annotated[
        bool, typer.Option("--one-run", help="Train once, on many canaries, in place of many runs on one.")
    ] = False,
    canaries: Annotated[int, typer.Option(help="Canaries of a one-run audit, a column each.")] = 400,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Plant the canaries of a one-run audit among rows of this table, for the price of a fit.",
            show_default=False,
        ),
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="Its declared columns.", show_default=False)] = None,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    invalid: Invalid = "raise",
    as_json: AsJson = False,
) -> None:
    """Attack a method on synthetic neighbours, many times, and bound the epsilon it lost from below.

    An audit cannot prove privacy, but it can refute a claim. Exit code 1 means refuted. All records are
    made up, unless --data names a table of yours.
    """
    from sottovoce.accounting import Budget
    from sottovoce.audit.attack import Audit
    from sottovoce.audit.attack import audit as attack
    from sottovoce.audit.one_run import OneRun, audit_one_run
    from sottovoce.cli import output as out
    from sottovoce.data.options import ReadOptions
    from sottovoce.report.progress import waiting
    from sottovoce.results.result import Tolerance

    budget = Budget(epsilon, delta, relation)
    if not one_run and (data, schema, ledger, dataset) != (None,) * 4:
        raise ParameterError("many runs on a table would cost as many budgets: add --one-run, or no table.")
    found: Audit | OneRun
    if one_run:
        with waiting(out.is_watched(), f"training {method} on {canaries} canaries"):
            found = audit_one_run(
                method,
                budget,
                canaries=canaries,
                confidence=confidence,
                simulate=None if exact or data is not None else 0,
                table=data,
                schema=schema,
                ledger=out.open_ledger(ledger, dataset),
                reading=ReadOptions(invalid=invalid),
            )
    else:
        with waiting(out.is_watched(), f"attacking {method} {runs} times"):
            found = attack(
                method,
                budget,
                runs=runs,
                tolerance=None if tolerance is None else Tolerance(gradient=tolerance),
                confidence=confidence,
                exact=exact,
            )
    if as_json:
        out.say_json(found.to_dict())
    else:
        print(found)
    if data is not None and ledger is None and not as_json:
        out.remark("No ledger was charged: this audit's budget adds to that of every model on these records.")
    if found.flagged:
        raise typer.Exit(1)
