"""`accelerate`: first-order steps with momentum in learned coordinates, for thousands of columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from sottovoce.methods.adapt.descent import share
from sottovoce.methods.adapt.expected_curvature import expected_curvature
from sottovoce.methods.expected_excess import sensitivity_of
from sottovoce.methods.mean_curvature import mean_curvature
from sottovoce.methods.measurement import LearnedDescent, LearnedMethod, in_learned_coordinates, note
from sottovoce.methods.momentum_noise import in_user_weights, momentum_variance
from sottovoce.methods.quadratic_model import QuadraticModel
from sottovoce.methods.wide_coordinates import WideCoordinates, learned_twice
from sottovoce.problem import matrix_fits
from sottovoce.queries import Gradient, LimitedGradient
from sottovoce.results.inference.coefficient_noise import CoefficientNoise

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.methods.base import State
    from sottovoce.problem import Problem
    from sottovoce.queries import Queries, Query

_MOMENTUM = 0.9
_LIMIT = 0.7
"""Slopes are limited to this part of the largest: half the variance of the noise. Slopes of a softmax are cut
off there, a bias of about .001 in log loss; a logistic loss has none where its model is right."""

_AVERAGED = 0.1
"""The part of the steps at the end whose mean is returned."""

_SHORTER = 2.0 ** np.arange(0.0, -12.5, -0.5)
"""Lengths of steps that are compared, in units of the longest that is safe."""


@final
@dataclass(frozen=True, kw_only=True)
class Accelerate(LearnedMethod):
    """Learn centre and scale of the columns, shorten the directions that stand out, then steps with momentum.

    1. Column means and squares, the squares of declared `column_groups` as one sum each, asked twice: in the
    user's coordinates and in those that the first answer suggests. 2. A matrix of second moments, where it
    fits: what stands out of its noise is shortened down to it, so that rows, and with them all noise, are
    smaller in every other direction, and one step length suits all. 3. `steps` gradients with slopes limited
    to 0.7 of the largest, followed with Nesterov's momentum 0.9. Steps are as long as is safe, or shorter
    where the noise they would gather is expected to cost more than what they would reach. 4. The mean of the
    last tenth of the weights, and there the gradient of the user's own risk: the certificate speaks of it.

    The steps follow the weighted risk in learned coordinates; nothing about it is certified. All choices are
    made from public numbers and released answers: there is nothing to tune."""

    name: ClassVar[str] = "accelerate"
    steps: int = 60
    moments_share: float = 0.06
    gram_share: float = 0.08

    def taken(self, problem: Problem) -> int:
        return self.steps

    def forms_gram(self, problem: Problem) -> bool:
        return matrix_fits(problem.columns)

    def prepared(self, state: State, whole: int, kept: int) -> AcceleratedDescent:
        ask, problem = state.ask, state.problem
        prior = expected_curvature(problem).prior
        gram_units = int(whole * self.gram_share) if self.forms_gram(problem) else 0
        moments_units = int(whole * self.moments_share)
        mu = math.sqrt(ask.mu_squared(max(1, whole - moments_units - gram_units - kept)))
        chosen = learned_twice(state, moments_units, prior, mu)
        if gram_units:
            wide = WideCoordinates.flattened(state, chosen, gram_units, prior, mu)
        else:
            wide = WideCoordinates.unflattened(chosen)
        return AcceleratedDescent(ask.preconditioned(wide.preconditioner), wide, mu, self.steps)


@final
@dataclass
class AcceleratedDescent(LearnedDescent):
    """Nesterov's steps in learned coordinates: v <- m v - l g(u + m v), u <- u + v."""

    inside: Queries
    wide: WideCoordinates
    mu: float
    steps: int
    noise: CoefficientNoise = field(default_factory=CoefficientNoise)

    def followed(self, state: State, kept: int) -> Vector:
        preconditioner, problem = self.wide.preconditioner, self.inside.problem
        u = preconditioner.from_user(state.w)
        speed, mean, weight = np.zeros_like(u), np.zeros_like(u), 0
        length = self.length
        scales: list[float] = []
        counted: list[int] = []
        for step in range(self.steps):
            there = problem.within_limit(u + _MOMENTUM * speed)
            units = int((state.ask.units_left - kept) * share(step, self.steps))
            answer = self.inside.ask(self._query(there), units)
            gradient = answer.value.reshape(problem.outputs, -1)
            if len(gradient) > 1:
                gradient = gradient - gradient.mean(axis=0)
            speed = _MOMENTUM * speed - length * gradient.ravel()
            u = problem.within_limit(u + speed)
            counted.append(answer.units if step >= self.steps * (1.0 - _AVERAGED) - 1.0 else 0)
            scales.append(answer.scale)
            mean, weight = mean + counted[-1] * u, weight + counted[-1]
            note(state, "accelerated step", answer, preconditioner.to_user(u))
        shares = [units / max(1, weight) for units in counted]
        self.noise = self._noise(length, scales, shares, mean / max(1, weight))
        return state.problem.within_limit(preconditioner.to_user(mean / max(1, weight)))

    @property
    def trained(self) -> str:
        limited = f", slopes limited to {_LIMIT:g} of the largest" if self.inside.problem.limitable else ""
        return in_learned_coordinates(self.wide.preconditioner) + limited

    @property
    def length(self) -> float:
        """Of a step: 1/L, L no less than any curvature expected, or shorter by what `QuadraticModel` says of
        the noise that all steps gather. Momentum m makes of a step as much as 1/(1 - m) of them."""
        problem = self.inside.problem
        bends = problem.curvature_high * self.wide.largest + max(0.0, problem.regularizer.curvature_high)
        model = QuadraticModel.expected(problem, self.wide.spectrum)
        noise = sensitivity_of(self.inside, self._query(np.zeros(problem.dim))) / self.mu
        safe = 1.0 / bends
        reach = safe * self.steps / (1.0 - _MOMENTUM)
        expected = [float(model.excess(np.asarray(part * reach), noise)) for part in _SHORTER]
        return safe * float(_SHORTER[int(np.argmin(expected))])

    def _noise(self, length: float, scales: list[float], shares: list[float], u: Vector) -> CoefficientNoise:
        """About what the noise of all steps leaves in the mean of the last points."""
        problem, spectrum = self.inside.problem, self.wide.spectrum
        deviation = math.sqrt(float(u @ u) / problem.outputs * float(spectrum.mean()))
        bend = mean_curvature(problem, deviation) * spectrum + max(0.0, problem.regularizer.curvature_high)
        left = momentum_variance(length, _MOMENTUM, scales, shares, bend)
        return in_user_weights(self.wide.preconditioner, float(left.mean()), problem.outputs)

    def _query(self, u: Vector) -> Query[Vector]:
        problem = self.inside.problem
        return LimitedGradient(u, _LIMIT * problem.slope) if problem.limitable else Gradient(u)
