"""What an oracle asks: records behind bounded sums, or the wing of PyTorch modules.

Of records, what a risk says of itself is never used: its sums charge and answer, and what it returns for its
owner is not consulted. A query only proposes a request, which is made once, charged and then answered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.problem import Calibration
from sottovoce.trusted.requests import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.accounting.relations import Relation
    from sottovoce.models.protocol import ExactRisk
    from sottovoce.privacy.bounds import Bounds
    from sottovoce.problem import Problem
    from sottovoce.queries import Backtrack, Preconditioner, Query

_WINGS = ("sottovoce.autodiff.risk",)
"""Modules whose risks clip every example themselves: each has attacks of its own."""


class Source(ABC):
    """Charges and answers; `bounds` holds what is proposed, and never lowers a charge."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds

    @property
    def problem(self) -> Problem:
        return self.bounds.problem

    @abstractmethod
    def request(self, query: Query[Any]) -> Any:
        """What will be charged and answered."""

    @abstractmethod
    def sensitivity(self, query: Query[Any], request: Any) -> float:
        """How far one record moves the answer to the request, or more where the caller states more."""

    @abstractmethod
    def answer(self, request: Any) -> Any:
        """The exact answer without the penalty: for one who adds noise to it."""

    @abstractmethod
    def public(self, query: Query[Any]) -> Any:
        """What the penalty adds to the noisy answer."""

    @abstractmethod
    def comparisons(self, query: Backtrack) -> tuple[float, Iterator[float]]:
        """How far one record moves each comparison of a line search, and the comparisons, made in turn."""

    @abstractmethod
    def preconditioned(self, preconditioner: Preconditioner) -> Source: ...

    @abstractmethod
    def batch(self, size: int, most: int, relation: Relation) -> Source:
        """As it charges for a batch of `size` records, no more than `most` of them in a sum."""

    @abstractmethod
    def subset(self, indices: NDArray[np.int64], n: int) -> Source: ...


@final
class RecordSource(Source):
    """Records behind bounded sums."""

    def __init__(self, risk: ExactRisk, sums: Sums, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._risk = risk
        self._sums = sums
        self._proposals: Any = bounds

    def request(self, query: Query[Any]) -> Any:
        return query.request(self._proposals)

    def sensitivity(self, query: Query[Any], request: Any) -> float:
        tight = self._sums.sensitivity(request, self.bounds.relation)
        if self.bounds.calibration is Calibration.TIGHT:
            return tight
        return max(tight, query.sensitivity(self.bounds))

    def answer(self, request: Any) -> Any:
        return self._sums.answer(request)

    def public(self, query: Query[Any]) -> Any:
        return query.public(self.problem)

    def comparisons(self, query: Backtrack) -> tuple[float, Iterator[float]]:
        longest = np.array([float(np.max(query.lengths))])
        request = self._proposals.line_drops(query.w, query.direction, longest)
        sensitivity = self._sums.sensitivity(request, self.bounds.relation)
        if self.bounds.calibration is not Calibration.TIGHT:
            sensitivity = max(sensitivity, query.sensitivity(self.bounds))
        steps = query.lengths[:, None] * query.direction
        relief = self.problem.relief(query.w, steps)

        def compared() -> Iterator[float]:
            fall = self._sums.falls(request)
            for length, eased, required in zip(query.lengths, relief, query.required, strict=True):
                yield fall(min(float(length), float(longest[0]))) + float(eased) - float(required)

        return sensitivity, compared()

    def preconditioned(self, preconditioner: Preconditioner) -> Source:
        return source_of(self._risk.preconditioned(preconditioner), self.bounds)

    def batch(self, size: int, most: int, relation: Relation) -> Source:
        bounds = batch_bounds(self.bounds, size, most, relation)
        return RecordSource(self._risk, self._sums.batch(size, most), bounds)

    def subset(self, indices: NDArray[np.int64], n: int) -> Source:
        return RecordSource(self._risk, self._sums.subset(indices, n), self.bounds)


def batch_bounds(bounds: Bounds, size: int, most: int, relation: Relation) -> Bounds:
    """The bounds of a mean over a batch: n is its size, and `most` records may be in a sum."""
    return replace(
        bounds,
        problem=replace(bounds.problem, n=size),
        arithmetic=replace(bounds.arithmetic, n=size, records=most),
        relation=relation,
    )


def source_of(risk: ExactRisk, like: Bounds | None = None, **stated: Any) -> Source:
    """The records of a risk, or a risk of a wing; calibration and relation as stated, or as in `like`."""
    if like is not None:
        stated = {"calibration": like.calibration, "relation": like.relation}
    bounds = replace(risk.bounds, **stated)
    sums = getattr(risk, "sums", None)
    if isinstance(sums, Sums):
        return RecordSource(risk, sums, bounds)
    if type(risk).__module__ in _WINGS:
        from sottovoce.privacy.clipped_source import ClippedSource

        return ClippedSource(risk, bounds)
    raise ParameterError("an oracle answers about Risk, SoftmaxRisk and TorchRisk, whose sums are bounded.")
