"""Effects that may only rise or only fall: the released weights of a column, moved to the nearest that do.

This is post-processing of what was released: nothing is asked for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import isotonic_regression

from sottovoce.data.numbers import Numeric, Spline
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.data.schema import Schema
    from sottovoce.features.marginals import Marginal
    from sottovoce.results.result import Result

PROJECTED = (
    "columns declared monotone were made so after training, from released weights alone: the certificate "
    "speaks of the weights before that"
)
_LEAST = 1e-3
"""A weight counts at least this part of the mean in its projection, wherever records are said to be."""


def require_projectable(schema: Schema, inference: float) -> None:
    """Refuse what a projection would make false: intervals are those of weights as they were trained."""
    if inference and any(_direction(column) for column in schema.columns):
        raise ParameterError(
            "inference speaks of coefficients as they were trained, not of columns declared monotone. Leave "
            "one of the two out."
        )


def projected(result: Result, schema: Schema, marginals: tuple[Marginal, ...] = ()) -> Result:
    """The result with the effect of every column declared monotone rising, or falling, throughout."""
    if not any(_direction(column) for column in schema.columns):
        return result
    found = {marginal.name: marginal for marginal in marginals}
    weights, place = result.weights.copy(), 0
    for column in schema.columns:
        width = len(column.features)
        if direction := _direction(column):
            assert isinstance(column, Numeric | Spline)
            part = slice(place, place + width - column.indicator)
            if isinstance(column, Numeric):
                weights[part] = direction * np.maximum(direction * weights[part], 0.0)
            else:
                weights[part] = direction * _rising(direction * weights[part], column, found.get(column.name))
        place += width
    return replace(result, weights=weights, caveats=(*result.caveats, PROJECTED))


def _direction(column: object) -> int:
    """1 for up, -1 for down, 0 for what may do both."""
    return {"up": 1, "down": -1}.get(getattr(column, "monotone", None) or "", 0)


def _rising(weights: Vector, column: Spline, marginal: Marginal | None) -> Vector:
    """The nearest weights that never fall, each counted by the records that its spline sees.

    The derivative of a cubic spline is a sum of B-splines, which are at least 0, times differences of its
    weights: where these do not fall, neither does the curve."""
    counted = np.ones(weights.size)
    if marginal is not None and marginal.edges:
        edges = np.array(marginal.edges)
        seen = np.diff(marginal.law) @ column.basis((edges[1:] + edges[:-1]) / 2.0)
        counted = seen + _LEAST * float(seen.mean())
    found: Vector = isotonic_regression(weights, weights=counted).x
    return found
