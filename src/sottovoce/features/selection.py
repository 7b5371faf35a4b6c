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

from sottovoce.data.layout import RowLayout
from sottovoce.data.numbers import Numeric, Spline
from sottovoce.losses.base import Kind
from sottovoce.losses.unbiased import LEAST_LIMIT
from sottovoce.methods.adapt.expected_curvature import LOGISTIC, TYPICAL
from sottovoce.methods.expected_excess import sensitivity_of
from sottovoce.queries import Gradient, LimitedGradient, Preconditioner

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
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
    """Coordinates in which only the bends of columns are left, and the constant: `names` holds the column of
    each of the first coordinates, `widths` how many features more than its line a column's curve has."""

    preconditioner: Preconditioner
    names: tuple[str, ...]
    widths: dict[str, int]

    @classmethod
    def of(cls, plain: Schema, bent: Schema, marginals: tuple[Marginal, ...]) -> Bends:
        """Those of every column of `bent` that is a line in `plain`, as records spread by the marginals."""
        layout, found = RowLayout.of(bent), {marginal.name: marginal for marginal in marginals}
        turn, names, place = np.zeros((layout.dim, layout.dim)), list[str](), 0
        widths: dict[str, int] = {}
        for line, column in zip(plain.columns, bent.columns, strict=True):
            if isinstance(column, Spline) and isinstance(line, Numeric):
                bends = smooth_bends(line, column, found[column.name])
                block = slice(place, place + len(bends))
                turn[len(names) : len(names) + bends.shape[1], block] = bends.T / layout.unit
                names += [column.name] * bends.shape[1]
                widths[column.name] = len(column.features) - len(line.features)
            place += len(column.features)
        turn[len(names), layout.constant] = _CONSTANT / layout.unit
        cap = math.sqrt(len(names)) * (1.0 + _LONGEST / math.sqrt(len(widths)))
        return cls(Preconditioner(scale=np.ones(layout.dim), cap=cap, turn=turn), tuple(names), widths)


def gains(ask: Queries, bends: Bends, unit: float, whole: int) -> Gains:
    """Ask about the bends for a part of `whole` units; the constant holds `unit` in every row."""
    problem, count = ask.problem, len(bends.names)
    constant = _Constant.found(ask, unit, int(CONSTANT_SHARE * whole))
    at_constant = np.zeros((problem.outputs, problem.columns))
    at_constant[:, count] = constant.scores / _CONSTANT
    inside = ask.preconditioned(bends.preconditioner)
    answer = inside.ask(constant.query(at_constant.ravel()), int(SHARE * whole))
    # Where the loss bends by h, a gradient g means that it can fall by g^2 / (2 h); of a sample, g has a
    # variance of about h / n besides its noise.
    root = constant.counted * np.sqrt(2.0 * constant.curvatures)
    along = answer.value.reshape(-1, problem.columns)[:, :count] / root[:, None]
    error = np.hypot(answer.scale / root, (2.0 * problem.n) ** -0.5)
    named = np.array(bends.names)
    expected = expected_gains([along[:, named == name] for name in bends.widths], error)
    listed = zip(bends.widths.items(), expected.tolist(), strict=True)
    found = tuple(Gain(name, gain, width) for (name, width), gain in listed)
    return Gains(found, float(np.mean(constant.curvatures)))


def smooth_bends(line: Numeric, column: Spline, marginal: Marginal) -> Matrix:
    """Weights of the smoothest functions of a spline that are neither constant nor the line, as columns: of
    mean 0, mean square 1 and uncorrelated, if records spread as the marginal says."""
    edges = np.array(marginal.edges)
    middle, mass = (edges[1:] + edges[:-1]) / 2.0, np.diff(marginal.law)
    basis = column.basis(middle.copy())
    width = basis.shape[1]
    square = (basis.T * mass) @ basis
    square += _RIDGE * float(np.trace(square)) / width * np.eye(width)
    rough = np.diff(np.eye(width), 2, axis=0)
    smooth = linalg.eigh(rough.T @ rough, square)[1][:, : 2 + _BENDS]
    straight = np.column_stack([np.ones_like(middle), line.basis(middle.copy())[:, 0]])
    known = linalg.solve(square, (basis.T * mass) @ straight, assume_a="pos")
    known = linalg.orth(linalg.cholesky(square) @ known)
    turned = linalg.cholesky(square) @ smooth
    left, sizes, _ = linalg.svd(turned - known @ (known.T @ turned), full_matrices=False)
    kept = left[:, : min(_BENDS, int(np.sum(sizes > 1e-6)))]
    whole = np.zeros((len(column.features), kept.shape[1]))
    whole[:width] = linalg.solve_triangular(linalg.cholesky(square), kept)
    return whole


def expected_gains(along: list[Matrix], noise: Vector) -> Vector:
    """For each column, the expected sum of squares of what its noisy numbers measure.

    A part of the columns bends, each of their numbers normal with one variance, the others do not at all.
    Parts and variances are compared by how likely they make all answers, and averaged."""
    numbers = np.array([part.shape[1] for part in along])
    variance = noise**2
    part, mean = (grid.ravel() for grid in np.meshgrid(_SPARSE, _GAINS, indexing="ij"))
    flat = _log_normal(along, np.zeros((1, 1)), variance)
    spread = mean[:, None] / (numbers * noise.size)
    bent = _log_normal(along, spread, variance)
    either = np.logaddexp(
        np.log(part)[:, None] + bent, np.log(np.maximum(1.0 - part, 1e-300))[:, None] + flat
    )
    evidence = special.softmax(either.sum(axis=1))
    odds = np.exp(np.log(part)[:, None] + bent - either)
    found = np.zeros(len(along))
    for place, seen in enumerate(along):
        of = spread[:, place, None]
        trust = of / (of + variance)
        known = trust**2 * np.sum(seen**2, axis=1) + seen.shape[1] * trust * variance
        found[place] = float(evidence @ (odds[:, place] * known.sum(axis=1)))
    return found


def _log_normal(along: list[Matrix], spread: Matrix, variance: Vector) -> Matrix:
    """Logarithms of how likely each column's numbers are, hypotheses by columns, up to a common constant."""
    found = np.empty((len(spread), len(along)))
    for place, seen in enumerate(along):
        total = spread[:, min(place, spread.shape[1] - 1), None] + variance
        found[:, place] = -0.5 * np.sum(
            np.sum(seen**2, axis=1) / total + seen.shape[1] * np.log(total / variance), axis=1
        )
    return found


@final
@dataclass(frozen=True, eq=False)
class _Constant:
    """The constant at which bends are asked about: each output's score there, and the curvature along it.

    Of several classes the Hessian diag(p) - pp' has the inverse diag(1/p) for gradients that sum to 0. With
    two, slopes are limited to 1/2: all rows have one score there, so all count the same, `counted`."""

    scores: Vector
    curvatures: Vector
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
        if problem.outputs == 1:
            counted = (
                LEAST_LIMIT / max(float(chances[0]), 1.0 - float(chances[0])) if problem.limitable else 1.0
            )
            return cls(special.logit(chances), chances * (1.0 - chances), counted, problem.limitable)
        return cls(np.log(chances) - float(np.mean(np.log(chances))), chances)
