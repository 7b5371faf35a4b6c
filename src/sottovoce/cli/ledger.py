"""`sottovoce ledger`: the budget of a data set, kept in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sottovoce.cli.options import AsJson, Epsilon, Force, Neighbours, Quiet

if TYPE_CHECKING:
    from sottovoce.accounting.disk.statement import Spell, Statement

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
    expires: Annotated[
        str, typer.Option(metavar="DAY", help="The last day on which it may be charged: 2027-12-31.")
    ] = "",
    approve_above: Annotated[
        float | None,
        typer.Option(metavar="EPSILON", help="Larger runs wait for `ledger approve`.", show_default=False),
    ] = None,
    approvers: Annotated[
        Path | None,
        typer.Option(help="Who may approve: a line each, a name and a public ssh key.", show_default=False),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Set the cap of a data set, for good: everything charged to it stays within.

    A file may hold several data sets. Keep it on a local disk, back it up, and never use two copies.
    """
    from sottovoce.accounting import Budget, Ledger
    from sottovoce.accounting.disk.approval import approval
    from sottovoce.accounting.wording import caution
    from sottovoce.cli import output as out
    from sottovoce.errors import ParameterError

    cap = Budget(epsilon, delta, relation)
    if (approve_above is None) != (approvers is None):
        raise ParameterError("--approve-above and --approvers go together.")
    rule = None if approve_above is None or approvers is None else approval(approve_above, approvers)
    made = Ledger.create(
        path,
        dataset=dataset,
        cap=cap,
        currency=currency,
        order=order,
        unit=unit,
        expires=expires,
        approval=rule,
    )
    weak = tuple(filter(None, [caution(epsilon, delta, None, cap.relation, made.unit)]))
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
def renew(
    path: File,
    dataset: Annotated[str, typer.Option(help="Name of the new account.", show_default=False)],
    following: Annotated[str, typer.Option(help="The account that it follows.", show_default=False)],
    epsilon: Annotated[float | None, typer.Option(help="Its cap; else that of the old one.")] = None,
    delta: Annotated[float | None, typer.Option(help="Its delta; else that of the old one.")] = None,
    expires: Annotated[
        str, typer.Option(metavar="DAY", help="The last day on which it may be charged: 2027-12-31.")
    ] = "",
    quiet: Quiet = False,
) -> None:
    """Open an account for new records that follows an old one, and say what whoever is in both can lose.

    Example: sottovoce ledger renew budget.db --dataset claims-2027 --following claims-2026
    """
    from sottovoce.accounting import Budget, Ledger
    from sottovoce.accounting.disk.renewal import renew as renewed
    from sottovoce.accounting.disk.statement import verify as checked
    from sottovoce.cli import output as out

    old = Ledger.open(path, dataset=following).cap
    cap = Budget(epsilon or old.epsilon, delta or old.delta, old.relation)
    made = renewed(path, dataset=dataset, following=following, cap=cap, expires=expires)
    if not quiet:
        told = next(part for part in checked(path).datasets if part.identity == made.identity)
        out.say({"Created": f"{told.name} in {path}, cap {cap!r}", "Over time": told.over_time})


@ledger.command()
def allot(
    path: File,
    dataset: Annotated[str, typer.Option(help="Name of the data set.", show_default=False)],
    part: Annotated[str, typer.Option(help="A team or a purpose.", show_default=False)],
    epsilon: Epsilon,
    delta: Annotated[float | None, typer.Option(help="Its delta; else that of the cap.")] = None,
    quiet: Quiet = False,
) -> None:
    """Keep a part of a cap for a team or a purpose: runs with --part stay within it, others leave it alone.

    A part only divides the cap: all parts together never spend more than it.
    """
    from sottovoce.accounting import Budget, Ledger
    from sottovoce.accounting.disk.renewal import allot as allotted
    from sottovoce.cli import output as out

    cap = Ledger.open(path, dataset=dataset).cap
    allotted(path, dataset=dataset, part=part, budget=Budget(epsilon, delta or cap.delta, cap.relation))
    if not quiet:
        out.say({"Allotted": f"epsilon={epsilon:g} of {dataset} to {part}"})


@ledger.command()
def approve(
    path: File,
    run: Annotated[str, typer.Argument(help="The run that waits, by the start of its name.")],
    key: Annotated[Path, typer.Option(help="Your private ssh key, or a public one that your agent holds.")],
    quiet: Quiet = False,
) -> None:
    """Sign a run that waits for approval: its budget, and all that it declares.

    Example: sottovoce ledger approve budget.db 07459c899126 --key ~/.ssh/id_ed25519
    """
    from sottovoce.accounting.disk.approval import approve as signed
    from sottovoce.cli import output as out

    made = signed(path, run, key)
    if not quiet:
        told = f"{made.name}, epsilon={made.epsilon:g}, delta={made.delta:g}"
        out.say({"Approved": told, "Go on": f"with the same command and --resume {made.run[:12]}"})


