"""Every weight in the user's units beside the noise for privacy that is in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.results.inference.coefficient_noise import CoefficientNoise
    from sottovoce.results.inference.terms import UserTerms

SHOWN = 30
MARK = "*"


class ListedCoefficient(NamedTuple):
    """A coefficient of the model as it predicts, penalty and all, and about the sd of its privacy noise.

    `noise` is None where it could not be estimated."""

    term: str
    estimate: float
    noise: float | None

    @property
    def below_noise(self) -> bool:
        """Whether noise alone would often be as large."""
        return self.noise is not None and abs(self.estimate) < self.noise

    def to_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "below_noise": self.below_noise}


def listed(weights: Vector, noise: CoefficientNoise, terms: UserTerms) -> tuple[ListedCoefficient, ...]:
    """The terms of each output; a category's is its own, compared with no other."""
    columns = terms.matrix.shape[1]
    outputs = weights.size // columns
    blocks = weights.reshape(outputs, columns)
    values = (blocks @ terms.matrix.T + terms.offset).ravel()
    names = [
        f"{label}: {name}" if label else name for label in terms.outputs or ("",) for name in terms.names
    ]
    found = noise.of_terms(terms.matrix, outputs)
    known = np.full(values.size, np.nan) if found is None else found
    return tuple(
        ListedCoefficient(name, float(value), None if math.isnan(sd) else float(sd))
        for name, value, sd in zip(names, values, known, strict=True)
    )


def listing(coefficients: Sequence[ListedCoefficient], reason: str) -> str:
    """A table for a terminal: what stands out of its noise most comes first; thirty lines."""
    if not any(line.noise is not None for line in coefficients):
        return f"The noise for privacy in the coefficients is not known: {reason}."
    order = sorted(coefficients, key=lambda line: -abs(line.estimate) / max(line.noise or math.inf, 1e-300))
    width = max(len(line.term) for line in order[:SHOWN])
    rows = [f"{'':{width}}  {'coef':>11}  {'noise (sd)':>11}"]
    for line in order[:SHOWN]:
        noise = "" if line.noise is None else f"{line.noise:.3g}"
        mark = f" {MARK}" if line.below_noise else ""
        rows.append(f"{line.term:{width}}  {line.estimate:>11.4g}  {noise:>11}{mark}")
    below = sum(line.below_noise for line in coefficients)
    if len(order) > SHOWN:
        rows.append(f"and {len(order) - SHOWN} more, in the model file")
    rows.append("noise: about how far the noise for privacy moves it (sd); sampling error comes on top.")
    if below:
        rows.append(f"{MARK} smaller than its noise: {below} of {len(order)}.")
    return "\n".join(rows)
