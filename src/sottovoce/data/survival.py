"""Time to event on a declared grid: a record becomes a row for each interval in which it is at risk.

The hazard of an interval, the chance of the event among those who reach it, has a linear logit or
complementary log-log, so that the likelihood is that of a model of two classes over these rows. Each row
counts 1/K of its person, K the number of intervals, or 1/m where a person has m > K rows: the rows of the
likelihood count alike, and no person counts more than 1 in any sum (`Persons.shares`). Rows are made chunk
by chunk while a table is read, from one record at a time; grid and horizon are public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data import cells
from sottovoce.data.cell import Label
from sottovoce.data.sources import Chunk, Source
from sottovoce.data.targets import Classes
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.data.schema import Schema

INTERVAL, PERSON, AT_RISK = "interval", "sottovoce person", "sottovoce rows at risk"
LINKS = ("logit", "cloglog")
HAPPENED = ("no", "yes")
"""Classes of the rows of a time to event, whatever the table calls them."""
MOST_INTERVALS = 200


@final
@dataclass(frozen=True)
class Survival:
    """`time` is the column of when the event happened or a record was last seen, from 0 on; `grid` has the
    ends of the intervals, the last of which is the horizon; `entry` is the column of when it came under
    observation (left truncation), 0 unless said; `link` of the hazard: "logit", or "cloglog", with which
    coefficients are logarithms of hazard ratios. `events` are the two values of the event's column: that it
    did not happen, and that it did."""

    time: str
    grid: tuple[float, ...]
    entry: str | None = None
    link: str = LINKS[0]
    events: tuple[Label, ...] = HAPPENED

    def __post_init__(self) -> None:
        where = "survival: grid"
        if not isinstance(self.grid, list | tuple) or not 1 <= len(self.grid) <= MOST_INTERVALS:
            raise ParameterError(
                f"{where} must hold the ends of 1 to {MOST_INTERVALS} intervals.", argument=where
            )
        numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in self.grid)
        if not numbers or any(not low < high < 1e30 for low, high in pairwise((0, *self.grid))):
            raise ParameterError(
                f"{where} must hold numbers above 0, each larger than the one before.", argument=where
            )
        object.__setattr__(self, "grid", tuple(map(float, self.grid)))
        object.__setattr__(self, "events", Classes.declare(self.events).labels)
        if len(self.events) != 2:
            raise ParameterError("survival: classes must be two, that it did not happen and that it did.")
        if self.link not in LINKS:
            raise ParameterError(f"survival: link must be one of {', '.join(LINKS)}.")
        if len(set(self.intervals)) < len(self.grid):
            raise ParameterError(f"{where} has ends that are written alike. Change the unit.")

    @property
    def intervals(self) -> tuple[str, ...]:
        """Names of the intervals."""
        return tuple(f"to {end:g}" for end in self.grid)

    @property
    def columns(self) -> tuple[str, ...]:
        """What is read of a record besides the event."""
        return (self.time,) if self.entry is None else (self.time, self.entry)

    def at_risk(self, since: Vector, until: Vector, happened: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Records by intervals: an interval counts from its start on for who was under observation by then,
        has not left before it ends, and was not struck before it starts. An event at time 0, as where days or
        months are rounded down, lies in the first interval."""
        ends = np.array(self.grid)
        starts = np.array([0.0, *self.grid[:-1]])
        reached = (starts < until[:, None]) | ((starts == 0.0) & (until[:, None] == 0.0))
        inside = (starts >= since[:, None]) & reached
        return np.asarray(inside & (happened[:, None] | (ends <= until[:, None])))


