"""`sottovoce demo`: private models of the embedded Covertype data, a straight line and curves, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sottovoce.cli.options import OUTPUT, Force, Quiet

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.table import Table

    from sottovoce.datasets.covertype import Covertype

PAGE = Path("sottovoce-demo.html")
OTHERS = (0.1, 3.0)
KINDS = ("linear", "additive")
STRENGTH = 1e-6
YOURS = (
    "sottovoce schema data.csv -o schema.toml    # then write down what is public about its columns",
    "sottovoce plan --schema schema.toml --rows 20000 --epsilon 1 --delta 1e-6",
    "sottovoce fit data.csv --schema schema.toml --epsilon 1 --delta 1e-6 --model additive -o model.json "
    "--report report.html",
)


def demo(
    epsilon: Annotated[
        float, typer.Option(help="Privacy budget epsilon, above 0; smaller is more private.")
    ] = 1.0,
    delta: Annotated[float, typer.Option(help="Privacy budget delta, well below 1/n.")] = 1e-6,
    report: Annotated[Path, typer.Option(help="HTML page to write.", rich_help_panel=OUTPUT)] = PAGE,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Train private models on real, public data (Covertype), a line and curves; compare with no privacy."""
    from sottovoce import fitting
    from sottovoce.accounting import Budget
    from sottovoce.cli import output as out
    from sottovoce.cli.outputs import place_for, require_free
    from sottovoce.data.schema import Schema
    from sottovoce.datasets import covertype
    from sottovoce.features.effects import sparklines
    from sottovoce.files import write
    from sottovoce.report import render
    from sottovoce.report.about import About

    Budget(epsilon=epsilon, delta=delta)
    if report != PAGE:
        require_free((report,), force=force)
    whole = covertype.load().two_classes()
    held_out = whole.held_out()
    training, test = whole.rows(~held_out), whole.rows(held_out)
    if not quiet:
        out.say_text(
            f"Covertype (public, UCI, CC BY 4.0): is a forest patch spruce or pine? "
            f"{training.cover.size:,} records to train on, {test.cover.size:,} held out."
        )
    table, tested, schema = training.table(), test.table(), Schema.from_dict(covertype.declaration())
    watched = out.is_watched() and not quiet

    def trained(budget: float, kind: str) -> Any:
        return fitting.fit(
            table,
            schema,
            epsilon=budget,
            delta=delta,
            model=kind,
            about=About(dataset="Covertype"),
            progress=watched,
        )

    curved = trained(epsilon, "additive")
    with place_for(report, force=force) as place:
        write(place, render(curved.result, curved.card()))
    if quiet:
        return
    budgets = sorted({epsilon, *OTHERS})
    shares = {}
    for budget in budgets:
        for kind in KINDS:
            model = curved if (budget, kind) == (epsilon, "additive") else trained(budget, kind)
            shares[budget, kind] = _share(model.predict(tested), test)
    result = curved.result
    out.say(
        {
            "Guarantee": result.guarantee,
            "Certificate": result.certificate,
            **out.caveats(result.caveats),
        }
    )
    out.console().print(_compared(shares, budgets, _without_privacy(training, test)))
    out.say_text(
        f"Always pine would be right for {_share('pine', test):.4f}. Without privacy curves are those of "
        "gradient boosting. All figures are exact because the data are public: on private data each would "
        "need a share of the budget, and all these models would add theirs up."
    )
    out.say_text(
        f"What the curves say, of the model with epsilon {epsilon:g}:\n{sparklines(curved.effects())}"
    )
    out.say({"Wrote": f"{place}. Open it in a browser: python -m webbrowser {place}"})
    out.say_text("\n  ".join(["Your own table, in three commands:", *YOURS]))


def _share(predicted: Any, test: Covertype) -> float:
    """The part of the rows that were predicted rightly."""
    import numpy as np

    return float(np.mean(np.asarray(predicted) == np.where(test.cover == 1, "spruce", "pine")))


def _without_privacy(training: Covertype, test: Covertype) -> tuple[float, float]:
    """Accuracy without noise, of a line and of curves by gradient boosting: for public data only."""
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier

    line = _newton(training.bounded(), training.signs())
    straight = float(np.mean((test.bounded() @ line > 0) == (test.cover == 1)))
    curves = HistGradientBoostingClassifier(
        interaction_cst="no_interactions",
        early_stopping=False,
        max_iter=200,
        learning_rate=0.2,
        categorical_features=[len(training.numeric[0]), len(training.numeric[0]) + 1],
    )
    curves.fit(_columns(training), training.cover == 1)
    return straight, float(curves.score(_columns(test), test.cover == 1))


def _columns(table: Covertype) -> NDArray[Any]:
    import numpy as np

    return np.column_stack([table.numeric, table.wilderness, table.soil])


def _newton(rows: NDArray[Any], signs: NDArray[Any]) -> NDArray[Any]:
    """The minimizer of the logistic loss with a penalty of STRENGTH."""
    import numpy as np

    weights = np.zeros(rows.shape[1])
    for _ in range(8):
        chances = 1.0 / (1.0 + np.exp(np.clip(signs * (rows @ weights), -700.0, 700.0)))
        gradient = -(signs * chances) @ rows / len(signs) + STRENGTH * weights
        hessian = (rows.T * (chances * (1.0 - chances))) @ rows / len(signs)
        weights -= np.linalg.solve(hessian + STRENGTH * np.eye(weights.size), gradient)
    return weights


def _compared(
    shares: dict[tuple[float, str], float], budgets: list[float], exact: tuple[float, float]
) -> Table:
    from rich.table import Table

    table = Table(title="Accuracy on the held-out rows", title_justify="left")
    table.add_column("")
    for heading in ("straight line", "curves"):
        table.add_column(heading, justify="right")
    for budget in budgets:
        table.add_row(f"epsilon {budget:g}", *(f"{shares[budget, kind]:.4f}" for kind in KINDS))
    table.add_row("no privacy", *(f"{share:.4f}" for share in exact))
    return table
