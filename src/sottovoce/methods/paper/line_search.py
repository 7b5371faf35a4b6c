"""Private backtracking: the longest of a few steps that shows enough decrease, else a step that must do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.methods.paper.constants import Curve, NoiseShare, SearchShare, trial_count
from sottovoce.methods.steps import Step, StepRule

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.arrays import Vector
    from sottovoce.methods.base import Evidence, State


class Release(ABC):
    """How the decreases along a line are compared with what is asked for."""

    @abstractmethod
    def first(
        self, state: State, direction: Vector, longest: float, shrink: float, required: Vector, units: int
    ) -> tuple[int | None, int]:
        """First i at which longest * shrink^i shows the required decrease, or None; and what was paid."""


@final
@dataclass(frozen=True)
class AboveThreshold(Release):
    """The paper's Algorithm 2: one comparison after the other against a noisy threshold, until one passes."""

    def first(
        self, state: State, direction: Vector, longest: float, shrink: float, required: Vector, units: int
    ) -> tuple[int | None, int]:
        before = state.ask.units_left
        lengths = _lengths(longest, shrink, len(required))
        found = state.ask.backtrack(state.w, direction, lengths, required, units)
        return found, before - state.ask.units_left


@final
@dataclass(frozen=True)
class GridRelease(Release):
    """All decreases in one Gaussian release; steps shrink, so together they move little more than one."""

    def first(
        self, state: State, direction: Vector, longest: float, shrink: float, required: Vector, units: int
    ) -> tuple[int | None, int]:
        answer = state.ask.grid(state.w, direction, longest, shrink, len(required), units)
        enough = np.flatnonzero(answer.value >= required)
        return (int(enough[0]) if enough.size else None), answer.units


@final
@dataclass(frozen=True, kw_only=True)
class Backtracking(StepRule):
    """Algorithms 2 and 3: try `longer` times the fallback length, then ever shorter ones (paper: SD1, SD2).

    A search is given `units`, or as much as the gradient before it cost."""

    curve: Curve
    share: SearchShare = field(default_factory=SearchShare)
    noise: NoiseShare = field(default_factory=NoiseShare)
    release: Release = field(default_factory=GridRelease)
    units: int | None = None

    def gradient_step(self, state: State, here: Evidence) -> Step:
        squared = here.gradient_norm**2
        fallback = self.share.gradient_fallback(self.noise, self.curve)
        return self._search(
            state,
            -here.gradient.value,
            fallback,
            self.share.gradient_shrink,
            lambda lengths: self.share.gradient * squared * lengths,
            here.gradient.units,
        )

    def curvature_step(self, state: State, here: Evidence, direction: Vector, eigenvalue: float) -> Step:
        fallback = self.share.curvature_fallback(self.noise, self.curve, eigenvalue)
        return self._search(
            state,
            direction,
            fallback,
            self.share.curvature_shrink,
            lambda lengths: 0.5 * self.share.curvature * abs(eigenvalue) * lengths**2,
            here.gradient.units,
        )

    def _search(
        self,
        state: State,
        direction: Vector,
        fallback: float,
        shrink: float,
        needed: Callable[[Vector], Vector],
        units: int,
    ) -> Step:
        count = trial_count(shrink, self.share.longer)
        reach = state.problem.weight_limit / max(float(np.linalg.norm(direction)), 1e-300)
        longest = min(self.share.longer * fallback, reach)
        required = needed(_lengths(longest, shrink, count))
        given = units if self.units is None else self.units
        if not 1 <= given <= state.ask.units_left:
            return Step(direction * min(fallback, reach))
        found, paid = self.release.first(state, direction, longest, shrink, required, given)
        length = min(fallback, reach) if found is None else longest * shrink**found
        return Step(direction * length, paid)


def _lengths(longest: float, shrink: float, count: int) -> Vector:
    return longest * np.power(shrink, np.arange(count, dtype=np.float64))
