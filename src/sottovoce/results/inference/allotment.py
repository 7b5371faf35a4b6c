"""Parts of the budget for inference that its queries get, decided by public facts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.results.inference.coordinates import CAP

if TYPE_CHECKING:
    from sottovoce.problem import Problem

COUNTED = 0.85
"""Part of the second moments left by the cap on influence, for columns that are about normal."""

_CEILING = 2.0
"""What the preconditioner lets a long record have of curvature, in units of the cap squared."""

LEAST_RATIO = 4.0
"""Smallest eigenvalue of a Hessian, in units of its noise, at which its inverse is taken at face value."""

_SAFE = 3.5
"""A Hessian is expected to stand out where that of uncorrelated columns would by this factor more.

Chosen on made-up tables: with factors of 3.9 and more it did in 99 of 100 runs, with 2.7 in 69, 2.0 in 13."""


def least_ratio(size: int) -> float:
    """How far the smallest eigenvalue has to stand out: 1.2 times what noise alone spreads eigenvalues by."""
    return max(LEAST_RATIO, 1.2 * math.sqrt(2.0 * size))


CUT = 4.0
"""phi'' is cut off at so many times the one of a typical record: it then sets less noise. A Hessian that is
cut is never above the whole one, so intervals can only become wider by it."""


def curvature_ceiling(problem: Problem, typical: float) -> float:
    """Where phi'' is cut off if `typical` is that of a typical record; at most its largest value."""
    return min(problem.curvature_high, max(CUT * typical, 0.01 * problem.curvature_high))


def curvature_at(problem: Problem, score: float) -> float:
    """phi'' of a record with this <x, w>, of losses whose phi'' is mostly far below its largest value."""
    if problem.loss in ("poisson", "cloglog"):
        return math.exp(min(score - problem.shift, 0.0))
    if problem.loss == "logistic" and problem.outputs == 1:
        return 0.25 / math.cosh(0.5 * min(abs(score), 100.0)) ** 2
    return problem.curvature_high


def curvature_bend(problem: Problem) -> float:
    """How fast phi'' changes, as a part of itself, where records lie: of counts 1, phi'' being e^t below the
    largest count, and 2 only where more than that is expected."""
    return 1.0 if problem.loss in ("poisson", "cloglog") else problem.bend


def typical_curvature(problem: Problem) -> float:
    """phi'' to expect: four fifths of the largest, half of that for one of several outputs; of counts, whose
    phi'' is the expected count over the largest there can be, a tenth."""
    if problem.loss in ("poisson", "cloglog"):
        return 0.1 * problem.curvature_high
    return 0.8 * problem.curvature_high * (0.5 if problem.outputs > 1 else 1.0)


@final
@dataclass(frozen=True)
class Allotment:
    """Parts of the units: coordinates, Hessian, first gradient, scores; the last gradient has the rest.

    The last gradient decides the width of intervals while the Hessian stands out of its noise, which then
    enters times the last step only; where it does not, the Hessian decides, and gets more."""

    hessian: float
    resolved: bool
    coordinates: float = 0.05
    first: float = 0.10
    scores: float = 0.05

    @property
    def last(self) -> float:
        return 1.0 - self.coordinates - self.hessian - self.first - self.scores

    @classmethod
    def expected(cls, problem: Problem, mu: float) -> Allotment:
        """For queries of Gaussian privacy `mu` together. `resolved`: whether the Hessian will stand out."""
        usual, lost = 0.25, 0.50
        wanted = _SAFE * least_ratio(problem.dim)
        if _ratio(problem, mu * math.sqrt(usual)) >= wanted:
            return cls(usual, True)
        return cls(lost, _ratio(problem, mu * math.sqrt(lost)) >= wanted)


def _ratio(problem: Problem, mu: float) -> float:
    """Smallest eigenvalue over noise if columns were uncorrelated, for a Hessian of Gaussian privacy mu.

    In coordinates of unit variance the cap is C = c sqrt(D), and one record moves the Hessian by
    sqrt2 sup phi'' 2C^2 / n at most, phi'' being cut off."""
    cap, typical = CAP * math.sqrt(problem.columns), typical_curvature(problem)
    highest = curvature_ceiling(problem, typical)
    sensitivity = math.sqrt(2.0) * highest * _CEILING * cap**2 * problem.weight / problem.n
    return COUNTED * typical * mu / sensitivity
