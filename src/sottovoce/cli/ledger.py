"""`sottovoce ledger`: the budget of a data set, kept in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.options import AsJson, Epsilon, Neighbours, Quiet

ledger = typer.Typer(
    no_args_is_help=True, help="Create, show and verify the budget of a data set, kept in a file."
)

File = Annotated[Path, typer.Argument(help="The ledger file.", show_default=False)]


@ledger.command()
def create(
    path: File,
    dataset: Annotated[str, typer.Option(help="Name of the data set.", show_default=False)],
    epsilon: Epsilon,
    delta: Annotated[float, typer.Option(help="Chance that the guarantee fails, well below 1/n.")],
    relation: Neighbours = "replace-one",
    currency: Annotated[
        str, typer.Option(help="gdp, or renyi for mini-batch methods; fixed for good.")
    ] = "gdp",
    order: Annotated[float | None, typer.Option(help="Order of a renyi ledger, above 1.")] = None,
    unit: Annotated[
        str,
        typer.Option(help="Whom the cap is for, for good: every record, or every person with all of theirs."),
    ] = "record",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Set the cap of a data set, for good: everything charged to it stays within.

    A file may hold several data sets. Keep it on a local disk, back it up, and never use two copies.
    """
    from sottovoce.accounting import Budget, Ledger
    from sottovoce.accounting.wording import caution
    from sottovoce.cli import output as out

    cap = Budget(epsilon, delta, relation)
    made = Ledger.create(path, dataset=dataset, cap=cap, currency=currency, order=order, unit=unit)
    weak = tuple(filter(None, [caution(epsilon, delta)]))
    if as_json:
        facts = {"ledger": str(path), "dataset": dataset, "identity": made.identity}
        whose = {"relation": cap.relation.filed, "unit": made.unit}
        out.say_json({**facts, **whose, "caveats": list(weak)})
    elif not quiet:
        created = (
            f"{dataset} in {path}, cap epsilon={epsilon:g}, delta={delta:g}, {relation}, for every {unit}"
        )
        out.say({"Created": created, **out.caveats(weak)})


@ledger.command()
def show(path: File, as_json: AsJson = False) -> None:
    """Show what each data set may spend and has spent, and every charge."""
    _state(path, None, as_json, lines=True)


@ledger.command()
def verify(
    path: File,
    anchor: Annotated[
        Path | None,
        typer.Option(help="A run or model charged to this ledger: tells if charges were undone since."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check every seal and total of the file."""
    _state(path, anchor, as_json, lines=False)


@ledger.command()
def adopt(path: File, quiet: Quiet = False) -> None:
    """Make the file's present place its home, after you moved it or put back a backup.

    Only you can know that no other copy is in use: two copies could each be spent whole.
    """
    from sottovoce.accounting.disk.statement import adopt as make_home
    from sottovoce.cli import output as out

    make_home(path)
    if not quiet:
        out.say({"Adopted": path})


def _state(path: Path, anchor: Path | None, as_json: bool, *, lines: bool) -> None:
    from sottovoce.accounting.disk.statement import verify as checked
    from sottovoce.cli import output as out

    statement = checked(path, None if anchor is None else out.saved_run(anchor)[0])
    if as_json:
        datasets = [
            {
                "name": part.name,
                "identity": part.identity,
                "epsilon": part.allowance.budget.epsilon,
                "delta": part.allowance.budget.delta,
                "relation": part.allowance.budget.relation.filed,
                "unit": part.account.declared.unit,
                "currency": part.allowance.currency.name,
                "spent": part.account.spent.units / part.allowance.cap.units,
            }
            for part in statement.datasets
        ]
        out.say_json({"path": statement.path, "head": statement.head, "datasets": datasets})
    elif lines:
        print(out.shown_safely(statement))
    else:
        anchored = "" if anchor is None else f", {anchor} included"
        out.say({"Whole": f"all {len(statement.lines)} entries{anchored}", "Sealed by": statement.head})
