"""Coordinates worth training in, from noisy column means and squares: which columns to stretch, and how far.

Noise has the same size in every learned coordinate, so a column's scale decides how well its weight is known.
All of this is post-processing of one release. The squares of thousands of columns are below the noise level
where their sums over groups are not: each sum has the noise of one column's square, and a group of m columns
a variance known m times as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np
from scipy import special

from sottovoce.methods.expected_excess import ExpectedExcess
from sottovoce.queries import Preconditioner

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.problem import Problem
    from sottovoce.queries.features import Indices, Moments

POWER = 0.85
"""Columns are divided by their standard deviation to this power: between 0.75 and 1 the loss is flat."""

_FLOORS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""Floors under the variances that are compared, in units of the largest: the last leaves columns alone."""

_CONSTANTS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
"""Squares of the constant's coordinate that are compared, in units of a typical column's variance."""

_UNCERTAIN = 2.0
"""A variance may be this many standard deviations above its estimate."""

_SHORTEST, LONGEST = 0.9, 4.0
"""Cap on influence in units of the root mean square length."""

_COUNTED = 0.9
"""What a record counts on average at the shortest cap."""

_WEIGHTING = 6e-4
"""Excess loss that weights leave at a cap of one root mean square length, in units of U T^2."""

_CORRELATED = 100.0
"""How much more noise costs where columns are correlated than where they are not."""

_FILLED, _FILLED_DOUBT = 0.6, 0.4
"""Part of the largest possible sum of squares that rows have, before it is measured, and its uncertainty."""

_TOLD_APART = 15.0
"""Squares of single columns are asked for where n mu is at least this many times the columns."""

_UNEVEN = 0.5
"""Relative uncertainty of a column's variance where only the sum of all is known."""

_CHANCE = 2.0
"""Columns differ by more than noise from so many standard errors of its mean square on."""

_ROUGH = 0.1
"""Relative uncertainty of what a preconditioner makes of a variance."""

_CLEAR = 3.0
"""Means count in full where their squares are far above this many variances of their noise."""


def told_apart(problem: Problem, mu: float) -> bool:
    """Whether a budget of mu tells the columns' spreads apart; if not, their sum is asked for. Public."""
    return problem.columns * _TOLD_APART <= problem.n * mu


def together(problem: Problem) -> Indices:
    """All columns in one group, the constant in one of its own."""
    members = np.zeros(problem.columns, dtype=np.intp)
    if problem.constant is not None and problem.columns > 1:
        members[problem.constant] = 1
    return members


def sharing(problem: Problem, mu: float) -> Indices | None:
    """The groups of columns whose squares are asked for as one sum: none where a budget of mu tells columns
    apart, else those that were declared, else all columns. Public."""
    return None if told_apart(problem, mu) else prior_groups(problem)


def prior_groups(problem: Problem) -> Indices:
    """The groups of columns with a prior variance of their own: those declared, else all columns; the
    constant is a group by itself. Public."""
    shared = shared_scales(problem)
    return together(problem) if shared is None else shared


def shared_scales(problem: Problem) -> Indices | None:
    """The declared groups, if any, the constant in one of its own. Public."""
    if problem.column_groups is None:
        return None
    members = np.array(problem.column_groups, dtype=np.intp)
    if problem.constant is not None:
        members[problem.constant] = members.max() + 1
    return np.asarray(np.unique(members, return_inverse=True)[1], dtype=np.intp)


def by_column(asked: Moments, problem: Problem, members: Indices | None) -> Moments:
    """Moments as if each column's square had been asked for: its group's variance, about its own mean.

    With a constant to centre by, a column's square is v + m_j^2, v the group's mean of square less squared
    mean, so that what is left after centring is the same throughout the group. As asked where no groups were
    declared."""
    if members is None or problem.column_groups is None:
        return asked
    sizes = np.bincount(members)
    squares = asked.squares / sizes
    errors = asked.square_scale / sizes[members]
    taken = np.zeros_like(asked.means)
    if problem.constant is not None:
        taken = asked.means**2 - asked.mean_scale**2
        taken[problem.constant] = 0.0
    squares = squares - np.bincount(members, taken) / sizes
    scale = math.sqrt(float(np.mean(errors**2)))
    return replace(asked, squares=squares[members] + taken, square_scale=scale)


