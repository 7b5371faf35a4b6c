"""Coefficients of a model in the units of its table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sottovoce.data.columns import Categorical
from sottovoce.data.numbers import Binned, Numeric, Spline
from sottovoce.inference.terms import Group, UserTerms


def terms_of(model: Any) -> UserTerms:
    """Coefficients per unit of each column, from weights of columns scaled by their declared bounds.

    A number that interacts with another keeps the unit of its declared scale: products mix the rest. Those of
    counts are changes of the logarithm of the expected count."""
    names = model.schema.features
    shift, reach = model.scale
    unit = reach / math.sqrt(model.schema.blocks)
    matrix, sizes, groups, place = np.eye(len(names)) * unit, np.ones(len(names)), [], 0
    mixed = {name for pair in model.schema.interactions for name in pair}
    for column in model.schema.columns:
        end = place + len(column.features)
        if isinstance(column, Numeric) and column.name not in mixed:
            middle, half = column.constants
            matrix[place, place], matrix[-1, place] = unit / half, -unit * middle / half
            sizes[place] = half
        if isinstance(column, Categorical | Binned | Spline):
            groups.append(Group(column.name, tuple(range(place, end)), len(names) - 1))
        place = end
    sizes[-1] = 0.0
    offset = np.append(np.zeros(len(names) - 1), shift)
    outputs = tuple(map(str, model.classes_)) if len(model.weights) > 1 else ()
    chances = model.is_count or hasattr(model, "predict_proba")
    ratio = "rate ratio" if model.is_count else "odds ratio"
    within = model.schema.within
    return UserTerms(names, matrix, offset, tuple(groups), outputs, chances, sizes, ratio, within)
