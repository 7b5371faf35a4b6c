"""Time to event by discrete-time hazards: a row for each declared interval in which a person is at risk.

The logit of the hazard in an interval is linear, so its likelihood is that of a logistic model of these rows.
Rows of a person count 1/m each; weighted by m over the number of intervals they count alike, as the
likelihood wants, and a person with all its rows counts 1 at most: the person is the unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from sottovoce.data import cells
from sottovoce.data.columns import Categorical, Target
from sottovoce.data.encoding import encoded_table
from sottovoce.errors import ParameterError
from sottovoce.inference.estimate import OneStep
from sottovoce.inference.terms import coded
from sottovoce.result import NO_FINDINGS

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix
    from sottovoce.data.schema import Schema
    from sottovoce.model import Model

INTERVAL, PERSON, AT_RISK = "interval", "sottovoce person", "sottovoce rows at risk"


def person_periods(
    table: Any,
    schema: Schema,
    *,
    time: str,
    event: str,
    grid: Sequence[float],
    entry: str | None = None,
    typical: float | None = None,
) -> tuple[Any, Schema]:
    """A table of one row a person and interval at risk, and the schema of a model of its hazards.

    `table` is a pandas dataframe with a row a person, `schema` declares its columns, no target, person or
    weight. `time` is when `event` happened ("yes") or a person was last seen ("no"), `entry` when it came
    under observation, 0 unless said; `typical` is a usual hazard, for forecasts. `grid` has the ends of the
    intervals, declared without the data: time starts at 0 and what happens past the last end is not looked
    at. Who is censored within an interval is at risk in those before it. Each record becomes rows by itself:
    one that has no interval at risk keeps a row that counts 0, and one without a usable time or event a row
    without a label, which `fit` treats as `invalid` says. So how many persons there are tells nothing."""
    ends = [float(end) for end in grid]
    if not ends or any(not low < high for low, high in pairwise([0.0, *ends])) or not math.isfinite(ends[-1]):
        raise ParameterError("grid must hold the ends of intervals, above 0, increasing and finite.")
    if schema.target is not None or schema.person is not None or schema.weight is not None:
        raise ParameterError("person_periods makes target, person and weight itself: declare columns alone.")
    if {INTERVAL, PERSON, AT_RISK} & {*schema.names}:
        raise ParameterError(
            f"the names {INTERVAL!r}, {PERSON!r} and {AT_RISK!r} are taken: rename a column."
        )
    last = cells.numbers(table[time].to_numpy())
    first = np.zeros(len(table)) if entry is None else cells.numbers(table[entry].to_numpy())
    happened = cells.codes(table[event].to_numpy(), ("no", "yes"))
    starts = np.array([0.0, *ends[:-1]])
    owners, places = list[int](), list[int]()
    labels = list[str | None]()
    for number, (until, since, code) in enumerate(zip(last, first, happened, strict=True)):
        if not (math.isfinite(until) and until > 0.0 and math.isfinite(since) and code >= 0):
            owners.append(number)
            places.append(0)
            labels.append(None)
            continue
        inside = (starts >= since) & (starts < until)
        at_risk = np.flatnonzero(inside if code else inside & (np.array(ends) <= until))
        kept = at_risk if at_risk.size else np.zeros(1, dtype=np.intp)
        owners += [number] * kept.size
        places += kept.tolist()
        died = [bool(code) and starts[k] < until <= ends[k] for k in kept]
        labels += ["yes" if one else "no" for one in died] if at_risk.size else ["no"]
        if not at_risk.size:
            owners[-1] = -number - 1
    keys = np.array([owner if owner >= 0 else -owner - 1 for owner in owners])
    counts = np.bincount(keys, minlength=len(table))[keys] * (np.array(owners) >= 0)
    names = [f"to {end:g}" for end in ends]
    made = table.iloc[keys].reset_index(drop=True)
    made = made.assign(
        **{
            INTERVAL: [names[place] for place in places],
            PERSON: [f"p{key}" for key in keys],
            AT_RISK: counts.astype(float),
            event: labels,
        }
    )
    declared = replace(
        schema,
        columns=(*schema.columns, Categorical(INTERVAL, tuple(names))),
        target=Target(event, ("no", "yes"), typical=typical),
        person=PERSON,
        weight=AT_RISK,
        weight_cap=float(len(ends)),
    )
    return made, declared


def survival_curves(model: Model, table: Any, level: float = 0.95) -> Matrix:
    """For each row of a dataframe and each interval's end the chance to live past it, and its lower and upper
    end: rows by intervals by 3; NaN where it is not determined.

    log S = sum of log(1 - h) moves by -(sum of h x) dw; ends are those of log S."""
    findings = model.result.inference
    interval = next((part for part in model.schema.columns if part.name == INTERVAL), None)
    if findings is None or not isinstance(interval, Categorical):
        raise ParameterError(
            NO_FINDINGS if interval else "this is no model of person_periods: it has no intervals."
        )
    coding = coded(model.terms(), findings)
    estimate = OneStep.of(findings, coding.flat, coding.spread)
    logarithm, moved = np.zeros(len(table)), np.zeros((len(table), findings.weights.size))
    found = []
    for name in interval.categories:
        rows = encoded_table(model.schema, table.assign(**{INTERVAL: name}), np.float64)
        scores = estimate.values(rows)
        logarithm = logarithm - np.logaddexp(0.0, scores)
        moved = moved - special.expit(scores)[:, None] * rows
        along = estimate.direction(moved)
        errors, freedom = estimate.errors(along)
        reach = special.stdtrit(freedom, 0.5 + 0.5 * level) * errors
        middle = np.where(estimate.determined(along), logarithm, math.nan)
        ends = [middle, middle - reach, np.minimum(middle + reach, 0.0)]
        found.append(np.exp(np.column_stack(ends)))
    return np.stack(found, axis=1)
