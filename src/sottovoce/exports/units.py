"""Coefficients of a model in the units of its table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.arrays import Matrix
from sottovoce.data.columns import Target
from sottovoce.data.contrasts import design_of
from sottovoce.data.numbers import Spline
from sottovoce.data.schema import Schema
from sottovoce.results.inference.terms import UserTerms


def terms_of(
    model: Any, against: str | Sequence[str] = (), per: Mapping[str, float] | None = None
) -> UserTerms:
    """The terms of a model's coefficients."""
    return terms_for(model.schema, model.loss, against, per)


def terms_for(
    schema: Schema, loss: str, against: str | Sequence[str] = (), per: Mapping[str, float] | None = None
) -> UserTerms:
    """Coefficients per unit of each column, categories against their references, from encoded weights.

    With x = h A psi and y = middle + reach <x, w> the coefficients of psi are reach h A'w, and the middle is
    the intercept's. Those of counts are changes of the logarithm of the expected count."""
    target = schema.target
    assert target is not None
    wanted = [against] if isinstance(against, str) else list(against)
    design = design_of(schema, raw=True, against=wanted, per=per or {})
    plain = design_of(schema, raw=False)
    kept = ~design.empty
    middle, reach = (0.0, 1.0) if target.range is None or target.count else target.middle_and_half
    offset = np.append(np.zeros(len(design.names) - 1), middle)
    several = target.classes is not None and len(target.classes) > 2
    return UserTerms(
        tuple(name for name, shown in zip(design.names, kept, strict=True) if shown),
        reach * schema.unit * design.matrix.T[kept],
        offset[kept],
        design.shown_groups,
        tuple(str(label) for label in sorted(target.classes)) if several and target.classes else (),
        chances=target.count or (target.classes is not None and loss in ("logistic", "cloglog")),
        moves=_moves(schema, schema.unit * plain.matrix.T),
        levels=tuple(np.flatnonzero(plain.indicators & ~plain.empty)[:-1].tolist()),
        flat=plain.inverse[plain.empty] if plain.empty.any() else None,
        ratio=ratio_of(target),
        within=schema.within,
    )


def _moves(schema: Schema, coefficients: Matrix) -> Matrix:
    """How far full moves of all features move the score, by the coefficients of plain terms.

    A curve goes from one of its m + 1 weights to the next by m steps. They are a random walk, each taken
    sqrt(m/2) times: what is assumed of a full move then holds of the way from the middle of the range to an
    end, as for a line, and not of each weight apart from its neighbours."""
    moves, place = coefficients.copy(), 0
    for column in schema.columns:
        width = len(column.features)
        if isinstance(column, Spline):
            steps = width - 1 - column.indicator
            walk = math.sqrt(0.5 * steps) * (np.eye(steps) - np.eye(steps, k=-1))
            moves[place : place + steps] = walk @ coefficients[place : place + steps]
        place += width
    return moves


def ratio_of(target: Target) -> str:
    """What e to a coefficient is."""
    if target.survival is not None:
        return "hazard ratio" if target.survival.link == "cloglog" else "hazard odds ratio"
    return "rate ratio" if target.count else "odds ratio"
