"""What a forecast is made from: the public outline of a risk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from sottovoce.models.bounds import Bounds
    from sottovoce.problem import Problem


@final
@dataclass(frozen=True)
class Outline:
    """What is public about a risk: its constants and how far one record moves each answer."""

    problem: Problem
    bounds: Bounds

    def holding(self, n: int) -> Outline:
        """The same risk over another number of records."""
        arithmetic = replace(self.bounds.arithmetic, n=n)
        problem = replace(self.problem, n=n)
        return Outline(problem, replace(self.bounds, problem=problem, arithmetic=arithmetic))

    @property
    def n(self) -> int:
        return self.problem.n