@final
class Periods(Source):
    """A source whose records are rows of intervals at risk; where no person is named, each record is one.

    One that has no interval at risk keeps a row that counts 0, one without a usable time or event a row
    without a label: a record makes rows of its own and no others, and how many records there are is kept."""

    def __init__(self, source: Source, schema: Schema) -> None:
        assert schema.target is not None
        assert schema.target.survival is not None
        self._source, self._schema, self._aim = source, schema, schema.target
        self._survival: Survival = schema.target.survival
        self.typed = source.typed  # type: ignore[misc]  # as the source that it wraps
        self.records = 0

    @property
    def names(self) -> tuple[str, ...]:
        return (*self._source.names, INTERVAL, PERSON, AT_RISK)

    def require_whole(self) -> None:
        self._source.require_whole()

    def chunks(self, wanted: tuple[str, ...]) -> Iterator[Chunk]:
        made = {INTERVAL, PERSON, AT_RISK}
        weights = () if self._schema.weight is None else (self._schema.weight,)
        needed = (*self._survival.columns, self._aim.name, *weights, *wanted)
        needed = tuple(dict.fromkeys(name for name in needed if name not in made))
        for rows, column_of in self._source.chunks(needed):
            yield self._expanded(rows, column_of)
            self.records += rows

    def _read(self, wanted: tuple[str, ...]) -> Iterator[Chunk]:
        return self.chunks(wanted)

    def _expanded(self, n: int, column_of: Callable[[str], Any]) -> Chunk:
        schema, survival, aim = self._schema, self._survival, self._aim
        if self.typed:
            from sottovoce.data.encoding import require_type

            for name in (*survival.columns, aim.name):
                require_type(column_of(name), schema, name)
        until = schema.numbers(column_of(survival.time))
        since = np.zeros(n) if survival.entry is None else schema.numbers(column_of(survival.entry))
        codes = schema.reading(aim).codes(column_of(aim.name), survival.events)
        usable = np.isfinite(until) & (until >= 0.0) & np.isfinite(since) & (codes >= 0)
        happened = np.asarray(codes == 1)
        inside = survival.at_risk(since, until, happened) & usable[:, None]
        counted = np.asarray(inside.any(axis=1))
        inside[~counted, 0] = True
        owners, places = np.nonzero(inside)
        ends = np.array(survival.grid)[places]
        struck = counted[owners] & happened[owners] & (until[owners] <= ends)
        weights: Vector = counted.astype(np.float64)
        if schema.weight is not None:
            weights = np.asarray(np.where(counted, schema.numbers(column_of(schema.weight)), 0.0))
        labels = np.array([*HAPPENED, None], dtype=object)
        first = self.records
        built: dict[str, Callable[[], Any]] = {
            INTERVAL: lambda: np.array(survival.intervals)[places],
            PERSON: lambda: first + owners,
            AT_RISK: lambda: weights[owners],
            aim.name: lambda: labels[np.where(usable[owners], struck.astype(np.intp), 2)],
        }

        def expanded(name: str) -> Any:
            return built[name]() if name in built else taken(column_of(name), owners)

        return len(owners), expanded


def taken(column: Any, places: NDArray[np.intp]) -> Any:
    """The cells of a column at these places, as they are."""
    column = cells.unwrapped(column)
    if isinstance(column, cells.Coded):
        return cells.Coded(column.values, column.places[places])
    if isinstance(column, np.ndarray):
        return column[places]
    import pyarrow as pa

    if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
        column = column.cast(pa.large_binary())  # Arrow takes nothing from views; bytes are read as text is
    return column.take(pa.array(places))


@final
class AtInterval(Source):
    """A table whose rows are all at risk in one interval."""

    def __init__(self, source: Source, interval: str) -> None:
        self._source, self._interval = source, interval

    @property
    def names(self) -> tuple[str, ...]:
        return (*(name for name in self._source.names if name != INTERVAL), INTERVAL)

    def chunks(self, wanted: tuple[str, ...]) -> Iterator[Chunk]:
        others = tuple(name for name in wanted if name != INTERVAL)
        for rows, column_of in self._source.chunks(others):
            yield rows, self._at(rows, column_of)

    def _read(self, wanted: tuple[str, ...]) -> Iterator[Chunk]:
        return self.chunks(wanted)

    def _at(self, rows: int, column_of: Callable[[str], Any]) -> Callable[[str], Any]:
        return lambda name: np.full(rows, self._interval) if name == INTERVAL else column_of(name)
