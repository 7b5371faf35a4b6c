"""Which columns are worth a curve: one noisy gradient over a few smooth bends of each, at the constant alone.

A curve costs noise, and pays only where a column's effect bends. Both can be compared before the fit: how far
the loss falls along the bends is read off their gradient, what more features cost follows from public
numbers. Queries are gradients of the risk itself in chosen coordinates, bounded and charged like any other;
everything else here is post-processing of released answers."""

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
from sottovoce.methods.adapt.expected_curvature import LOGISTIC, TYPICAL
from sottovoce.methods.expected_excess import sensitivity_of
from sottovoce.queries import Gradient, LimitedGradient, Preconditioner

if TYPE_CHECKING:
    from sottovoce.data.schema import Schema
    from sottovoce.features.marginals import Marginal
    from sottovoce.losses import Loss
    from sottovoce.queries import Queries, Query

SHARE = 0.02
"""Part of the budget for the gradient along the bends."""

CONSTANT_SHARE = 0.002
"""Part of the budget for the constant, at which that gradient is asked: one number."""

_BENDS = 3
"""Smooth functions of a column that are tried: more would add noise before they add evidence."""

_CONSTANT = 0.1
"""Length of the constant's coordinate beside bends of mean square 1."""

_LONGEST = 1.5
"""The cap on influence is the root mean square length times one plus this over the root of the columns."""

_RIDGE = 1e-3
"""Part of the mean square of a column's features that is added to their second moments."""

_DOUBT, _LEAST_DOUBT = 2.0, 0.05
"""Part of the records that is taken to be anywhere: so many standard errors of their law, and at least this.
A bend that is large where a noisy marginal shows nobody would take a few records there for a finding."""

_LARGEST = 5.0
"""No line or bend is larger than this anywhere: else it is taken for smaller."""

_MISLED = 2.0
"""How much farther off than by the noise in the law the bends of a line are: they were chosen by that law."""

_ROUNDS, _STEEPEST = 200, 8.0
"""Steps to a line with given chances, and the steepest in units of the log odds by the column's sd."""

_SPARSE = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0])
_GAINS = np.geomspace(1e-6, 1.0, 41)
"""Parts of columns that bend, and mean gains of one that does, in units of the loss: compared by evidence."""


def can_choose(loss: Loss) -> bool:
    """Whether columns can be chosen for this loss: the constant must be known from one gradient, as it is of
    the logistic loss from the shares of the classes, and about so of convex losses of residuals. Public."""
    return loss.name == LOGISTIC or (loss.kind is Kind.RESIDUAL and loss.curvature_low == 0.0)


@final
@dataclass(frozen=True)
class Gain:
    """How far the loss is expected to fall by a column's curve, and how many features more it takes."""

    name: str
    expected: float
    features: int


@final
@dataclass(frozen=True)
class Gains:
    """What curves are expected to gain, column by column, and how the loss bends at the constant."""

    columns: tuple[Gain, ...]
    curvature: float

    def worthwhile(self, ask: Queries, weights: int) -> frozenset[str]:
        """The columns whose curves gain more than their features cost, beside `weights` for lines, if all
        that is left is spent on training.

        D weights that are trained in coordinates of one scale have gradients of length sqrt(D), so that noise
        of m sqrt(D) / mu enters each of them, m being what one record moves; with a curvature h that is a
        loss of D^2 m^2 / (2 h mu^2), and the sample itself adds D / (2 n)."""
        problem, mu = ask.problem, math.sqrt(ask.mu_squared(max(1, ask.units_left)))
        moved = sensitivity_of(ask, Gradient(np.zeros(problem.dim))) / problem.influence

        def cost(count: int) -> float:
            return (count * moved / mu) ** 2 / (2.0 * self.curvature) + count / (2.0 * problem.n)

        best, total, count = (0.0, 0), 0.0, weights
        ordered = sorted(self.columns, key=lambda gain: -gain.expected / gain.features)
        for taken, gain in enumerate(ordered, start=1):
            total, count = total + gain.expected, count + problem.outputs * gain.features
            best = max(best, (total - cost(count) + cost(weights), taken))
        return frozenset(gain.name for gain in ordered[: best[1]])


