"""What a run asks besides gradients while it descends, and what it keeps aside for that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.methods.saddles import curves_down, escaped, is_noise

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.arrays import Vector
    from sottovoce.methods.adapt.expected_curvature import Asked
    from sottovoce.methods.base import Goal, State
    from sottovoce.queries import Answer, Queries
    from sottovoce.results.result import Outcome


@final
@dataclass(frozen=True, eq=False)
class Stand:
    """Where a descent stands after `step` of `steps` gradients, this one last: about the mean and standard
    deviation of the scores there, how far off these may be (sd), and the gradient worth asking at a point of
    other coordinates, with the mean curvature of what it asks about."""

    step: int
    steps: int
    gradient: Answer[Vector]
    mean: float
    deviation: float
    doubt: float
    asked: Callable[[Queries, Vector], tuple[Asked, float]]


class Inspection(ABC):
    """A query that is asked after some of the steps."""

    @abstractmethod
    def aside(self, step: int, steps: int) -> int:
        """Units to keep for what is still to be asked after `step` of `steps` gradients. Public."""

    @abstractmethod
    def made(self, state: State, stand: Stand) -> bool:
        """Ask at the state's weights, if it is time. True: the descent is to be left here."""

    def gone_on(self, state: State, goal: Goal) -> Outcome:
        """How the run goes on after the descent was left, for all that remains of the budget."""
        raise NotImplementedError


@final
@dataclass(frozen=True)
class SaddleCheck(Inspection):
    """The smallest eigenvalue half-way, and after a first gradient that is no longer than noise makes it."""

    units: int

    def aside(self, step: int, steps: int) -> int:
        return self.units * (1 + (step == 0)) if 2 * step < steps else 0

    def made(self, state: State, stand: Stand) -> bool:
        if 2 * stand.step != stand.steps and not (stand.step == 1 and is_noise(stand.gradient)):
            return False
        return curves_down(state, self.units)

    def gone_on(self, state: State, goal: Goal) -> Outcome:
        return escaped(state, goal)
