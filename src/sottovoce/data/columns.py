"""Declared columns: numbers with bounds, categories, and what to predict.

Each column becomes a block of encoded features of norm at most 1, whatever its cell holds: this is what keeps
rows bounded. With `indicator` a last feature is 1 where the cell is missing and the others are 0."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data.cell import Label
from sottovoce.data.reading import Reading
from sottovoce.data.survival import HAPPENED, Survival
from sottovoce.data.targets import Classes, Range
from sottovoce.data.weights import declared_class_weights
from sottovoce.errors import ParameterError

LARGEST_BOUND = 1e30
SHORTEST = 1e-12
"""No exposure below it counts."""
LARGEST_NUMBER = 2.0**53
"""Largest number that may be a category: beyond it, distinct integers are one float."""

Block = NDArray[np.float32]


@dataclass(frozen=True)
class Column(ABC):
    """A declared column: its name, the values that mean missing, and the features it becomes."""

    name: str
    missing: tuple[Label, ...] = field(default=(), kw_only=True)
    indicator: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.name)
        object.__setattr__(self, "missing", declared_missing(self.missing, f"column {self.name!r}"))
        if not isinstance(self.indicator, bool):
            raise ParameterError(f"column {self.name!r}: indicator must be true or false.")

    @property
    def source(self) -> str:
        """The column of the table that is read."""
        return self.name

    @property
    def features(self) -> tuple[str, ...]:
        """A name for each encoded feature."""
        return (*self._named(), *([f"{self.name} is missing"] if self.indicator else []))

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """Declared categories; None where a number is read."""
        return None

    @property
    def one_hot(self) -> bool:
        """Whether at most one feature of a cell is not 0, and that one 1."""
        return False

    @abstractmethod
    def fill(self, block: Block, held: Any, reading: Reading, unit: float) -> None:
        """Write `unit` times the features of each cell into zeros."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The declaration as a schema file holds it, without the name."""

    @abstractmethod
    def _named(self) -> tuple[str, ...]: ...

    def _extras(self) -> dict[str, Any]:
        extras: dict[str, Any] = {"missing": list(self.missing)} if self.missing else {}
        return extras | ({"indicator": True} if self.indicator else {})


class Number(Column):
    """A column of numbers: its features are functions of one number, all 0 where it is missing."""

    @abstractmethod
    def basis(self, values: Vector) -> NDArray[np.float64]:
        """Features of given numbers, one row each, of norm at most 1. NaN gives anything."""

    def fill(self, block: Block, held: Any, reading: Reading, unit: float) -> None:
        values = reading.numbers(held)
        absent = np.flatnonzero(np.isnan(values))
        found = self.basis(values)
        found *= unit
        found[absent] = 0.0
        block[:, : found.shape[1]] = found
        if self.indicator:
            block[absent, -1] = unit


class Indicators(Column):
    """A column whose features are indicators: the place of the one that holds says all of a cell."""

    @property
    def one_hot(self) -> bool:
        return True

    @abstractmethod
    def places(self, held: Any, reading: Reading) -> NDArray[np.intp]:
        """For each cell the place of its feature of 1, -1 where it has none."""

    def fill(self, block: Block, held: Any, reading: Reading, unit: float) -> None:
        places = self.places(held, reading)
        known = np.flatnonzero(places >= 0)
        block[known, places[known]] = unit