@final
@dataclass(frozen=True, eq=False)
class Bends:
    """Coordinates in which only lines and bends of columns are left, and the constant, each of mean square 1.

    `shapes` are the columns in order: a shape's line has the first of its coordinates, its bends those after
    it. `widths` says how many features more than its line a column's curve has."""

    preconditioner: Preconditioner
    shapes: tuple[Shape, ...]
    widths: tuple[int, ...]

    @classmethod
    def of(cls, plain: Schema, bent: Schema, marginals: tuple[Marginal, ...]) -> Bends:
        """Those of every column of `bent` that is a line in `plain`, as records spread by the marginals."""
        layout, found = RowLayout.of(bent), {marginal.name: marginal for marginal in marginals}
        turn = np.zeros((layout.dim, layout.dim))
        shapes, widths, count, place = list[Shape](), list[int](), 0, 0
        for line, column in zip(plain.columns, bent.columns, strict=True):
            width = len(column.features)
            if isinstance(column, Spline) and isinstance(line, Numeric):
                shape = Shape.of(line, column, found[column.name])
                block = slice(place, place + len(shape.weights))
                turn[count : count + shape.count, block] = shape.weights.T / layout.unit
                shapes.append(shape)
                widths.append(width - len(line.features))
                count += shape.count
            place += width
        turn[count, layout.constant] = _CONSTANT / layout.unit
        cap = math.sqrt(count) * (1.0 + _LONGEST / math.sqrt(len(shapes)))
        return cls(
            Preconditioner(scale=np.ones(layout.dim), cap=cap, turn=turn), tuple(shapes), tuple(widths)
        )

    @property
    def count(self) -> int:
        """Coordinates before the constant's."""
        return sum(shape.count for shape in self.shapes)


@final
@dataclass(frozen=True, eq=False)
class Shape:
    """The line of a column and the smoothest functions of its spline that are neither constant nor the line:
    of mean 0, mean square 1 and uncorrelated, if records spread as the marginal says.

    `weights` are those of the spline's features, a column each; `values` what they are in the middle of each
    bin, whose part of the known numbers is in `mass`, with an error of `noise`; `known` is the part of
    records that have a number."""

    name: str
    weights: Matrix
    values: Matrix
    mass: Vector
    known: float
    noise: float

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
        smooth = linalg.eigh(rough.T @ rough, square)[1][:, : 2 + _BENDS]
        shown = basis @ smooth
        straight = np.column_stack([np.ones_like(middle), line.basis(middle.copy())[:, 0]])
        root = np.sqrt(mass)[:, None]
        # Bends are uncorrelated with the line under the law itself; the doubtful one limits their size.
        fitted = linalg.lstsq(root * straight, root * shown)[0]
        along = linalg.lstsq(basis, straight)[0]
        bends = smooth - along @ fitted
        values, turns = linalg.eigh(bends.T @ square @ bends)
        kept = values > 1e-6 * values[-1]
        kept[: max(0, kept.size - _BENDS)] = False
        bends = bends @ (turns[:, kept] / np.sqrt(values[kept]))
        centred = along[:, 1] - along[:, 0] * float(mass @ straight[:, 1])
        whole = np.column_stack([centred / math.sqrt(float(centred @ square @ centred)), bends])
        whole /= np.maximum(1.0, np.abs(basis @ whole).max(axis=0) / _LARGEST)
        weights = np.zeros((len(column.features), whole.shape[1]))
        weights[:width] = whole
        known = max(sum(marginal.shares), 0.0)
        absent = max(marginal.missing or 0.0, 0.0)
        part = known / (known + absent) if known else 1.0
        return cls(column.name, weights, basis @ whole, mass, part, marginal.noise)

    @property
    def count(self) -> int:
        return int(self.weights.shape[1])

    def bends_of_a_line(self, chances: Vector, along: Vector) -> tuple[Matrix, Matrix]:
        """What the bends show, outputs by bends, where the log odds are linear: E (p(x) - p) z for the p(x)
        with linear log odds that has the same chances p and the same E (p(x) - p) z along the line, `along`;
        and its standard error, for the law is known up to noise only.

        Seen one column at a time, chances that are linear in all columns together bend by about as much."""
        line, bends = self.values[:, 0], self.values[:, 1:]
        start, slope = _scores(chances), np.zeros_like(along)
        spread = chances * (1.0 - chances)
        for _ in range(_ROUNDS):
            shown = _chances_at(start[:, None] + np.outer(slope, line))
            start = start + (chances - shown @ self.mass) / spread
            slope = slope + (along / self.known - (shown - chances[:, None]) * line @ self.mass) / spread
            slope = np.clip(slope, -_STEEPEST, _STEEPEST)
        shown = _chances_at(start[:, None] + np.outer(slope, line))
        apart = shown - chances[:, None]
        return self.known * (apart * self.mass) @ bends, _MISLED * self.noise * np.sqrt(apart**2 @ bends**2)


