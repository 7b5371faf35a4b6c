"""Marginals: how the records of a table spread over each declared column, released once for all columns.

Every number is read as the bin of its declared range that it falls into, every category as its level. One
record then has one indicator in each of d columns: the shares of all columns are one mean of rows of length
sqrt(d), and cost what one such mean costs, whatever the number of bins."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy import fft
from scipy.optimize import isotonic_regression

from sottovoce.arrays import Vector
from sottovoce.data.columns import Column
from sottovoce.data.layout import RowLayout
from sottovoce.data.numbers import Binned, Numeric, Spline
from sottovoce.data.schema import Schema
from sottovoce.errors import DataError

if TYPE_CHECKING:
    from sottovoce.queries import Answer

BINS = 64
"""Bins of a number's range. Noise in the cumulated shares grows with its root; 64 resolve knots to 2 %."""

_SURELY = 4.0


@final
@dataclass(frozen=True)
class Marginal:
    """Noisy shares of the records in each bin or level of a column, and of those where it is missing.

    `edges` are the ends of the bins in the column's own units; empty for levels. `noise` is the standard
    deviation of the privacy noise in each share. Shares need not be positive nor add up to 1."""

    name: str
    edges: tuple[float, ...]
    shares: tuple[float, ...]
    noise: float
    missing: float | None = None

    @cached_property
    def law(self) -> Vector:
        """Share of the known numbers below each edge: from 0 to 1, never falling.

        Shares are cosines over the bins, each with the noise of one share: of every cosine as much is kept as
        stands out of it, its energy being the mean with its two neighbours'. A smooth spread keeps the first
        few, and with them a small part of the noise; one with spikes keeps all. What is cumulated is made
        increasing."""
        total = sum(self.shares)
        if not total > 0.0:
            return np.linspace(0.0, 1.0, len(self.edges))
        waves = fft.dct(np.array(self.shares) / total, norm="ortho")
        energy = np.convolve(np.pad(waves[1:] ** 2, 1, mode="edge"), np.full(3, 1.0 / 3.0), mode="valid")
        waves[1:] *= np.maximum(0.0, 1.0 - (self.noise / total) ** 2 / np.maximum(energy, 1e-300))
        below = np.concatenate([[0.0], np.cumsum(fft.idct(waves, norm="ortho"))])
        rising: Vector = np.clip(isotonic_regression(below).x, 0.0, 1.0)
        rising[0], rising[-1] = 0.0, 1.0
        return rising

    @property
    def is_piled(self) -> bool:
        """Whether one bin of a number surely holds more than half of the records: by four standard errors."""
        return bool(self.edges) and max(self.shares) - _SURELY * self.noise > 0.5 * max(sum(self.shares), 0.0)

    def fits(self, column: Column) -> bool:
        """Whether it can be that of this column: a share for every bin or level, of finite numbers."""
        known = isinstance(column, Numeric | Spline)
        levels = len(self.edges) - 1 if known else len(column.features) - column.indicator
        numbers = [*self.edges, *self.shares, self.noise, *([] if self.missing is None else [self.missing])]
        return (
            _has_marginal(column)
            and bool(self.edges) == known
            and len(self.shares) == levels > 0
            and all(low < high for low, high in pairwise(self.edges))
            and (self.missing is not None) == column.indicator
            and all(map(math.isfinite, numbers))
            and self.noise >= 0.0
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: Any) -> Marginal:
        try:
            return cls(
                str(raw["name"]),
                tuple(map(float, raw["edges"])),
                tuple(map(float, raw["shares"])),
                float(raw["noise"]),
                None if raw["missing"] is None else float(raw["missing"]),
            )
        except (KeyError, TypeError, ValueError):
            raise DataError("the marginals of this model file are damaged. Fit the model again.") from None


def coded(schema: Schema) -> Schema:
    """The schema whose encoded features are the indicators of bins and levels, and the constant.

    A column that is neither cut into bins nor made of indicators, the year of a date, is left out."""
    columns = tuple(_coded(column) for column in schema.columns if _has_marginal(column))
    return replace(schema, columns=columns, interactions=())


def left_out(schema: Schema) -> Schema | None:
    """The schema of the columns that `coded` leaves out, None where there are none.

    A table that cannot be read by it is refused before the first charge, not once marginals are asked."""
    apart = tuple(column for column in schema.columns if not _has_marginal(column))
    return replace(schema, columns=apart, interactions=()) if apart else None


def _has_marginal(column: Column) -> bool:
    return column.one_hot or isinstance(column, Numeric | Spline)


def _coded(column: Column) -> Column:
    if not isinstance(column, Numeric | Spline):
        return column
    inner = bin_edges(column)[1:-1]
    return Binned(column.name, inner, missing=column.missing, indicator=column.indicator)


def bin_edges(column: Numeric | Spline) -> tuple[float, ...]:
    """Ends of the bins of a number: even over its declared range, after its transform if it has one."""
    return tuple(dict.fromkeys(column.at(np.linspace(0.0, 1.0, BINS + 1)).tolist()))


def read_off(schema: Schema, answer: Answer[Vector]) -> tuple[Marginal, ...]:
    """The marginals in a noisy mean of the rows that `coded(schema)` encodes."""
    layout = RowLayout.of(coded(schema))
    found = []
    columns = filter(_has_marginal, schema.columns)
    for column, (start, stop) in zip(columns, layout.indicators, strict=True):
        shares = (answer.value[start:stop] / layout.unit).tolist()
        missing = shares.pop() if column.indicator else None
        edges = bin_edges(column) if isinstance(column, Numeric | Spline) else ()
        found.append(Marginal(column.name, edges, tuple(shares), answer.scale / layout.unit, missing))
    return tuple(found)
