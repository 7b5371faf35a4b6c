"""The wing of PyTorch modules: risks that clip every example themselves and say what they move by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, final

import numpy as np

from sottovoce.privacy.sources import Source, batch_bounds, source_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.accounting.relations import Relation
    from sottovoce.models.protocol import ExactRisk
    from sottovoce.privacy.bounds import Bounds
    from sottovoce.queries import Backtrack, Preconditioner, Query


@final
class ClippedSource(Source):
    """A risk that clips every example itself and says what it moves by."""

    def __init__(self, risk: ExactRisk, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._risk = risk

    def request(self, query: Query[Any]) -> Any:
        return query

    def sensitivity(self, query: Query[Any], request: Any) -> float:
        return float(query.sensitivity(self.bounds))

    def answer(self, request: Any) -> Any:
        return request.exact(self._risk)

    def public(self, query: Query[Any]) -> Any:
        return 0.0

    def comparisons(self, query: Backtrack) -> tuple[float, Iterator[float]]:
        return query.sensitivity(self.bounds), query.exact(self._risk)

    def preconditioned(self, preconditioner: Preconditioner) -> Source:
        return source_of(self._risk.preconditioned(preconditioner), self.bounds)

    def batch(self, size: int, most: int, relation: Relation) -> Source:
        return ClippedSource(self._risk, batch_bounds(self.bounds, size, most, relation))

    def subset(self, indices: NDArray[np.int64], n: int) -> Source:
        return ClippedSource(self._risk.subset(indices, n), self.bounds)