def gains(ask: Queries, bends: Bends, unit: float, whole: int) -> Gains:
    """Ask about the bends for a part of `whole` units; the constant holds `unit` in every row."""
    problem, count = ask.problem, bends.count
    constant = _Constant.found(ask, unit, int(CONSTANT_SHARE * whole))
    at_constant = np.zeros((problem.outputs, problem.columns))
    at_constant[:, count] = constant.scores / _CONSTANT
    inside = ask.preconditioned(bends.preconditioner)
    answer = inside.ask(constant.query(at_constant.ravel()), int(SHARE * whole))
    # Where the loss bends by h, a gradient g means that it can fall by g^2 / (2 h); of a sample, g has a
    # variance of about h / n besides its noise.
    falls = -answer.value.reshape(-1, problem.columns)[:, :count] / constant.counted
    scale, root = answer.scale / constant.counted, np.sqrt(2.0 * constant.curvatures)
    error = np.hypot(scale / root, (2.0 * problem.n) ** -0.5)[:, None]
    beyond, errors, place = list[Matrix](), list[Matrix](), 0
    for shape in bends.shapes:
        line, bent = falls[:, place], falls[:, place + 1 : place + shape.count]
        straight, doubt = np.zeros_like(bent), np.zeros_like(bent)
        if constant.chances is not None:
            # No more of a line is believed than stands out of the noise.
            told = line * np.maximum(0.0, 1.0 - scale**2 / np.maximum(line**2, 1e-300))
            straight, doubt = shape.bends_of_a_line(constant.chances, told)
        beyond.append((bent - straight) / root[:, None])
        errors.append(np.hypot(error, doubt / root[:, None]))
        place += shape.count
    expected = expected_gains(beyond, errors).tolist()
    listed = zip(bends.shapes, expected, bends.widths, strict=True)
    found = tuple(Gain(shape.name, gain, width) for shape, gain, width in listed)
    return Gains(found, float(np.mean(constant.curvatures)))


def expected_gains(along: list[Matrix], errors: list[Matrix]) -> Vector:
    """For each column, the expected sum of squares of what its noisy numbers measure, given their errors.

    A part of the columns bends, each of their numbers normal with one variance, the others do not at all.
    Parts and variances are compared by how likely they make all answers, and averaged."""
    part, mean = (grid.ravel() for grid in np.meshgrid(_SPARSE, _GAINS, indexing="ij"))
    bent, known = np.empty((2, part.size, len(along)))
    for place, (seen, error) in enumerate(zip(along, errors, strict=True)):
        spread, variance = (mean / seen.size)[:, None], np.ravel(error) ** 2
        total, square = spread + variance, np.ravel(seen) ** 2
        # How much likelier the numbers are if the column bends, and what their squares then are.
        bent[:, place] = 0.5 * np.sum(square / variance - square / total - np.log(total / variance), axis=1)
        trust = spread / total
        known[:, place] = np.sum(trust**2 * square + trust * variance, axis=1)
    bent += np.log(part)[:, None]
    either = np.logaddexp(bent, np.log(np.maximum(1.0 - part, 1e-300))[:, None])
    evidence = special.softmax(either.sum(axis=1))
    return np.asarray(evidence @ (np.exp(bent - either) * known))


@final
@dataclass(frozen=True, eq=False)
class _Constant:
    """The constant at which bends are asked about: each output's score there, and the curvature along it.

    Of several classes the Hessian diag(p) - pp' has the inverse diag(1/p) for gradients that sum to 0. With
    two, slopes are limited to 1/2: all rows have one score there, so all count the same, `counted`."""

    scores: Vector
    curvatures: Vector
    chances: Vector | None = None
    counted: float = 1.0
    limited: bool = False

    def query(self, w: Vector) -> Query[Vector]:
        return LimitedGradient(w, LEAST_LIMIT) if self.limited else Gradient(w)

    @classmethod
    def found(cls, ask: Queries, unit: float, units: int) -> _Constant:
        """From the gradient along the constant alone, at weights 0: 1/classes less the share of a class."""
        problem, columns, place = ask.problem, ask.problem.columns, ask.problem.constant
        assert place is not None
        turn = np.zeros((columns, columns))
        turn[place, place] = 1.0 / unit
        alone = ask.preconditioned(Preconditioner(scale=np.ones(columns), cap=1.0, turn=turn))
        answer = alone.ask(Gradient(np.zeros(problem.dim)), units)
        slopes = answer.value.reshape(problem.outputs, columns)[:, place]
        if problem.loss != LOGISTIC:
            bend = TYPICAL * problem.curvature_high
            return cls(np.clip(-slopes / bend, -problem.label_reach, problem.label_reach), np.array([bend]))
        chances = np.clip(1.0 / max(problem.outputs, 2) - slopes, 0.005, 0.995)
        if problem.outputs > 1:
            return cls(_scores(chances), chances, chances)
        sure = max(float(chances[0]), 1.0 - float(chances[0]))
        counted = LEAST_LIMIT / sure if problem.limitable else 1.0
        return cls(_scores(chances), chances * (1.0 - chances), chances, counted, problem.limitable)


def _scores(chances: Vector) -> Vector:
    """Constants at which a model gives these chances: that of the second class, or of each of several."""
    return np.asarray(special.logit(chances) if chances.size == 1 else np.log(chances / chances.mean()))


def _chances_at(scores: Matrix) -> Matrix:
    """Chances at scores, outputs by places."""
    return np.asarray(special.expit(scores) if len(scores) == 1 else special.softmax(scores, axis=0))
