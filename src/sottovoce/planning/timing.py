"""Synthetic records of a given shape: what is public about a risk over them, and how long a pass takes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from sottovoce.data.records import Records
from sottovoce.losses import Kind
from sottovoce.models.linear import Risk
from sottovoce.models.softmax import SoftmaxRisk
from sottovoce.planning.outline import Outline

if TYPE_CHECKING:
    from sottovoce.losses import Loss
    from sottovoce.methods.forecast import Costs
    from sottovoce.queries import Query
    from sottovoce.regularizers import Regularizer

_PROBE_ENTRIES = 2**21


@final
@dataclass(frozen=True, kw_only=True)
class ProblemShape:
    """What a plan is told about records and model; `dim` is the width of a row, the intercept included."""

    dim: int
    loss: Loss
    regularizer: Regularizer
    radius: float
    classes: int
    target: tuple[float, float] | None
    intercept: bool
    nonzeros: int | None

    def outline(self, n: int) -> Outline:
        """Constants and bounds as the risk itself states them, over two rows of zeros, then for n records."""
        risk = self.risk(2, filled=False)
        return Outline(risk.problem, risk.bounds).holding(n)

    def seconds(self, n: int, costs: Costs) -> float:
        """Each kind of query timed on synthetic rows and scaled to the records it reads."""
        count = max(16, min(n, _PROBE_ENTRIES // min(self.dim, self.nonzeros or self.dim)))
        risk = self.risk(count, filled=True)
        total = sum(noise.times * noise.part * _timed(noise.asked, risk) for noise in costs.noise)
        return total * n / count

    def risk(self, count: int, *, filled: bool) -> Risk | SoftmaxRisk:
        """A risk over rows of a fixed pattern with as many entries as declared, or of zeros."""
        X = self._rows(count, filled=filled)
        declared: dict[str, Any] = {
            "radius": self.radius,
            "intercept": self.intercept,
            "nonzeros": self.nonzeros,
        }
        if self.classes > 2:
            labels = tuple(range(self.classes))
            held = Records.from_arrays(X, np.arange(count) % self.classes, labels=labels, **declared)
            return SoftmaxRisk(held, self.regularizer)
        signs = np.where(np.arange(count) % 2, 1, -1)
        if self.loss.kind is Kind.MARGIN:
            held = Records.from_arrays(X, signs, labels=(-1, 1), **declared)
        else:
            target = (0.0, 1.0) if self.loss.kind is Kind.COUNT else self.target or (-1.0, 1.0)
            held = Records.from_arrays(X, np.zeros(count), target=target, **declared)
        return Risk(held, self.loss, self.regularizer)

    def _rows(self, count: int, *, filled: bool) -> object:
        columns = self.dim - self.intercept
        if self.nonzeros is None:
            pattern = np.arange(count * columns, dtype=np.float32)
            return (np.sin(pattern) if filled else 0.0 * pattern).reshape(count, columns)
        from scipy import sparse

        width = min(columns, self.nonzeros) if filled else 0
        places = (
            np.arange(count)[:, None] * 7919 + np.arange(width) * max(1, columns // max(1, width))
        ) % columns
        parts = (np.ones(count * width, np.float32), places.ravel(), np.arange(count + 1) * width)
        table = sparse.csr_array(parts, shape=(count, columns))
        table.sum_duplicates()
        return table


def _timed(query: Query[Any], risk: Risk | SoftmaxRisk) -> float:
    def once() -> float:
        began = time.perf_counter()
        query.exact(risk)
        return time.perf_counter() - began

    return min(once(), once())