@final
@dataclass(frozen=True)
class Spreads:
    """Centres and variances of the columns as far as they are known; the constant has no variance.

    Means are drawn to 0 by as much as noise explains them, m (1 - 3 sd^2/m^2)+: a column that is centred
    already is not moved by noise. Variances are drawn to their mean likewise (James & Stein), wholly where
    they differ by no more than chance: columns of one scale stay of one scale. Both are kept above 0 by the
    mean of a normal law cut off there. That raises each, so all are shrunk until their sum is what the sum of
    all squares says, which is known better."""

    centres: Vector
    variances: Vector
    errors: Vector
    columns: Indices

    @classmethod
    def of(cls, moments: Moments, problem: Problem) -> Spreads:
        constant = problem.constant if problem.columns > 1 else None
        columns = np.delete(np.arange(problem.columns), [] if constant is None else [constant])
        means, noise = moments.means, moments.mean_scale**2
        centres = means * np.maximum(0.0, 1.0 - _CLEAR * noise / np.maximum(means**2, 1e-300))
        if constant is None:
            centres = np.zeros_like(means)
        taken = centres[columns] ** 2
        errors = np.sqrt(moments.square_scale**2 + 4.0 * taken * noise)
        filled, doubt = _FILLED * problem.energy, _FILLED_DOUBT * problem.energy
        if moments.squares.size < means.size:
            error = math.sqrt(moments.square_scale**2 + 4.0 * float(taken.sum()) * noise)
            total = float(_combined(moments.squares[0] - taken.sum(), error, filled, doubt))
            even = np.full(columns.size, total / columns.size)
            return cls(centres, even, _UNEVEN * even, columns)
        seen = moments.squares[columns] - taken
        sharp = float((errors**-2.0).sum())
        average = float(np.average(seen, weights=errors**-2.0))
        count = columns.size
        mean = float(_combined(average, sharp**-0.5, filled / count, doubt / count))
        chance = errors**2 * beyond_chance(count)
        scatter = max(0.0, float(np.mean((seen - mean) ** 2 - chance)))
        trust = scatter / (scatter + errors**2)
        left = np.maximum(errors * np.sqrt(trust), 1e-9 * mean)
        variances = above_zero(trust * seen + (1.0 - trust) * mean, left)
        whole = float(_combined(seen.sum(), float(np.linalg.norm(errors)), filled, doubt))
        shrunk = min(1.0, whole / float(variances.sum()))
        return cls(centres, shrunk * variances, shrunk * left, columns)

    @property
    def signal(self) -> Vector:
        """Prior share of each column in the predictor's variance: the root of its own variance."""
        held = np.sqrt(self.variances + self.errors)
        return np.asarray(held / held.sum())


def beyond_chance(count: int) -> float:
    """How large a mean of `count` squares of noise, each of mean 1, may be by chance."""
    return 1.0 + _CHANCE * math.sqrt(2.0 / count)


def _combined(seen: float, error: float, expected: float, doubt: float) -> Vector:
    """A measurement and an expectation, each by its precision, and above 0."""
    sharp = error**-2.0 + doubt**-2.0
    return above_zero(np.array((seen * error**-2.0 + expected * doubt**-2.0) / sharp), np.array(sharp**-0.5))


def above_zero(mean: Vector, deviation: Vector) -> Vector:
    """Mean of a normal law on condition that it is above 0."""
    ratio = np.clip(mean / deviation, -30.0, 1e6)
    shift = np.exp(-0.5 * ratio**2 - special.log_ndtr(ratio)) / math.sqrt(2.0 * math.pi)
    return np.asarray(np.maximum(mean, ratio * deviation) + deviation * shift)


@final
@dataclass(frozen=True)
class Prior:
    """Prior standard deviation of the linear predictor and of its constant part, and mean phi''.

    `movement` is about what one record moves a gradient, in units of the cap on influence."""

    deviation: float
    constant: float
    curvature: float
    movement: float


