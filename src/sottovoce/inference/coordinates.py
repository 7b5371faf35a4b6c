"""Coordinates in which noise hurts inference least, from noisy column means and squares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.questions import Geometry

if TYPE_CHECKING:
    from sottovoce.problem import Problem
    from sottovoce.questions import Moments

CAP = 1.0
"""Cap on influence in root mean square lengths: short records count fully, long ones set no noise."""

_UNCERTAIN = 2.0
"""A variance may lie this many standard errors above its estimate."""


def standardized(moments: Moments, problem: Problem) -> Geometry:
    """Columns centred and divided by their standard deviation, as far as it is known; the constant is 1.

    With a variance of s +- e a column is divided by sqrt(s + 2e): one that is lost in the noise is not
    stretched until nothing but noise is left of it."""
    means, squares = moments.means, np.maximum(moments.squares, 0.0)
    errors = np.full(squares.size, moments.square_scale)
    shift = None
    if problem.constant is not None:
        place = problem.constant
        size = max(abs(float(means[place])), 3.0 * moments.mean_scale)
        shift = means / math.copysign(size, float(means[place]) or 1.0)
        shift[place] = 0.0
        errors = np.hypot(errors, 2.0 * means * moments.mean_scale)
        squares = np.maximum(squares - means**2, 0.0)
        squares[place], errors[place] = size**2, 0.0
    held = squares + _UNCERTAIN * errors + 1e-24 * problem.radius**2
    scale = np.clip(held**-0.5, 1e-14, 1e14)
    trace = float(np.sum(np.maximum(squares, 0.25 * errors) * scale**2))
    return Geometry(scale=scale, cap=CAP * math.sqrt(max(trace, 1.0)), shift=shift, constant=problem.constant)
