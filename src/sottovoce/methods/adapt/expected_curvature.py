"""How the risk bends on the way to its weights, for each kind of loss, and so which gradient to ask for.

`ExpectedCurvature` serves losses without a model of their own, `LogisticCurvature` logistic losses and
softmax, `residuals.ResidualCurvature` convex losses of residuals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from sottovoce.methods.adapt.coordinates import Prior
from sottovoce.methods.adapt.posterior import SecantCurvature
from sottovoce.methods.expected_excess import sensitivity_of
from sottovoce.methods.logistic_model import LIMITS, log_odds, secants
from sottovoce.methods.mean_curvature import LOGISTIC, TYPICAL, movement, prior_deviation
from sottovoce.queries import Gradient, LimitedGradient

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.methods.adapt.posterior import Posterior
    from sottovoce.methods.expected_excess import ExpectedExcess
    from sottovoce.problem import Problem
    from sottovoce.queries import Queries, Query

_STEEPEST = 0.25
"""phi'' of the logistic loss at 0."""

_LEAST = 1e-3
"""No curvature is taken for less than this part of its supremum."""


class Outset(NamedTuple):
    """From where a gradient is to be asked: the point, the sd of the predictor there and at the weights
    sought, what is expected of the risk, and mu that buys all gradients together."""

    point: Vector
    reached: float
    deviation: float
    model: ExpectedExcess
    mu: float


class Asked(NamedTuple):
    """A gradient to ask for, about how far one record moves it, the curvature along the way from there to the
    weights sought, and its limit on slopes in units of the largest."""

    query: Query[Vector]
    moved: float
    curves: Callable[[Vector], SecantCurvature]
    limit: float = 1.0


@dataclass
class ExpectedCurvature:
    """Mean phi'' is a part of its supremum, wherever the weights are; slopes are not limited."""

    problem: Problem

    @property
    def prior(self) -> Prior:
        """What to expect before gradients are asked for."""
        deviation = prior_deviation(self.problem)
        unit = deviation if self.problem.label_reach else 1.0
        return Prior(deviation, unit, self.at(deviation), movement(self.problem))

    def sampling(self, sizes: Vector) -> Vector:
        """E phi'^2 over (E phi'')^2 where the predictor has these standard deviations: over n S, the variance
        of the minimizer by chance; 0: not modelled."""
        return np.zeros_like(sizes)

    def at(self, deviation: float) -> float:
        """Mean phi'' at weights whose predictor has this standard deviation."""
        return TYPICAL * self.problem.curvature_high

    def asked(self, inside: Queries, outset: Outset, posterior: Posterior) -> Asked:
        """The gradient with the least expected excess."""
        typical = np.full(posterior.sizes.size, self.at(outset.deviation))
        curves = SecantCurvature(typical, typical, self.problem.curvature_high)
        query = Gradient(outset.point)
        return Asked(query, sensitivity_of(inside, query), lambda _reached: curves)


@final
@dataclass
class LogisticCurvature(ExpectedCurvature):
    """By the model of Gaussian log odds (`logistic_model`). A softmax of K classes bends by 1/K where all are
    alike, and its classes by the same law."""

    _moves: tuple[Queries, float] | None = None

    @property
    def limited(self) -> bool:
        """Whether slopes may be limited with a known bias."""
        return self.problem.loss == LOGISTIC and self.problem.limitable and self.problem.outputs == 1

    def at(self, deviation: float) -> float:
        return max(self._unit * log_odds(deviation).curvature, _LEAST * self.problem.curvature_high)

    def sampling(self, sizes: Vector) -> Vector:
        """Where labels follow the log odds, E phi'^2 is E phi''."""
        return np.array([1.0 / self.at(float(size)) for size in sizes])

    def asked(self, inside: Queries, outset: Outset, posterior: Posterior) -> Asked:
        place = self._place(inside, outset) if self.limited and np.any(outset.point) else 0
        highest, least = self.problem.curvature_high, _LEAST * self.problem.curvature_high

        def curves(reached: Vector) -> SecantCurvature:
            if not np.any(reached):
                across = np.array([self.at(size) for size in posterior.deviations])
                return SecantCurvature(across, across, highest)
            ways = secants(posterior.deviations, reached)
            across, along = self._unit * ways.across[:, place], self._unit * ways.along[:, place]
            return SecantCurvature(np.maximum(across, 2.0 * least), np.maximum(along, least), highest)

        if not place:
            query = Gradient(outset.point)
            return Asked(query, sensitivity_of(inside, query), curves)
        limit = float(LIMITS[place])
        limited = LimitedGradient(outset.point, limit * inside.problem.slope)
        return Asked(limited, limit * self._moved(inside), curves, limit)

    def _place(self, inside: Queries, outset: Outset) -> int:
        """The place among `LIMITS` of that with the least expected excess, 0 for none: less noise against the
        bias and the curvature that it costs."""
        model = outset.model
        noise = LIMITS * (self._moved(inside) / outset.mu)
        across = self._unit * secants(outset.deviation, outset.reached / outset.deviation).across

        def lost(sd: float, bend: float) -> float:
            return model.excess(sd * model.curvature / max(bend, 1e-9))

        costs = log_odds(outset.deviation).bias + [lost(*each) for each in zip(noise, across, strict=True)]
        if not np.argmin(costs):
            return 0
        costs[0] = lost(sensitivity_of(inside, Gradient(outset.point)) / outset.mu, across[0])
        return int(np.argmin(costs))

    def _moved(self, inside: Queries) -> float:
        """How far one record moves a limited gradient, at most and for low limits, per unit of the limit."""
        if self._moves is None or self._moves[0] is not inside:
            lowest = float(LIMITS[-1])
            query = LimitedGradient(np.zeros(inside.problem.dim), lowest * inside.problem.slope)
            self._moves = inside, sensitivity_of(inside, query) / lowest
        return self._moves[1]

    @property
    def _unit(self) -> float:
        """What the model's curvatures are multiplied by: 1 for a plain logistic loss."""
        if self.problem.outputs > 1:
            return 1.0 / (self.problem.outputs * _STEEPEST)
        return self.problem.curvature_high / _STEEPEST


def expected_curvature(problem: Problem) -> ExpectedCurvature:
    """What public numbers say of the loss."""
    if problem.loss == LOGISTIC or problem.outputs > 1:
        return LogisticCurvature(problem)
    return ExpectedCurvature(problem)
