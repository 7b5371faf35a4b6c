"""How far f(start) can lie above the infimum: it bounds the number of steps, and no look at data is free."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from scipy import special

from sottovoce.errors import BudgetExceeded, ParameterError

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.queries import Queries


class Gap(ABC):
    """A bound on f(start) - inf f. Losses and penalties are nonnegative, so a bound on f(start) is one."""

    @abstractmethod
    def bound(self, ask: Queries, start: Vector) -> tuple[float, int]:
        """The bound, and what was paid for it."""


@final
@dataclass(frozen=True)
class PublicGap(Gap):
    """From the loss, the radius and the start alone."""

    def bound(self, ask: Queries, start: Vector) -> tuple[float, int]:
        return ask.problem.gap(start), 0


@final
@dataclass(frozen=True)
class DeclaredGap(Gap):
    """A bound on f(start) that the user knows from elsewhere, never from these records."""

    value: float

    def __post_init__(self) -> None:
        if not 0.0 < self.value < math.inf:
            raise ParameterError("a declared bound on f(start) must be a positive finite number.")

    def bound(self, ask: Queries, start: Vector) -> tuple[float, int]:
        return min(self.value, ask.problem.gap(start)), 0


@final
@dataclass(frozen=True, kw_only=True)
class MeasuredGap(Gap):
    """f(start) plus signed Gaussian noise plus a quantile of it: too low with probability `failure`.

    The paper adds |z|, whose support starts at the exact value: no amount of noise makes that private. Where
    the budget does not stretch to a measurement, the public bound serves."""

    share: float = 0.02
    failure: float = 0.001

    def __post_init__(self) -> None:
        if not (0.0 < self.share < 0.5 and 0.0 < self.failure < 0.5):
            raise ParameterError("share and failure of a measured gap lie strictly between 0 and 0.5.")

    def bound(self, ask: Queries, start: Vector) -> tuple[float, int]:
        public = ask.problem.gap(start)
        try:
            answer = ask.value(start, int(ask.units_left * self.share))
        except BudgetExceeded:
            return public, 0
        measured = answer.value - float(special.ndtri(self.failure)) * answer.scale
        return min(public, max(measured, answer.scale, 1e-6 * public)), answer.units
