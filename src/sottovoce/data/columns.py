"""Declared columns: numbers with bounds, categories, and what to predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, final

from sottovoce.data.cell import Label
from sottovoce.data.targets import Classes, Range
from sottovoce.errors import ParameterError

LARGEST_BOUND = 1e30
LARGEST_NUMBER = 2.0**53
"""Largest number that may be a category: beyond it, distinct integers are one float."""


@final
@dataclass(frozen=True)
class Numeric:
    """A number between `low` and `high`; others are clipped to this range, missing ones put in its middle."""

    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        check_name(self.name)
        for bound in (self.low, self.high):
            if isinstance(bound, bool) or not isinstance(bound, int | float) or not _is_usable(bound):
                raise ParameterError(
                    f"column {self.name!r}: low and high must be numbers, neither beyond {LARGEST_BOUND:g}. "
                    "Take them from what is known without the data."
                )
        if not self.low / 2.0 < self.high / 2.0:
            raise ParameterError(f"column {self.name!r}: low={self.low:g} must be below high={self.high:g}.")
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    def to_dict(self) -> dict[str, Any]:
        return {"type": "numeric", "low": self.low, "high": self.high}


@final
@dataclass(frozen=True)
class Categorical:
    """One of the declared categories, all text, all numbers or all booleans; any other counts as none."""

    name: str
    categories: tuple[Label, ...]

    def __post_init__(self) -> None:
        check_name(self.name)
        if not isinstance(self.categories, list | tuple) or not self.categories:
            raise ParameterError(
                f"column {self.name!r}: categories must be a list of one or more values, "
                "from what is known without the data."
            )
        categories = tuple(self.categories)
        if not _is_uniform(categories):
            raise ParameterError(
                f"column {self.name!r}: categories must be all text, all finite numbers or all booleans."
            )
        if len(set(categories)) < len(categories):
            raise ParameterError(f"column {self.name!r}: a category is declared twice.")
        object.__setattr__(self, "categories", categories)

    def to_dict(self) -> dict[str, Any]:
        return {"type": "categorical", "categories": list(self.categories)}


@final
@dataclass(frozen=True)
class Target:
    """What to predict: a column with declared `classes`, or a number between `low` and `high`."""

    name: str
    classes: tuple[Label, ...] | None = None
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        ranged = self.low is not None and self.high is not None
        if (self.classes is None) != ranged or (self.low is None) != (self.high is None):
            raise ParameterError(
                f"target {self.name!r}: declare classes = [...] for classification, or low and high for "
                "regression, not both."
            )
        if self.classes is not None:
            object.__setattr__(self, "classes", Classes.declare(self.classes).labels)
            if not _is_uniform(self.classes):
                raise ParameterError(
                    f"target {self.name!r}: classes must be all text, all numbers or all booleans."
                )
        else:
            assert self.low is not None
            assert self.high is not None
            declared = Range.declare((self.low, self.high))
            object.__setattr__(self, "low", declared.low)
            object.__setattr__(self, "high", declared.high)

    @property
    def range(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    def to_dict(self) -> dict[str, Any]:
        if self.classes is not None:
            return {"column": self.name, "classes": list(self.classes)}
        return {"column": self.name, "low": self.low, "high": self.high}


Column: TypeAlias = Numeric | Categorical


def check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise ParameterError("a column name must be text and not empty.")


def _is_usable(bound: float) -> bool:
    """False for NaN and infinity as well."""
    return abs(bound) <= LARGEST_BOUND


def _is_uniform(values: tuple[Any, ...]) -> bool:
    """All text, all booleans, or all finite numbers."""
    if all(isinstance(value, str) for value in values) or all(isinstance(value, bool) for value in values):
        return True
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return numbers and all(abs(value) <= LARGEST_NUMBER for value in values)
