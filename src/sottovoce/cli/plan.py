"""`sottovoce plan`: what a budget can buy, before any data is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.groups import Trained, grouped
from sottovoce.cli.options import OUTPUT, PRIVACY, TRAINING, AsJson, Delta, Force, Neighbours, delta_of

if TYPE_CHECKING:
    from sottovoce.accounting import Budget
    from sottovoce.data.schema import Schema
    from sottovoce.losses import Loss
    from sottovoce.planning.planner import Plan

WISHES = "Accuracy first"

_ROUNDS = 8
"""At most so many plans until epsilon and the number of knots agree: they may go on in turns."""


@grouped
def plan(
    rows: Annotated[
        int,
        typer.Option(
            help="How many records there will be, or persons if it is for them.", show_default=False
        ),
    ],
    delta: Delta,
    trained: Trained,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Privacy budget; left out, the plan is for the one that is expected to reach --accuracy, "
            "--auc or --standard-error.",
            rich_help_panel=PRIVACY,
            show_default=False,
        ),
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option(
            help="Accuracy that the model is to have, such as 0.84: which epsilon will do?",
            rich_help_panel=WISHES,
        ),
    ] = None,
    auc: Annotated[
        float | None,
        typer.Option(help="The same of the area under the ROC curve.", rich_help_panel=WISHES),
    ] = None,
    without_privacy: Annotated[
        float | None,
        typer.Option(
            help="What a model without privacy has of it: from last year's, or what was published.",
            rich_help_panel=WISHES,
        ),
    ] = None,
    standard_error: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TERM=ERROR",
            help="Standard error of a column's coefficient, such as age=0.05; with --inference.",
            rich_help_panel=WISHES,
        ),
    ] = None,
    relation: Neighbours = "replace-one",
    schema: Annotated[
        Path | None, typer.Option(help="Declared columns; they say how many weights there are.")
    ] = None,
    weights: Annotated[
        int | None, typer.Option(help="How many weights (for each class, if many), if there is no schema.")
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(help="How many classes, if there is no schema and not 2.", show_default=False),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="linear, additive, smooth or auto, as in fit; auto and smooth are planned as if all columns "
            "bent and none acted together. What marginals take is not deducted.",
            rich_help_panel=TRAINING,
        ),
    ] = "linear",
    tolerance: Annotated[
        float | None,
        typer.Option(help="A gradient norm to be certified: is it in reach?", rich_help_panel=TRAINING),
    ] = None,
    curvature: Annotated[
        float | None,
        typer.Option(help="The negative curvature to accept beside it.", rich_help_panel=TRAINING),
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="Confidence of the certificate.", rich_help_panel=TRAINING)
    ] = 0.99,
    calibration: Annotated[
        str, typer.Option(help="tight, or published: the paper's own.", rich_help_panel=TRAINING)
    ] = "tight",
    inference: Annotated[
        float,
        typer.Option(help="Part of the budget for standard errors.", rich_help_panel=TRAINING),
    ] = 0.0,
    effect: Annotated[
        float | None,
        typer.Option(
            help="An effect per standard deviation of a column: what would show it?", rich_help_panel=TRAINING
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            help="How often such a run is made: day, week, month, quarter, year, or '2 weeks'; with --for.",
            show_default=False,
        ),
    ] = None,
    span: Annotated[
        str | None,
        typer.Option("--for", help="For how long: year, or '3 years'.", show_default=False),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", help="Also write this page, with a chart over epsilon.", rich_help_panel=OUTPUT
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Forecast a run from public numbers: its noise, its steps, and what it can expect to certify.

    A wish out of reach is answered with the nearest ones within it: tolerance, rows or epsilon.

    Example: sottovoce plan --rows 500000 --schema schema.toml --epsilon 1 --delta 1e-6
    Or: sottovoce plan --rows 30000 --schema schema.toml --delta 1e-6 --accuracy 0.84 --without-privacy 0.85
    """
    from sottovoce import regularizers
    from sottovoce.accounting import Budget
    from sottovoce.accounting.budget import declared_delta
    from sottovoce.accounting.wording import caution
    from sottovoce.cli import output as out
    from sottovoce.data.schema import Schema
    from sottovoce.errors import ParameterError
    from sottovoce.planning import planner
    from sottovoce.planning.schedule import schedule
    from sottovoce.results.result import Tolerance

    if (schema is None) == (weights is None):
        raise ParameterError("say how many weights there are: --schema FILE, or --weights NUMBER.")
    if schema is not None and classes is not None:
        raise ParameterError("the schema declares the classes: leave --classes out.")
    if curvature is not None and tolerance is None:
        raise ParameterError("--curvature goes with --tolerance, the gradient norm to be certified.")
    if (every is None) != (span is None):
        raise ParameterError("a schedule is --every day --for year.")
    if html is not None:
        from sottovoce.cli.outputs import require_free

        require_free((html,), inputs=(schema,), force=force)
    if rows < 1:
        raise ParameterError("--rows must be at least 1.")
    declared = None if schema is None else Schema.load(schema)
    chosen, target = _aim(declared, trained.loss)
    errors = _errors(standard_error or [])
    asked = accuracy is not None or auc is not None or bool(errors)
    if epsilon is None and not asked:
        raise ParameterError("say --epsilon, or what it is to reach: --accuracy, --auc, --standard-error.")
    budget = Budget(1.0 if epsilon is None else epsilon, declared_delta(delta_of(delta), rows), relation)
    told = declared

    def planned(budget: Budget) -> Plan:
        bent = _bent(told, model, rows, budget, chosen, inference > 0.0)
        return planner.plan(
            n=rows,
            dim=_width(bent) if bent is not None else weights or 0,
            loss=chosen,
            budget=budget,
            regularizer=regularizers.by_name(trained.regularizer, trained.strength),
            method=trained.method,
            classes=_classes(bent) if classes is None else classes,
            tolerance=None if tolerance is None else Tolerance(gradient=tolerance, curvature=curvature),
            confidence=confidence,
            calibration=calibration,
            target=target,
            inference=inference,
            effect=effect,
            schema=bent,
            accuracy=accuracy,
            auc=auc,
            without_privacy=without_privacy,
            standard_error=errors,
        )

    found, dim = planned(budget), 0
    # Curves have fewer knots where the budget is smaller, and fewer weights cost less.
    for _ in range(_ROUNDS):
        reached = [wish.epsilon for wish in found.wishes if wish.epsilon is not None]
        if epsilon is not None or not reached or found.dim == dim:
            break
        budget, dim = replace(budget, epsilon=max(reached)), found.dim
        found = planned(budget)
    unit = "person" if declared is not None and declared.person is not None else "record"
    times = schedule(every, span, budget, unit) if every and span else None
    weak = tuple(filter(None, [caution(budget.epsilon, budget.delta, rows, budget.relation, unit)]))
    if html is not None:
        from sottovoce.cli.outputs import place_for
        from sottovoce.files import write
        from sottovoce.report.plan import render_plan

        page = render_plan(found)
        with place_for(html, force=force) as html:
            write(html, page)
    if as_json:
        repeated = {} if times is None else {"schedule": times.to_dict()}
        out.say_json({**found.to_dict(), **repeated, "caveats": list(weak)})
        return
    print(found)
    if found.accuracy is not None and found.coefficients is None:
        print(f"\n{found.accuracy.drawn()}")
    if times is not None:
        print(f"\n{times}")
    if weak:
        out.say(out.caveats(weak))
    if html is not None:
        out.say({"Wrote": html})


