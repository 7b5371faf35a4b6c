"""Coefficients of a model in the units of its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.data.columns import Target
from sottovoce.data.contrasts import design_of
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
        moves=schema.unit * plain.matrix.T,
        levels=tuple(np.flatnonzero(plain.indicators & ~plain.empty)[:-1].tolist()),
        flat=plain.inverse[plain.empty] if plain.empty.any() else None,
        ratio=ratio_of(target),
        within=schema.within,
    )


def ratio_of(target: Target) -> str:
    """What e to a coefficient is."""
    if target.survival is not None:
        return "hazard ratio" if target.survival.link == "cloglog" else "hazard odds ratio"
    return "rate ratio" if target.count else "odds ratio"
