"""`adapt`: learn centre and spread of the columns privately, then train where noise hurts least."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
from scipy import linalg

from sottovoce.certificate import Levels
from sottovoce.errors import BudgetExceeded, ParameterError
from sottovoce.methods.coordinates import Belief, Coordinates
from sottovoce.methods.damping import Course, Outlook
from sottovoce.methods.log_odds import LIMITS, log_odds
from sottovoce.methods.loop import Goal, Method, Walk
from sottovoce.methods.measurement import curvature_in_doubt, measure
from sottovoce.methods.second_moments import SecondMoments
from sottovoce.problem import LARGEST_MATRIX, matrix_fits
from sottovoce.questions import Gradient, LimitedGradient
from sottovoce.result import Outcome, Stop, TraceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.arrays import Matrix, Vector
    from sottovoce.methods.forecast import Prospect
    from sottovoce.problem import Problem
    from sottovoce.questions import Answer, Question, Questions

_LOGISTIC = "logistic"
_TYPICAL_BEND = 0.6
"""Mean phi'' in units of its supremum, for losses without a model of their own."""

_SEVERAL_OUTPUTS = 0.3
"""The same for a softmax, whose bound 1/2 on its curvature is loose."""

_PRIOR = math.sqrt(2.0)
"""Prior standard deviation of log odds."""

_FOUND = 1.5
"""The signal to expect, in units of the signal found so far."""

_STRONG = 2.0
"""Log odds of this standard deviation and more flatten the risk: steps grow with their power 3/2."""

_MOST = 2
"""Most steps, in units of those planned for an ordinary signal."""


@final
@dataclass(frozen=True, kw_only=True)
class Adapt(Method):
    """Release column means and squares, choose coordinates, cap influence there, and take damped steps.

    1. Means and squares for `moments_share` of the budget. 2. A geometry with the least expected excess loss.
    3. The weighted second moments S there for `gram_share`. 4. `steps` steps -c (U S + L)^-1 g~ with growing
    shares, L the damping of least expected excess given the noise and the signal found so far; slopes are cut
    off where the noise that saves is worth more than the bias. 5. The mean of the last third, in the user's
    weights, and there, for what is left, the gradient of the user's own risk: the certificate speaks of it.

    The steps follow the weighted risk in learned coordinates; nothing about it is certified. All choices are
    made from public numbers and released answers: there is nothing to tune."""

    name: ClassVar[str] = "adapt"
    steps: int = 30
    moments_share: float = 0.04
    gram_share: float = 0.04
    curvature_share: float = 0.05
    measure_share: float = 0.03
    relaxation: float = 1.5

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ParameterError("steps must be at least 1.")
        for name in ("moments_share", "gram_share", "curvature_share", "measure_share"):
            if not 0.0 < getattr(self, name) <= 0.2:
                raise ParameterError(f"{name} must be above 0 and at most 0.2.")
        if not 0.0 < self.relaxation < 2.0:
            raise ParameterError("relaxation must lie strictly between 0 and 2, else steps need not descend.")

    def prospect(self) -> Prospect:
        from sottovoce.methods.adapt_forecast import AdaptProspect

        return AdaptProspect(self)

    def run(self, ask: Questions, start: Vector, goal: Goal, watch: Callable[[TraceRow], None]) -> Outcome:
        levels = self.levels(ask.problem, goal)
        walk = Walk(ask=ask, levels=levels, w=start, watch=watch)
        whole = ask.units_left
        curvature = int(whole * self.curvature_share) if levels.curvature_tested else 0
        kept = curvature + int(whole * self.measure_share)
        try:
            descent = self._prepared(walk, whole, kept)
            walk.w = descent.followed(walk, kept)
        except BudgetExceeded:
            return walk.outcome(Stop.OUT_OF_BUDGET)
        stop = measure(walk, levels, curvature)
        outcome = walk.outcome(stop)
        if stop is Stop.FINISHED and goal.tolerance is not None:
            met = outcome.certificate.meets(goal.tolerance)
            stop = Stop.CERTIFIED if met else Stop.STEPS_EXHAUSTED
        return replace(outcome, stop=stop, trained=descent.trained)

    def insist_possible(self, problem: Problem, goal: Goal) -> None:
        insist_adaptable(problem)

    def levels(self, problem: Problem, goal: Goal) -> Levels:
        """One gradient test, at the end; the curvature is tested where public numbers leave it open."""
        return Levels(
            confidence=goal.confidence,
            gradient_tests=1,
            curvature_tested=curvature_in_doubt(problem, goal.tolerance),
        )

    def _prepared(self, walk: Walk, whole: int, kept: int) -> Descent:
        """Moments, coordinates and second moments: what the steps need to know."""
        ask, problem = walk.ask, walk.problem
        course = Course(self.steps, self.relaxation, problem.curvature_high)
        moments = ask.moments(int(whole * self.moments_share))
        walk.record("moments", moments.units)
        gram_units = int(whole * self.gram_share)
        mu = math.sqrt(ask.mu_squared(max(1, ask.units_left - gram_units - kept)))
        chosen = Coordinates.chosen(moments, problem, course, belief_about(problem), mu)
        inside = ask.reshaped(chosen.geometry)
        gram = inside.gram(gram_units)
        walk.record("gram", gram.units)
        return Descent(inside, chosen, SecondMoments.of(gram, chosen.diagonal), course, mu)


@final
@dataclass
class Descent:
    """Damped steps in learned coordinates.

    `limit` is where slopes were cut off last, `flowed` the step lengths so far, `noise` the variance that
    noise has left in the linear predictor."""

    inside: Questions
    chosen: Coordinates
    moments: SecondMoments
    course: Course
    mu: float
    limit: float = 1.0
    flowed: float = 0.0
    noise: float = 0.0

    def followed(self, walk: Walk, kept: int) -> Vector:
        """Take the steps, leaving `kept` units; the mean of their last third, in the user's weights."""
        geometry, least = self.chosen.geometry, self.course.steps
        u = geometry.from_user(walk.w)
        ridge = self.inside.problem.regularizer.majorant()
        visited: list[Vector] = []
        while len(visited) < self.course.steps:
            found = math.sqrt(max(0.0, self.moments.variance(self._blocks(u)) - self.noise))
            self.course = replace(self.course, steps=max(self.course.steps, self._steps(found, least)))
            part = share(len(visited), self.course.steps)
            question, damping = self._next(u, found, part)
            answer = self.inside.ask(question, int((walk.ask.units_left - kept) * part))
            u = self.inside.problem.within_limit(u + self._step(answer, damping, ridge))
            visited.append(u)
            self._note(walk, answer, geometry.to_user(u))
        last = visited[-max(1, len(visited) // 3) :]
        return walk.problem.within_limit(geometry.to_user(np.mean(last, axis=0)))

    @property
    def trained(self) -> str:
        """Which risk the steps followed, in words."""
        cap, ceiling = self.chosen.geometry.cap, self.chosen.geometry.ceiling
        limited = f", slopes cut off at {self.limit:g}" if self.limit < 1.0 else ""
        return (
            f"; trained in learned coordinates, where a record of length rho counts "
            f"min(1, C/rho, {ceiling:g} C^2/rho^2), C = {cap:.4g}{limited}"
        )

    def _steps(self, found: float, least: int) -> int:
        """More where log odds are large, since the loss is flat there, or outputs are several, whose bound on
        the curvature is loose; at most `_MOST` times as many."""
        if self.inside.problem.outputs > 1:
            return _MOST * least
        if self.inside.problem.loss != _LOGISTIC:
            return least
        return int(least * min(_MOST, max(1.0, (found / _STRONG) ** 1.5)))

    def _next(self, u: Vector, found: float, part: float) -> tuple[Question[Vector], float]:
        """The question to ask at u, its slopes limited or not, and the damping of the step that follows.

        The step goes `part` of the flow that is left of what the outlook deserves; where it promises less
        than was gone already, a quarter of an even part."""
        problem = self.inside.problem
        belief = belief_about(problem, found)
        outlook = self._outlook(belief)
        question: Question[Vector] = Gradient(u)
        moves = moved_by(self.inside, question)
        if problem.loss == _LOGISTIC and problem.limitable:
            limit = self._limit(outlook, found, moves)
            limited = LimitedGradient(u, limit * problem.slope)
            less = moved_by(self.inside, limited)
            if less < moves:
                question, moves, self.limit = limited, less, limit
        typical = max(moves, belief.movement * self.chosen.geometry.cap / problem.n)
        damping, _ = self.course.best(outlook, typical / self.mu)
        planned = float(self.course.flow(damping))
        length = max((planned - self.flowed) * part, 0.25 * planned / self.course.steps)
        relaxation, curvature = self.course.relaxation, self.course.curvature
        damping = max(relaxation / length - curvature, 0.5 * relaxation * curvature * self.moments.hidden)
        self.flowed += relaxation / (curvature + damping)
        return question, damping

    def _limit(self, outlook: Outlook, found: float, moves: float) -> float:
        """Where to cut slopes off, in units of the largest: bias as far as it can show, plus noise."""
        cap, n = self.chosen.geometry.cap, self.inside.problem.n
        odds = log_odds(max(found, 0.3))
        unlimited = max(moves, 1.6 * cap / n)
        expected = np.array(
            [
                self.course.best(outlook, min(2.0 * limit * cap / n, unlimited) / kept / self.mu)[1]
                for limit, kept in zip(LIMITS, odds.kept, strict=True)
            ]
        )
        reached = np.clip(1.0 - expected / outlook.at_stake, 0.0, 1.0)
        return float(LIMITS[int(np.argmin(odds.bias * reached + expected))])

    def _outlook(self, belief: Belief) -> Outlook:
        """The belief along the eigenvectors of the second moments: signal goes with the root of each."""
        spectrum = self.moments.spectrum
        signal = np.sqrt(spectrum)
        signal = signal * (belief.deviation**2 / float(signal.sum()))
        return Outlook(spectrum, signal, belief.across, belief.along)

    def _step(self, answer: Answer[Vector], damping: float, ridge: Matrix) -> Vector:
        """-c (U S + L + sup r'')^-1 g~, output by output; the noise it leaves is added up."""
        matrix = self.course.curvature * self.moments.matrix + ridge
        matrix[np.diag_indices_from(matrix)] += damping
        factor = linalg.cho_factor(matrix, lower=True)
        blocks = self._blocks(answer.value)
        if len(blocks) > 1:
            blocks = blocks - blocks.mean(axis=0)
        inverse = linalg.cho_solve(factor, np.eye(len(matrix)))
        spread = float(np.einsum("ij,jk,ki->", inverse, self.moments.matrix, inverse))
        self.noise += (self.course.relaxation * answer.scale) ** 2 * spread
        return np.asarray(-self.course.relaxation * (blocks @ inverse).ravel())

    def _note(self, walk: Walk, answer: Answer[Vector], there: Vector) -> None:
        """A row of the trace: the gradient as asked, in learned coordinates; the step in user's weights."""
        row = TraceRow(
            kind="adapted step",
            gradient_norm=float(np.linalg.norm(answer.value)),
            step_length=float(np.linalg.norm(there - walk.w)),
            mu_squared=walk.ask.mu_squared(answer.units),
            gradient_noise=math.sqrt(answer.value.size) * answer.scale,
        )
        walk.trace.append(row)
        walk.watch(row)
        walk.w = walk.problem.within_limit(there)

    def _blocks(self, u: Vector) -> Matrix:
        return u.reshape(-1, self.inside.problem.columns)


def share(step: int, steps: int) -> float:
    """The part of what is left that this step takes when shares grow as the root of the step's number."""
    return math.sqrt(step + 1.0) / math.fsum(math.sqrt(later + 1.0) for later in range(step, steps))


def moved_by(ask: Questions, question: Question[Vector]) -> float:
    """How far one record moves the answer, read off a price: units are the square of moves over scale."""
    scale = ask.problem.slope * ask.problem.influence / ask.problem.n
    return scale * math.sqrt(ask.mu_squared(ask.price(question, scale)))


def belief_about(problem: Problem, found: float = 0.0) -> Belief:
    """What to expect before, or after a signal of standard deviation `found` was seen. Public."""
    prior = 0.5 * problem.label_reach if problem.label_reach else _PRIOR
    deviation = max(prior, _FOUND * found)
    constant = prior if problem.label_reach else 1.0
    if problem.loss == _LOGISTIC:
        odds = log_odds(deviation)
        return Belief(deviation, constant, odds.across, odds.along, 1.2 * problem.slope)
    bend = problem.curvature_high * (_SEVERAL_OUTPUTS if problem.outputs > 1 else _TYPICAL_BEND)
    movement = (2.0 if problem.label_reach else 1.2) * problem.slope
    return Belief(deviation, constant, bend, bend, movement)


def insist_adaptable(problem: Problem) -> None:
    """Refused before the first charge: what has no columns to learn, or too many for a matrix."""
    if problem.matrix_free or problem.clipped:
        raise ParameterError(
            "method 'adapt' learns coordinates of a table's columns; this risk has none. Use 'dp-gd'."
        )
    if not matrix_fits(problem.columns):
        raise ParameterError(
            f"method 'adapt' forms a matrix of columns by columns, here {problem.columns}; the limit is "
            f"{LARGEST_MATRIX}. Use 'dp-gd', or fewer columns."
        )
