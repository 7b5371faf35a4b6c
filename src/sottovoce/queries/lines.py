"""Queries about how far a risk falls along steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np

from sottovoce.accounting.events import QueryKind
from sottovoce.errors import ParameterError
from sottovoce.queries import arguments
from sottovoce.queries.base import AtWeights

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.models.bounds import Bounds
    from sottovoce.problem import Problem

SHORTEST_TRIAL = 1e-6
"""Trial steps shorter than this, in units of 1/radius, are refused: rounding would hide their difference."""


@final
@dataclass(frozen=True)
class Trials(AtWeights["Vector"]):
    """Decrease per unit length, (f(w) - f(w + p_j)) / ||p_j||, for each row p_j of `steps`."""

    steps: Matrix
    kind = QueryKind.TRIALS

    def length(self, problem: Problem) -> int:
        return len(self.steps)

    def admitted(self, problem: Problem) -> Self:
        """With the steps as taken: rounding w + p or the public limit on weights may have changed them."""
        w = arguments.weights(self.w, problem)
        asked = arguments.steps(self.steps, problem.dim)
        steps = np.stack([arguments.weights(w + p, problem) for p in asked]) - w
        _require_long(steps, problem)
        return replace(self, w=w, steps=steps)

    def request(self, bounds: Bounds) -> Any:
        return bounds.step_drops(self.w, self.steps, np.linalg.norm(self.steps, axis=1))

    def public(self, problem: Problem) -> Any:
        return problem.penalty_decrease(self.w, self.steps) / np.linalg.norm(self.steps, axis=1)


@final
@dataclass(frozen=True)
class GradientChange(AtWeights["Vector"]):
    """The gradient at w + step less the gradient at w: it moves in proportion to the step, and never by more
    than two gradients do."""

    step: Vector
    kind = QueryKind.GRADIENT_CHANGE

    def length(self, problem: Problem) -> int:
        return problem.dim

    def admitted(self, problem: Problem) -> Self:
        """With the step as taken: rounding w + p or the public limit on weights may have changed it."""
        if problem.outputs > 1:
            raise ParameterError("changes of a gradient are asked of models with a single output.")
        w = arguments.weights(self.w, problem)
        (asked,) = arguments.steps([self.step], problem.dim)
        step = arguments.weights(w + asked, problem) - w
        _require_long(step, problem)
        return replace(self, w=w, step=step)

    def request(self, bounds: Bounds) -> Any:
        return bounds.vector_change(self.w, self.step)

    def public(self, problem: Problem) -> Any:
        return problem.penalty_gradient(self.w + self.step) - problem.penalty_gradient(self.w)


@final
@dataclass(frozen=True)
class Grid(AtWeights["Vector"]):
    """f(w) - f(w + gamma_i direction) for gamma_i = longest shrink^i, i < count, in one release."""

    direction: Vector
    longest: float
    shrink: float
    count: int
    kind = QueryKind.LINE_SEARCH

    def length(self, problem: Problem) -> int:
        return self.count

    def admitted(self, problem: Problem) -> Self:
        lengths = arguments.grid_lengths(self.longest, self.shrink, self.count)
        direction, lengths = _line(self.direction, lengths, problem)
        return replace(
            super().admitted(problem),
            direction=direction,
            longest=float(lengths[0]),
            shrink=float(self.shrink),
            count=lengths.size,
        )

    def request(self, bounds: Bounds) -> Any:
        return bounds.line_drops(self.w, self.direction, self._lengths)

    def public(self, problem: Problem) -> Any:
        return problem.penalty_decrease(self.w, self._lengths[:, None] * self.direction)

    @property
    def _lengths(self) -> Vector:
        return np.asarray(self.longest * self.shrink ** np.arange(self.count))


@final
@dataclass(frozen=True)
class Backtrack:
    """First i at which f(w) - f(w + lengths[i] direction) exceeds required[i]: one index, by AboveThreshold.

    Every comparison moves by at most what the longest step allows."""

    w: Vector
    direction: Vector
    lengths: Vector
    required: Vector
    kind: ClassVar[QueryKind] = QueryKind.LINE_SEARCH

    def admitted(self, problem: Problem) -> Self:
        direction, lengths = _line(self.direction, self.lengths, problem)
        return replace(
            self,
            w=arguments.weights(self.w, problem),
            direction=direction,
            lengths=lengths,
            required=arguments.requirements(self.required, lengths.size),
        )

    def sensitivity(self, bounds: Bounds) -> float:
        return bounds.difference(self.w, self._longest)

    @property
    def _longest(self) -> Vector:
        return float(np.max(self.lengths)) * self.direction


def _require_long(steps: Matrix | Vector, problem: Problem) -> None:
    if not np.all(np.linalg.norm(steps, axis=-1) * problem.radius >= SHORTEST_TRIAL):
        raise ParameterError("a trial step is too short to be told from rounding; drop it.")


def _line(direction: Vector, lengths: Vector, problem: Problem) -> tuple[Vector, Vector]:
    direction, lengths = arguments.line(direction, lengths, problem.dim)
    longest = float(np.linalg.norm(direction)) * float(np.max(lengths))
    if not longest <= problem.weight_limit * (1.0 + 1e-9):
        raise ParameterError("a trial step reaches beyond the public limit on weights; shorten it.")
    return direction, lengths
