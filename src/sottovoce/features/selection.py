"""Which columns are worth a curve: one noisy gradient over a few smooth bends of each, at a linear fit.

A curve costs noise, and pays only where a column's effect bends. Where lines are about fitted, what is left
of the gradient along bends is what curves would gain; what more features cost follows from public numbers. At
the constant it would not do: lines leak into bends by as much as the marginals, to which bends are
orthogonal, are off. The query is a gradient of the risk itself in chosen coordinates, bounded and charged
like any other; everything else here is post-processing of released answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy import linalg, special

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.layout import RowLayout
from sottovoce.data.numbers import Numeric, Spline
from sottovoce.losses.base import Kind
from sottovoce.losses.unbiased import LEAST_LIMIT
from sottovoce.methods.expected_excess import sensitivity_of
from sottovoce.methods.mean_curvature import LOGISTIC
from sottovoce.queries import Gradient, LimitedGradient, Preconditioner

if TYPE_CHECKING:
    from sottovoce.data.schema import Schema
    from sottovoce.features.marginals import Marginal
    from sottovoce.losses import Loss
    from sottovoce.methods.adapt.inspection import Stand
    from sottovoce.queries import Queries, Query

_BENDS = 3
"""Smooth functions of a column that are tried: more would add noise before they add evidence."""

_DISTINCT = 1e-3
"""Part of the largest mean square below which a bend is made of smoother ones."""

_SMOOTH = np.array([0.8, 0.15, 0.05])
"""How what a column gains is expected to spread over its bends, the smoothest first."""

_SHORT = 1e-3
"""Length of the other coordinates beside bends of mean square 1: they hold the linear fit, no more."""

_LONGEST = 1.5
"""The cap on influence is the root mean square length times one plus this over the root of the columns."""

_RIDGE = 1e-3
"""Part of the mean square of a column's features that is added to their second moments."""

_DOUBT, _LEAST_DOUBT = 2.0, 0.05
"""Part of the records that is taken to be anywhere: so many standard errors of their law, and at least this.
A bend that is large where a noisy marginal shows nobody would take a few records there for a finding."""

_LARGEST = 5.0
"""No bend is larger than this anywhere: else it is taken for smaller."""

_PARTS = 7
_GAINS = np.geomspace(1e-6, 1.0, 41)
_USUAL, _SPREAD = 3e-3, 1.0
"""Parts of columns that bend, from one column to all, and mean gains of one that does, in units of the loss:
compared by evidence. Before it, logarithms of gains are normal about the usual one with this spread."""

_STRAIGHT = 0.5
"""How likely no column bends at all, before anything is seen."""

_WHOLE, _SURELY = 1.6, 1.2
"""What a curve gains in all, in units of what its smoothest bends gain by one step: measured on Adult and one
table of R without privacy. And how many times its cost that is to be."""

SAMPLED = 0.25
"""Part of what the chance of a sample costs an unpenalized fit that it costs here: noise is shrunk anyway."""

_LEAST_DEVIATION = 1.0
"""Scores are taken to have at least this deviation where it is asked what noise costs: a fit that is told
little cannot know that nothing is to be found."""

_NODES, _MASSES = np.polynomial.hermite_e.hermegauss(41)


def can_choose(loss: Loss) -> bool:
    """Whether columns can be chosen for this loss: what a gradient means must be known. Public."""
    return loss.name == LOGISTIC or (loss.kind is Kind.RESIDUAL and loss.curvature_low == 0.0)


@final
@dataclass(frozen=True)
class Gain:
    """How far the loss is expected to fall by a curve or surface, and how many features more it takes."""

    name: str
    expected: float
    features: int


@final
@dataclass(frozen=True)
class Bending:
    """How the loss bends at a fit: on average, and in what a query asks about, which may limit slopes; and
    the variance of a record's slope in that query. A gradient g of unit coordinates is then a loss of
    (g unit)^2 that can be gained."""

    whole: float
    asked: float
    scatter: float

    @property
    def unit(self) -> float:
        return math.sqrt(self.whole / 2.0) / self.asked

    @classmethod
    def of_log_odds(cls, mean: float, deviation: float) -> Bending:
        """Of a logistic loss where log odds are normal, each record counting min(1, m/max(p, 1-p))."""
        masses, chances = _MASSES / _MASSES.sum(), special.expit(mean + deviation * _NODES)
        spread = chances * (1.0 - chances)
        counted = np.minimum(1.0, LEAST_LIMIT / np.maximum(chances, 1.0 - chances))
        least = 1e-3
        return cls(
            max(float(masses @ spread), least),
            max(float(masses @ (counted * spread)), least),
            float(masses @ (counted**2 * spread)),
        )


