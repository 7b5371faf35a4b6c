"""Coordinates worth training in, from noisy column means and squares: which columns to stretch, and how far.

Noise has the same size in every learned coordinate, so a column's scale decides how well its weight is known.
All of this is post-processing of one release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.methods.damping import Course, Outlook
from sottovoce.questions import Geometry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.arrays import Vector
    from sottovoce.problem import Problem
    from sottovoce.questions import Moments

POWER = 0.85
"""Columns are divided by their standard deviation to this power: between 0.75 and 1 the loss is flat."""

_FLOORS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""Floors under the variances that are compared, in units of the largest: the last leaves columns alone."""

_CONSTANTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
"""Squares of the constant's coordinate that are compared, in units of a typical column's variance."""

_UNCERTAIN = 2.0
"""A variance may be this many standard deviations above its estimate."""

_SMALLEST = 1e-3
"""No variance is taken for less than this part of the mean."""

_SHORTEST, _LONGEST = 0.9, 4.0
"""Cap on influence in units of the root mean square length."""

_WEIGHTING = 6e-4
"""Excess loss that weights leave at a cap of one root mean square length, in units of U T^2."""

_CORRELATED = 100.0
"""How much more noise costs where columns are correlated than where they are not."""


@final
@dataclass(frozen=True)
class Spreads:
    """Variances of the columns as far as they are known, and their standard errors; the constant is left out.

    Estimates are drawn towards their mean by as much as noise explains their scatter (James & Stein): columns
    of one scale stay of one scale, and no column is stretched for being measured badly."""

    variances: Vector
    errors: Vector
    columns: NDArray[np.intp]

    @classmethod
    def of(cls, moments: Moments, constant: int | None) -> Spreads:
        squares, means = moments.squares, moments.means
        columns = np.arange(squares.size)
        errors = np.full(squares.size, moments.square_scale)
        if constant is not None:
            columns = np.delete(columns, constant)
            squares = squares - means**2 + moments.mean_scale**2
            errors = np.hypot(errors, 2.0 * means * moments.mean_scale)
        seen, errors = squares[columns], errors[columns]
        mean = max(float(np.average(seen, weights=errors**-2.0)), float(errors.mean()) / math.sqrt(seen.size))
        scatter = max(0.0, float(np.mean((seen - mean) ** 2 - errors**2)))
        trust = scatter / (scatter + errors**2)
        variances = np.maximum(trust * seen + (1.0 - trust) * mean, _SMALLEST * mean)
        return cls(variances, errors * np.sqrt(trust), columns)

    @property
    def signal(self) -> Vector:
        """Prior share of each column in the predictor's variance: the root of its own variance."""
        held = np.sqrt(self.variances + self.errors)
        return np.asarray(held / held.sum())


@final
@dataclass(frozen=True)
class Belief:
    """Prior standard deviation of the linear predictor, of its constant part, and mean phi''.

    `movement` is about what one record moves a gradient, in units of the cap on influence."""

    deviation: float
    constant: float
    across: float
    along: float
    movement: float


@final
@dataclass(frozen=True)
class Coordinates:
    """A geometry, and the second moments expected in it: `trace` in all, `diagonal` for each coordinate."""

    geometry: Geometry
    trace: float
    diagonal: Vector

    @classmethod
    def chosen(
        cls, moments: Moments, problem: Problem, course: Course, belief: Belief, mu: float
    ) -> Coordinates:
        """Those with the least expected excess when `mu` is left for gradients.

        Compared are floors under the variances, from none to one so high that columns stay as they are, and
        sizes of the constant's coordinate. Coordinates have mean square 1, the constant's apart."""
        centred = problem.constant if problem.columns > 1 else None
        spreads = Spreads.of(moments, centred)
        base = max(float(spreads.variances.max()), float(spreads.errors.max()), 1e-12)
        count = spreads.columns.size
        best: tuple[float, Vector, float] | None = None
        for floor in _FLOORS:
            stretch = (spreads.variances + _UNCERTAIN * spreads.errors + floor * base + 1e-15) ** -POWER
            held = spreads.variances * stretch
            stretch = stretch * (count / max(float(held.sum()), 1e-12 * float(stretch.max())))
            for constant in _CONSTANTS if centred is not None else (0.0,):
                spectrum = spreads.variances * stretch
                signal = belief.deviation**2 * spreads.signal
                if constant:
                    spectrum, signal = np.append(spectrum, constant), np.append(signal, belief.constant**2)
                noise = belief.movement * _SHORTEST * math.sqrt(float(spectrum.sum())) / (problem.n * mu)
                outlook = Outlook(spectrum, signal, belief.across, belief.along)
                _, expected = course.best(outlook, noise)
                if best is None or expected < best[0]:
                    best = expected, stretch, constant
        assert best is not None
        return cls._of(moments, problem, spreads, best[1], best[2], course, belief, mu)

    @classmethod
    def _of(
        cls,
        moments: Moments,
        problem: Problem,
        spreads: Spreads,
        stretch: Vector,
        constant: float,
        course: Course,
        belief: Belief,
        mu: float,
    ) -> Coordinates:
        scale, diagonal = np.ones(problem.columns), np.zeros(problem.columns)
        scale[spreads.columns] = np.sqrt(stretch)
        diagonal[spreads.columns] = spreads.variances * stretch
        shift = None
        if constant:
            assert problem.constant is not None
            place, size = problem.constant, _away_from_zero(moments, problem.constant)
            scale[place], diagonal[place] = math.sqrt(constant) / abs(size), constant
            shift = moments.means / size
            shift[place] = 0.0
        trace = float(diagonal.sum())
        cap = cap_for(trace, course, belief, problem.n * mu) * math.sqrt(trace)
        geometry = Geometry(
            scale=np.clip(scale, 1e-14, 1e14),
            cap=cap,
            shift=shift,
            constant=problem.constant if constant else None,
        )
        return cls(geometry, trace, diagonal)


def cap_for(trace: float, course: Course, belief: Belief, n_mu: float) -> float:
    """The cap on influence, in units of the root mean square length: noise against what weights leave.

    Noise costs e f^2 at a cap of f lengths, weights about w f^-4: least at f = (2 w/e)^(1/6)."""
    noise = belief.movement * math.sqrt(trace) / n_mu
    expected = _CORRELATED * 0.5 * trace * noise**2 / belief.across
    weighting = _WEIGHTING * course.curvature * belief.deviation**2
    return min(_LONGEST, max(_SHORTEST, math.pow(2.0 * weighting / expected, 1.0 / 6.0)))


def _away_from_zero(moments: Moments, place: int) -> float:
    """The constant's mean, at least a few of its standard errors: it is divided by."""
    mean = float(moments.means[place])
    least = 3.0 * moments.mean_scale
    return math.copysign(max(abs(mean), least), mean if mean else 1.0)
