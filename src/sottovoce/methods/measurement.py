"""The end of a run without a tolerance: pay to know the weights that are returned."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from sottovoce.certificate import norm_bound, scalar_margin
from sottovoce.errors import BudgetExceeded
from sottovoce.result import Stop

if TYPE_CHECKING:
    from sottovoce.certificate import Levels
    from sottovoce.methods.loop import Walk

_TYPICAL = 4.0
"""Gradient norm, in standard deviations of one noisy entry, at which two ways to measure are compared."""


def measure(walk: Walk, levels: Levels, curvature_units: int) -> Stop:
    """Spend what is left on the present point, so that the certificate speaks of the weights returned."""
    walk.levels = levels
    try:
        left = walk.ask.units_left - curvature_units
        scalar = left // 2 if scalar_pays(walk.problem.dim, levels.gradient) else 0
        here = walk.gradient(left - scalar)
        spent = here.gradient.units
        if scalar:
            norm = walk.ask.gradient_norm(walk.w, scalar)
            spent += norm.units
            here = replace(here, norm=norm)
            walk.evidence = here
        if curvature_units:
            spent += walk.smallest_eigenvalue(here, curvature_units).units
    except BudgetExceeded:
        return Stop.OUT_OF_BUDGET
    walk.record("measurement", spent)
    return Stop.FINISHED


def scalar_pays(dim: int, level: float) -> bool:
    """Whether half the price for the gradient's norm alone bounds it better than the whole for all entries.

    The norm's noise does not grow with d, that of the vector does: it pays from some hundred entries on."""
    vector, _ = norm_bound(math.sqrt(dim + _TYPICAL**2), 1.0, dim, level)
    return _TYPICAL + math.sqrt(2.0) * scalar_margin(1.0, level) < vector
