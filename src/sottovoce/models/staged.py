"""A risk whose features are chosen by a first answer about the same records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sottovoce.methods.adapt.inspection import Inspection
    from sottovoce.models.protocol import ExactRisk
    from sottovoce.problem import Problem
    from sottovoce.queries import Queries


class Opening(NamedTuple):
    """A step of a run before its method begins: what was asked for, and the units that it cost."""

    kind: str
    units: int


class StagedRisk(ABC):
    """`first` is what the opening queries of a run are asked of; `settled` asks them and makes the risk
    that the rest of the run minimizes. `problem` holds the public constants of the widest risk that can come
    of it: all that they can refuse is refused before anything is charged. Afterwards it holds those of the
    risk that came, which has as many features or fewer, as the answers released by then say. `current` is
    the one that the run is about: a `look` on its way may take another."""

    first: ExactRisk
    current: ExactRisk

    @property
    @abstractmethod
    def problem(self) -> Problem: ...

    @abstractmethod
    def settled(self, asking: Callable[[ExactRisk], Queries]) -> tuple[ExactRisk, tuple[Opening, ...]]:
        """The risk with the features that the answers chose, and what was asked for them; `asking` makes a
        risk one that can be asked, all within the budget of one run."""

    @property
    def looks(self) -> bool:
        """Whether anything is to be asked on the way of the run, by which its risk may change. Public."""
        return False

    def look(self, asking: Callable[[ExactRisk], Queries]) -> Inspection:
        """What is asked there."""
        raise NotImplementedError
