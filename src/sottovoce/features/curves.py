"""Curves in place of lines: each number becomes a cubic spline whose knots lie where the records do."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.data.columns import Column
from sottovoce.data.numbers import Numeric, Spline
from sottovoce.errors import ParameterError
from sottovoce.features.selection import SAMPLED, can_choose

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.data.schema import Schema
    from sottovoce.features.marginals import Marginal
    from sottovoce.losses import Loss

MODELS = ("linear", "additive", "smooth", "auto")
MOST_KNOTS = 12
_PARTS = (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0)
"""How far knots follow the records' ranks, the roots of their shares in bins, and the declared range. Roots
see to those beside a bin that holds most records, ranks to what is within it."""

NARROWEST = 1e-9
"""Part of the largest transformed number that a transformed range has at least: knots are rounded."""


def knot_count(n: int, mu: float, columns: int) -> int:
    """Knots K of each of c curves, from 1 to 12: least K^-4 / 4 + (c K)^2 / (2 n^2 mu^2) + c K / (8 n).

    A curve's error falls with a high power of the knots, of which the fourth is the one that held on tables.
    Of c K weights the noise for privacy costs the square over (n mu)^2: alone it leaves the cube root of
    n mu / c. The chance of the sample costs their number over n, so that however large epsilon is, no more
    than the fifth root of 8 n / c knots are worth having."""
    knots = np.arange(1, MOST_KNOTS + 1)
    weights = columns * knots
    private, sampled = (weights / (n * mu)) ** 2 / 2.0, SAMPLED * weights / (2.0 * n)
    return int(knots[np.argmin(knots**-4.0 / 4.0 + private + sampled)])


def curved(
    schema: Schema,
    knots: int,
    marginals: tuple[Marginal, ...] = (),
    only: frozenset[str] | None = None,
    *,
    apart: bool = False,
) -> Schema:
    """The schema with a spline in place of each number that may bend, or of `only` those; without marginals,
    of even knots; `apart`: as `spline`.

    Numbers that enter a declared interaction stay lines, as do those declared with a centre or scale, or of
    linear shape."""
    found = {marginal.name: marginal for marginal in marginals}
    columns: list[Column] = []
    for column in schema.columns:
        if bends(column, schema) and (only is None or column.name in only):
            assert isinstance(column, Numeric)
            columns.append(spline(column, knots, found.get(column.name), apart=apart))
        else:
            columns.append(column)
    return replace(schema, columns=tuple(columns))


def may_bend(model: str, schema: Schema, loss: Loss, *, inference: bool = False) -> frozenset[str]:
    """Names of the columns that a model of this name may give a curve: by "auto" those that the schema
    declares curves where coefficients are inferred, or where the loss leaves nothing to choose by; else all
    that may bend."""
    if model not in MODELS:
        raise ParameterError(
            f"model must be one of {', '.join(map(repr, MODELS))}, not {model!r}.", argument="model"
        )
    declared = declared_curves(schema)
    if model == "linear" and declared:
        raise ParameterError(
            'the schema declares a column of shape "curve", which a linear model has not. Take model="auto" '
            'or "additive", or leave the shape out.'
        )
    if model == "linear" or (model == "auto" and (inference or not can_choose(loss))):
        return declared
    if model == "smooth" and (inference or not can_choose(loss)):
        raise ParameterError(
            'model="smooth" chooses pairs of columns by released answers, for classes and numbers, and its '
            'coefficients have no standard errors. Take "additive", or leave inference out.'
        )
    return frozenset(column.name for column in schema.columns if bends(column, schema))


def bends(column: Column, schema: Schema) -> bool:
    """Whether a curve may take the place of this column's line."""
    return (
        isinstance(column, Numeric)
        and column.centre is None
        and column.scale is None
        and column.shape != "linear"
        and not any(column.name in pair for pair in schema.interactions)
    )


def declared_curves(schema: Schema) -> frozenset[str]:
    """Names of the numbers whose shape is declared a curve."""
    return frozenset(
        column.name for column in schema.columns if isinstance(column, Numeric) and column.shape == "curve"
    )


def curves_of(schema: Schema) -> frozenset[str]:
    """Names of the columns that are curves."""
    return frozenset(column.name for column in schema.columns if isinstance(column, Spline))


def spline(column: Numeric, knots: int, marginal: Marginal | None, *, apart: bool = False) -> Spline:
    """A spline in place of a number, its knots where the marginal says that records are, or even; two bins
    `apart` at least, or as far as bins allow, if it is to vary little within one, where the marginal does not
    say who is.

    It bends in the transformed number, if the range is wide enough there for knots to be told apart."""
    wanted = np.arange(1, knots + 1) / (knots + 1)
    low, high = column.transformed(np.array([column.low, column.high]))
    if not high - low > NARROWEST * max(abs(low), abs(high)):
        column = replace(column, transform=None)
        low, high = column.low, column.high
    even = low + wanted * (high - low)
    if marginal is not None:
        edges = column.transformed(np.array(marginal.edges))
        roots = np.append(0.0, np.cumsum(np.sqrt(np.diff(marginal.law))))
        laws = np.stack([marginal.law, roots / roots[-1], np.linspace(0.0, 1.0, edges.size)])
        places = np.interp(wanted, np.array(_PARTS) @ laws, edges)
        if apart:
            gap = min(2.0, (edges.size - 1) / (knots + 1))
            steps = gap * np.arange(1, knots + 1)
            bins = np.interp(places, edges, np.arange(edges.size))
            bins = np.maximum.accumulate(np.maximum(bins, gap) - steps) + steps
            last = edges.size - 1.0 - steps[::-1]
            places = np.interp(np.minimum(bins, last), np.arange(edges.size), edges)
        with suppress(ParameterError):  # floats may not tell knots apart that are closer than even ones
            return _knotted(column, places)
    return _knotted(column, even)


def _knotted(column: Numeric, places: Vector) -> Spline:
    return Spline(
        column.name,
        column.low,
        column.high,
        tuple(column.back(places).tolist()),
        transform=column.transform,
        missing=column.missing,
        indicator=column.indicator,
        monotone=column.monotone,
    )
