"""What is public about records, by declaration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from sottovoce.data.cell import Label
from sottovoce.data.partitioned import Parts
from sottovoce.data.persons import LIGHTEST, Persons
from sottovoce.data.rows import Rows
from sottovoce.data.targets import Classes, Range


@final
@dataclass(frozen=True, kw_only=True)
class RecordFacts:
    """Declared before a row is read. `intercept`: a constant column was appended; `constant`: the last column
    holds one number; `weight_cap`: None without sample weights; `column_groups`: X's columns by scale;
    `indicators`: (start, stop) of columns of which a row has at most one, as large as the constant."""

    declared: Classes | Range
    radius: float
    intercept: bool = False
    nonzeros: int | None = None
    constant: bool = False
    weight_cap: float | None = None
    column_groups: tuple[int, ...] | None = None
    indicators: tuple[tuple[int, int], ...] = ()

    @property
    def labels(self) -> tuple[Label, ...] | None:
        return self.declared.labels if isinstance(self.declared, Classes) else None

    @property
    def target(self) -> tuple[float, float] | None:
        return (self.declared.low, self.declared.high) if isinstance(self.declared, Range) else None


class Declared:
    """Shows the declared facts as its own, and what a record or person counts."""

    __slots__ = ()
    _facts: RecordFacts
    _persons: Persons | None
    _rows: Rows | Parts

    @property
    def radius(self) -> float:
        """No row is longer than this."""
        return self._facts.radius

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """Declared labels; None for regression."""
        return self._facts.labels

    @property
    def target(self) -> tuple[float, float] | None:
        """Declared range of a regression target; None for classification."""
        return self._facts.target

    @property
    def intercept(self) -> bool:
        """Whether the last column is the appended constant, shrunk with its row."""
        return self._facts.intercept

    @property
    def nonzeros(self) -> int | None:
        """Declared most entries other than 0 in a row, the intercept not counted; None if not declared."""
        return self._facts.nonzeros

    @property
    def indicators(self) -> tuple[tuple[int, int], ...]:
        """Declared blocks of columns, from start to stop, of which a row has at most one other than 0."""
        return self._facts.indicators

    @property
    def weight_cap(self) -> float | None:
        """No record counts more than this; None without sample weights, when each counts 1."""
        return self._facts.weight_cap

    @property
    def counting(self) -> dict[str, Any]:
        """What a record or person counts at most and at least, and which of the two it is. Public.

        Of persons that were declared and not counted, some may have no row, or none with a key: they count 0.
        """
        lightest = 1.0 if self._persons is None else LIGHTEST
        absent = self._persons is not None and self._persons.declared
        return {
            "weight": self.weight_cap or 1.0,
            "lightest": 0.0 if absent or self.weight_cap is not None else lightest,
            "unit": "record" if self._persons is None else "person",
            "alone": self._persons is not None and self._persons.alone,
            "counted": self._persons is not None and not self._persons.declared,
            "gathered": self._persons is None or isinstance(self._rows, Rows),
        }

    @property
    def mean(self) -> str:
        """Which mean over these records a risk is, in words."""
        kind = "mean" if self.weight_cap is None else "weighted mean"
        if self._persons is None:
            return kind
        if self._persons.quota > 1:
            unit = "record" if self._persons.alone else "person"
            return f"sum over rows at risk, each 1/{self._persons.quota} of its {unit} or less, over n,"
        return f"{kind} over persons, each the mean over its rows,"
