"""What a forecast is made from and of: the public outline of a risk, and the noise of a query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from sottovoce.privacy.bounds import Bounds
    from sottovoce.problem import Problem
    from sottovoce.questions import Question


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


@final
@dataclass(frozen=True, kw_only=True)
class QueryNoise:
    """One kind of query: how often a run expects to ask it, its share of the budget each time, the noise sd
    of an entry, and the norm of all its noise; for a matrix the norm is the spectral one.

    `scale` is near the end of a run, where weights are long. `first` is the sd of the first such answer, at
    the starting weights: exact, where no earlier answer decides its price. `part` of the records are read."""

    question: Question[Any]
    times: int
    share: float
    scale: float
    norm: float
    first: float
    part: float = 1.0

    @property
    def query(self) -> str:
        """The question's name."""
        return self.question.kind.value

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready values."""
        numbers = {name: getattr(self, name) for name in ("times", "share", "scale", "norm", "first", "part")}
        return {"query": self.query, **numbers}
