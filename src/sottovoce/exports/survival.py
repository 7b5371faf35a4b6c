"""Survival curves of a model of the time to an event, with bands; they cost nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.data.columns import Categorical, Column
from sottovoce.data.encoding import encoded_table
from sottovoce.data.numbers import Numeric, Spline
from sottovoce.data.sources import open_source, rereadable
from sottovoce.data.survival import AtInterval
from sottovoce.errors import ParameterError
from sottovoce.report.card import SurvivalCurve
from sottovoce.results.result import NO_FINDINGS

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix
    from sottovoce.model import Model

MOST_SHOWN = 8
NO_SURVIVAL = 'survival curves are of a model whose target has type = "survival".'


def survival(model: Model, table: Any) -> Matrix:
    """The chance of each row of a table to live past the end of each interval, by the model's own weights."""
    target = model.schema.target
    if target is None or target.survival is None:
        raise ParameterError(NO_SURVIVAL)
    source = open_source(rereadable(table))
    scores = [
        model.decision_function(encoded_table(model.schema, AtInterval(source, name), np.float64))
        for name in target.survival.intervals
    ]
    lost, _ = hazards(target.survival.link, np.column_stack(scores))
    return np.asarray(np.exp(-np.cumsum(lost, axis=1)))


def hazards(link: str, scores: Matrix) -> tuple[Matrix, Matrix]:
    """-log(1 - h) of each score and its derivative: log(1 + e^s) and h, or e^s both."""
    if link == "cloglog":
        risen = np.exp(np.minimum(scores, 700.0))
        return risen, risen
    return np.logaddexp(0.0, scores), np.exp(-np.logaddexp(0.0, -scores))


def survival_curves(model: Model, table: Any, level: float = 0.95) -> Matrix:
    """For each row of a table and each interval's end the chance to live past it, and its lower and upper
    end: rows by intervals by 3; NaN where it is not determined.

    log S = sum of log(1 - h) moves by -(sum of h x) dw, with the complementary log-log by -(sum of e^s x) dw;
    ends are those of log S."""
    from scipy import special

    from sottovoce.results.inference.standard_errors import OneStep
    from sottovoce.results.inference.terms import coded

    target = model.schema.target
    if target is None or target.survival is None:
        raise ParameterError(NO_SURVIVAL)
    findings = model.result.inference
    if findings is None:
        raise ParameterError(NO_FINDINGS)
    if not 0.0 < level < 1.0:
        raise ParameterError("level must lie strictly between 0 and 1, for example 0.95.", argument="level")
    coding = coded(model.terms(), findings)
    estimate = OneStep.of(findings, coding.flat, coding.spread, coding.levels)
    source = open_source(rereadable(table))
    logarithm: Any = 0.0
    moved: Any = 0.0
    found = []
    for name in target.survival.intervals:
        rows = encoded_table(model.schema, AtInterval(source, name), np.float64)
        scores = estimate.values(rows)
        lost, rises = hazards(target.survival.link, scores)
        logarithm = logarithm - lost
        moved = moved - rises[:, None] * rows
        along = estimate.direction(moved)
        errors, freedom = estimate.errors(along)
        reach = special.stdtrit(freedom, 0.5 + 0.5 * level) * errors
        middle = np.where(estimate.determined(along), logarithm, math.nan)
        ends = [middle, middle - reach, np.minimum(middle + reach, 0.0)]
        found.append(np.exp(np.column_stack(ends)))
    return np.stack(found, axis=1)


def shown_curves(model: Model) -> tuple[SurvivalCurve, ...]:
    """Curves with numbers at the middle of their range and categories at their references, then with one of
    the others each, a few of them: rows that the schema decides. None where it has other columns."""
    target, columns = model.schema.target, model.schema.declared_columns
    plain = all(isinstance(column, Numeric | Spline | Categorical) for column in columns)
    if target is None or target.survival is None or model.result.inference is None or not plain:
        return ()
    middle: dict[str, Any] = {column.source: _usual(column) for column in columns}
    rows, names = [middle], ["at the references"]
    for column in columns:
        if isinstance(column, Categorical):
            others = [label for label in column.categories if label != middle[column.source]]
            rows += [{**middle, column.source: label} for label in others]
            names += [f"{column.name}={label}" for label in others]
    rows, names = rows[:MOST_SHOWN], names[:MOST_SHOWN]
    import pyarrow as pa

    found = survival_curves(model, pa.table({name: [row[name] for row in rows] for name in middle}))
    return tuple(
        SurvivalCurve(name, target.survival.grid, tuple((float(a), float(b), float(c)) for a, b, c in curve))
        for name, curve in zip(names, found, strict=True)
    )


def _usual(column: Column) -> Any:
    """The reference of a category, the middle of a number's range."""
    if isinstance(column, Categorical):
        return column.categories[0] if column.reference is None else column.reference
    assert isinstance(column, Numeric | Spline)
    return (column.low + column.high) / 2.0
