"""One query: its name in the ledger, its length, how far one record moves it, and how it is computed."""

from __future__ import annotations

import enum
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self, TypeVar

from sottovoce.errors import ParameterError
from sottovoce.queries import arguments

if TYPE_CHECKING:
    from sottovoce.accounting.events import QueryKind
    from sottovoce.arrays import Vector
    from sottovoce.models.bounds import Bounds
    from sottovoce.models.protocol import ExactRisk
    from sottovoce.problem import Problem

T = TypeVar("T")


FIELDS = ("value", "scale", "units", "sampling")
_MAKERS = ("sottovoce.privacy.release", "sottovoce.planning.dry_run")


class Answer(Generic[T]):
    """A noisy value, the standard deviation of its noise, and what it cost: `Released` by an oracle, or
    `Planned` in a dry run. Methods are given answers and make none.

    For a vector the noise is independent in each entry; for a symmetric matrix `scale` is at least the
    diagonal's and off-diagonal entries have scale/sqrt2. `sampling` bounds the root mean square distance of a
    batch's answer from that of all records; it is 0 when all were read."""

    __slots__ = FIELDS

    value: T
    scale: float
    units: int
    sampling: float

    def __new__(cls, *given: Any, **named: Any) -> Self:
        if cls is Answer:
            raise TypeError(
                "answers are released by an oracle or planned in a dry run, and made nowhere else."
            )
        return super().__new__(cls)

    def __init_subclass__(cls, **named: Any) -> None:
        if cls.__module__ not in _MAKERS:
            raise TypeError(f"answers come from {' and '.join(_MAKERS)} and from nowhere else.")
        super().__init_subclass__(**named)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{name} of an answer cannot be set.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r}, scale={self.scale!r}, units={self.units!r})"


class Form(enum.Enum):
    """What an answer looks like."""

    NUMBER = enum.auto()
    VECTOR = enum.auto()
    SYMMETRIC = enum.auto()


class Query(ABC, Generic[T]):
    """One query. `request` is charged for and answered; `sensitivity` is what a plan expects of it."""

    kind: ClassVar[QueryKind]
    form: ClassVar[Form] = Form.VECTOR

    @abstractmethod
    def length(self, problem: Problem) -> int:
        """Entries of the answer; for a symmetric matrix, its columns."""

    @abstractmethod
    def request(self, bounds: Bounds) -> Any:
        """The bounded sum to ask records for: a proposal, whose sensitivity is not this query's to say."""

    def sensitivity(self, bounds: Bounds) -> float:
        """How far one record can move the computed answer, in l2 or Frobenius norm."""
        return bounds.charged(self.request(bounds))

    def exact(self, risk: ExactRisk) -> Any:
        """The answer before noise: a number, a vector or a symmetric matrix. For the data's owner only."""
        return risk.sums.answer(self.request(risk.bounds)) + self.public(risk.problem)

    def public(self, problem: Problem) -> Any:
        """What the penalty adds to the answer, which no record moves."""
        return 0.0

    def admitted(self, problem: Problem) -> Self:
        """The query as it will be answered, or a refusal: decided by public numbers alone."""
        return self

    def term(self, problem: Problem) -> float:
        """Largest norm of what one record adds to the mean: how far a batch's answer may stray."""
        raise ParameterError(f"the {self.kind.value} is asked of all records, not of a batch.")

    def entries(self, problem: Problem) -> int:
        """Numbers that are released."""
        length = self.length(problem)
        return length * (length + 1) // 2 if self.form is Form.SYMMETRIC else length

    def spread(self, problem: Problem) -> float:
        """About the norm of noise of sd 1 on the answer; for a matrix the spectral one."""
        return math.sqrt((2.0 if self.form is Form.SYMMETRIC else 1.0) * self.length(problem))


@dataclass(frozen=True)
class AtWeights(Query[T]):
    """A query about one point, which is public and lies in the ball where every answer is finite."""

    w: Vector

    def admitted(self, problem: Problem) -> Self:
        return replace(self, w=arguments.weights(self.w, problem))
