"""How far `descent-b` goes along an averaged noisy gradient."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.problem import Problem


@final
@dataclass(frozen=True, kw_only=True)
class Average:
    """What the steps so far have seen: means of the noisy gradients and of their squares, recent ones first.

    `scale` is the standard deviation of the noise in each entry of one gradient, `noise` the root mean square
    length of what noise and sampling add to it, `start` where the run began, `steps` how many it takes."""

    gradient: Vector
    squares: Vector
    scale: float
    noise: float
    start: Vector
    steps: int


class StepSize(ABC):
    """A step before it fades, from public constants and noisy averages alone."""

    @abstractmethod
    def step(self, problem: Problem, seen: Average) -> Vector: ...


@final
@dataclass(frozen=True)
class Adaptive(StepSize):
    """`rate` times each weight's averaged gradient over its root mean square (Kingma & Ba 2015), less noise.

    Noise adds its known variance to every mean square: it is taken off again, down to as much as itself, or
    all weights would move alike. Needs no constant of the problem: a weight whose gradient stands out of the
    noise moves by the rate, any other by less, as the signs of noise cancel."""

    rate: float = 0.05

    def __post_init__(self) -> None:
        _require_positive("rate", self.rate)

    def step(self, problem: Problem, seen: Average) -> Vector:
        variance = seen.scale**2
        squares = np.maximum(seen.squares - variance, max(variance, 1e-200))
        return -self.rate * seen.gradient / np.sqrt(squares)


def _require_positive(name: str, value: float) -> None:
    if not 0.0 < value < math.inf:
        raise ParameterError(f"{name} must be a positive finite number.", argument=name)