@final
@dataclass(frozen=True)
class Categorical(Indicators):
    """One of the declared categories, all text, all numbers or all booleans; any other counts as none.

    Coefficients of the others are compared with that of `reference`, the first unless said."""

    categories: tuple[Label, ...]
    reference: Label | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
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
        if self.reference is not None and self.reference not in categories:
            raise ParameterError(f"column {self.name!r}: reference must be one of its categories.")

    @property
    def labels(self) -> tuple[Label, ...]:
        return self.categories

    def places(self, held: Any, reading: Reading) -> NDArray[np.intp]:
        codes = reading.codes(held, self.categories)
        if self.indicator:
            codes[(codes < 0) & reading.is_missing(held)] = len(self.categories)
        return codes

    def to_dict(self) -> dict[str, Any]:
        chosen = {} if self.reference is None else {"reference": self.reference}
        return {"type": "categorical", "categories": list(self.categories), **chosen, **self._extras()}

    def _named(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={category}" for category in self.categories)


@final
@dataclass(frozen=True)
class Target:
    """What to predict: a column with declared `classes`, a number between `low` and `high`, or a `count`, a
    whole number from 0 to `high`.

    `class_weight`: what records of each class count, {label: weight} with 1 for those left out, kept in the
    order of the classes; only ratios matter. `typical`: a usual count, or of two classes the share of the
    second, from what is known without the data: forecasts of standard errors need it.

    `exposure` is the column of how long, or how much, a count was under observation, in (0, exposure_high]:
    longer ones count as that, and rows of less than `exposure_low` count nothing. What is predicted is then
    the rate, counts per unit of exposure, and `high` is the largest rate. A record of count y and exposure e
    enters as the rate y/e, clipped to [0, high], counting q = e/exposure_high: q (g(t) - (y/e) t / high) is
    the Poisson likelihood with offset log e over exposure_high, where no rate is clipped. Rate and q
    are functions of their record alone and q is in [0, 1], so `weights.counts` has the sensitivity.

    `survival`: the column says whether an event happened, the second class, by the time named there."""

    name: str
    classes: tuple[Label, ...] | None = None
    low: float | None = None
    high: float | None = None
    class_weight: tuple[float, ...] | Mapping[Label, float] | None = field(default=None, kw_only=True)
    count: bool = field(default=False, kw_only=True)
    typical: float | None = field(default=None, kw_only=True)
    exposure: str | None = field(default=None, kw_only=True)
    exposure_low: float = field(default=0.0, kw_only=True)
    exposure_high: float | None = field(default=None, kw_only=True)
    survival: Survival | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.count:
            self._declare_count()
        self._declare_exposure()
        if self.typical is not None:
            self._declare_typical()
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
        if self.class_weight is not None:
            object.__setattr__(self, "class_weight", self._declared_weights())
        if self.survival is not None and (self.classes != HAPPENED or self.class_weight is not None):
            raise ParameterError(
                f"target {self.name!r}: a time to event has the classes {HAPPENED} and no class_weight; what "
                "the column holds is said by its events."
            )

    def _declare_count(self) -> None:
        if self.classes is not None or self.low not in (None, 0) or self.high is None or not self.high >= 1:
            raise ParameterError(
                f"target {self.name!r}: a count is declared by high alone, the largest there can be, 1 or "
                'more: type = "count", high = 20. Larger ones are clipped to it.'
            )
        object.__setattr__(self, "low", 0.0)

    def _declare_exposure(self) -> None:
        where = f"target {self.name!r}: exposure"
        if self.exposure is None:
            if self.exposure_high is not None or self.exposure_low != 0.0:
                raise ParameterError(
                    f"{where} is the column that exposure_low and exposure_high bound: name it."
                )
            return
        check_name(self.exposure)
        if not self.count or self.exposure_high is None:
            raise ParameterError(
                f'{where} goes with type = "count" and exposure_high, the longest there can be; high is then '
                "the largest rate per unit of it."
            )
        low = declared_number(self.exposure_low, f"{where}_low")
        high = declared_number(self.exposure_high, f"{where}_high")
        if not 0.0 <= low < high or not high >= SHORTEST:
            raise ParameterError(f"{where}_low must be at least 0 and below exposure_high. Change the unit.")
        object.__setattr__(self, "exposure_low", low)
        object.__setattr__(self, "exposure_high", high)

    def rates(self, counts: Vector, exposures: Vector) -> Vector:
        """Counts per unit of exposure, entry by entry; 0 where there is none, when the row counts nothing."""
        seen = np.isfinite(exposures) & (exposures > max(self.exposure_low, SHORTEST))
        with np.errstate(over="ignore", invalid="ignore"):
            found = counts / np.minimum(np.where(seen, exposures, 1.0), self.exposure_high or 1.0)
        return np.where(np.isnan(counts), np.nan, np.where(seen, np.nan_to_num(found), 0.0))

    def exposed(self, exposures: Vector) -> Vector:
        """e/exposure_high within [0, 1], 0 below the least that counts, NaN where an entry is no number."""
        assert self.exposure_high is not None
        seen = exposures > max(self.exposure_low, SHORTEST)
        shares = np.where(seen, np.minimum(exposures, self.exposure_high) / self.exposure_high, 0.0)
        return np.where(np.isfinite(exposures), shares, np.nan)

    def _declare_typical(self) -> None:
        where = f"target {self.name!r}: typical"
        typical = declared_number(self.typical, where)
        most = self.high if self.count else 1.0
        two = self.classes is not None and len(self.classes) == 2
        if not (self.count or two) or most is None or not 0.0 < typical <= most or (two and typical == 1.0):
            raise ParameterError(
                f"{where} is a usual count, above 0 and at most high, or of two classes the share of the "
                "second, between 0 and 1."
            )
        object.__setattr__(self, "typical", typical)

    def _declared_weights(self) -> tuple[float, ...]:
        given: Any = self.class_weight
        if self.classes is None:
            raise ParameterError(f"target {self.name!r}: class_weight needs classes; numbers have none.")
        if isinstance(given, list | tuple):
            if len(given) != len(self.classes):
                raise ParameterError(f"target {self.name!r}: class_weight must have a weight for each class.")
            given = dict(zip(self.classes, given, strict=True))
        return declared_class_weights(given, self.classes)

    @property
    def source(self) -> str:
        """The column of the table that is read."""
        return self.name

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """Declared values of the column; None where a number is read."""
        return self.classes if self.survival is None else self.survival.events

    def reordered(self, classes: tuple[Label, ...]) -> Target:
        """The same classes in another order, each with its weight."""
        weights = dict(zip(self.classes or (), self.class_weights, strict=False))
        return replace(self, classes=classes, class_weight=weights or None)

    @property
    def class_weights(self) -> tuple[float, ...]:
        """A weight for each class; none where none are declared."""
        assert not isinstance(self.class_weight, Mapping)
        return self.class_weight or ()

    @property
    def range(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def mapped(self) -> tuple[float, float]:
        """The range that training sees in place of the declared one."""
        return (0.0, 1.0) if self.count else (-1.0, 1.0)

    @property
    def middle_and_half(self) -> tuple[float, float]:
        """The middle of the declared range and half of its width."""
        assert self.low is not None
        assert self.high is not None
        return self.low / 2.0 + self.high / 2.0, self.high / 2.0 - self.low / 2.0

    def scaled(self, values: Any) -> Any:
        """Numbers within the declared range mapped to what training sees: [-1, 1], of a count [0, 1]."""
        assert self.low is not None
        assert self.high is not None
        if self.count:
            return values / self.high
        middle, half = self.middle_and_half
        return (values - middle) / half

    def to_dict(self) -> dict[str, Any]:
        if self.count:
            usual: dict[str, Any] = {} if self.typical is None else {"typical": self.typical}
            if self.exposure is not None:
                least = {"exposure_low": self.exposure_low} if self.exposure_low else {}
                usual |= {"exposure": self.exposure, **least, "exposure_high": self.exposure_high}
            return {"column": self.name, "type": "count", "high": self.high, **usual}
        if self.survival is not None and self.classes is not None:
            usual = {} if self.typical is None else {"typical": self.typical}
            entry = {} if self.survival.entry is None else {"entry": self.survival.entry}
            told = {"time": self.survival.time, **entry, "grid": list(self.survival.grid)}
            told |= {"link": self.survival.link, "classes": list(self.survival.events)}
            return {"event": self.name, "type": "survival", **told, **usual}
        if self.classes is not None:
            weights = {} if self.class_weight is None else {"class_weight": list(self.class_weight)}
            usual = {} if self.typical is None else {"typical": self.typical}
            return {"column": self.name, "classes": list(self.classes), **weights, **usual}
        return {"column": self.name, "low": self.low, "high": self.high}


def check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise ParameterError("a column name must be text and not empty.")


def declared_missing(values: Any, where: str) -> tuple[Label, ...]:
    """Values that mean missing: text and finite numbers, mixed as they come."""
    if not isinstance(values, list | tuple) or not all(_is_uniform((value,)) for value in values):
        raise ParameterError(f'{where}: missing must be a list of text and numbers, such as ["?", 999].')
    return tuple(values)


def declared_number(value: Any, what: str) -> float:
    """A declared constant as float64."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST_BOUND:
        raise ParameterError(
            f"{what} must be numbers, neither beyond {LARGEST_BOUND:g}. "
            "Take them from what is known without the data.",
            argument=what,
        )
    return float(value)


def _is_uniform(values: tuple[Any, ...]) -> bool:
    """All text, all booleans, or all finite numbers."""
    if all(isinstance(value, str) for value in values) or all(isinstance(value, bool) for value in values):
        return True
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return numbers and all(abs(value) <= LARGEST_NUMBER for value in values)
