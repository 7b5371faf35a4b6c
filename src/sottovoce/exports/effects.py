"""Average marginal effects of a model at given rows: what changes in the prediction if one column does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from sottovoce.data.columns import Categorical
from sottovoce.data.encoding import encoded_table
from sottovoce.data.frames import Dataframe
from sottovoce.data.numbers import Numeric
from sottovoce.errors import ParameterError
from sottovoce.results.inference.effects import Pair, average_effects
from sottovoce.results.inference.summary import Summary
from sottovoce.results.result import NO_FINDINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sottovoce.data.schema import Schema
    from sottovoce.model import Model

_STEP = 1e-4
"""A number is moved by this part of its declared range, both ways, to find its slope."""


def marginal_effects(model: Model, table: Any, level: float = 0.95) -> Summary:
    """Of numbers the average slope per unit, of categories the average difference from the reference, in the
    probability of the second class, the expected count or the number itself, as a summary.

    The rows are a dataframe of pandas and of the user's choice; of private records averages like these are
    exact functions, for their owner only."""
    findings = model.result.inference
    if findings is None:
        raise ParameterError(NO_FINDINGS)
    if findings.outputs > 1:
        raise ParameterError("marginal effects are those of two classes, counts or numbers.")
    if not 0.0 < level < 1.0:
        raise ParameterError("level must lie strictly between 0 and 1, for example 0.95.", argument="level")
    lines = average_effects(findings, model.terms(), _pairs(model.schema, table), _link(model), level)
    return Summary(
        lines=lines,
        level=level,
        simultaneous=False,
        exp=False,
        robust=findings.robust,
        references={group.name: group.reference for group in model.terms().groups if group.reference},
        remarks=("these are average marginal effects at the rows given",),
    )


def _link(model: Model) -> Any:
    if model.is_count:
        return np.exp, np.exp
    if not model.is_classifier:
        middle, unit = model.scale
        return lambda t: middle + unit * t, lambda t: np.full_like(t, unit)
    if not hasattr(model, "predict_proba"):
        raise ParameterError('marginal effects need probabilities. Fit with loss "logistic".')
    return special.expit, lambda t: special.expit(t) * special.expit(-t)


def _pairs(schema: Schema, table: Any) -> Iterator[Pair]:
    def encoded(name: str, values: Any) -> Any:
        return encoded_table(schema, table.assign(**{name: values}), np.float64)

    for column in schema.columns:
        if isinstance(column, Categorical):
            reference = column.categories[0] if column.reference is None else column.reference
            others = encoded(column.source, reference)
            for category in column.categories:
                if category != reference:
                    yield Pair(f"{column.name}={category}", encoded(column.source, category), others)
        elif isinstance(column, Numeric):
            step = _STEP * (column.high - column.low)
            held = Dataframe(table).column(column.source)
            inside = np.clip(schema.reading(column).numbers(held), column.low + step, column.high - step)
            yield Pair(
                column.name,
                encoded(column.source, inside + step),
                encoded(column.source, inside - step),
                2.0 * step,
            )
