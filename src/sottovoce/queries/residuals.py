"""How large the residuals at one point are: what part of the records lies in each dyadic band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from sottovoce.accounting.events import QueryKind
from sottovoce.errors import ParameterError
from sottovoce.queries.base import AtWeights

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.models.bounds import Bounds
    from sottovoce.problem import Problem

BANDS = 14
"""Bands: the k-th ends at 2^(1-k) of the largest target, the last goes down to 0, the first is open."""


@final
@dataclass(frozen=True)
class ResidualBands(AtWeights["Vector"]):
    """(1/n) sum q_i e(i), e(i) the unit vector of the band in which |<x_i, w> - y_i| lies.

    A record gives q <= Q in one place, so that replacing it moves the answer by sqrt2 Q/n at most, attained
    where two records lie in different bands, and zeroing it out by Q/n. A person's rows give a convex
    combination of such vectors, which lies in their hull. Which band a row is counted in is decided by the
    product as it is computed: no other row enters, so rounding of margins moves nothing."""

    kind = QueryKind.RESIDUAL_BANDS

    def admitted(self, problem: Problem) -> Self:
        if not problem.label_reach or problem.matrix_free or problem.clipped:
            raise ParameterError("residuals are counted of a linear model of a numeric target only.")
        return super().admitted(problem)

    def length(self, problem: Problem) -> int:
        return BANDS

    def request(self, bounds: Bounds) -> Any:
        return bounds.residual_shares(self.w, edges(bounds.problem))


def edges(problem: Problem) -> Vector:
    """Lower ends of all bands but the last, from above. Public."""
    return np.asarray(problem.label_reach * 2.0 ** -np.arange(BANDS - 1.0))
