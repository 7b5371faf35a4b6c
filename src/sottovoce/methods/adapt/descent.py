"""The descent of `adapt`: ask for a gradient, update the posterior, go where it says that the weights are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.methods.adapt.expected_curvature import Outset
from sottovoce.methods.adapt.inspection import Stand
from sottovoce.methods.adapt.posterior import GradientObservation
from sottovoce.methods.expected_excess import ExpectedExcess
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

_FLATTENED, _MOST, _PRECISE = 3.0, 4.0, 1e-4
"""Steps grow where the loss bends less than a third of what it does at 0, to at most four times as many, if
noise alone loses less than a ten thousandth of what is at stake."""


def share(step: int, steps: int) -> float:
    """The part of what is left that this step takes when shares grow as the root of the step's number."""
    return math.sqrt(step + 1.0) / math.fsum(math.sqrt(later + 1.0) for later in range(step, steps))


def slowed(model: ExpectedExcess, least: float, flattened: float) -> float:
    """How many times as many steps a strong signal takes, as the loss bends less and less on the way.

    Only where noise is small, `least` being that of one answer for the whole budget: more steps mean noisier
    answers. `flattened` is how many times less the loss bends at the weights found than at 0."""
    if model.excess(least) > _PRECISE * model.at_stake:
        return 1.0
    return min(max(1.0, flattened / _FLATTENED), _MOST)


@final
@dataclass(kw_only=True)
class Descent(LearnedDescent):
    """Gradients in learned coordinates, each at the posterior mean of all before it.

    `vectors` are the axes of the posterior, `means` those of the columns; `limit` is the last on slopes;
    `noise` is about what the noise of all answers leaves in the weights."""

    inside: Queries
    chosen: Coordinates
    vectors: Matrix
    least: LeastPenalty
    posterior: Posterior
    curvature: ExpectedCurvature
    inspections: tuple[Inspection, ...]
    mu: float
    steps: int
    means: Vector
    limit: float = 1.0
    noise: CoefficientNoise = field(default_factory=CoefficientNoise)

    def followed(self, state: State, kept: int) -> Vector:
        """Take the steps, leaving `kept` units; the weights they end at, in the user's coordinates."""
        preconditioner = self.chosen.preconditioner
        u = self._turned(preconditioner.from_user(state.w))
        planned = self.steps
        step_noises: list[StepNoise] = []
        units: list[int] = []
        places: list[Matrix] = []
        while len(units) < self.steps:
            asked = self.curvature.asked(self.inside, self._outset(u), self.posterior)
            self.limit = asked.limit
            least = asked.moved / self.mu
            if 2 * len(units) < self.steps:
                self.steps = max(self.steps, round(planned * slowed(self._model(), least, self._flattened)))
            usual = least * math.sqrt(self.steps)
            part = share(len(units), self.steps)
            if not units:
                part = max(part, self._first_share(usual))
            aside = kept + sum(each.aside(len(units), self.steps) for each in self.inspections)
            answer = self.inside.ask(asked.query, int((state.ask.units_left - aside) * part))
            self._update_missing(u, answer)
            gradient = self._turned(answer.value)
            if len(gradient) > 1:
                gradient = gradient - gradient.mean(axis=0)
            curve = asked.curves(self.posterior.reached(u))
            self.posterior.update(GradientObservation(u, gradient, answer.scale, curve), usual)
            u = self._within(self.posterior.estimate)
            units.append(answer.units)
            places.append(u)
            if self.posterior.step_noise is not None:
                step_noises.append(self.posterior.step_noise)
            note(state, "adapted step", answer, preconditioner.to_user(self._back(u)))
            stand = self._stand(len(units), answer, u)
            if through := [each for each in self.inspections if each.made(state, stand)]:
                self.left = through[0].gone_on
                return state.w
        counted = [paid if 2 * step >= self.steps - 1 else 0 for step, paid in enumerate(units)]
        gain, weight = self._information_gain(usual), max(sum(counted), 1)
        ends = [gain * (paid / weight) for paid in counted]
        ends[-1] = ends[-1] + (1.0 - gain)
        signal = self.posterior.signal_share(self.curvature.sampling(self.posterior.sizes) / state.problem.n)
        ends = [signal * end for end in ends]
        ended = sum((end * place for end, place in zip(ends, places, strict=True)), np.zeros_like(u))
        self.noise = noise_along(
            preconditioner.matrix.T @ self.vectors, step_noises, ends, len(u), centred=True
        )
        return state.problem.within_limit(self.least.at(preconditioner.to_user(self._back(ended))))

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
        """Along each direction, how far answers tell more than the prior under the likeliest hypothesis:
        as far as that the last half of all estimates is averaged."""
        likeliest = int(np.argmax(self.posterior.weights))
        return np.asarray(self.posterior.information_gain(usual, self._expected_curvature)[likeliest])

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