@ledger.command()
def export(
    path: File,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A .csv or .json file to write.", show_default=False)
    ],
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write every entry, one line or object each, oldest first, once all seals are checked."""
    import csv
    import io
    import json

    from sottovoce.accounting.disk.statement import entries
    from sottovoce.cli import output as out
    from sottovoce.cli.outputs import place_for, require_free
    from sottovoce.errors import ParameterError
    from sottovoce.files import write

    require_free((output,), inputs=(path,), ledger=path, force=force)
    rows = entries(path)
    if output.suffix.lower() == ".json":
        content = json.dumps(rows, indent=1) + "\n"
    elif output.suffix.lower() == ".csv":
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        content = stream.getvalue()
    else:
        raise ParameterError("name a .csv or a .json file to write.")
    with place_for(output, force=force) as place:
        write(place, content)
    if not quiet:
        out.say({"Wrote": f"{len(rows)} entries to {place}"})


@ledger.command()
def overview(
    folder: Annotated[Path, typer.Argument(help="A folder of ledger files.", show_default=False)],
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write this page.", show_default=False)
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Show every account of every ledger in a folder: its cap, what is spent and left, and until when.

    A file that cannot be trusted is named with the reason, and the others are shown.
    """
    from sottovoce.accounting.disk.statement import of_folder
    from sottovoce.cli import output as out

    statements, refused = of_folder(folder)
    if html is not None:
        from sottovoce.cli.outputs import place_for, require_free
        from sottovoce.files import write
        from sottovoce.report.ledger import render_folder

        require_free((html,), force=force)
        page = render_folder(str(folder), statements, refused)
        with place_for(html, force=force) as html:
            write(html, page)
    if as_json:
        out.say_json({"ledgers": [_plain(statement) for statement in statements], "refused": refused})
        return
    for statement in statements:
        print(out.shown_safely(_told(statement)))
        print()
    for name, reason in refused.items():
        print(out.shown_safely(f"{name}: {reason}"))
    if html is not None:
        out.say({"Wrote": html})


@ledger.command()
def show(
    path: File,
    charges: Annotated[bool, typer.Option("--charges", help="Every charge, not only every run.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write this page, with a chart.", show_default=False)
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Show what is left of each data set's cap, in words, and which run spent the rest, when and what for."""
    from sottovoce.accounting.disk.statement import verify as checked
    from sottovoce.cli import output as out

    if html is not None:
        from sottovoce.cli.outputs import place_for, require_free
        from sottovoce.files import write
        from sottovoce.report.ledger import render_ledger

        require_free((html,), ledger=path, force=force)
        page = render_ledger(checked(path))
        with place_for(html, force=force) as html:
            write(html, page)
    statement = checked(path)
    if as_json:
        out.say_json(_plain(statement))
        return
    print(out.shown_safely(statement) if charges else out.shown_safely(_told(statement)))
    if html is not None:
        out.say({"Wrote": html})


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
    from sottovoce.accounting.disk.statement import verify as checked
    from sottovoce.cli import output as out

    statement = checked(path, None if anchor is None else out.saved_run(anchor)[0])
    if as_json:
        out.say_json(_plain(statement))
        return
    anchored = "" if anchor is None else f", {anchor} included"
    out.say({"Whole": f"all {len(statement.lines)} entries{anchored}", "Sealed by": statement.head})


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


def _told(statement: Statement) -> str:
    """What is left and a line a run."""
    moved = "" if statement.at_home else " (moved or copied: it refuses charges until adopted)"
    lines = [f"ledger {statement.path}{moved}, {len(statement.lines)} entries, every seal checked"]
    for part in statement.datasets:
        cap, spent = part.allowance.budget, part.account.spent.units / part.allowance.cap.units
        lines += [
            "",
            f"{part.name}: cap epsilon={cap.epsilon:g}, delta={cap.delta:g}, {cap.relation.value}, for every "
            f"{part.account.declared.unit}",
            f"  spent  {100 * spent:.1f} % of the cap, epsilon={part.epsilon_spent:.3g} at this delta",
            f"  left   {part.remaining}",
        ]
        if part.over_time:
            lines.append(f"  time   {part.over_time}")
        if part.account.declared.expires:
            lines.append(f"  until  {part.account.declared.expires}, the last day on which it may be charged")
        if part.approval:
            lines.append(f"  rule   {part.approval}")
        for kept in part.parts:
            used = 100 * kept.spent / kept.allotted
            lines.append(
                f"  part   {kept.name}: epsilon={kept.epsilon:g}, delta={kept.delta:g}, {used:.1f} % spent"
            )
        if part.units_reserved:
            reserved = 100 * part.units_reserved / part.allowance.cap.units
            lines.append(f"  held   {reserved:.1f} % of the cap by runs that have not ended")
        for run in statement.runs:
            if run.dataset == part.name:
                share = 100 * run.units / part.allowance.cap.units
                when = run.started[:16].replace("T", " ")
                asked = "one answer" if run.answers == 1 else f"{run.answers} answers"
                lines.append(f"  {when}  {share:5.1f} %  {run.name}, {asked}{_standing(run)}")
    return "\n".join(lines)


def _standing(run: Spell) -> str:
    """How a run ended, where it did not reach its plan, and the name to go on with it."""
    if run.end in ("", "finished") and not run.reserved:
        return ""
    return f"; {run.end or 'has not ended'}, run {run.identity[:12]}"


def _plain(statement: Statement) -> dict[str, Any]:
    from dataclasses import asdict

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
            "epsilon_spent": part.epsilon_spent,
            "follows": [earlier.name for earlier in part.before],
            "over_time": part.over_time,
            "expires": part.account.declared.expires,
            "approval": part.approval,
            "parts": [
                {
                    "name": kept.name,
                    "epsilon": kept.epsilon,
                    "delta": kept.delta,
                    "spent": kept.spent / kept.allotted,
                }
                for kept in part.parts
            ],
            "epsilon_left": {str(times): part.affordable(times) for times in (1, 3, 10)},
            "runs": [
                {
                    **asdict(run),
                    "units": run.units / part.allowance.cap.units,
                    "reserved": run.reserved / part.allowance.cap.units,
                }
                for run in statement.runs
                if run.dataset == part.name
            ],
        }
        for part in statement.datasets
    ]
    return {"path": statement.path, "head": statement.head, "datasets": datasets}
