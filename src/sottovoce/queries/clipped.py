"""Queries about the gradients of single examples, where whoever computes clips them: PyTorch modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from sottovoce.accounting.events import QueryKind
from sottovoce.errors import ParameterError
from sottovoce.queries.base import AtWeights

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.models.bounds import Bounds
    from sottovoce.problem import Problem

COUNTED = 0.2
"""What the count of unclipped examples weighs beside the gradient: half a percent more noise."""

LOWEST, HIGHEST = 2.0**-30, 2.0**30
"""Clips that may be asked for."""

EDGES = 2.0 ** np.arange(16.0, -17.0, -1.0)
"""Where the bands of gradient norms end, from above."""


class _OfExamples(AtWeights["Vector"]):
    def admitted(self, problem: Problem) -> Self:
        if not problem.clipped:
            raise ParameterError("gradients of single examples are clipped of PyTorch modules only.")
        return super().admitted(problem)


@final
@dataclass(frozen=True)
class ClippedGradient(_OfExamples):
    """Mean of gradients cut to norm `clip`, then `clip` COUNTED times the mean of +1/2 for each example that
    was not cut and -1/2 for each that was: a gradient and a count in one release.

    An example's part is no longer than clip sqrt(1 + COUNTED^2/4), wherever it points."""

    clip: float
    kind = QueryKind.GRADIENT

    def admitted(self, problem: Problem) -> Self:
        if not LOWEST <= self.clip <= HIGHEST:
            raise ParameterError(f"clip must lie between {LOWEST:.3g} and {HIGHEST:.3g}.", argument="clip")
        return super().admitted(problem)

    def length(self, problem: Problem) -> int:
        return problem.dim + 1

    def request(self, bounds: Bounds) -> Any:
        from sottovoce.trusted.example_requests import CountedGradients

        return CountedGradients(self.w, self.clip, COUNTED)

    def public(self, problem: Problem) -> Any:
        return np.append(problem.penalty_gradient(self.w), 0.0)

    def term(self, problem: Problem) -> float:
        return self.clip * float(np.hypot(1.0, COUNTED / 2.0))

    def unclipped(self, value: Vector) -> float:
        """The noisy share of examples that were not cut."""
        return 0.5 + float(value[-1]) / (self.clip * COUNTED)

    def unclipped_noise(self, scale: float) -> float:
        """The standard deviation of that share's noise, of an answer whose noise has this scale."""
        return scale / (self.clip * COUNTED)


@final
@dataclass(frozen=True)
class GradientBands(_OfExamples):
    """(1/n) sum e(i), e(i) the unit vector of the band of EDGES in which the norm of example i's gradient
    lies, and 0 where that is not finite.

    An example gives 1 in one place: replacing it moves the answer by sqrt2/n at most, zeroing it out by 1/n.
    A person's examples give a convex combination of such vectors."""

    kind = QueryKind.GRADIENT_BANDS

    def length(self, problem: Problem) -> int:
        return len(EDGES) + 1

    def request(self, bounds: Bounds) -> Any:
        from sottovoce.trusted.example_requests import GradientShares

        return GradientShares(self.w, EDGES)
