"""Which tables are neighbours, and how far a sum over records moves between them."""

from __future__ import annotations

from enum import StrEnum


class Relation(StrEnum):
    """What may differ between two tables that must not be told apart; both have the same public n.

    REPLACE_ONE: one record is another. ZERO_OUT: one record counts 0 in every sum over records."""

    REPLACE_ONE = "replace-one"
    ZERO_OUT = "zero-out"

    def distance(self, *, diameter: float, norm: float) -> float:
        """How far a sum of terms moves whose set has this diameter and holds none longer than `norm`."""
        return diameter if self is Relation.REPLACE_ONE else norm
