"""What a page says about a model beyond its Result: all of it declared or public."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, final

if TYPE_CHECKING:
    from sottovoce.results.inference.summary import Summary


class Measured(NamedTuple):
    """A private figure of rows held out: its name, value, and the interval that holds the exact one;
    `remark` is what is to be said of it."""

    name: str
    value: float
    low: float
    high: float
    confidence: float
    n: int
    remark: str = ""


class SurvivalCurve(NamedTuple):
    """Chances to live past the ends of intervals, each with its lower and upper end; NaN where one is not
    determined."""

    name: str
    ends: tuple[float, ...]
    chances: tuple[tuple[float, float, float], ...]


class DrawnEffect(NamedTuple):
    """What a column adds to the score: at `places` of its range, or at `levels`, with the sd of its noise.

    `shares` are those of the records, between `edges` or at the levels; `interval` has the ends of the 95 %
    interval at each place or level, NaN where none is determined, and is empty without inference."""

    name: str
    places: tuple[float, ...]
    levels: tuple[str, ...]
    values: tuple[float, ...]
    noise: tuple[float, ...]
    importance: float
    edges: tuple[float, ...]
    shares: tuple[float, ...]
    interval: tuple[tuple[float, float], ...] = ()

    @property
    def band(self) -> tuple[tuple[float, float], ...]:
        """What is drawn about each value: its interval, or two standard deviations of its noise."""
        if self.interval or not self.noise:
            return self.interval
        return tuple((v - 2.0 * sd, v + 2.0 * sd) for v, sd in zip(self.values, self.noise, strict=True))


@final
@dataclass(frozen=True, kw_only=True)
class Card:
    """Names and versions. `unit` turns a weight into the effect of a full move of its feature.

    `outputs` names the blocks of weights, one a class, if there are several. `summary` is that of the
    coefficients in the units of the schema, where there is one. `account` says what the ledger's cap is, how
    much of it was spent and what is left, `audit` what an attack found; `timed`: of a time to an event."""

    dataset: str = ""
    features: tuple[str, ...] = ()
    unit: float | None = None
    outputs: tuple[str, ...] = ()
    target: str = ""
    schema_digest: str = ""
    trained: str = ""
    summary: Summary | None = None
    versions: dict[str, str] = field(default_factory=dict)
    purpose: str = ""
    contact: str = ""
    account: str = ""
    audit: str = ""
    measured: tuple[Measured, ...] = ()
    effects: tuple[DrawnEffect, ...] = ()
    pairs: tuple[tuple[str, float], ...] = ()
    survival: tuple[SurvivalCurve, ...] = ()
    timed: bool = False

    def names(self, count: int) -> list[str]:
        """A name for each of `count` weights, invented where none was declared."""
        outputs = self.outputs if len(self.outputs) > 1 else ("",)
        if len(self.features) * len(outputs) != count:
            return [f"weight {place}" for place in range(1, count + 1)]
        return [f"{output}: {name}" if output else name for output in outputs for name in self.features]
