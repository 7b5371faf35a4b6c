"""How two neighbouring data sets differ, and what a promise under one relation says under the other."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.accounting.guarantee import Guarantee
    from sottovoce.accounting.lineage import Preset


UNITS = ("record", "person")
"""Whose data two neighbours differ in: one record's, or one person's with all their records."""


class Relation(StrEnum):
    """What happens to one record, or to all records of one person, between two neighbours; n is public.

    `REPLACE_ONE`: it becomes any other valid one, so a sum of per-record terms moves by the distance of two
    terms. `ZERO_OUT`: it counts nothing, so the sum moves by the length of one term. A null record has weight
    0 in every sum, which is still divided by n; it is not the row x = 0. Two neighbours under replacement
    have a neighbour under zero-out in common, the data set in which the record is null."""

    REPLACE_ONE = "replace-one"
    ZERO_OUT = "zero-out"

    @property
    def filed(self) -> str:
        """As files spell it, in the words of dp-accounting."""
        return "REPLACE_ONE" if self is Relation.REPLACE_ONE else "REPLACE_SPECIAL"

    @property
    def other(self) -> Relation:
        return Relation.ZERO_OUT if self is Relation.REPLACE_ONE else Relation.REPLACE_ONE

    def distance(self, *, diameter: float, norm: float) -> float:
        """How far a sum of terms moves whose set has this diameter and holds none longer than `norm`."""
        return diameter if self is Relation.REPLACE_ONE else norm

    def words(self, unit: str = "record") -> str:
        """In a sentence, of a record or of a person."""
        one = "one record" if unit == "record" else f"all records of one {unit}"
        return f"replace {one}" if self is Relation.REPLACE_ONE else f"zero out {one}"

    @classmethod
    def of(cls, given: object) -> Relation:
        """The relation that a user or a file names."""
        for relation in cls:
            if isinstance(given, str) and given in (relation.value, relation.filed, relation.words()):
                return relation
        raise ParameterError('relation must be "replace-one" or "zero-out".', argument="relation")


def unit_of(given: object) -> str:
    """The unit that a user or a file names."""
    for unit in UNITS:
        if isinstance(given, str) and given == unit:
            return unit
    raise ParameterError('unit must be "record" or "person".', argument="unit")


def filed(stated: Guarantee | Preset) -> dict[str, Any]:
    """Plain values for a file, the relation spelled as files do."""
    return {**asdict(stated), "relation": stated.relation.filed}
