"""About how far the noise for privacy moved each weight: the sd over runs on the same records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.files import text_of
from sottovoce.results.inference.findings import finite_vector, symmetric

LARGEST_KEPT = 256
"""Most columns for which covariances are kept beside the variances: a model file stays small."""

UNSAID = "this result was saved before the noise of its weights was estimated"


@final
@dataclass(frozen=True, eq=False)
class CoefficientNoise:
    """Approximate: what was added to each answer is known, how later steps shrink it is estimated.

    `deviations` has an sd for each weight; None where there is a `reason` for it. `covariance` is that of
    one output's weights, None if they are too many: `deviations` alone are kept then."""

    deviations: Vector | None = None
    covariance: Matrix | None = None
    reason: str = UNSAID

    @classmethod
    def along(cls, basis: Matrix | None, variances: Vector, outputs: int, common: Vector) -> CoefficientNoise:
        """From independent noise along the columns of `basis`, or of each weight if there is none.

        With K outputs `variances` are those of what tells outputs apart, 1 - 1/K of the whole, and `common`
        those of what all outputs share."""
        mixed = np.sqrt(variances + (common - variances) / outputs if outputs > 1 else variances)
        kept = mixed.size <= LARGEST_KEPT
        if basis is None:
            return cls(np.tile(mixed, outputs), np.diag(mixed**2) if kept else None, "")
        scaled = basis * mixed
        deviations = np.tile(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), outputs)
        return cls(deviations, scaled @ scaled.T if kept else None, "")

    def times(self, factor: float) -> CoefficientNoise:
        """That of weights multiplied by a number."""
        if self.deviations is None:
            return self
        covariance = None if self.covariance is None else factor**2 * self.covariance
        return CoefficientNoise(abs(factor) * self.deviations, covariance, self.reason)

    def of_terms(self, block: Matrix, outputs: int) -> Vector | None:
        """The sd of `block` times the weights, for each output; None where it cannot be said.

        A row of one entry needs variances alone; for sums the covariance must have been kept."""
        if self.deviations is None:
            return None
        if self.covariance is not None:
            found = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", block, self.covariance, block), 0.0))
            return np.tile(found, outputs)
        alone = np.count_nonzero(block, axis=1) <= 1
        sizes = np.where(alone[:, None], np.abs(block), np.nan)
        return np.asarray(self.deviations.reshape(outputs, -1) @ sizes.T).ravel()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready values; the covariance by its lower triangle."""
        lower = None if self.covariance is None else self.covariance[np.tril_indices(len(self.covariance))]
        return {
            "deviations": None if self.deviations is None else self.deviations.tolist(),
            "covariance": None if lower is None else lower.tolist(),
            "reason": self.reason,
        }

    @classmethod
    def from_dict(cls, raw: dict[str, Any] | None, size: int) -> CoefficientNoise:
        """As `to_dict` made it for so many weights; ValueError for anything else. Older files say nothing."""
        if raw is None:
            return cls()
        if raw["deviations"] is None:
            return cls(reason=text_of(raw["reason"]))
        deviations = finite_vector(raw["deviations"])
        if deviations.size != size or float(deviations.min(initial=0.0)) < 0.0:
            raise ValueError("these deviations do not fit the weights")
        lower = raw["covariance"]
        if lower is None:
            return cls(deviations, None, text_of(raw["reason"]))
        columns = next((k for k in range(1, size + 1) if k * (k + 1) // 2 == len(lower)), 0)
        if not columns or size % columns:
            raise ValueError("this covariance does not fit the weights")
        return cls(deviations, symmetric(lower, columns), text_of(raw["reason"]))
