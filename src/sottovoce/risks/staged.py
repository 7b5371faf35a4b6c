"""A risk whose features are chosen by a first answer about the same records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sottovoce.problem import Problem
    from sottovoce.queries import Queries
    from sottovoce.risks.protocol import ExactRisk


class StagedRisk(ABC):
    """`first` is what the opening queries of a run are asked of; `settled` asks them and makes the risk
    that the rest of the run minimizes. `problem` holds that risk's public constants, known beforehand: all
    that they can refuse is refused before anything is charged."""

    first: ExactRisk

    @property
    @abstractmethod
    def problem(self) -> Problem: ...

    @abstractmethod
    def settled(self, ask: Queries) -> ExactRisk:
        """The risk with the features that the answers chose."""
