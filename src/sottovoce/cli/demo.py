"""`sottovoce demo`: a private model on the embedded Covertype data, end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from sottovoce.accounting import Budget
from sottovoce.data import covertype
from sottovoce.losses import Logistic
from sottovoce.training import minimize
from sottovoce.records import Records
from sottovoce.regularizers import L2
from sottovoce.risk import Risk

if TYPE_CHECKING:
    from sottovoce.result import Result


def run(epsilon: float, delta: float) -> None:
    """Train at (epsilon, delta) on four fifths of the rows and print what is guaranteed and reached."""
    console = Console(highlight=False)
    budget = Budget(epsilon=epsilon, delta=delta)
    table = covertype.load().two_classes()
    held_out = table.held_out()
    training, test = table.rows(~held_out), table.rows(held_out)
    console.print(
        f"[bold]Covertype[/] (public, UCI, CC BY 4.0): is a forest patch spruce or pine? "
        f"{training.cover.size:,} records to train on, {test.cover.size:,} held out."
    )
    records = Records.from_arrays(training.bounded(), training.signs(), radius=1.0, labels=(-1, 1))
    risk = Risk(records, loss=Logistic(), regularizer=L2(1e-6))
    result = minimize(risk, budget=budget, method="majorize", progress=console.is_terminal)
    console.print(_trace(result))
    console.print(f"[bold]Guarantee[/]    {result.guarantee}")
    console.print(f"[bold]Certificate[/]  {result.certificate}")
    console.print(f"[bold]Stopped[/]      {result.stop}")
    scores = test.bounded() @ result.weights
    accuracy = float(np.mean((scores > 0) == (test.signs() > 0)))
    share = float(np.mean(test.cover == 2))
    console.print(
        f"[bold]Accuracy[/]     {accuracy:.4f} on the held-out rows (always saying pine: {share:.4f}). This figure "
        "is exact because the demo data are public; on private data it would need a share of the budget."
    )


def _trace(result: Result) -> Table:
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
