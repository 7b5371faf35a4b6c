"""`opt` and its variants: the paper's Algorithms 1 to 3, on all records or batches, in one phase or two."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

from sottovoce.methods.paper.constants import Curve, NoiseShare, SearchShare
from sottovoce.methods.paper.descent import CurvatureDescent
from sottovoce.methods.paper.line_search import AboveThreshold, Backtracking, GridRelease, Release
from sottovoce.methods.paper.phases import Batch, PaperMethod, Schedule
from sottovoce.methods.steps import ShortStep, StepRule

if TYPE_CHECKING:
    from sottovoce.methods.stopping import StoppingTest
    from sottovoce.results.result import Tolerance


@dataclass(frozen=True, kw_only=True)
class ShortSteps(PaperMethod):
    """Steps 1/G along -g~ while the gradient is large, 2|lambda~|/M along negative curvature otherwise."""

    noise: NoiseShare = field(default_factory=NoiseShare)

    def visits(self, curve: Curve, asked: Tolerance, target: Tolerance, gap: float) -> int:
        return math.ceil(gap / self.noise.short_decrease(curve, target))

    def rule(
        self,
        frame: Schedule,
        test: StoppingTest,
        gradient_units: int,
        curvature_units: int,
        search_units: int | None,
    ) -> CurvatureDescent:
        return _descent(ShortStep(frame.curve), test, gradient_units, curvature_units)


@dataclass(frozen=True, kw_only=True)
class SearchedSteps(PaperMethod):
    """Steps found by private backtracking; a search costs what the gradient before it cost.

    `release` is how trials are released: the whole grid at once under tight calibration, AboveThreshold under
    published, unless one is chosen."""

    noise: NoiseShare = field(default_factory=NoiseShare)
    search: SearchShare = field(default_factory=SearchShare)
    release: Release | None = None
    queries: ClassVar[int] = 3

    def visits(self, curve: Curve, asked: Tolerance, target: Tolerance, gap: float) -> int:
        return math.ceil(gap / self.search.decrease(self.noise, curve, target))

    def rule(
        self,
        frame: Schedule,
        test: StoppingTest,
        gradient_units: int,
        curvature_units: int,
        search_units: int | None,
    ) -> CurvatureDescent:
        step = Backtracking(
            curve=frame.curve,
            share=self.search,
            noise=self.noise,
            release=self.release or (AboveThreshold() if frame.is_published else GridRelease()),
            units=search_units,
        )
        return _descent(step, test, gradient_units, curvature_units)


def _descent(
    step: StepRule, test: StoppingTest, gradient_units: int, curvature_units: int
) -> CurvatureDescent:
    return CurvatureDescent(
        step=step, test=test, gradient_units=gradient_units, curvature_units=curvature_units
    )


@final
@dataclass(frozen=True, kw_only=True)
class Opt(ShortSteps):
    """Algorithm 1 with short steps."""

    name: ClassVar[str] = "opt"


@final
@dataclass(frozen=True, kw_only=True)
class OptSearch(SearchedSteps):
    """Algorithm 3: Algorithm 1 with backtracking."""

    name: ClassVar[str] = "opt-ls"


@final
@dataclass(frozen=True, kw_only=True)
class OptBatch(ShortSteps):
    """Algorithm 1 on mini-batches."""

    name: ClassVar[str] = "opt-b"
    batch: Batch | None = field(default_factory=Batch)


@final
@dataclass(frozen=True, kw_only=True)
class TwoPhase(ShortSteps):
    """Algorithm 1, an optimistic phase first."""

    name: ClassVar[str] = "2opt"
    first_share: float | None = 0.75


@final
@dataclass(frozen=True, kw_only=True)
class TwoPhaseSearch(SearchedSteps):
    """Algorithm 3, an optimistic phase first."""

    name: ClassVar[str] = "2opt-ls"
    first_share: float | None = 0.75


@final
@dataclass(frozen=True, kw_only=True)
class TwoPhaseBatch(ShortSteps):
    """Algorithm 1 on mini-batches, an optimistic phase first."""

    name: ClassVar[str] = "2opt-b"
    batch: Batch | None = field(default_factory=Batch)
    first_share: float | None = 0.75
