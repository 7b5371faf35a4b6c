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
    from sottovoce.problem import Problem
    from sottovoce.result import Tolerance

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


def questions(problem: Problem, levels: Levels) -> int:
    """How many questions `measure` asks: the gradient, its norm where that pays, the curvature in doubt."""
    return 1 + scalar_pays(problem.dim, levels.at_the_end().gradient) + curvature_in_doubt(problem, None)


def curvature_in_doubt(problem: Problem, tolerance: Tolerance | None) -> bool:
    """Whether the structural floor leaves the wanted curvature open and a Hessian can be formed at all."""
    wanted = 0.0 if tolerance is None else -(tolerance.curvature or 0.0)
    return problem.curvature_floor < wanted and problem.forms_matrices


def scalar_pays(dim: int, level: float) -> bool:
    """Whether half the price for the gradient's norm alone bounds it better than the whole for all entries.

    The norm's noise does not grow with d, that of the vector does: it pays from some hundred entries on."""
    vector, _ = norm_bound(math.sqrt(dim + _TYPICAL**2), 1.0, dim, level)
    return _TYPICAL + math.sqrt(2.0) * scalar_margin(1.0, level) < vector
