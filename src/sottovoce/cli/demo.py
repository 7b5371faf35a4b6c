"""`sottovoce demo`: a private model on the embedded Covertype data, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.options import OUTPUT, Force

if TYPE_CHECKING:
    from rich.table import Table

    from sottovoce.result import Result


def demo(
    epsilon: Annotated[
        float, typer.Option(help="Privacy budget epsilon, above 0; smaller is more private.")
    ] = 1.0,
    delta: Annotated[float, typer.Option(help="Privacy budget delta, well below 1/n.")] = 1e-6,
    report: Annotated[
        Path | None, typer.Option(help="Also write this HTML page.", rich_help_panel=OUTPUT)
    ] = None,
    force: Force = False,
) -> None:
    """Train a private model on real, public data (Covertype) and show what it reached."""
    import numpy as np

    from sottovoce.accounting import Budget
    from sottovoce.cli import output as out
    from sottovoce.cli.outputs import insist_free, put
    from sottovoce.data.records import Records
    from sottovoce.datasets import covertype
    from sottovoce.files import write
    from sottovoce.losses import Logistic
    from sottovoce.regularizers import L2
    from sottovoce.report import Card, render
    from sottovoce.risks.linear import Risk
    from sottovoce.training import minimize

    budget = Budget(epsilon=epsilon, delta=delta)
    insist_free((report,), force=force)
    table = covertype.load().two_classes()
    held_out = table.held_out()
    training, test = table.rows(~held_out), table.rows(held_out)
    out.console().print(
        f"Covertype (public, UCI, CC BY 4.0): is a forest patch spruce or pine? "
        f"{training.cover.size:,} records to train on, {test.cover.size:,} held out."
    )
    records = Records.from_arrays(training.bounded(), training.signs(), radius=1.0, labels=(-1, 1))
    risk = Risk(records, loss=Logistic(), regularizer=L2(1e-6))
    result = minimize(risk, budget=budget, progress=out.is_watched())
    out.console().print(_trace(result))
    accuracy = float(np.mean((test.bounded() @ result.weights > 0) == (test.signs() > 0)))
    always = float(np.mean(test.cover == 2))
    out.say(
        {
            "Guarantee": result.guarantee,
            "Certificate": result.certificate,
            "Stopped": result.stop,
            **out.caveats(result.caveats),
            "Accuracy": f"{accuracy:.4f} on the held-out rows (always saying pine: {always:.4f}). This is "
            "exact because the demo data are public; on private data it would need a share of the budget.",
        }
    )
    if report is not None:
        features = covertype.bounded_names()
        card = Card(dataset="Covertype", features=features, unit=13.0**-0.5, target="spruce rather than pine")
        page = render(result, card)
        out.say({"Wrote": put(report, lambda place: write(place, page), force=force)})


def _trace(result: Result) -> Table:
    from rich.table import Table

    table = Table(title="What was released, noise included", title_justify="left")
    for heading in ("step", "kind", "noisy gradient norm", "step length", "share of budget"):
        table.add_column(heading, justify="left" if heading == "kind" else "right")
    total = sum(row.mu_squared for row in result.trace)
    for number, row in enumerate(result.trace):
        table.add_row(
            str(number),
            row.kind,
            "" if row.gradient_norm is None else f"{row.gradient_norm:.5f}",
            "" if row.step_length is None else f"{row.step_length:.4f}",
            f"{100 * row.mu_squared / total:.1f} %",
        )
    return table
