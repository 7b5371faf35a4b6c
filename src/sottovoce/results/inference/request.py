"""What a run is asked to find out about its coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.arrays import Vector
    from sottovoce.problem import Problem
    from sottovoce.results.inference.design import Design

LARGEST_SHARE = 0.9


@final
@dataclass(frozen=True)
class Inference:
    """What is kept of the budget for standard errors, tests and intervals.

    Args:
        share: The part of the budget.
        robust: Whether standard errors are to hold where the model does not.
        anyway: Whether to spend it even where no coefficient is expected to be determined: `fit` refuses it.
        design: Makes the terms that answers are asked in from the released means of the columns, where these
            are not the columns themselves; `fit` makes it from the schema.
    """

    share: float = 0.0
    robust: bool = False
    anyway: bool = False
    design: Callable[[Vector], Design] | None = None

    def __post_init__(self) -> None:
        share = self.share
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 <= share <= LARGEST_SHARE:
            raise ParameterError(
                f"inference, a part of the budget, must be at least 0, at most {LARGEST_SHARE}.",
                argument="inference",
            )

    @classmethod
    def of(cls, asked: float | Inference) -> Inference:
        """A part of the budget as a request; one that is a request already stays."""
        return asked if isinstance(asked, Inference) else cls(asked)

    def design_for(self, problem: Problem, means: Vector) -> Design | None:
        """The terms to ask in, by released means: as said, or those of columns declared to be indicators."""
        from sottovoce.results.inference.design import Design

        if problem.constant is None:
            return None
        if self.design is not None:
            return self.design(means)
        if not problem.indicators:
            return None
        return Design.of_indicators(problem.indicators, means, problem.constant)
