"""`sottovoce demo`: a private model on the embedded Covertype data, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sottovoce.cli.options import OUTPUT, Force, Quiet

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.table import Table

    from sottovoce.arrays import Vector
    from sottovoce.result import Result

STRENGTH = 1e-6

PAGE = Path("sottovoce-demo.html")
OTHERS = (0.1, 3.0)


def demo(
    epsilon: Annotated[
        float, typer.Option(help="Privacy budget epsilon, above 0; smaller is more private.")
    ] = 1.0,
    delta: Annotated[float, typer.Option(help="Privacy budget delta, well below 1/n.")] = 1e-6,
    report: Annotated[Path, typer.Option(help="HTML page to write.", rich_help_panel=OUTPUT)] = PAGE,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Train a private model on real, public data (Covertype); compare with other budgets and with none."""
    import numpy as np

    from sottovoce.accounting import Budget
    from sottovoce.cli import output as out
    from sottovoce.cli.outputs import place_for, require_free
    from sottovoce.data.records import Records
    from sottovoce.datasets import covertype
    from sottovoce.files import write
    from sottovoce.losses import Logistic
    from sottovoce.regularizers import L2
    from sottovoce.report import Card, render
    from sottovoce.risks.linear import Risk
    from sottovoce.training import minimize

    budget = Budget(epsilon=epsilon, delta=delta)
    if report != PAGE:
        require_free((report,), force=force)
    table = covertype.load().two_classes()
    held_out = table.held_out()
    training, test = table.rows(~held_out), table.rows(held_out)
    if not quiet:
        out.say_text(
            f"Covertype (public, UCI, CC BY 4.0): is a forest patch spruce or pine? "
            f"{training.cover.size:,} records to train on, {test.cover.size:,} held out."
        )
    rows, signs = training.bounded(), training.signs()
    records = Records.from_arrays(rows, signs, radius=1.0, labels=(-1, 1))
    risk = Risk(records, loss=Logistic(), regularizer=L2(STRENGTH))
    watched = out.is_watched() and not quiet
    others = [Budget(other, delta) for other in OTHERS if other != epsilon]
    found = {one.epsilon: minimize(risk, budget=one, progress=watched) for one in (budget, *others)}
    result = found[budget.epsilon]
    tested, truth = test.bounded(), test.signs() > 0

    def accuracy(weights: Vector) -> float:
        return float(np.mean((tested @ weights > 0) == truth))

    features = covertype.bounded_names()
    card = Card(dataset="Covertype", features=features, unit=13.0**-0.5, target="spruce rather than pine")
    page = render(result, card)
    with place_for(report, force=force) as place:
        write(place, page)
    if quiet:
        return
    out.console().print(_trace(result))
    always = float(np.mean(test.cover == 2))
    lines = {f"  epsilon {other:g}": f"{accuracy(found[other].weights):.4f}" for other in sorted(found)}
    out.say(
        {
            "Guarantee": result.guarantee,
            "Certificate": result.certificate,
            "Stopped": result.stop,
            **out.caveats(result.caveats),
            "Accuracy": "on the held-out rows, exact because the demo data are public: on private data each "
            "figure would need a share of the budget, and three models would add theirs up",
            **lines,
            "  no privacy": f"{accuracy(_without_privacy(rows, signs)):.4f}",
            "  always pine": f"{always:.4f}",
            "Wrote": f"{place}. Open it in a browser: python -m webbrowser {place}",
        }
    )


def _without_privacy(rows: NDArray[Any], signs: NDArray[Any]) -> Vector:
    """The minimizer of the same objective without noise, by Newton steps: for public data only."""
    import numpy as np

    weights = np.zeros(rows.shape[1])
    for _ in range(8):
        chances = 1.0 / (1.0 + np.exp(np.clip(signs * (rows @ weights), -700.0, 700.0)))
        gradient = -(signs * chances) @ rows / len(signs) + STRENGTH * weights
        hessian = (rows.T * (chances * (1.0 - chances))) @ rows / len(signs)
        weights -= np.linalg.solve(hessian + STRENGTH * np.eye(weights.size), gradient)
    return weights


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
