"""What the next gradient may cost: rules that split a budget over the steps of a run."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.errors import ParameterError
from sottovoce.queries import Gradient
from sottovoce.results.certificate import certifying_scale

if TYPE_CHECKING:
    from sottovoce.methods.base import State


class BudgetSchedule(ABC):
    """Prices the next query from what was released so far: adaptive charges stay within a filter."""

    @abstractmethod
    def units(self, state: State, left: int, visit: int, visits: int) -> int:
        """Of `left` units, those for visit number `visit` (from 0) of at most `visits`."""


@final
@dataclass(frozen=True)
class Growing(BudgetSchedule):
    """In proportion to (visit + 1)^power: early steps cheap, late ones precise.

    Where the risk is steep each step forgets the noise of the one before, so the last ones count; where it
    is flat all noise adds up, which a power near 1/2 still forgives."""

    power: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 <= self.power <= 4.0:
            raise ParameterError("power must lie between 0 (equal shares) and 4.", argument="power")

    def units(self, state: State, left: int, visit: int, visits: int) -> int:
        weights = [(number + 1) ** self.power for number in range(visit, max(visit + 1, visits))]
        return int(left * (weights[0] / math.fsum(weights)))


@final
@dataclass(frozen=True)
class Tracking(BudgetSchedule):
    """Noise of norm `accuracy` times the gradient norm to expect, but no less than certifying needs.

    Far from the goal an answer half as noisy as the gradient is long steers as well as an exact one; near it
    the noise must let a gradient of `fraction` of the tolerance be certified, and stay below that, as a step
    leaves its noise behind. Between `least` and `most` even shares of what is left: what early visits save
    makes later ones precise, and a disappointing answer leaves enough for others. The last takes all."""

    tolerance: float
    accuracy: float = 0.5
    fraction: float = 0.7
    least: float = 0.25
    most: float = 1.0

    def units(self, state: State, left: int, visit: int, visits: int) -> int:
        if visit + 1 >= visits:
            return left
        dim = state.problem.dim
        certifying = certifying_scale(dim, state.levels.gradient, self.fraction)
        needed = self.tolerance * min(certifying, self.fraction / math.sqrt(dim))
        scale = max(needed, self.accuracy * self._expected(state) / math.sqrt(dim))
        price = state.ask.price(Gradient(state.w), scale)
        even = left / (visits - visit)
        return int(min(max(price, self.least * even), self.most * even))

    def _expected(self, state: State) -> float:
        """The gradient norm to expect: half the last one without its noise; at first, next to nothing."""
        if state.evidence is None:
            return min(4.0 * self.tolerance, 0.1 * state.problem.gradient_ceiling(state.w))
        seen, noise = state.evidence.gradient_norm, state.evidence.gradient.scale
        return math.sqrt(max(0.0, seen**2 - state.problem.dim * noise**2)) / 2.0
