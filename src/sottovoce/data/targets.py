"""What y may hold, as declared without looking at it: a set of labels or a range of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from sottovoce.arrays import Mask, Vector
from sottovoce.data import cells
from sottovoce.data.cell import Label, number
from sottovoce.errors import ParameterError

LARGEST_TARGET = 1e30


@final
@dataclass(frozen=True)
class Classes:
    """Declared labels. Two are encoded -1, +1 in their order; more by their index."""

    labels: tuple[Label, ...]

    @classmethod
    def declare(cls, labels: Sequence[Label]) -> Classes:
        if not isinstance(labels, list | tuple | np.ndarray):
            raise ParameterError(
                'labels must be a tuple in a fixed order, such as (-1, 1) or ("no", "yes").',
                argument="labels",
            )
        plain = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
        texts = all(isinstance(label, str) for label in plain)
        if not texts and not all(isinstance(label, int | float) and _is_finite(label) for label in plain):
            raise ParameterError(
                "labels must be all text or all finite numbers (booleans count as 0 and 1).",
                argument="labels",
            )
        distinct = set(plain) if texts else {number(label) for label in plain}
        if len(plain) < 2 or len(distinct) < len(plain):
            raise ParameterError(
                "labels must be two or more, all distinct as float64 (1, 1.0 and True are one, and so are "
                "some integers beyond 2^53: write such labels as text).",
                argument="labels",
            )
        return cls(plain)

    @property
    def blank(self) -> float:
        """Code of the first label, given to rows that were made zero."""
        return -1.0 if len(self.labels) == 2 else 0.0

    def encode(self, y: Any) -> tuple[Vector, Mask]:
        """Codes, label by label, and which entries are declared."""
        codes = cells.codes(y, self.labels).astype(np.float64)
        usable = codes >= 0.0
        return (2.0 * codes - 1.0 if len(self.labels) == 2 else codes), usable

    def places(self, encoded: Vector) -> cells.Codes:
        """Positions among the labels, of codes of `encode`."""
        return ((encoded + 1.0) / 2.0 if len(self.labels) == 2 else encoded).astype(np.intp)


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
            "Change the unit if it must be larger.",
            argument="target",
        )

    @property
    def blank(self) -> float:
        """The number of the range nearest to 0, given to rows that were made zero."""
        return min(max(0.0, self.low), self.high)

    def encode(self, y: Any) -> tuple[Vector, Mask]:
        """Numbers within the range, one by one, and which entries were finite."""
        numbers = cells.numbers(y)
        return np.clip(numbers, self.low, self.high), np.isfinite(numbers)

    def places(self, encoded: Vector) -> cells.Codes:
        """No number has a class."""
        return np.full(len(encoded), -1, dtype=np.intp)


def _is_finite(label: float) -> bool:
    with suppress(OverflowError):
        return math.isfinite(label)
    return False
