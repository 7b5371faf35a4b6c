"""`spider`: one gradient, then how it changes from point to point; a fresh one where that costs as much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from sottovoce.errors import MAJORIZE, ParameterError
from sottovoce.methods.settling import Planned, SettlingMethod, SettlingRule
from sottovoce.methods.steps import Step
from sottovoce.queries import SHORTEST_TRIAL, Gradient, GradientChange
from sottovoce.results.result import Stop

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.methods.base import Goal, State
    from sottovoce.methods.majorizers import Majorized
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer

_CHEAPEST = 64
"""No gradient costs less than this part of the dearest."""

_SHORTEST = 2.0 * SHORTEST_TRIAL
"""Ways shorter than this, in units of 1/radius, are added to the next: rounding would hide their change."""

_WAY = 0.1
"""Length of a step that a plan takes for usual, in units of 1/radius."""


@final
@dataclass(frozen=True, kw_only=True)
class Spider(SettlingMethod):
    """An estimate of the gradient is carried along by the noisy change of the gradient over each step, which
    moves in proportion to that step (Lowy, Ullman & Wright 2024; Tao et al. 2025).

    It starts as `majorize` does, with steps by a majorizer and cheap gradients. A change gets the noise that
    adds `added` to the estimate's variance, or `accuracy` of the estimate, if that is more; where the way has
    grown so long that this costs `dearest` of a gradient as precise, a fresh gradient takes its place.
    The change over a step also tells the curvature along it, free of charge: steps become longer, at most
    `longest` times, where the risk bends up less than its majorizer, or down. Near a saddle the estimate
    grows along the way out. Where its square is less than `faint` times what noise makes it, it may be all
    noise: steps are the majorizer's then, as longer ones would follow noise far along directions in which
    nothing bends, and once `patience` steps were taken, a gradient for an even share of the budget joins it;
    `fresh` of these can be paid."""

    name: ClassVar[str] = "spider"
    left: ClassVar[float] = 1.0
    steps: int = 120
    relaxation: float = 1.0
    fresh: int = 6
    patience: int = 10
    added: float = 0.1
    accuracy: float = 0.2
    dearest: float = 0.5
    faint: float = 2.0
    longest: float = 8.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fresh < 1 or self.patience < 1:
            raise ParameterError("fresh and patience must be at least 1.", argument="fresh")
        for name in ("added", "accuracy", "dearest"):
            if not 0.0 < getattr(self, name) <= 1.0:
                raise ParameterError(f"{name} must be above 0 and at most 1.", argument=name)
        if not 0.0 < self.faint <= 16.0:
            raise ParameterError("faint must be above 0 and at most 16.", argument="faint")
        if not 1.0 <= self.longest <= 64.0:
            raise ParameterError("longest must lie between 1 and 64.", argument="longest")

    def rule(self, majorizer: Majorized, units: int) -> SpiderSteps:
        return SpiderSteps(method=self, majorizer=majorizer, left=units, each=units // self.fresh)

    def planned(self, problem: Problem, units: int) -> tuple[Planned, ...]:
        """All of the dear gradients, and a change for every other step, at a part of the price."""
        each, way = units // self.fresh, np.zeros(problem.dim)
        way[0] = _WAY / problem.radius
        change = Planned(lambda w: GradientChange(w, way), each // _CHEAPEST, self.steps - self.fresh)
        return Planned(Gradient, each, self.fresh, first=_cheapest(each)), change

    def require_possible(self, problem: Problem, goal: Goal) -> None:
        super().require_possible(problem, goal)
        if problem.outputs > 1:
            raise ParameterError(
                f'method "{self.name}" follows changes of a gradient, which are asked of models with one '
                'output; softmax is convex. Use method="majorize".',
                advice=(MAJORIZE,),
            )


def _cheapest(each: int) -> int:
    return max(1, each // _CHEAPEST)


@final
@dataclass(frozen=True, eq=False)
class Estimate:
    """A gradient with the variance of an entry's noise."""

    value: Vector
    variance: float

    def changed(self, answer: Answer[Vector]) -> Estimate:
        """After a step over which the gradient changed so."""
        return Estimate(self.value + answer.value, self.variance + answer.scale**2)

    def joined(self, answer: Answer[Vector]) -> Estimate:
        """With a fresh gradient at the same point, each by its precision."""
        part = self.variance / (self.variance + answer.scale**2)
        return Estimate(self.value + part * (answer.value - self.value), self.variance * (1.0 - part))

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.value))