@final
@dataclass(frozen=True)
class Gains:
    """What curves or surfaces are expected to gain, one by one, and how the loss bends."""

    columns: tuple[Gain, ...]
    bending: Bending

    def worthwhile(
        self, ask: Queries, weights: int, deviation: float, most: int | None = None, *, learned: int = 0
    ) -> frozenset[str]:
        """Those that gain more than their features cost beside `weights` others, if all that is left is spent
        on training; not more than `most` of them. Scores have this `deviation` by now. Any of them is a new
        start, for which the fit so far is given up, with what it was told for `learned` units.

        D weights that are trained in coordinates of one scale have gradients of length sqrt(D), so that noise
        of m sqrt(D) / mu enters each of them, m being what one record moves; the sample itself adds its
        scatter over n to the square of each. Of what that costs, A, a fit that draws weights to 0 loses
        A S / (A + S), S being what is at stake: h/2 of the square of the scores, and what is gained."""
        problem, left = ask.problem, max(1, ask.units_left)
        moved = sensitivity_of(ask, Gradient(np.zeros(problem.dim))) / problem.influence
        stake = 0.5 * self.bending.whole * max(deviation, _LEAST_DEVIATION) ** 2

        def lost(count: int, gained: float, units: int) -> float:
            noise = (count * moved) ** 2 / ask.mu_squared(units)
            noise += SAMPLED * count * self.bending.scatter / problem.n
            noise *= self.bending.unit**2
            return noise * (stake + gained) / max(noise + stake + gained, 1e-300)

        begun = lost(weights, 0.0, left + learned)
        best, total, count = (0.0, 0), 0.0, weights
        ordered = sorted(self.columns, key=lambda gain: -gain.expected / gain.features)
        for taken, gain in enumerate(ordered[:most], start=1):
            total, count = total + _WHOLE * gain.expected, count + problem.outputs * gain.features
            cost = _SURELY * (lost(count, total, left) - begun)
            best = max(best, (total - cost, taken))
        return frozenset(gain.name for gain in ordered[: best[1]])


@final
@dataclass(frozen=True, eq=False)
class Bends:
    """Coordinates in which bends of columns have mean square 1, and all else is short.

    `shapes` are the columns in order, with as many coordinates each as it has bends, from the first on;
    `widths` says how many features more than its line a column's curve has; `lines` makes features of curves
    of those of lines."""

    preconditioner: Preconditioner
    shapes: tuple[Shape, ...]
    widths: tuple[int, ...]
    lines: Matrix

    @classmethod
    def of(cls, plain: Schema, bent: Schema, marginals: tuple[Marginal, ...]) -> Bends:
        """Those of every column of `bent` that is a line in `plain`, as records spread by the marginals."""
        layout, found = RowLayout.of(bent), {marginal.name: marginal for marginal in marginals}
        before = RowLayout.of(plain).dim
        lines = np.zeros((before, layout.dim))
        shapes, widths = list[Shape](), list[int]()
        bends, others = list[Matrix](), list[Matrix]()
        old = place = 0

        def added(rows: Matrix, at: int) -> Matrix:
            whole = np.zeros((len(rows), layout.dim))
            whole[:, at : at + rows.shape[1]] = rows
            return whole

        for line, column in zip(plain.columns, bent.columns, strict=True):
            width, narrow = len(column.features), len(line.features)
            if isinstance(column, Spline) and isinstance(line, Numeric):
                shape = Shape.of(line, column, found[column.name])
                bends.append(added(shape.weights.T, place))
                others.append(added(linalg.null_space(shape.weights.T).T, place))
                lines[old, place : place + width] = shape.line
                lines[old + 1 : old + narrow, place + width - narrow + 1 : place + width] = np.eye(narrow - 1)
                shapes.append(shape)
                widths.append(width - narrow)
            else:
                others.append(added(np.eye(width), place))
                lines[old : old + narrow, place : place + width] = np.eye(width)
            place, old = place + width, old + narrow
        others.append(added(np.eye(layout.dim - place), place))
        lines[old:, place:] = np.eye(layout.dim - place)
        turn = np.vstack([*bends, *(_SHORT * part for part in others)]) / layout.unit
        count = sum(shape.count for shape in shapes)
        cap = math.sqrt(count) * (1.0 + _LONGEST / math.sqrt(len(shapes)))
        preconditioner = Preconditioner(scale=np.ones(layout.dim), cap=cap, turn=turn)
        return cls(preconditioner, tuple(shapes), tuple(widths), lines)

    @property
    def count(self) -> int:
        """Coordinates of bends: the first ones."""
        return sum(shape.count for shape in self.shapes)

    def at(self, w: Vector) -> Vector:
        """The point of these coordinates that has the scores of the weights w of lines."""
        return self.preconditioner.from_user(self.lines_of(w))

    def lines_of(self, w: Vector) -> Vector:
        """The weights of features of curves that have the scores of the weights w of lines."""
        return np.asarray((w.reshape(-1, len(self.lines)) @ self.lines).ravel())


