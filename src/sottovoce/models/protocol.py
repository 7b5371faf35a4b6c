"""What an oracle needs of a risk: what may be asked of its records, and those records behind bounded sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from builtins import property as cached_property  # pyright matches no other with a protocol's property

    from sottovoce.arrays import Vector
    from sottovoce.models.bounds import Bounds
    from sottovoce.problem import Problem
    from sottovoce.queries.preconditioner import Preconditioner
else:
    from functools import cached_property

__all__ = ["ExactRisk", "cached_property"]


class ExactRisk(Protocol):
    """A mean over records. Linear models, softmax and PyTorch modules are asked in the same way, so that one
    oracle, one ledger and the same methods serve them all."""

    @property
    def n(self) -> int: ...

    @property
    def problem(self) -> Problem: ...

    @property
    def bounds(self) -> Bounds: ...

    @property
    def sums(self) -> Any:
        """Exact answers, for an oracle to noise (`trusted.requests.Sums`)."""

    @property
    def objective(self) -> str: ...

    @property
    def start(self) -> Vector:
        """Weights to start from, which do not depend on the data."""

    def preconditioned(self, preconditioner: Preconditioner) -> ExactRisk:
        """The same risk in other coordinates, each record's influence capped."""
