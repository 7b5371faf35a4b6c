"""Least value of a smooth function in a box, by Newton steps that are damped until they descend."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from sottovoce.arrays import Matrix, Vector

_STEPS = 200
_CLOSE = 1e-5
"""The search ends where a step promises less than this part of 1 + the value."""

Derivatives = tuple[float, Vector, Matrix]


def minimized(
    function: Callable[[Vector], Derivatives], start: Vector, bound: Vector
) -> tuple[float, Vector]:
    """A local minimum with -bound <= x <= bound, from the value, gradient and Hessian of a function.

    Coordinates at the end of their range that would leave it are held; the others take
    -(H + damping I)^-1 g, cut off by the box. Damping grows fourfold until H + damping I is positive and the
    value falls, and shrinks as much after a step that did as well as promised."""
    x = np.clip(start, -bound, bound)
    value, slope, bend = function(x)
    damping = 1e-3 * float(np.abs(np.diagonal(bend)).max(initial=0.0)) + 1e-12
    for _ in range(_STEPS):
        free = ~(((x >= bound) & (slope < 0.0)) | ((x <= -bound) & (slope > 0.0)))
        if not free.any():
            break
        step = _damped_step(bend[np.ix_(free, free)], slope[free], damping)
        if step is None:
            damping *= 4.0
            continue
        there = x.copy()
        there[free] = np.clip(x[free] + step, -bound[free], bound[free])
        moved = there - x
        promised = -float(slope @ moved) - 0.5 * float(moved @ bend @ moved)
        if abs(float(slope @ moved)) < _CLOSE * (1.0 + abs(value)):
            break
        found = function(there)
        if found[0] < value:
            damping *= 0.25 if value - found[0] > 0.5 * promised else 1.0
            x, (value, slope, bend) = there, found
        else:
            damping *= 4.0
    return value, x


def _damped_step(bend: Matrix, slope: Vector, damping: float) -> Vector | None:
    """None where bend + damping I is not positive."""
    held = bend + damping * np.eye(len(bend))
    _, step, failed = lapack.dposv(held, -slope)
    return None if failed else np.asarray(step)
