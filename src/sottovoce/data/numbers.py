"""Columns of numbers: scaled, transformed, cut into bins or spread over cubics, by declared constants."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data.columns import Indicators, Number, declared_number
from sottovoce.data.reading import Reading
from sottovoce.errors import ParameterError

TRANSFORMS = {"log1p": np.log1p, "sqrt": np.sqrt}
"""Monotone functions by name, from which number on they may be taken, and the way back."""
_LEAST = {"log1p": -1.0 + 1e-9, "sqrt": 0.0}
_BACK = {"log1p": np.expm1, "sqrt": np.square}

SHAPES = ("linear", "curve")
DIRECTIONS = ("up", "down")


@dataclass(frozen=True)
class _Directed(Number):
    """A number whose effect may be declared `monotone`, "up" or "down": what was trained is then projected,
    so that the score of the second class, the number or the expected count never falls, or never rises, as
    the column grows."""

    monotone: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_among(self, "monotone", DIRECTIONS)

    def _extras(self) -> dict[str, Any]:
        return ({} if self.monotone is None else {"monotone": self.monotone}) | super()._extras()


@dataclass(frozen=True)
class _Ranged(_Directed):
    """A number between `low` and `high`, those outside clipped, seen through a monotone `transform`."""

    low: float
    high: float
    transform: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_range(self)
        if self.transform is not None and self.transform not in TRANSFORMS:
            raise ParameterError(
                f"column {self.name!r}: transform must be {' or '.join(map(repr, TRANSFORMS))}."
            )
        if self.transform is not None and self.low < _LEAST[self.transform]:
            raise ParameterError(
                f"column {self.name!r}: {self.transform} needs low at least {round(_LEAST[self.transform])}"
                f"{', excluded' if self.transform == 'log1p' else ''}."
            )

    def transformed(self, values: Any) -> Vector:
        """The transform of numbers within the range."""
        return np.asarray(values if self.transform is None else TRANSFORMS[self.transform](values))

    def at(self, parts: Vector) -> Vector:
        """The numbers at these parts of the range, which is counted after the transform: 0 is low, 1 high."""
        low, high = self.transformed(np.array([self.low, self.high]))
        found = self.back(low + parts * (high - low))
        return np.where(parts <= 0.0, self.low, np.where(parts >= 1.0, self.high, found))

    def back(self, values: Vector) -> Vector:
        """The numbers whose transforms these are."""
        return values if self.transform is None else np.asarray(_BACK[self.transform](values))

    @property
    def _seen(self) -> str:
        return self.name if self.transform is None else f"{self.transform}({self.name})"


@final
@dataclass(frozen=True)
class Numeric(_Ranged):
    """A number between `low` and `high`, those outside clipped, mapped to [-1, 1].

    t = transform(clip(x)); the feature is (t - centre) / scale, clipped to [-1, 1]. Without `centre` and
    `scale`, which are in units of t, it runs from -1 at low to 1 at high. A missing number gives 0. `shape`
    "linear" keeps it a line in models that bend, "curve" makes it a curve in all of them."""

    centre: float | None = field(default=None, kw_only=True)
    scale: float | None = field(default=None, kw_only=True)
    shape: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_among(self, "shape", SHAPES)
        if self.shape == "curve" and not (self.centre is None and self.scale is None):
            raise ParameterError(
                f"column {self.name!r}: a centre or scale is that of a line: leave it out, or the shape."
            )
        for name in ("centre", "scale"):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, declared_number(given, f"column {self.name!r}: {name}"))
        if self.scale is not None and not self.scale >= 1e-30:
            raise ParameterError(f"column {self.name!r}: scale must be above 0.")

    @cached_property
    def constants(self) -> tuple[float, float]:
        """What is subtracted after the transform, and then divided by."""
        low, high = (float(self.transformed(np.array([bound]))[0]) for bound in (self.low, self.high))
        middle = low / 2.0 + high / 2.0 if self.centre is None else self.centre
        return middle, high / 2.0 - low / 2.0 if self.scale is None else self.scale

    def basis(self, values: Vector) -> NDArray[np.float64]:
        middle, reach = self.constants
        with np.errstate(all="ignore"):
            moved = self.transformed(np.clip(values, self.low, self.high))
            moved -= middle
            moved /= reach
            return np.clip(moved, -1.0, 1.0, out=moved)[:, None]

    def to_dict(self) -> dict[str, Any]:
        chosen = {name: getattr(self, name) for name in ("transform", "centre", "scale", "shape")}
        given = {name: value for name, value in chosen.items() if value is not None}
        return {"type": "numeric", "low": self.low, "high": self.high, **given, **self._extras()}

    def _named(self) -> tuple[str, ...]:
        return (self._seen,)


@final
@dataclass(frozen=True)
class Binned(Indicators, Number):
    """A number by the bin it falls into: below the first edge, from one edge to the next, from the last.

    Coefficients of the others are compared with that of the bin that holds `reference`, else of the first."""

    edges: tuple[float, ...]
    reference: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        _set_increasing(self, "edges")
        if self.reference is not None:
            where = f"column {self.name!r}: reference, a number in the bin to compare with,"
            object.__setattr__(self, "reference", declared_number(self.reference, where))

    def basis(self, values: Vector) -> NDArray[np.float64]:
        return np.asarray(self._bins(values)[:, None] == np.arange(len(self.edges) + 1), dtype=np.float64)

    def places(self, held: Any, reading: Reading) -> NDArray[np.intp]:
        values = reading.numbers(held)
        absent = len(self.edges) + 1 if self.indicator else -1
        return np.where(np.isnan(values), absent, self._bins(values))

    def _bins(self, values: Vector) -> NDArray[np.intp]:
        return np.searchsorted(np.array(self.edges), values, side="right")

    def to_dict(self) -> dict[str, Any]:
        chosen = {} if self.reference is None else {"reference": self.reference}
        return {"type": "binned", "edges": list(self.edges), **chosen, **self._extras()}

    def _named(self) -> tuple[str, ...]:
        ends = _told_apart(self.edges)
        inner = [f"{self.name} {low} to {high}" for low, high in pairwise(ends)]
        return (f"{self.name} below {ends[0]}", *inner, f"{self.name} from {ends[-1]}")


def _told_apart(edges: tuple[float, ...]) -> list[str]:
    """Numbers by six digits, or by as many more as it takes for no two to be written alike."""
    for digits in (6, 9, 12):
        ends = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(ends)) == len(ends):
            return ends
    return [repr(float(edge)) for edge in edges]


@final
@dataclass(frozen=True)
class Spline(_Ranged):
    """A smooth curve of a number: cubic B-splines over low, the declared knots and high, of t =
    transform(clip(x)), which is where the curve bends; knots are in units of x.

    The features of a number are at least 0 and sum to 1, so their norm is at most 1, whatever t is. Beyond
    low and high the knots go on in steps of the first and last gap."""

    knots: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        _set_increasing(self, "knots")
        if not (self.low < self.knots[0] and self.knots[-1] < self.high):
            raise ParameterError(f"column {self.name!r}: knots must lie between low and high.")
        if any(left >= right for left, right in pairwise(self.breaks)):
            raise ParameterError(f"column {self.name!r}: knots must increase after the {self.transform}.")

    @cached_property
    def breaks(self) -> tuple[float, ...]:
        """Where one cubic of t ends and the next begins, the ends of the range included."""
        return tuple(self.transformed(np.array([self.low, *self.knots, self.high])).tolist())

    @cached_property
    def pieces(self) -> NDArray[np.float64]:
        """coefficients[piece, feature, power] of the distance from the piece's left break."""
        from scipy.interpolate import BSpline, PPoly

        breaks = np.array(self.breaks)
        first, last = breaks[1] - breaks[0], breaks[-1] - breaks[-2]
        knots = np.r_[breaks[0] - first * np.arange(3, 0, -1), breaks, breaks[-1] + last * np.arange(1, 4)]
        cubics = [PPoly.from_spline(BSpline(knots, one, 3)).c for one in np.eye(len(breaks) + 2)]
        return np.asarray(np.array(cubics)[:, ::-1, 3:-3].transpose(2, 0, 1))

    def basis(self, values: Vector) -> NDArray[np.float64]:
        breaks = np.array(self.breaks)
        inside = np.clip(np.nan_to_num(values, nan=self.low), self.low, self.high)
        inside = self.transformed(inside)
        places = np.searchsorted(breaks[1:-1], inside, side="right")
        step = (inside - breaks[places])[:, None]
        found = np.zeros((len(inside), len(breaks) + 2))
        for power in (3, 2, 1, 0):
            found = found * step + self.pieces[places, :, power]
        return np.asarray(np.maximum(found, 0.0) / np.maximum(found.sum(axis=1, keepdims=True), 1.0))

    def to_dict(self) -> dict[str, Any]:
        ends = {"type": "spline", "low": self.low, "high": self.high, "knots": list(self.knots)}
        chosen = {} if self.transform is None else {"transform": self.transform}
        return {**ends, **chosen, **self._extras()}

    def _named(self) -> tuple[str, ...]:
        return tuple(f"{self._seen} spline {place}" for place in range(1, len(self.breaks) + 3))


def _check_among(column: Any, name: str, words: tuple[str, ...]) -> None:
    if getattr(column, name) not in (None, *words):
        raise ParameterError(f"column {column.name!r}: {name} must be {' or '.join(map(repr, words))}.")


def _check_range(column: Any) -> None:
    where = f"column {column.name!r}: low and high"
    low, high = declared_number(column.low, where), declared_number(column.high, where)
    if not low / 2.0 < high / 2.0:
        raise ParameterError(f"column {column.name!r}: low={low:g} must be below high={high:g}.")
    object.__setattr__(column, "low", low)
    object.__setattr__(column, "high", high)


def _set_increasing(column: Any, name: str) -> None:
    given = getattr(column, name)
    if not isinstance(given, list | tuple) or not given:
        raise ParameterError(f"column {column.name!r}: {name} must be a list of one or more numbers.")
    numbers = tuple(declared_number(value, f"column {column.name!r}: {name}") for value in given)
    if any(low >= high for low, high in pairwise(numbers)):
        raise ParameterError(f"column {column.name!r}: {name} must increase.")
    object.__setattr__(column, name, numbers)
