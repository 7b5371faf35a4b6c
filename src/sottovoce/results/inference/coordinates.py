"""Coordinates in which noise hurts inference least, from noisy column means and squares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.queries import Preconditioner

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.problem import Problem
    from sottovoce.queries import Moments
    from sottovoce.results.inference.design import Design

CAP = 1.0
"""Cap on influence in root mean square lengths: short records count fully, long ones set no noise."""

_UNCERTAIN = 2.0
"""A variance may lie this many standard errors above its estimate."""


def standardized(moments: Moments, problem: Problem, design: Design | None = None) -> Preconditioner:
    """Columns centred and divided by their standard deviation, as far as it is known; the constant is 1.

    With a variance of s +- e a column is divided by sqrt(s + 2e): one that is lost in the noise is not
    stretched until nothing but noise is left of it. With a `design` the columns are its terms psi = A x:
    a level that hardly a record has is then one short coordinate, in place of a direction along which
    all other levels and the constant move together and which hides what they differ by."""
    if design is None or problem.constant is None:
        design = None
        means, squares = moments.means, moments.squares
        mean_errors, errors = (np.full(means.size, sd) for sd in (moments.mean_scale, moments.square_scale))
    else:
        means, squares, mean_errors, errors = _of_terms(moments, design, problem.constant)
    squares, shift = np.maximum(squares, 0.0), None
    if problem.constant is not None:
        place = problem.constant
        size = max(abs(float(means[place])), 3.0 * float(mean_errors[place]))
        shift = means / math.copysign(size, float(means[place]) or 1.0)
        shift[place] = 0.0
        errors = np.hypot(errors, 2.0 * means * mean_errors)
        squares = np.maximum(squares - means**2, 0.0)
        squares[place], errors[place] = size**2, 0.0
    held = squares + _UNCERTAIN * errors + 1e-24 * problem.radius**2
    scale = np.clip(held**-0.5, 1e-14, 1e14)
    trace = float(np.sum(np.maximum(squares, 0.25 * errors) * scale**2))
    cap = CAP * math.sqrt(max(trace, 1.0))
    if design is None:
        return Preconditioner(scale=scale, cap=cap, shift=shift, constant=problem.constant)
    assert shift is not None
    turn = design.inverse - np.outer(shift, design.inverse[problem.constant])
    return Preconditioner(scale=np.ones(means.size), cap=cap, turn=scale[:, None] * turn)


def _of_terms(moments: Moments, design: Design, constant: int) -> tuple[Vector, Vector, Vector, Vector]:
    """Means and mean squares of the terms, and the sd of the noise in both.

    Terms that are 0 or as high as the constant, h, have a square of h times their mean. Others are features,
    or what is left of one where no category of another column holds: features of disjoint records, whose
    squares are added and taken away as they are themselves."""
    inverse = design.inverse
    means, squares = inverse @ moments.means, inverse @ moments.squares
    lengths = np.sqrt(np.einsum("ij,ij->i", inverse, inverse))
    mean_errors, errors = lengths * moments.mean_scale, lengths * moments.square_scale
    height = max(float(moments.squares[constant]), 0.0) / max(abs(float(means[constant])), 1e-300)
    squares = np.where(design.indicators, height * means, squares)
    return means, squares, mean_errors, np.where(design.indicators, height * mean_errors, errors)
