"""How a risk bends on the way to its weights, for each kind of loss: what to expect before data is asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.methods.adapt.coordinates import Prior
from sottovoce.methods.adapt.observation import SecantCurvature
from sottovoce.methods.logistic_model import LIMITS, log_odds, secants

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.methods.adapt.posterior import Posterior
    from sottovoce.problem import Problem

_LOGISTIC = "logistic"
_STEEPEST = 0.25
"""phi'' of the logistic loss at 0."""

_TYPICAL = 0.6
"""Mean phi'' in units of its supremum, for losses without a model of their own."""

_PRIOR = math.sqrt(2.0)
"""Prior standard deviation of log odds."""

_LEAST = 1e-3
"""No curvature is taken for less than this part of its supremum."""


@final
@dataclass(frozen=True)
class ExpectedCurvature:
    """Logistic losses follow `log_odds`. A softmax of K classes bends by 1/K where all are alike, and its
    classes by the same law. Other losses bend by 0.6 of their supremum everywhere."""

    problem: Problem

    @property
    def prior(self) -> Prior:
        """What to expect before anything is seen. Public."""
        reach = self.problem.label_reach
        deviation = 0.5 * reach if reach else _PRIOR
        movement = (2.0 if reach else 1.2) * self.problem.slope
        return Prior(deviation, deviation if reach else 1.0, self.at(deviation), movement)

    @property
    def limited(self) -> bool:
        """Whether slopes may be limited with a known bias."""
        return self.problem.loss == _LOGISTIC and self.problem.limitable and self.problem.outputs == 1

    def at(self, deviation: float) -> float:
        """Mean phi'' at weights whose predictor has this standard deviation."""
        if not self._follows:
            return _TYPICAL * self.problem.curvature_high
        return max(self._unit * log_odds(deviation).curvature, _LEAST * self.problem.curvature_high)

    def across(self, deviation: float, reached: float) -> Vector:
        """Mean curvature across the weights over the way that is left, for each of `LIMITS`."""
        return self._unit * secants(deviation, reached).across

    def along(self, deviation: float) -> float:
        """Curvature along the weights at their end, where slopes are limited to half."""
        half = int(np.argmin(np.abs(LIMITS - 0.5)))
        return max(
            self._unit * float(secants(deviation, 1.0).along[half]), _LEAST * self.problem.curvature_high
        )

    def bias(self, deviation: float) -> Vector:
        """Excess loss of the minimizer with slopes limited, for each of `LIMITS`."""
        return log_odds(deviation).bias

    def curves(self, posterior: Posterior, place: int) -> Callable[[Vector], SecantCurvature]:
        """Curvatures under each hypothesis, given what part of the way is reached, with a limit on slopes."""
        highest = self.problem.curvature_high

        def of(reached: Vector) -> SecantCurvature:
            if not self._follows:
                typical = np.full(posterior.sizes.size, _TYPICAL * highest)
                return SecantCurvature(typical, typical, highest)
            if not np.any(reached):
                across = np.array([self.at(size) for size in posterior.sizes])
                return SecantCurvature(across, across, highest)
            ways = [secants(size, part) for size, part in zip(posterior.sizes, reached, strict=True)]
            across = self._unit * np.array([way.across[place] for way in ways])
            along = self._unit * np.array([way.along[place] for way in ways])
            least = _LEAST * highest
            return SecantCurvature(np.maximum(across, 2.0 * least), np.maximum(along, least), highest)

        return of

    @property
    def _follows(self) -> bool:
        return self.problem.loss == _LOGISTIC or self.problem.outputs > 1

    @property
    def _unit(self) -> float:
        """What the model's curvatures are multiplied by: 1 for a plain logistic loss."""
        if self.problem.outputs > 1:
            return 1.0 / (self.problem.outputs * _STEEPEST)
        return self.problem.curvature_high / _STEEPEST
