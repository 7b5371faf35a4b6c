"""The privacy a user grants: epsilon and delta, fixed before any data is touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from sottovoce.accounting.checks import positive
from sottovoce.errors import ParameterError

LARGEST_EPSILON = 1000.0
REPLACE_ONE = "replace one record"


@final
@dataclass(frozen=True)
class Budget:
    """(epsilon, delta)-differential privacy when one record is replaced.

    P(output in S) <= e^epsilon P'(output in S) + delta for every S and every pair of neighbours."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        epsilon = positive("epsilon", self.epsilon)
        delta = positive("delta", self.delta)
        if epsilon > LARGEST_EPSILON:
            raise ParameterError(
                f"epsilon={epsilon:g} promises nothing; it must be at most {LARGEST_EPSILON:g}. "
                "Usual values lie between 0.1 and 10."
            )
        if delta >= 1.0:
            raise ParameterError(
                f"delta must lie strictly between 0 and 1, got {delta:g}. "
                "Take it well below one over the number of records."
            )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