def _errors(given: list[str]) -> dict[str, float]:
    """Columns and the standard errors that are wanted of them."""
    from sottovoce.errors import ParameterError

    found: dict[str, float] = {}
    for text in given:
        term, _, error = text.rpartition("=")
        try:
            found[term] = float(error)
        except ValueError:
            term = ""
        if not term:
            raise ParameterError("--standard-error must be a column and a number, such as age=0.05.")
    return found


def _bent(
    schema: Schema | None, model: str, n: int, budget: Budget, loss: Loss, inference: bool
) -> Schema | None:
    """The schema with the features that `fit` would train, wherever it puts their knots."""
    from sottovoce.accounting.gdp import mu_of
    from sottovoce.errors import ParameterError
    from sottovoce.features.curves import curved, knot_count, may_bend

    if schema is None:
        if model != "linear":
            raise ParameterError("--model goes with --schema, which declares the columns.")
        return None
    names = may_bend(model, schema, loss, inference=inference)
    return curved(schema, knot_count(n, mu_of(budget.epsilon, budget.delta), len(schema.columns)), only=names)


def _width(schema: Schema) -> int:
    from sottovoce.data.encoding import feature_names

    return len(feature_names(schema))


def _classes(schema: Schema | None) -> int:
    """Two for a number, which has none."""
    aim = None if schema is None else schema.target
    return 2 if aim is None or aim.classes is None else len(aim.classes)


def _aim(schema: Schema | None, loss: str | None) -> tuple[Loss, tuple[float, float] | None]:
    """The loss that `fit` would take, and the range its target is mapped to, if it is a number."""
    from sottovoce import fitting, losses

    aim = None if schema is None else schema.target
    chosen = losses.by_text(loss or fitting.LOGISTIC) if aim is None else fitting.loss_for(loss, aim)
    ranges = {losses.Kind.RESIDUAL: (-1.0, 1.0), losses.Kind.COUNT: (0.0, 1.0)}
    return chosen, ranges.get(chosen.kind)
