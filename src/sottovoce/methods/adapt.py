"""`adapt`: learn centre and spread of the columns privately, then train where noise hurts least."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.inference.coefficient_noise import CoefficientNoise
from sottovoce.methods.adapt_paces import share, short_of, slowed, steps_for
from sottovoce.methods.bends import Bends
from sottovoce.methods.calibration import lengthened
from sottovoce.methods.calibration import share as calibration_share
from sottovoce.methods.coordinates import Coordinates
from sottovoce.methods.grouping import by_column, sharing
from sottovoce.methods.heard import HeardGradient, contradiction
from sottovoce.methods.least_penalty import LeastPenalty
from sottovoce.methods.limit_choice import limit_place
from sottovoce.methods.log_odds import LIMITS
from sottovoce.methods.measurement import LearnedDescent, LearnedMethod, in_learned_coordinates, note
from sottovoce.methods.outlook import Outlook, moved_by
from sottovoce.methods.posterior import Posterior
from sottovoce.methods.propagation import Passage, noise_along
from sottovoce.methods.second_moments import SecondMoments
from sottovoce.problem import LARGEST_MATRIX, matrix_fits
from sottovoce.questions import Gradient, LimitedGradient

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.loop import Goal, Walk
    from sottovoce.problem import Problem
    from sottovoce.questions import Answer, Question, Questions

_LONGEST_START = 0.4
"""Most of the budget that the first gradient takes."""

_CONTRADICTED = 6.0
"""Standard errors by which gradients contradict an estimate that is given up."""

_ROUNDS = 2
"""Times that all answers are weighed again by the estimate that this gives."""


@final
@dataclass(frozen=True, kw_only=True)
class Adapt(LearnedMethod):
    """Release column means and squares, choose coordinates, cap influence there, and combine gradients.

    1. Means and squares for `moments_share` of the budget. 2. A geometry with the least expected excess loss.
    3. The weighted second moments there for `gram_share`. 4. `steps` gradients with growing shares, each
    where all before it say that the weights are: a posterior mean, as far as the noise allows. Slopes are
    limited where the noise that saves is worth more than the bias. 5. The mean of the last half where noise
    is small, else all answers weighed again, and of a logistic model two numbers that tell how long the
    weights should be. There, for what is left, the gradient of the user's own risk: the certificate speaks
    of it.

    The steps follow the weighted risk in learned coordinates; nothing about it is certified. All choices are
    made from public numbers and released answers: there is nothing to tune."""

    name: ClassVar[str] = "adapt"

    def taken(self, problem: Problem) -> int:
        return steps_for(problem, self.steps)

    def last_share(self, problem: Problem, mu: float) -> float:
        return calibration_share(problem, mu) if Bends(problem).limited else 0.0

    def insist_possible(self, problem: Problem, goal: Goal) -> None:
        super().insist_possible(problem, goal)
        if not matrix_fits(problem.columns):
            raise ParameterError(
                f"method 'adapt' forms a matrix of columns by columns, here {problem.columns}; the limit is "
                f"{LARGEST_MATRIX}. Use 'accelerate', or fewer columns."
            )

    def prepared(self, walk: Walk, whole: int, kept: int) -> Descent:
        """Moments, coordinates and second moments: what the steps need to know."""
        ask, problem = walk.ask, walk.problem
        bends = Bends(problem)
        shared = sharing(problem, math.sqrt(ask.mu_squared(whole)))
        asked = ask.moments(int(whole * self.moments_share), groups=shared)
        moments = by_column(asked, problem, shared)
        walk.record("moments", moments.units)
        gram_units = int(whole * self.gram_share)
        last = int(whole * self.last_share(problem, math.sqrt(ask.mu_squared(whole))))
        mu = math.sqrt(ask.mu_squared(max(1, ask.units_left - gram_units - kept - last)))
        chosen = Coordinates.chosen(moments, problem, bends.belief, mu)
        inside = ask.reshaped(chosen.geometry)
        gram = inside.gram(gram_units)
        walk.record("gram", gram.units)
        found = SecondMoments.of(gram, chosen.diagonal, chosen.errors)
        least = LeastPenalty.of(moments, problem, bends.belief.curvature)
        ridge = chosen.geometry.conjugated(least.majorant)
        along = np.einsum("ij,ij->j", found.vectors, ridge @ found.vectors)
        posterior = Posterior.prior(found, chosen.counted, along, problem.outputs, bends.belief.deviation)
        return Descent(
            inside,
            chosen,
            found.vectors,
            least,
            posterior,
            bends,
            mu,
            self.taken(problem),
            last,
            moments.means,
        )


@final
@dataclass
class Descent(LearnedDescent):
    """Gradients in learned coordinates, each at the posterior mean of all before it.

    `vectors` are the axes of the posterior; `last` are the units kept for the weights' length; `means` those
    of the columns; `limit` is the last on slopes; `contradicted`: weighing all answers again was given up;
    `noise` is about what the noise of all answers leaves in the weights."""

    inside: Questions
    chosen: Coordinates
    vectors: Matrix
    least: LeastPenalty
    posterior: Posterior
    bends: Bends
    mu: float
    steps: int
    last: int
    means: Vector
    limit: float = 1.0
    contradicted: bool = False
    noise: CoefficientNoise = field(default_factory=CoefficientNoise)

    def followed(self, walk: Walk, kept: int) -> Vector:
        """Take the steps, leaving `kept` units; the weights they end at, in the user's coordinates."""
        geometry = self.chosen.geometry
        u = self._turned(geometry.from_user(walk.w))
        planned = self.steps
        passages: list[Passage] = []
        units: list[int] = []
        places: list[Matrix] = []
        heard: list[HeardGradient] = []
        while len(units) < self.steps:
            question, place = self._question(u, first=not np.any(u))
            least = moved_by(self.inside, question) / self.mu
            if 2 * len(units) < self.steps:
                self.steps = max(self.steps, round(planned * slowed(self._outlook(), least, self._flattened)))
            usual = least * math.sqrt(self.steps)
            part = share(len(units), self.steps)
            if not units:
                part = max(part, self._first_share(usual))
            answer = self.inside.ask(question, int((walk.ask.units_left - kept - self.last) * part))
            self._hear_missing(u, answer)
            gradient = self._turned(answer.value)
            if len(gradient) > 1:
                gradient = gradient - gradient.mean(axis=0)
            heard.append(HeardGradient(u, gradient, answer.scale, self.bends.curves(self.posterior, place)))
            self.posterior.hear(heard[-1], usual)
            told = self._told(usual)
            weighed = self._weighed_again(told, heard)
            found = self._within(self._settled(heard, weighed))
            u = self._within(found - self._short_of(found, weighed))
            units.append(answer.units)
            places.append(found)
            if self.posterior.passage is not None:
                passages.append(self.posterior.passage)
            note(walk, "adapted step", answer, geometry.to_user(self._back(found)))
        counted = [paid if 2 * step >= self.steps - 1 else 0 for step, paid in enumerate(units)]
        weight = max(sum(counted), 1)
        ends = [told * (paid / weight) for paid in counted]
        halves = sum((end * place for end, place in zip(ends, places, strict=True)), np.zeros_like(u))
        ends[-1] = ends[-1] + (1.0 - told - weighed)
        twice, left = self.posterior.heard_again(heard, halves + (1.0 - told) * found)
        ended = halves + (1.0 - told - weighed) * found + weighed * twice
        added, apart = self._lengthened(walk, ended, usual / math.sqrt(self.steps))
        basis = geometry.matrix.T @ self.vectors
        self.noise = noise_along(
            basis, passages, ends, len(u), centred=True, beside=weighed * left, apart=apart
        )
        return walk.problem.within_limit(self.least.at(geometry.to_user(self._back(ended + added))))

    def _told(self, usual: float) -> Vector:
        """Along each direction, how far answers tell more than the prior under the likeliest hypothesis."""
        likeliest = int(np.argmax(self.posterior.weights))
        return np.asarray(self.posterior.told(usual, self._curvature)[likeliest])

    def _weighed_again(self, told: Vector, heard: list[HeardGradient]) -> Vector:
        """How far all answers, weighed by what is known now, count instead of the filters' means: where no
        direction is known precisely, and only until the gradients themselves contradict what comes out."""
        if not self.bends.limited or self.contradicted:
            return np.zeros_like(told)
        again = self.posterior.heard_again(heard, self.posterior.estimate)[0]
        self.contradicted = contradiction(heard, again) > _CONTRADICTED
        return (1.0 - told) * (1.0 - float(told.max())) * (not self.contradicted)

    def _settled(self, heard: list[HeardGradient], weighed: Vector) -> Matrix:
        """The posterior mean, or as far as that counts the mean of all answers weighed again."""
        found = mean = self.posterior.estimate
        if weighed.any():
            for _ in range(_ROUNDS):
                found = (1.0 - weighed) * mean + weighed * self.posterior.heard_again(heard, found)[0]
        return found

    def _short_of(self, found: Matrix, weighed: Vector) -> Matrix:
        """What is left of the way to the weights found when a gradient is asked; nothing of the constant."""
        if not weighed.any():
            return np.zeros_like(found)
        mean = 0.0
        if self.chosen.geometry.constant is None:
            mean = float(self.means @ self.chosen.geometry.to_user(self._back(found)))
        square = float(self.posterior.whole @ np.mean(found**2, axis=0))
        part = short_of(mean**2 / max(square, 1e-300)) / self.posterior.factor
        return part * self._without_constant(weighed * found)

    def _without_constant(self, u: Matrix) -> Matrix:
        place, held = self.chosen.geometry.constant, self._back(u)
        if place is not None:
            held[place] = 0.0
        return self._turned(held)

    def _lengthened(self, walk: Walk, ended: Matrix, noise: float) -> tuple[Matrix, Vector | float]:
        """What to add to the weights, the constant's apart, so that they have the right length, and the sd
        that their noise leaves along each direction; `noise` is that of all gradients together."""
        way = self._without_constant(ended)
        if not self.last or not way.any():
            return np.zeros_like(ended), 0.0
        u, along = self._back(ended), self._back(way)
        deviation = math.sqrt(float(self.posterior.whole @ np.mean(way**2, axis=0)))
        doubt = noise * float(np.linalg.norm(along)) / (self.bends.along(deviation) * deviation**2)
        found, answers = lengthened(walk.ask, self.chosen.geometry, u, along, deviation, doubt, self.last)
        there = u + (found.factor - 1.0) * along
        for answer in answers:
            note(walk, "length of the weights", answer, self.chosen.geometry.to_user(there))
        return (found.factor - 1.0) * way, found.factor * found.scatter * np.sqrt(np.mean(way**2, axis=0))

    @property
    def trained(self) -> str:
        limited = f", slopes limited to {self.limit:g}" if self.limit < 1.0 else ""
        return in_learned_coordinates(self.chosen.geometry) + limited

    @property
    def _deviation(self) -> float:
        """Standard deviation of the predictor to expect at the weights sought."""
        return max(
            0.2 * self.bends.belief.deviation, math.sqrt(self.posterior.found + self.posterior.unknown)
        )

    @property
    def _curvature(self) -> float:
        return self.bends.at(self._deviation)

    @property
    def _flattened(self) -> float:
        """How many times less the loss bends at the weights found than at 0."""
        return self.bends.at(0.0) / self.bends.at(math.sqrt(self.posterior.found))

    def _outlook(self) -> Outlook:
        signal = self.posterior.whole * (self._deviation**2 / float(self.posterior.whole.sum()))
        return Outlook(self.posterior.factor * self.posterior.spectrum, signal, self._curvature)

    def _first_share(self, usual: float) -> float:
        """What the first answer should cost: its noise as large as its other errors, if that is not too dear.

        There all slopes are 1/2 and a record moves least; but H^-1 g is least certain, too."""
        outlook = self._outlook()
        left = outlook.excess(usual / math.sqrt(self.steps)) / outlook.at_stake
        return min(_LONGEST_START, left / self.posterior.doubt)

    def _question(self, u: Matrix, *, first: bool) -> tuple[Question[Vector], int]:
        """The question to ask at u, its slopes limited or not, and the place of the limit among `LIMITS`."""
        point = self._lowest(u)
        place = 0
        if self.bends.limited and not first:
            reached = math.sqrt(self.posterior.found)
            place = limit_place(
                self.inside, point, self.bends, self._outlook(), self._deviation, reached, self.mu
            )
        if not place:
            return Gradient(point), 0
        self.limit = float(LIMITS[place])
        return LimitedGradient(point, self.limit * self.inside.problem.slope), place

    def _turned(self, u: Vector) -> Matrix:
        """Outputs by directions."""
        return np.asarray(u.reshape(-1, self.inside.problem.columns) @ self.vectors)

    def _back(self, u: Matrix) -> Vector:
        return np.asarray((u @ self.vectors.T).ravel())

    def _lowest(self, u: Matrix) -> Vector:
        """Where to ask about u: at the weights of least penalty that predict alike. The answer is then the
        gradient of the risk with that least penalty."""
        geometry, point = self.chosen.geometry, self._back(u)
        w = geometry.to_user(point)
        lowest = self.least.at(w)
        return point if lowest is w else geometry.from_user(lowest)

    def _hear_missing(self, u: Matrix, answer: Answer[Vector]) -> None:
        """The derivative along d in the user's weights is <M'^-1 d, g>, g the gradient as asked."""
        geometry, least = self.chosen.geometry, self.least
        inward = geometry.from_user(least.directions.T)
        along = answer.value.reshape(-1, self.inside.problem.columns) @ inward.T
        least.hear(geometry.to_user(self._back(u)), along, answer.scale * np.linalg.norm(inward, axis=1))

    def _within(self, u: Matrix) -> Matrix:
        return self._turned(self.inside.problem.within_limit(self._back(u)))