@final
@dataclass(kw_only=True)
class SpiderSteps(SettlingRule):
    """`each` is the price of a dear gradient, `since` how many steps were taken since the last fresh one,
    `last` where the estimate was made, `longer` how much longer steps are than the majorizer's."""

    method: Spider
    majorizer: Majorized
    left: int
    each: int
    estimate: Estimate | None = None
    last: Vector | None = None
    since: int = 0
    longer: float = 1.0

    def advance(self, state: State) -> Stop | None:
        spent, price = 0, _cheapest(self.each)
        if self.estimate is not None:
            spent, price = self._carried(state, self.estimate)
        kind = "gradient change"
        if self.estimate is None or (self.since >= self.method.patience and self._is_faint(self.estimate)):
            if price > self.left:
                if spent:
                    state.record("rest", spent)
                return Stop.FINISHED
            kind, answer = "gradient step", state.gradient(price).gradient
            self.left -= answer.units
            spent += answer.units
            fresh = Estimate(answer.value, answer.scale**2)
            self.estimate = fresh if self.estimate is None else self.estimate.joined(answer)
            self.last, self.since = state.w, 0
        self.since += 1
        step = Step(self.longer * self.majorizer.along(self.estimate.value))
        if spent:
            state.record(kind, spent, step=step)
        else:
            state.w = state.problem.within_limit(state.w + step.vector)
        return None

    def rest(self, state: State) -> None:
        """Where the last step led."""

    def _is_faint(self, estimate: Estimate) -> bool:
        return estimate.norm**2 < self.method.faint * estimate.value.size * estimate.variance

    def _carried(self, state: State, estimate: Estimate) -> tuple[int, int]:
        """Carry the estimate to where the state stands, or drop it where that is too dear; what was paid, and
        what a fresh gradient should cost."""
        assert self.last is not None
        way, method = state.w - self.last, self.method
        if float(np.linalg.norm(way)) * state.problem.radius < _SHORTEST:
            return 0, self.each
        least = estimate.norm / math.sqrt(way.size)
        scale = max(math.sqrt(method.added * estimate.variance), method.accuracy * least)
        query = GradientChange(self.last, way)
        price = max(1, state.ask.price(query, scale))
        fresh = min(self.each, max(_cheapest(self.each), state.ask.price(Gradient(state.w), scale)))
        if price > min(self.left, method.dearest * fresh):
            self.estimate = None
            return 0, fresh
        answer = state.ask.ask(query, price)
        self.left -= answer.units
        carried = estimate.changed(answer)
        self.estimate, self.last = carried, state.w
        self.longer = 1.0 if self._is_faint(carried) else self._lengthened(way, estimate.value, answer)
        return answer.units, self.each

    def _lengthened(self, way: Vector, gradient: Vector, change: Answer[Vector]) -> float:
        """To the bottom of a parabola with the curvature seen along the way; no step that is longer than the
        majorizer's is more than twice as long as the last."""
        length = float(np.linalg.norm(way))
        seen = max(float(way @ change.value), change.scale * length)
        wanted = -self.longer * float(way @ gradient) / seen
        plain = float(np.linalg.norm(self.majorizer.along(gradient + change.value)))
        return max(1.0, min(wanted, self.method.longest, 2.0 * length / max(plain, 1e-300)))
