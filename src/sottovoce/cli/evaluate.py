"""`sottovoce evaluate`: private figures about a model on a test set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from sottovoce.cli.groups import Charged, PrivateReading, Promise, grouped
from sottovoce.cli.options import AsJson, Data, Person, Persons, Signers

if TYPE_CHECKING:
    from sottovoce.data.tables import Table
    from sottovoce.evaluation.figures import CalibrationCurve, Confusion, Estimate
    from sottovoce.model import Model

    Figure: TypeAlias = Estimate | CalibrationCurve | Confusion


BELOW_NOISE = "below noise"
PARTS = (1.0, 1.0, 1.0 / 6.0, 1.0 / 5.0)
"""The part of the budget that each figure gets, by the number of classes."""


@grouped
def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file from `sottovoce fit`.", show_default=False)],
    data: Data,
    promise: Promise,
    charged: Charged,
    reading: PrivateReading,
    person: Person = None,
    persons: Persons = None,
    confidence: Annotated[float, typer.Option(help="Confidence of every interval.")] = 0.95,
    signers: Signers = None,
    as_json: AsJson = False,
) -> None:
    """Measure a model on a test set, privately for the people in that set.

    Classes: accuracy, log loss, calibration, confusion matrix and, of two, the area under the ROC curve, each
    with an interval. A range: the mean absolute error. The test set needs a budget of its own, or a share of
    the ledger its people are in.
    """
    from dataclasses import asdict

    from sottovoce.accounting.guarantee import Guarantee
    from sottovoce.accounting.lineage import Preset
    from sottovoce.accounting.relations import Relation
    from sottovoce.cli import output as out
    from sottovoce.data import files as tables
    from sottovoce.data.filesets import called, state_of
    from sottovoce.data.persons import require_declared
    from sottovoce.errors import ParameterError
    from sottovoce.evaluation.holdout import too_few
    from sottovoce.report.progress import waiting

    loaded = out.load_model(model, signers)
    if loaded.schema.target is not None and loaded.schema.target.survival is not None:
        raise ParameterError(
            "evaluate measures predictions of one row a record, and a time to event has several. Survival "
            "curves come with intervals."
        )
    account, schema = charged.account(), loaded.schema.amended(person=person)
    if schema.person is not None:
        require_declared(persons, lenient=reading.how.lenient, relation=Relation.of(promise.relation))
    with waiting(out.is_watched(), f"reading {called(data)}"):
        rows = reading.table(data)
        with out.warned():
            tables.warn_of_persons(rows, schema, reading.how)
        table = tables.read(rows, schema, reading.how)
        people = None if table.keys is None else {"groups": table.keys, "persons": persons}
        n = len(table.features)
        if table.keys is not None:
            n = persons or len(set(filter(None, table.keys)))
        budget = promise.budget(n)
        unit = "record" if people is None else "person"
        classes = len(loaded.classes_) if loaded.is_classifier else 0
        if few := too_few(budget, n, unit, classes, part=PARTS[min(classes, 3)]):
            out.aside(few)
        how = {
            "budget": budget,
            "ledger": account,
            "simulate": charged.simulate,
            "confidence": confidence,
            "resume": charged.resume,
            "declared": {"table": state_of(data), "person": person or "", "query": reading.query or ""},
            "reading": reading.how,
            **(people or {}),
        }
        figures = _figures(loaded, table, how)
    guarantee = Guarantee.over(
        (
            Preset(
                run="evaluation",
                currency="gdp",
                unit=unit,
                counted=people is not None and persons is None,
                **asdict(budget),
            ),
        ),
        n=n,
        simulated=charged.simulate is not None,
    )
    weak = guarantee.caveat
    if as_json:
        facts = {
            "simulated": charged.simulate is not None,
            "relation": budget.relation.filed,
            "unit": unit,
            "ledger": "" if account is None else account.identity,
            "caveats": [weak] if weak else [],
        }
        out.say_json({**facts, **{name: _plain(part) for name, part in figures.items()}})
        return
    out.say({"Guarantee": guarantee})
    for figure in figures.values():
        out.console().print(_shown(figure, "rows" if people is None else "persons"))
    if weak:
        out.say(out.caveats([weak]))
    if account is None and charged.simulate is None:
        out.remark("No ledger was charged: whatever else is released about these records adds its budget.")


def _figures(model: Model, table: Table, how: dict[str, Any]) -> dict[str, Figure]:
    from sottovoce import evaluation

    asked = (model, table.features, table.target)
    if not hasattr(model, "predict_proba"):
        from sottovoce.evaluation.holdout import figures

        return {figure.name: figure for figure in figures(*asked, **how)}
    found = evaluation.evaluate(*asked, **how)
    return {
        "accuracy": found.accuracy,
        found.majority.name: found.majority,
        "log loss": found.log_loss,
        "calibration": found.calibration,
        **({} if found.area is None else {found.area.name: found.area}),
        "confusion": found.confusion,
    }


def _plain(figure: Figure) -> dict[str, Any]:
    from dataclasses import fields

    import numpy as np

    raw = {field.name: getattr(figure, field.name) for field in fields(figure)}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in raw.items()}


def _shown(figure: Figure, counted: str) -> Any:
    from rich.table import Table

    from sottovoce.cli.output import shown_safely
    from sottovoce.evaluation.figures import Confusion, Estimate

    if isinstance(figure, Estimate):
        return str(figure)
    level = f"{100 * figure.confidence:g} % confidence"
    if isinstance(figure, Confusion):
        title = (
            f"{counted.capitalize()} by true and predicted class, each within {figure.margin:.0f}, {level}"
        )
        table = Table(title=title)
        table.add_column("true")
        for label in figure.classes:
            table.add_column(f"says {shown_safely(label)}", justify="right")
        for label, counts in zip(figure.classes, figure.counts, strict=True):
            shown = (f"{count:,.0f}" if count > figure.margin else BELOW_NOISE for count in counts)
            table.add_row(shown_safely(label), *shown)
        return table
    table = Table(title=f"How often it happened, by predicted probability, {level}")
    for heading in ("predicted", counted, "happened", "interval"):
        table.add_column(heading, justify="right")
    bins = zip(
        figure.edges[:-1],
        figure.edges[1:],
        figure.counts,
        figure.frequency,
        figure.low,
        figure.high,
        figure.below_noise,
        strict=True,
    )
    for start, end, count, share, low, high, hidden in bins:
        told = (
            (BELOW_NOISE, "", "") if hidden else (f"{count:,.0f}", f"{share:.3f}", f"{low:.3f} to {high:.3f}")
        )
        table.add_row(f"{start:.2f} to {end:.2f}", *told)
    return table
