"""What a run is asked to find out about its coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.inference.design import Design
    from sottovoce.problem import Problem

LARGEST_SHARE = 0.9


@final
@dataclass(frozen=True)
class Inference:
    """`share` of the budget is kept for standard errors; `robust` ones hold whether or not the model does.

    `design` says what coefficients are read for, where that is not the columns themselves."""

    share: float = 0.0
    robust: bool = False
    design: Design | None = None

    def __post_init__(self) -> None:
        share = self.share
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 <= share <= LARGEST_SHARE:
            raise ParameterError(
                f"inference, a part of the budget, must be at least 0, at most {LARGEST_SHARE}."
            )

    @classmethod
    def of(cls, asked: float | Inference, *, robust: bool = False) -> Inference:
        """A part of the budget as a request; one that is a request already stays."""
        return asked if isinstance(asked, Inference) else cls(asked, robust)

    def design_for(self, problem: Problem) -> Design | None:
        """The terms to ask about: as said, or those of columns declared to be indicators."""
        from sottovoce.inference.design import Design

        if self.design is not None or problem.constant is None or not problem.indicators:
            return self.design
        return Design.of_indicators(problem.indicators, problem.columns, problem.constant)
