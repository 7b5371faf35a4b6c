"""The numbers of the paper's analysis: how much noise it tolerates, how much decrease it promises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.errors import ParameterError
from sottovoce.problem import Calibration

if TYPE_CHECKING:
    from sottovoce.problem import Problem
    from sottovoce.results.result import Tolerance

PUBLISHED_GAP = 0.5
PUBLISHED_SLACK = 1.1


@final
@dataclass(frozen=True)
class Curve:
    """Lipschitz constants of the gradient (paper: G) and the Hessian (M) that steps are computed from."""

    smoothness: float
    hessian_lipschitz: float

    @classmethod
    def of(cls, problem: Problem, calibration: Calibration = Calibration.TIGHT) -> Curve:
        """The problem's own constants, or the paper's G = M = 1."""
        if calibration is Calibration.PUBLISHED:
            return cls(1.0, 1.0)
        return cls(problem.smoothness, problem.hessian_lipschitz)


@final
@dataclass(frozen=True, kw_only=True)
class NoiseShare:
    """How much noise the decrease analysis tolerates (paper: c_1, c_2, c in eq. bounded_noise)."""

    gradient: float = 0.1
    curvature_gradient: float = 1.0 / 12.0
    curvature: float = 0.1

    def __post_init__(self) -> None:
        if not (0.0 < self.gradient < 0.5 and self.curvature_gradient > 0.0 and self.curvature > 0.0):
            raise ParameterError("noise shares must be positive, the gradient's below 1/2.")
        if self.curvature_gradient + self.curvature >= 1.0 / 3.0:
            raise ParameterError("curvature_gradient + curvature must stay below 1/3.")

    def short_decrease(self, curve: Curve | Problem, tolerance: Tolerance) -> float:
        """Least decrease of a short step (paper: MIN_DEC of Lemma short_dec)."""
        by_gradient = (1.0 - 2.0 * self.gradient) / (2.0 * curve.smoothness) * tolerance.gradient**2
        room = 1.0 / 3.0 - self.curvature_gradient - self.curvature
        return min(by_gradient, 2.0 * room * _curvature(tolerance) ** 3 / curve.hessian_lipschitz**2)


@final
@dataclass(frozen=True, kw_only=True)
class SearchShare:
    """Backtracking: decrease asked for (paper: c_g, c_H), shrinking (beta_g, beta_H) and first length (b)."""

    gradient: float = 0.6
    curvature: float = 0.25
    gradient_shrink: float = 0.6
    curvature_shrink: float = 0.5
    longer: float = 20.0

    def __post_init__(self) -> None:
        if not (0.0 < self.gradient < 1.0 and 0.0 < self.curvature < 1.0 and self.longer > 1.0):
            raise ParameterError(
                "decrease shares lie in (0, 1); the first length is longer than the fallback."
            )
        if not (0.0 < self.gradient_shrink < 1.0 and 0.0 < self.curvature_shrink < 1.0):
            raise ParameterError("each trial is shorter than the last: shrink factors lie in (0, 1).")

    def gradient_fallback(self, noise: NoiseShare, curve: Curve) -> float:
        """Length along -g~ at which the decrease suffices if noise is as assumed: 2 (1 - c_1 - c_g) / G."""
        return 2.0 * (1.0 - noise.gradient - self.gradient) / curve.smoothness

    def curvature_fallback(self, noise: NoiseShare, curve: Curve, eigenvalue: float) -> float:
        """Length along negative curvature at which it does: t_2 |lambda~| / M."""
        return self.roots(noise)[1] * abs(eigenvalue) / curve.hessian_lipschitz

    def roots(self, noise: NoiseShare) -> tuple[float, float]:
        """t_1 < t_2, roots of -t^2/6 + (1 - c - c_H) t/2 - c_2."""
        middle = 1.0 - noise.curvature - self.curvature
        square = middle**2 / 4.0 - 2.0 * noise.curvature_gradient / 3.0
        if middle <= 0.0 or square <= 0.0:
            raise ParameterError("the curvature share must stay below 1 - c - sqrt(8 c_2 / 3).")
        return 1.5 * middle - 3.0 * math.sqrt(square), 1.5 * middle + 3.0 * math.sqrt(square)

    def decrease(self, noise: NoiseShare, curve: Curve, tolerance: Tolerance) -> float:
        """Least decrease of a searched step (paper: MIN_DEC of Lemma ls_decrease)."""
        by_gradient = (1.0 - noise.gradient - self.gradient) * self.gradient * tolerance.gradient**2
        by_curvature = self.curvature * self.roots(noise)[1] ** 2 * _curvature(tolerance) ** 3 / 4.0
        return min(by_gradient / curve.smoothness, by_curvature / curve.hessian_lipschitz**2)


def trial_count(shrink: float, longer: float) -> int:
    """Lengths tried before the fallback: i_max = floor(log_shrink(1/longer)) + 1."""
    return math.floor(math.log(1.0 / longer) / math.log(shrink)) + 1


def _curvature(tolerance: Tolerance) -> float:
    assert tolerance.curvature is not None
    return tolerance.curvature