@final
@dataclass(frozen=True, eq=False)
class Shape:
    """The smoothest functions of a column's spline that are neither constant nor its line: of mean 0, mean
    square 1 and uncorrelated, if records spread as the marginal says.

    `weights` are those of the spline's features, a column each; with the weights `line` they make the
    feature of the line. `leaks` are the standard errors of their correlations with the line, 0 if records
    spread as the marginal says: noise is in it."""

    name: str
    weights: Matrix
    line: Vector
    leaks: Vector

    @classmethod
    def of(cls, line: Numeric, column: Spline, marginal: Marginal) -> Shape:
        edges = np.array(marginal.edges)
        middle, mass = (edges[1:] + edges[:-1]) / 2.0, np.diff(marginal.law)
        doubt = float(np.clip(_DOUBT * marginal.noise * math.sqrt(mass.size), _LEAST_DOUBT, 0.5))
        basis = column.basis(middle.copy())
        width = basis.shape[1]
        square = (basis.T * ((1.0 - doubt) * mass + doubt / mass.size)) @ basis
        square += _RIDGE * float(np.trace(square)) / width * np.eye(width)
        rough = np.diff(np.eye(width), 2, axis=0)
        # The two smoothest of all are about the constant and the line.
        smooth = linalg.eigh(rough.T @ rough, square)[1][:, 2 : 2 + _BENDS]
        shown = basis @ smooth
        straight = np.column_stack([np.ones_like(middle), line.basis(middle.copy())[:, 0]])
        root = np.sqrt(mass)[:, None]
        # Bends are uncorrelated with the line under the law itself; the doubtful one limits their size.
        fitted = linalg.lstsq(root * straight, root * shown)[0]
        along = linalg.lstsq(basis, straight)[0]
        bends = smooth - along @ fitted
        bends = _in_turn(bends, square)
        everywhere = column.basis(np.concatenate([edges, middle])) @ bends
        bends /= np.maximum(1.0, np.abs(everywhere).max(axis=0) / _LARGEST)
        weights, straightened = (
            np.zeros((len(column.features), bends.shape[1])),
            np.zeros(len(column.features)),
        )
        weights[:width], straightened[:width] = bends, along[:, 1]
        centred = straight[:, 1] - mass @ straight[:, 1]
        spread = math.sqrt(max(float(mass @ centred**2), doubt * float(np.mean(centred**2))))
        leaks = marginal.noise * np.sqrt((centred / spread) ** 2 @ (basis @ bends) ** 2)
        return cls(column.name, weights, straightened, np.minimum(leaks, 1.0))

    @property
    def count(self) -> int:
        return int(self.weights.shape[1])


def _in_turn(functions: Matrix, square: Matrix) -> Matrix:
    """Of these, the smoothest first, those that are not made of the ones before them: uncorrelated and of
    mean square 1, with second moments `square`."""
    kept = list[Vector]()
    usual = max(float(function @ square @ function) for function in functions.T)
    for function in functions.T:
        for before in kept:
            function = function - (before @ square @ function) * before
        size = float(function @ square @ function)
        if size > _DISTINCT * usual:
            kept.append(function / math.sqrt(size))
    return np.column_stack(kept)


