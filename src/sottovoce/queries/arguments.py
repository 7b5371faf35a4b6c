"""Public numbers that a method passes to an oracle, checked before anything is charged.

A sensitivity is a formula of these numbers: a negative length, a NaN or a norm that underflows would void it.
"""

from __future__ import annotations

import math
from contextlib import suppress
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.accounting.checks import positive, whole
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.problem import Problem

MOST_LENGTHS = 10_000
"""Most lengths that one line search tries."""

LARGEST_REQUIREMENT = 1e300


def vector(name: str, given: Any, dim: int) -> Vector:
    """`given` in float64, if it holds `dim` real numbers in one dimension; finite or not."""
    with suppress(TypeError, ValueError), np.errstate(all="ignore"):
        held = np.asarray(given)
        if held.dtype.kind in "biuf" and held.shape == (dim,):
            return np.array(held, dtype=np.float64)
    raise ParameterError(f"{name} must hold {dim} real numbers, in one dimension.", argument=name)


def weights(given: Any, problem: Problem) -> Vector:
    """Weights, which are public, pulled into the ball in which every exact answer is finite."""
    return problem.within_limit(vector("weights", given, problem.dim))


def unit_vector(given: Any, dim: int) -> Vector:
    """A direction at length 1, or what rounding leaves of it."""
    scaled, _ = _scaled(given, dim)
    return np.asarray(scaled / float(np.linalg.norm(scaled)))


def line(given: Any, lengths: Any, dim: int) -> tuple[Vector, Vector]:
    """A direction and positive lengths to go along it, both moved by a power of two: the steps are the same.

    At its own size products of rows with a direction could underflow and lose what its norm promises."""
    scaled, exponent = _scaled(given, dim)
    with np.errstate(over="ignore", under="ignore"):
        tried = np.ldexp(numbers("lengths", lengths), exponent)
    if not np.all((tried > 0.0) & (tried < math.inf)):
        raise ParameterError(
            "lengths must be positive, and neither vanish nor overflow with the direction.",
            argument="lengths",
        )
    return scaled, np.asarray(tried)


def grid_lengths(longest: Any, shrink: Any, count: Any) -> Vector:
    """longest * shrink^i for i < count."""
    first, factor = positive("longest", longest), positive("shrink", shrink)
    if not factor < 1.0:
        raise ParameterError("each trial must be shorter than the last: 0 < shrink < 1.")
    return np.asarray(first * factor ** np.arange(_count(count)))


def requirements(given: Any, count: int) -> Vector:
    """What each of so many lengths must show: finite numbers."""
    held = numbers("required", given)
    if held.size != count or not np.all(np.abs(held) <= LARGEST_REQUIREMENT):
        raise ParameterError(
            f"required must hold a number for each length, none beyond {LARGEST_REQUIREMENT:g}.",
            argument="required",
        )
    return held


def steps(given: Any, dim: int) -> Matrix:
    """Finite trial steps, one a row."""
    held = [vector("each trial step", row, dim) for row in _rows(given)]
    if not held or not np.all(np.isfinite(held)):
        raise ParameterError(f"trial steps must be at least one row of {dim} finite numbers.")
    return np.stack(held)


def numbers(name: str, given: Any) -> Vector:
    """Real numbers in one dimension, at least one and not too many."""
    return vector(name, given, _count(len(_rows(given))))


def units(given: Any) -> int:
    """Units of privacy as a plain int: a truth value or a fraction of a unit has no price."""
    if isinstance(given, bool) or not isinstance(given, Integral):
        raise ParameterError(
            f"units must be a whole number, got {type(given).__name__}. Pass an int.", argument="units"
        )
    return int(given)


def _scaled(given: Any, dim: int) -> tuple[Vector, int]:
    """A finite direction, its largest entry in [1/2, 1), and the exponent of the power of two taken out."""
    held = vector("direction", given, dim)
    largest = float(np.max(np.abs(held), initial=0.0))
    if not 0.0 < largest < math.inf:
        raise ParameterError("a direction must be finite and longer than 0.")
    exponent = math.frexp(largest)[1]
    return np.asarray(np.ldexp(held, -exponent)), exponent


def _count(given: Any) -> int:
    found = whole("the number of lengths", given)
    if found > MOST_LENGTHS:
        raise ParameterError(f"a line search tries at most {MOST_LENGTHS} lengths. Shrink them faster.")
    return found


def _rows(given: Any) -> list[Any]:
    with suppress(TypeError):
        return list(given)
    raise ParameterError("a method must pass a list or an array here.")
