"""Coefficients of a model in the units of its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.data.contrasts import design_of
from sottovoce.inference.terms import UserTerms


def terms_of(
    model: Any, against: str | Sequence[str] = (), per: Mapping[str, float] | None = None
) -> UserTerms:
    """Coefficients per unit of each column, categories against their references, from encoded weights.

    With x = h A psi and y = middle + reach <x, w> the coefficients of psi are reach h A'w, and the middle is
    the intercept's. Those of counts are changes of the logarithm of the expected count."""
    schema = model.schema
    shift, reach = model.scale
    wanted = [against] if isinstance(against, str) else list(against)
    design = design_of(schema, raw=True, against=wanted, per=per or {})
    plain = design_of(schema, raw=False)
    kept = ~design.empty
    offset = np.append(np.zeros(len(design.names) - 1), shift)
    outputs = tuple(map(str, model.classes_)) if len(model.weights) > 1 else ()
    return UserTerms(
        tuple(name for name, shown in zip(design.names, kept, strict=True) if shown),
        reach * schema.unit * design.matrix.T[kept],
        offset[kept],
        design.shown_groups,
        outputs,
        chances=model.is_count or hasattr(model, "predict_proba"),
        moves=schema.unit * plain.matrix.T,
        flat=plain.inverse[plain.empty] if plain.empty.any() else None,
        ratio="rate ratio" if model.is_count else "odds ratio",
        within=schema.within,
    )
