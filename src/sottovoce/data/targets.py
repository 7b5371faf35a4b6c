"""What y may hold, as declared without looking at it: a set of labels or a range of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data.rows import Mask
from sottovoce.errors import DataError, ParameterError

Label = str | int | float | bool

LARGEST_TARGET = 1e30


@final
@dataclass(frozen=True)
class Classes:
    """Declared labels. Two are encoded -1, +1 in their order; more by their index."""

    labels: tuple[Label, ...]

    @classmethod
    def declare(cls, labels: Sequence[Label]) -> Classes:
        if not isinstance(labels, list | tuple | np.ndarray):
            raise ParameterError('labels must be a tuple in a fixed order, such as (-1, 1) or ("no", "yes").')
        plain = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
        texts = all(isinstance(label, str) for label in plain)
        if not texts and not all(isinstance(label, int | float) and _is_finite(label) for label in plain):
            raise ParameterError("labels must be all text or all finite numbers (booleans count as 0 and 1).")
        if len(plain) < 2 or len(set(plain)) < len(plain):
            raise ParameterError(
                f"labels must be two or more, all distinct (1, 1.0 and True are one); got {plain!r}."
            )
        return cls(plain)

    @property
    def blank(self) -> float:
        """Code of the first label, given to rows that were made zero."""
        return -1.0 if len(self.labels) == 2 else 0.0

    def encode(self, y: NDArray[Any]) -> tuple[Vector, Mask]:
        """Codes, and which entries are declared."""
        text = isinstance(self.labels[0], str)
        if y.dtype.kind not in ("UTO" if text else "biufO"):
            raise DataError(
                f"labels are {'text' if text else 'numbers'} but y is not. Convert y or declare its labels."
            )
        codes = np.full(y.size, -1.0)
        if y.dtype.kind == "O":
            table = {label: index for index, label in enumerate(self.labels)}
            codes[:] = [_look_up(table, entry) for entry in y]
        else:
            for index, label in enumerate(self.labels):
                codes[y == label] = index
        usable = codes >= 0.0
        return (2.0 * codes - 1.0 if len(self.labels) == 2 else codes), usable


@final
@dataclass(frozen=True)
class Range:
    """Declared range of a regression target; numbers outside it are clipped to it."""

    low: float
    high: float

    @classmethod
    def declare(cls, target: tuple[float, float]) -> Range:
        with suppress(TypeError, ValueError, OverflowError):
            low, high = (float(bound) for bound in target)
            if -LARGEST_TARGET <= low < high <= LARGEST_TARGET:
                return cls(low, high)
        raise ParameterError(
            f"target must be (low, high), two numbers with low < high, neither beyond {LARGEST_TARGET:g}. "
            "Change the unit if it must be larger."
        )

    @property
    def blank(self) -> float:
        """The number of the range nearest to 0, given to rows that were made zero."""
        return min(max(0.0, self.low), self.high)

    def encode(self, y: NDArray[Any]) -> tuple[Vector, Mask]:
        """Numbers within the range, and which entries were finite."""
        if y.dtype.kind not in "biuf":
            raise DataError("a regression target must hold real numbers. Convert it with y.astype(float).")
        with np.errstate(all="ignore"):
            numbers = y.astype(np.float64)
        return np.clip(numbers, self.low, self.high), np.isfinite(numbers)


def _is_finite(label: float) -> bool:
    with suppress(OverflowError):
        return math.isfinite(label)
    return False


def _look_up(table: dict[Label, int], entry: Any) -> int:
    """-1 for what is undeclared, cannot be hashed or fails to compare: whatever it raises may quote data."""
    with suppress(Exception):
        return table.get(entry, -1)
    return -1