def gradient_at(inside: Queries, point: Vector, stand: Stand) -> tuple[Query[Vector], Bending]:
    """The gradient of least noise at a fit, to be asked, and what it means."""
    problem = inside.problem
    if problem.loss == LOGISTIC and problem.limitable and problem.outputs == 1:
        return LimitedGradient(point, LEAST_LIMIT), Bending.of_log_odds(stand.mean, stand.deviation)
    asked, curvature = stand.asked(inside, point)
    return asked.query, Bending(curvature, curvature, curvature)


def may_pay(ask: Queries, bending: Bending, features: int, weights: int, deviation: float) -> bool:
    """Whether a gain that is large, but not unheard of, would pay for so many features beside `weights`
    others: else nothing that a look could find would. From public numbers and released answers."""
    large = Gain("", _USUAL * math.exp(_SPREAD), features)
    return bool(Gains((large,), bending).worthwhile(ask, weights, deviation))


def gains(ask: Queries, bends: Bends, w: Vector, stand: Stand, units: int) -> Gains:
    """Ask about the bends at the weights w of lines, for so many units; of nothing where no curve may pay."""
    problem, count = ask.problem, bends.count
    inside = ask.preconditioned(bends.preconditioner)
    query, bending = gradient_at(inside, bends.at(w), stand)
    if not may_pay(ask, bending, min(bends.widths), w.size, stand.deviation):
        return Gains((), bending)
    answer = inside.ask(query, units)
    falls = answer.value.reshape(-1, problem.columns)[:, :count] * bending.unit
    # What the fit still lacks is spread over its features about evenly; a bend shows as much as it leaks.
    lacking = bending.asked * stand.doubt / math.sqrt(len(bends.lines))
    along, errors, place = list[Matrix](), list[Matrix](), 0
    for shape in bends.shapes:
        along.append(falls[:, place : place + shape.count])
        error = np.sqrt(answer.scale**2 + bending.scatter / problem.n + (lacking * shape.leaks) ** 2)
        errors.append(np.broadcast_to(bending.unit * error, along[-1].shape))
        place += shape.count
    expected = expected_gains(along, errors).tolist()
    listed = zip(bends.shapes, expected, bends.widths, strict=True)
    return Gains(tuple(Gain(shape.name, gain, width) for shape, gain, width in listed), bending)


def expected_gains(along: list[Matrix], errors: list[Matrix], *, most: float = math.inf) -> Vector:
    """For each column, the expected sum of squares of what its noisy numbers measure, given their errors.

    None of the columns bends, or a part of them does, each of their numbers normal with a variance that falls
    from the smoothest bend on, the others do not at all. Parts and variances are compared by how likely they
    make all answers, and averaged. Before anything is seen, `most` of the columns bend at most."""
    parts = np.geomspace(1.0 / len(along), min(1.0, most / len(along)), _PARTS)
    part, mean = (grid.ravel() for grid in np.meshgrid(parts, _GAINS, indexing="ij"))
    bent, known = np.empty((2, part.size, len(along)))
    for place, (seen, error) in enumerate(zip(along, errors, strict=True)):
        smooth = np.broadcast_to(_SMOOTH[: seen.shape[1]], seen.shape).ravel() / len(seen)
        spread, variance = np.outer(mean, smooth), np.ravel(error) ** 2
        total, square = spread + variance, np.ravel(seen) ** 2
        # How much likelier the numbers are if the column bends, and what their squares then are.
        bent[:, place] = 0.5 * np.sum(square / variance - square / total - np.log(total / variance), axis=1)
        trust = spread / total
        known[:, place] = np.sum(trust**2 * square + trust * variance, axis=1)
    bent += np.log(part)[:, None]
    either = np.logaddexp(bent, np.log(np.maximum(1.0 - part, 1e-300))[:, None])
    before = special.log_softmax(-0.5 * (np.log(mean / _USUAL) / _SPREAD) ** 2) + math.log(1.0 - _STRAIGHT)
    evidence = before + either.sum(axis=1)
    likely = special.softmax(np.append(evidence, math.log(_STRAIGHT)))[:-1]
    return np.asarray(likely @ (np.exp(bent - either) * known))
