"""Which majorizer, how many steps and how much damping promise the least, from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.methods.majorizers import MajorizerShape, diagonal_lift, spectral_lift
from sottovoce.methods.mean_curvature import movement
from sottovoce.methods.quadratic_model import QuadraticModel
from sottovoce.problem import matrix_fits

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.problem import Problem

_LONGER = (1, 2, 4, 8, 16)
"""Numbers of steps that are compared, in units of the method's own."""

_DAMPINGS = np.concatenate([[1e-9], np.exp(np.linspace(np.log(1e-4), np.log(1e4), 81))])
"""Dampings that are compared, in units of the largest curvature."""

_BINS = 200
"""Eigenvalues that are told apart at most."""

_PATIENCE = 0.05
"""Twice the steps must lower the expected excess by a factor of 2 to this power."""


@final
@dataclass(frozen=True, kw_only=True)
class Design:
    """A majorizer of some shape, the steps to take with it, and how much they are damped."""

    shape: MajorizerShape
    steps: int
    damping: float
    expected: float


@final
@dataclass(frozen=True, kw_only=True)
class Designer:
    """Compares majorizers by what the quadratic model of `QuadraticModel` expects of them.

    `mu` is what majorizer and gradients may cost together and `asked` the part the majorizer takes if it asks
    for anything. Before it has asked, eigenvalues of the second moments are taken to fall as 1/j from a
    largest that makes them add up to R^2, and the signal to go with the root of each."""

    problem: Problem
    mu: float
    asked: float
    relaxation: float
    steps: int

    def best(self) -> Design:
        """The shape, steps and damping with the least expected excess loss, few steps preferred."""
        model, times = self._expected()
        found = [
            self._damped(shape, model, self._bound(shape), self.steps * longer, times)
            for shape in self._shapes()
            for longer in _LONGER
        ]
        return min(found, key=_rank)

    def steepest(self) -> Design:
        """The shape with the least expected gradient after the method's own steps, undamped."""
        model, times = self._expected()

        def expected(shape: MajorizerShape) -> float:
            travelled = self.steps * self.relaxation / self._bound(shape)
            return float(model.steepness(travelled, self._noise(shape) * np.sqrt(times)))

        shape = min(self._shapes(), key=expected)
        return Design(shape=shape, steps=self.steps, damping=0.0, expected=expected(shape))

    def damping(self, design: Design, spectrum: Vector, bound: Vector, found: float) -> float:
        """Damping of the same steps for second moments as they were seen and a signal of sd `found`."""
        model = QuadraticModel.expected(self.problem, spectrum, found)
        return self._damped(design.shape, model, bound, design.steps).damping

    def _damped(
        self,
        shape: MajorizerShape,
        model: QuadraticModel,
        bound: Vector,
        steps: int,
        times: Vector | float = 1.0,
    ) -> Design:
        """The damping that suits a shape and a number of steps; each direction stands for `times`."""
        dampings = self.problem.smoothness * _DAMPINGS
        travelled = steps * self.relaxation / (bound + dampings[:, None])
        expected = model.excess(travelled, self._noise(shape) * np.sqrt(times))
        place = int(np.argmin(expected))
        damping, least = float(dampings[place]), float(expected[place])
        return Design(shape=shape, steps=steps, damping=damping, expected=least)

    def _expected(self) -> tuple[QuadraticModel, Vector]:
        spectrum, times = self._levels
        return QuadraticModel.expected(self.problem, spectrum, times=times), times

    def _shapes(self) -> list[MajorizerShape]:
        if self.problem.matrix_free or self.problem.clipped:
            return [MajorizerShape.SCALAR]
        dense = [MajorizerShape.DENSE] if matrix_fits(self.problem.columns) else []
        declared = [MajorizerShape.DIAGONAL] if self.problem.widest_row < self.problem.columns else []
        return [*dense, *declared, MajorizerShape.SCALAR]

    def _bound(self, shape: MajorizerShape) -> Vector:
        """The majorizer's eigenvalues, one for each of the spectrum expected; above what no row exceeds they
        are worth nothing."""
        problem, (spectrum, _) = self.problem, self._levels
        if shape is MajorizerShape.SCALAR:
            return np.full(spectrum.size, problem.smoothness)
        noise = math.sqrt(2.0 / self.asked) * problem.energy / (problem.n * self.mu)
        if shape is MajorizerShape.DENSE:
            bound = spectrum + noise * spectral_lift(problem.columns)
        else:
            bound = problem.widest_row * (spectrum + noise * diagonal_lift(problem.columns))
        bound = problem.curvature_high * bound + problem.regularizer.curvature_high
        return np.asarray(np.minimum(bound, problem.smoothness))

    def _noise(self, shape: MajorizerShape) -> float:
        """Sd of one gradient for all that is left for gradients."""
        left = 1.0 if shape is MajorizerShape.SCALAR else 1.0 - self.asked
        moves = movement(self.problem) * self.problem.influence
        return moves / (self.problem.n * self.mu * math.sqrt(left))

    @cached_property
    def _levels(self) -> tuple[Vector, Vector]:
        """Eigenvalues expected, and how many there are of each: the first ones apart, later ones in bins."""
        columns = self.problem.columns
        edges = np.unique(np.append(np.round(np.geomspace(1.0, columns + 1.0, _BINS)), columns + 1.0))
        falling = np.add.reduceat(1.0 / np.arange(1.0, columns + 1.0), edges[:-1].astype(int) - 1)
        times = np.diff(edges)
        return np.asarray(self.problem.energy * falling / falling.sum() / times), times


def _rank(design: Design) -> float:
    return design.expected * math.pow(design.steps, _PATIENCE)
