"""The privacy a user grants: epsilon, delta and between which neighbours, fixed before data is touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from sottovoce.accounting.checks import positive
from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError

LARGEST_EPSILON = 1000.0


@final
@dataclass(frozen=True, init=False)
class Budget:
    """(epsilon, delta)-differential privacy: when one record is replaced, or when one is zeroed out.

    P(output in S) <= e^epsilon P'(output in S) + delta for every S and every pair of neighbours, which
    `relation` defines: "replace-one" or "zero-out", see `Relation`."""

    epsilon: float
    delta: float
    relation: Relation

    def __init__(self, epsilon: float, delta: float, relation: Relation | str = Relation.REPLACE_ONE) -> None:
        epsilon, delta = positive("epsilon", epsilon), positive("delta", delta)
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
        object.__setattr__(self, "relation", Relation.of(relation))

    def __repr__(self) -> str:
        default = self.relation is Relation.REPLACE_ONE
        relation = "" if default else f", relation={self.relation.value!r}"
        return f"Budget(epsilon={self.epsilon!r}, delta={self.delta!r}{relation})"