@final
@dataclass(frozen=True)
class Coordinates:
    """A preconditioner, and the weighted second moments expected in it, for each coordinate, with their
    standard errors; a record counts `counted` on average."""

    preconditioner: Preconditioner
    diagonal: Vector
    errors: Vector
    counted: float

    @classmethod
    def chosen(cls, moments: Moments, problem: Problem, prior: Prior, mu: float) -> Coordinates:
        """Those with the least expected excess when `mu` is left for gradients.

        Compared are floors under the variances, from none to one so high that columns stay as they are, and
        sizes of the constant's coordinate. Coordinates have mean square 1, the constant's apart."""
        spreads = Spreads.of(moments, problem)
        centred = spreads.columns.size < problem.columns
        base = max(float(spreads.variances.max()), 1e-300)
        best: tuple[float, Vector, float] | None = None
        for floor in _FLOORS:
            stretch = (spreads.variances + _UNCERTAIN * spreads.errors + floor * base) ** -POWER
            stretch = stretch * (spreads.columns.size / float((spreads.variances * stretch).sum()))
            for constant in _CONSTANTS if centred else (0.0,):
                spectrum = spreads.variances * stretch
                signal = prior.deviation**2 * spreads.signal
                if constant:
                    spectrum, signal = np.append(spectrum, constant), np.append(signal, prior.constant**2)
                noise = prior.movement * _SHORTEST * math.sqrt(float(spectrum.sum())) / (problem.n * mu)
                expected = ExpectedExcess(spectrum, signal, prior.curvature).excess(noise)
                if best is None or expected < best[0]:
                    best = expected, stretch, constant
        assert best is not None
        return cls._of(moments, problem, spreads, best[1], best[2], prior, mu)

    @classmethod
    def _of(
        cls,
        moments: Moments,
        problem: Problem,
        spreads: Spreads,
        stretch: Vector,
        constant: float,
        prior: Prior,
        mu: float,
    ) -> Coordinates:
        scale, diagonal = np.ones(problem.columns), np.zeros(problem.columns)
        scale[spreads.columns] = np.sqrt(stretch)
        diagonal[spreads.columns] = spreads.variances * stretch
        errors = np.zeros(problem.columns)
        errors[spreads.columns] = spreads.errors * stretch
        shift = None
        if constant:
            assert problem.constant is not None
            place, size = problem.constant, _away_from_zero(moments, problem.constant)
            scale[place], diagonal[place] = math.sqrt(constant) / abs(size), constant
            shift = spreads.centres / size
            shift[place] = 0.0
        trace = float(diagonal.sum())
        lengths = cap_for(trace, problem, prior, mu)
        preconditioner = Preconditioner(
            scale=np.clip(scale, 1e-14, 1e14),
            cap=lengths * math.sqrt(trace),
            shift=shift,
            constant=problem.constant if constant else None,
        )
        counted = min(1.0, _COUNTED + (1.0 - _COUNTED) * (lengths - _SHORTEST))
        return cls(preconditioner, counted * diagonal, np.hypot(errors, _ROUGH * diagonal), counted)


def cap_for(trace: float, problem: Problem, prior: Prior, mu: float) -> float:
    """The cap on influence, in units of the root mean square length: noise against what weights leave.

    Noise costs e f^2 at a cap of f lengths, weights about w f^-4: least at f = (2 w/e)^(1/6)."""
    noise = prior.movement * math.sqrt(trace) / (problem.n * mu)
    expected = _CORRELATED * 0.5 * trace * noise**2 / prior.curvature
    weighting = _WEIGHTING * problem.curvature_high * prior.deviation**2
    return min(LONGEST, max(_SHORTEST, math.pow(2.0 * weighting / expected, 1.0 / 6.0)))


def _away_from_zero(moments: Moments, place: int) -> float:
    """The constant's mean, at least a few of its standard errors: it is divided by."""
    mean = float(moments.means[place])
    least = 2.0 * moments.mean_scale
    return math.copysign(max(abs(mean), least), mean if mean else 1.0)
