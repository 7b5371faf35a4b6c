"""What a run asks besides gradients while it descends, and what it keeps aside for that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.methods.saddles import curves_down, is_noise

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.methods.base import State
    from sottovoce.queries import Answer


class Inspection(ABC):
    """A query that is asked after some of the steps."""

    @abstractmethod
    def aside(self, step: int, steps: int) -> int:
        """Units to keep for what is still to be asked after `step` of `steps` gradients. Public."""

    @abstractmethod
    def made(self, state: State, step: int, steps: int, gradient: Answer[Vector]) -> bool:
        """Ask at the state's weights, if it is time; `step` gradients were asked for, this one last.

        True: the descent is to be left here."""


@final
@dataclass(frozen=True)
class SaddleCheck(Inspection):
    """The smallest eigenvalue half-way, and after a first gradient that is no longer than noise makes it."""

    units: int

    def aside(self, step: int, steps: int) -> int:
        return self.units * (1 + (step == 0)) if 2 * step < steps else 0

    def made(self, state: State, step: int, steps: int, gradient: Answer[Vector]) -> bool:
        if 2 * step != steps and not (step == 1 and is_noise(gradient)):
            return False
        return curves_down(state, self.units)
