"""The privacy a user grants: epsilon, delta and between which neighbours, fixed before data is touched."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import final

from sottovoce.accounting.checks import positive
from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError

LARGEST_EPSILON = 1000.0
_DELTA = re.compile(r"\s*1\s*/\s*n\s*(?:(?:\^|\*\*)\s*(\d+(?:\.\d+)?)\s*)?")


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
                "Take it well below one over the number of records.",
                argument="delta",
            )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "relation", Relation.of(relation))

    def __repr__(self) -> str:
        default = self.relation is Relation.REPLACE_ONE
        relation = "" if default else f", relation={self.relation.value!r}"
        return f"Budget(epsilon={self.epsilon!r}, delta={self.delta!r}{relation})"


def declared_delta(delta: float | str | None, n: int) -> float:
    """delta as a number: given as one, or as "1/n" or "1/n^p" with p at least 1, n being public."""
    if delta is None:
        raise ParameterError(
            "declare delta, the chance that the guarantee fails outright, well below one over the number of "
            'records: delta=1e-6, or delta="1/n^1.1".'
        )
    if not isinstance(delta, str):
        return delta
    found = _DELTA.fullmatch(delta)
    power = float(found[1] or 1.0) if found else 0.0
    if not 1.0 <= power <= 10.0:
        raise ParameterError(
            'delta as text must be "1/n" or "1/n^p" with p from 1 to 10, as in "1/n^1.1".', argument="delta"
        )
    # one record would give delta = 1, which Budget refuses
    return math.nextafter(float(n) ** -power, 0.0) if n > 1 else 1.0
