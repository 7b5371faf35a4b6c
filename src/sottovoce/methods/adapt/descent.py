"""The descent of `adapt`: ask for a gradient, update the posterior, go where it says that the weights are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.methods.adapt.expected_curvature import Outset
from sottovoce.methods.adapt.inspection import Stand
from sottovoce.methods.adapt.length import STRONG, lengthened
from sottovoce.methods.adapt.observation import GradientObservation, contradiction
from sottovoce.methods.adapt.schedule import share, short_of, slowed
from sottovoce.methods.expected_excess import ExpectedExcess, sensitivity_of
from sottovoce.methods.measurement import LearnedDescent, in_learned_coordinates, note
from sottovoce.methods.noise_propagation import StepNoise, noise_along
from sottovoce.results.inference.coefficient_noise import CoefficientNoise

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.adapt.coordinates import Coordinates
    from sottovoce.methods.adapt.expected_curvature import Asked, ExpectedCurvature
    from sottovoce.methods.adapt.inspection import Inspection
    from sottovoce.methods.adapt.least_penalty import LeastPenalty
    from sottovoce.methods.adapt.posterior import Posterior
    from sottovoce.methods.base import State
    from sottovoce.queries import Answer, Queries

_LONGEST_START = 0.4
"""Most of the budget that the first gradient takes."""

_CONTRADICTED = 6.0
"""Standard errors by which gradients contradict an estimate that is given up."""

_ROUNDS = 2
"""Times that all answers are weighed again by the estimate that this gives."""


@final
@dataclass(kw_only=True)
class Descent(LearnedDescent):
    """Gradients in learned coordinates, each at the posterior mean of all before it.

    `vectors` are the axes of the posterior; `last` are the units kept for the weights' length; `means` those
    of the columns; `limit` is the last on slopes; `contradicted`: smoothing was given up; `noise` is about
    what the noise of all answers leaves in the weights."""

    inside: Queries
    chosen: Coordinates
    vectors: Matrix
    least: LeastPenalty
    posterior: Posterior
    curvature: ExpectedCurvature
    inspections: tuple[Inspection, ...]
    mu: float
    steps: int
    last: int
    means: Vector
    limit: float = 1.0
    contradicted: bool = False
    noise: CoefficientNoise = field(default_factory=CoefficientNoise)

    def followed(self, state: State, kept: int) -> Vector:
        """Take the steps, leaving `kept` units; the weights they end at, in the user's coordinates."""
        preconditioner = self.chosen.preconditioner
        u = self._turned(preconditioner.from_user(state.w))
        planned = self.steps
        step_noises: list[StepNoise] = []
        units: list[int] = []
        places: list[Matrix] = []
        observations: list[GradientObservation] = []
        while len(units) < self.steps:
            asked = self.curvature.asked(self.inside, self._outset(u), self.posterior)
            self.limit = asked.limit
            least = sensitivity_of(self.inside, asked.query) / self.mu
            if 2 * len(units) < self.steps:
                self.steps = max(self.steps, round(planned * slowed(self._model(), least, self._flattened)))
            usual = least * math.sqrt(self.steps)
            part = share(len(units), self.steps)
            if not units:
                part = max(part, self._first_share(usual))
            aside = kept + self.last + sum(each.aside(len(units), self.steps) for each in self.inspections)
            answer = self.inside.ask(asked.query, int((state.ask.units_left - aside) * part))
            self._update_missing(u, answer)
            gradient = self._turned(answer.value)
            if len(gradient) > 1:
                gradient = gradient - gradient.mean(axis=0)
            curve = asked.curves(self.posterior.reached(u))
            observations.append(GradientObservation(u, gradient, answer.scale, curve))
            self.posterior.update(observations[-1], usual)
            gain = self._information_gain(usual)
            smoothed = self._smoothing(gain, observations)
            found = self._within(self._settled(observations, smoothed))
            u = self._within(found - self._short_of(found, smoothed))
            units.append(answer.units)
            places.append(found)
            if self.posterior.step_noise is not None:
                step_noises.append(self.posterior.step_noise)
            note(state, "adapted step", answer, preconditioner.to_user(self._back(found)))
            stand = self._stand(len(units), answer, found)
            if through := [each for each in self.inspections if each.made(state, stand)]:
                self.left = through[0].gone_on
                return state.w
        counted = [paid if 2 * step >= self.steps - 1 else 0 for step, paid in enumerate(units)]
        weight = max(sum(counted), 1)
        ends = [gain * (paid / weight) for paid in counted]
        halves = sum((end * place for end, place in zip(ends, places, strict=True)), np.zeros_like(u))
        ends[-1] = ends[-1] + (1.0 - gain - smoothed)
        twice, left = self.posterior.smooth(observations, halves + (1.0 - gain) * found)
        signal = self.posterior.signal_share(
            self.curvature.sampling(self.posterior.sizes) / state.problem.n
        )
        ended = signal * (halves + (1.0 - gain - smoothed) * found + smoothed * twice)
        ends = [signal * end for end in ends]
        added, apart = self._lengthened(state, ended, usual / math.sqrt(self.steps))
        basis = preconditioner.matrix.T @ self.vectors
        self.noise = noise_along(
            basis, step_noises, ends, len(u), centred=True, beside=signal * smoothed * left, apart=apart
        )
        return state.problem.within_limit(self.least.at(preconditioner.to_user(self._back(ended + added))))

    def _stand(self, step: int, answer: Answer[Vector], found: Matrix) -> Stand:
        def asked(inside: Queries, point: Vector) -> tuple[Asked, float]:
            chosen = self.curvature.asked(inside, self._outset(found, point), self.posterior)
            across = chosen.curves(self.posterior.reached(found)).across
            return chosen, float(self.posterior.weights @ across)

        mean = float(
            np.mean(
                self.chosen.preconditioner.to_user(self._back(found)).reshape(len(found), -1) @ self.means
            )
        )
        deviation = math.sqrt(max(self.posterior.found - mean**2, 0.0))
        doubt = math.sqrt(self.posterior.unknown)
        return Stand(step, self.steps, answer, mean, deviation, doubt, asked)

    def _information_gain(self, usual: float) -> Vector:
        """Along each direction, how far answers tell more than the prior under the likeliest hypothesis."""
        likeliest = int(np.argmax(self.posterior.weights))
        return np.asarray(self.posterior.information_gain(usual, self._expected_curvature)[likeliest])

    def _smoothing(self, gain: Vector, observations: list[GradientObservation]) -> Vector:
        """How far all answers, smoothed by what is known now, count instead of the filters' means: where no
        direction is known precisely, and only until the gradients themselves contradict what comes out."""
        if not self.curvature.smooths or self.contradicted:
            return np.zeros_like(gain)
        again = self.posterior.smooth(observations, self.posterior.estimate)[0]
        self.contradicted = contradiction(observations, again) > _CONTRADICTED
        return (1.0 - gain) * (1.0 - float(gain.max())) * (not self.contradicted)

    def _settled(self, observations: list[GradientObservation], smoothed: Vector) -> Matrix:
        """The posterior mean, or as far as that counts the mean of all answers smoothed again."""
        found = mean = self.posterior.estimate
        if smoothed.any():
            for _ in range(_ROUNDS):
                found = (1.0 - smoothed) * mean + smoothed * self.posterior.smooth(observations, found)[0]
        return found

    def _short_of(self, found: Matrix, smoothed: Vector) -> Matrix:
        """What is left of the way to the weights found when a gradient is asked; nothing of the constant."""
        if not smoothed.any():
            return np.zeros_like(found)
        mean = 0.0
        if self.chosen.preconditioner.constant is None:
            mean = float(self.means @ self.chosen.preconditioner.to_user(self._back(found)))
        square = float(self.posterior.whole @ np.mean(found**2, axis=0))
        part = short_of(mean**2 / max(square, 1e-300)) / self.posterior.factor
        return part * self._without_constant(smoothed * found)

    def _without_constant(self, u: Matrix) -> Matrix:
        place, held = self.chosen.preconditioner.constant, self._back(u)
        if place is not None:
            held[place] = 0.0
        return self._turned(held)

    def _lengthened(self, state: State, ended: Matrix, noise: float) -> tuple[Matrix, Vector | float]:
        """What to add to the weights, the constant's apart, so that they have the right length, and the sd
        that their noise leaves along each direction; `noise` is that of all gradients together."""
        way = self._without_constant(ended)
        if not self.last or not way.any():
            return np.zeros_like(ended), 0.0
        u, along = self._back(ended), self._back(way)
        deviation = math.sqrt(float(self.posterior.whole @ np.mean(way**2, axis=0)))
        bend = self.curvature.along(deviation)
        doubt = noise * float(np.linalg.norm(along)) / (bend * deviation**2)
        found, answers = lengthened(
            state.ask, self.chosen.preconditioner, u, along, deviation, doubt, self.last
        )
        factor = max(found.factor, 1.0) if deviation > STRONG else found.factor
        there = u + (factor - 1.0) * along
        for answer in answers:
            note(state, "length of the weights", answer, self.chosen.preconditioner.to_user(there))
        return (factor - 1.0) * way, factor * found.scatter * np.sqrt(np.mean(way**2, axis=0))

    @property
    def trained(self) -> str:
        limited = f", slopes limited to {self.limit:g}" if self.limit < 1.0 else ""
        return in_learned_coordinates(self.chosen.preconditioner) + limited

    @property
    def _deviation(self) -> float:
        """Standard deviation of the predictor to expect at the weights sought."""
        return max(
            0.2 * self.curvature.prior.deviation, math.sqrt(self.posterior.found + self.posterior.unknown)
        )

    @property
    def _expected_curvature(self) -> float:
        return self.curvature.at(self._deviation)

    @property
    def _flattened(self) -> float:
        """How many times less the loss bends at the weights found than at 0."""
        return self.curvature.at(0.0) / self.curvature.at(math.sqrt(self.posterior.found))

    def _model(self) -> ExpectedExcess:
        signal = self.posterior.whole * (self._deviation**2 / float(self.posterior.whole.sum()))
        return ExpectedExcess(
            self.posterior.factor * self.posterior.spectrum, signal, self._expected_curvature
        )

    def _first_share(self, usual: float) -> float:
        """What the first answer should cost: its noise as large as its other errors, if that is not too dear.

        There all slopes are 1/2 and a record moves least; but H^-1 g is least certain, too."""
        model = self._model()
        left = model.excess(usual / math.sqrt(self.steps)) / model.at_stake
        return min(_LONGEST_START, left / self.posterior.doubt)

    def _outset(self, u: Matrix, point: Vector | None = None) -> Outset:
        reached = math.sqrt(self.posterior.found)
        point = self._lowest(u) if point is None else point
        return Outset(point, reached, self._deviation, self._model(), self.mu)

    def _turned(self, u: Vector) -> Matrix:
        """Outputs by directions."""
        return np.asarray(u.reshape(-1, self.inside.problem.columns) @ self.vectors)

    def _back(self, u: Matrix) -> Vector:
        return np.asarray((u @ self.vectors.T).ravel())

    def _lowest(self, u: Matrix) -> Vector:
        """Where to ask about u: at the weights of least penalty that predict alike. The answer is then the
        gradient of the risk with that least penalty."""
        preconditioner, point = self.chosen.preconditioner, self._back(u)
        w = preconditioner.to_user(point)
        lowest = self.least.at(w)
        return point if lowest is w else preconditioner.from_user(lowest)

    def _update_missing(self, u: Matrix, answer: Answer[Vector]) -> None:
        """The derivative along d in the user's weights is <M'^-1 d, g>, g the gradient as asked."""
        preconditioner, least = self.chosen.preconditioner, self.least
        inward = preconditioner.from_user(least.directions.T)
        along = answer.value.reshape(-1, self.inside.problem.columns) @ inward.T
        least.update(
            preconditioner.to_user(self._back(u)), along, answer.scale * np.linalg.norm(inward, axis=1)
        )

    def _within(self, u: Matrix) -> Matrix:
        return self._turned(self.inside.problem.within_limit(self._back(u)))
