"""Curves in place of lines: each number becomes a cubic spline whose knots lie where the records do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.data.columns import Column
from sottovoce.data.numbers import Numeric, Spline
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.data.schema import Schema
    from sottovoce.features.marginals import Marginal

MODELS = ("linear", "additive")
MOST_KNOTS = 12
EVEN = 0.5
"""Part of a knot's place that follows the declared range instead of the records' ranks."""


def knot_count(n: int, mu: float, columns: int) -> int:
    """Knots of each curve: the cube root of n mu over the columns, from 1 to 12.

    A curve's error falls with the square of the knots' distance and its noise grows with their number over
    (n mu)^2: the two are level at a low power of n mu, of which the third is the one that held on tables."""
    return int(np.clip(round((n * mu / columns) ** (1.0 / 3.0)), 1, MOST_KNOTS))


def curved(schema: Schema, knots: int, marginals: tuple[Marginal, ...] = ()) -> Schema:
    """The schema with a spline in place of each plain number; without marginals, of even knots.

    Numbers that enter a declared interaction stay lines, as do those declared with a centre or scale."""
    crossed = {name for pair in schema.interactions for name in pair}
    found = {marginal.name: marginal for marginal in marginals}
    columns: list[Column] = []
    for column in schema.columns:
        if bends(column) and column.name not in crossed:
            assert isinstance(column, Numeric)
            columns.append(_spline(column, knots, found.get(column.name)))
        else:
            columns.append(column)
    return replace(schema, columns=tuple(columns))


def bends_of(model: str, schema: Schema) -> bool:
    """Whether a model of this name has curves for this schema: not if no column may bend."""
    if model not in MODELS:
        raise ParameterError(f"model must be {' or '.join(map(repr, MODELS))}, not {model!r}.")
    return model == "additive" and curved(schema, 1) != schema


def bends(column: Column) -> bool:
    """Whether a curve takes the place of this column's line."""
    return isinstance(column, Numeric) and column.centre is None and column.scale is None


def _spline(column: Numeric, knots: int, marginal: Marginal | None) -> Spline:
    wanted = np.arange(1, knots + 1) / (knots + 1)
    if marginal is None:
        places = column.low + wanted * (column.high - column.low)
    else:
        edges = np.array(marginal.edges)
        even = np.linspace(0.0, 1.0, edges.size)
        places = np.interp(wanted, (1.0 - EVEN) * marginal.law + EVEN * even, edges)
    return Spline(
        column.name,
        column.low,
        column.high,
        tuple(places.tolist()),
        missing=column.missing,
        indicator=column.indicator,
    )
