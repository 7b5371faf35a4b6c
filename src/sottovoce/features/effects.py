"""What each column adds to the score: a curve of a number, a level of each category. Asks nothing more.

Effects are read off released weights and released marginals, so they cost nothing. Each is centred: over the
records, as its marginal spreads them, it adds nothing on average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.columns import Column
from sottovoce.data.numbers import Numeric, Spline

if TYPE_CHECKING:
    from sottovoce.features.marginals import Marginal
    from sottovoce.model import Model

POINTS = 101

LEVEL = 0.95
"""Confidence of the intervals at each place."""

OTHER, _SURELY = "none of these", 4.0
"""The level of records without any that is declared; listed beside several if surely there are such: by so
many standard errors of their share."""


@final
@dataclass(frozen=True, eq=False)
class Effect:
    """What one column adds to the score, at numbers of its declared range or at each of its levels.

    `noise` is about how far the noise for privacy moves each value (sd), None where that is not known; the
    chance of the sample comes on top. `interval`, of fits with inference and one output, has the lower and
    upper end of a 95 % interval at each of them, with both kinds of noise; NaN where none is determined.
    `importance` is the standard deviation of the effect over the records,
    as the marginal spreads them: in `shares` over the levels, or the bins and what is missing;
    `importance_noise` is the root mean square of the noise over the same records. `output` names the class
    whose score it is, where there are several."""

    column: str
    places: Vector | None
    levels: tuple[str, ...]
    values: Vector
    noise: Vector | None
    importance: float
    importance_noise: float | None
    shares: Vector
    marginal: Marginal
    output: str = ""
    interval: Matrix | None = None

    @property
    def is_curve(self) -> bool:
        return self.places is not None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a table of the same."""
        return {
            "column": self.column,
            "output": self.output,
            "at": list(self.levels) if self.places is None else self.places.tolist(),
            "effect": self.values.tolist(),
            "noise": None if self.noise is None else self.noise.tolist(),
            **({} if self.interval is None else {"interval": _listed(self.interval)}),
            "importance": self.importance,
            "importance_noise": self.importance_noise,
        }


@final
@dataclass(frozen=True, eq=False)
class Surface:
    """What two columns add to the score together, beyond what each adds by itself: `values` at `places` of
    both, rows being the first's. Over the records of either column, as its marginal spreads them, it adds
    nothing on average. `importance` is its standard deviation over records of independent columns."""

    columns: tuple[str, str]
    places: tuple[Vector | None, Vector | None]
    values: Matrix
    importance: float
    output: str = ""


def effects(model: Model) -> tuple[Effect, ...]:
    """Effects of all columns that have a marginal, the most important first. What a column does together with
    another is counted on average over the other's marginal; the rest is in `surfaces`."""
    by_name = {marginal.name: marginal for marginal in model.marginals}
    weights, unit = model.weights, model.scale[1] * model.schema.unit
    outputs, common = _outputs(model)
    columns = {column.name: column for column in model.schema.columns}
    known = {name: _Shown.of(columns[name], marginal) for name, marginal in by_name.items()}
    found = []
    for column in model.schema.columns:
        if column.name in by_name:
            shown = known[column.name]
            block, spread = (
                unit * _widened(model, column.name, rows - shown.middle, known)
                for rows in (shown.basis, shown.over_records)
            )
            sd, over = (_noise(model, rows) for rows in (block, spread))
            interval = _interval(model, block)
            hidden = None if over is None else math.sqrt(float(shown.shares @ over**2))
            for output, own in zip(outputs, weights - common, strict=True):
                importance = math.sqrt(float(shown.shares @ (spread @ own) ** 2))
                found.append(
                    Effect(
                        column.name,
                        shown.places,
                        shown.levels,
                        block @ own,
                        sd,
                        importance,
                        hidden,
                        shown.shares,
                        by_name[column.name],
                        output,
                        interval,
                    )
                )
    return tuple(sorted(found, key=lambda effect: -effect.importance))


def _noise(model: Model, rows: Matrix) -> Vector | None:
    """How far the noise moves what each of these rows scores (sd), None where that is not known."""
    sd = model.result.noise.of_terms(rows, 1)
    return None if sd is None or np.isnan(sd).any() else sd


def _interval(model: Model, rows: Matrix) -> Matrix | None:
    """Ends of the 95 % interval of what each of these rows scores; None without inference, and where each of
    several outputs has a score of its own."""
    if model.result.inference is None or len(model.weights) > 1:
        return None
    from sottovoce.results.inference.summary import predicted

    return predicted(model.result.inference, model.terms(), rows, LEVEL)[:, 1:]


def _listed(interval: Matrix) -> list[list[float] | None]:
    return [ends.tolist() if np.isfinite(ends).all() else None for ends in interval]


def surfaces(model: Model) -> tuple[Surface, ...]:
    """What pairs of columns that have marginals do together, the most important first."""
    columns = {column.name: column for column in model.schema.columns}
    known = {marginal.name: _Shown.of(columns[marginal.name], marginal) for marginal in model.marginals}
    unit, (outputs, common) = model.scale[1] * model.schema.unit, _outputs(model)
    found = []
    for (first, second), part in _pairs(model).items():
        if first in known and second in known:
            one, other = known[first], known[second]
            for output, own in zip(outputs, model.weights - common, strict=True):
                held = unit * own[part].reshape(one.middle.size, other.middle.size)
                values = (one.basis - one.middle) @ held @ (other.basis - other.middle).T
                over = (one.over_records - one.middle) @ held @ (other.over_records - other.middle).T
                importance = math.sqrt(float(one.shares @ over**2 @ other.shares))
                found.append(Surface((first, second), (one.places, other.places), values, importance, output))
    return tuple(sorted(found, key=lambda surface: -surface.importance))


def _outputs(model: Model) -> tuple[tuple[str, ...], Vector]:
    """Names of the outputs, and what their weights have in common, which predicts nothing."""
    if len(model.weights) == 1:
        return ("",), np.zeros(model.weights.shape[1])
    return tuple(map(str, model.classes_)), model.weights.mean(axis=0)


def _pairs(model: Model) -> dict[tuple[str, str], slice]:
    """Where the features of each interaction are."""
    widths = {column.name: len(column.features) for column in model.schema.columns}
    place, found = sum(widths.values()), dict[tuple[str, str], slice]()
    for first, second in model.schema.interactions:
        found[first, second] = slice(place, place + widths[first] * widths[second])
        place = found[first, second].stop
    return found


def _widened(model: Model, name: str, rows: Matrix, known: dict[str, _Shown]) -> Matrix:
    """Rows of all features: of a column's own `rows`, and of these times the other's mean in each pair."""
    block, place = np.zeros((len(rows), model.weights.shape[1])), 0
    for column in model.schema.columns:
        if column.name == name:
            block[:, place : place + rows.shape[1]] = rows
        place += len(column.features)
    for (first, second), part in _pairs(model).items():
        if name == first and second in known:
            block[:, part] = np.kron(rows, known[second].middle)
        elif name == second and first in known:
            block[:, part] = np.kron(known[first].middle, rows)
    return block


@final
@dataclass(frozen=True, eq=False)
class Contributions:
    """What each column adds to the score of each row: `values`, rows by outputs by `columns`, and
    `constants`, an output each. Together they are the score, or the predicted number; of counts, its
    logarithm.

    Columns that have a marginal add nothing on average over the records, as it spreads them. A pair of
    columns in a declared interaction is a column of its own, "first x second"."""

    columns: tuple[str, ...]
    outputs: tuple[str, ...]
    values: Matrix
    constants: Vector

    @property
    def scores(self) -> Matrix:
        """Rows by outputs."""
        return np.asarray(self.constants + self.values.sum(axis=2))

    def of_row(self, row: int, output: int = -1) -> dict[str, float]:
        """By column, the largest first, of one row and output; the last unless said."""
        found = self.values[row, output]
        return {
            self.columns[place]: float(found[place]) for place in np.argsort(-np.abs(found), kind="stable")
        }


def contributions(model: Model, table: Any) -> Contributions:
    """Contributions for rows of a table; exact functions of these rows, for their owner only."""
    from sottovoce.data.encoding import encoded_table

    by_name = {marginal.name: marginal for marginal in model.marginals}
    middle, unit = model.scale
    weights = unit * model.weights
    features = encoded_table(model.schema, table, np.float64)
    widths = {column.name: len(column.features) for column in model.schema.columns}
    blocks = list(widths.items())
    blocks += [(f"{a} x {b}", widths[a] * widths[b]) for a, b in model.schema.interactions]
    columns = {column.name: column for column in model.schema.columns}
    centres, place = np.zeros(weights.shape[1]), 0
    values = np.empty((len(features), len(weights), len(blocks)))
    for number, (name, width) in enumerate(blocks):
        part = slice(place, place + width)
        if name in by_name:
            centres[part] = model.schema.unit * _Shown.of(columns[name], by_name[name]).middle
        values[:, :, number] = (features[:, part] - centres[part]) @ weights[:, part].T
        place += width
    constants = middle + model.schema.unit * weights[:, -1] + weights @ centres
    outputs = tuple(map(str, model.classes_)) if len(weights) > 1 else (_only_output(model),)
    return Contributions(tuple(name for name, _ in blocks), outputs, values, constants)


def _only_output(model: Model) -> str:
    assert model.schema.target is not None
    return str(model.classes_[1]) if model.is_classifier else model.schema.target.name


@final
@dataclass(frozen=True, eq=False)
class _Shown:
    """Features of a column where its effect is shown, and where its records are, in what shares."""

    places: Vector | None
    levels: tuple[str, ...]
    basis: Matrix
    over_records: Matrix
    shares: Vector

    @property
    def middle(self) -> Vector:
        """Mean features of the records."""
        found: Vector = self.shares @ self.over_records
        return found

    @classmethod
    def of(cls, column: Column, marginal: Marginal) -> _Shown:
        width, absent = len(column.features), () if marginal.missing is None else (marginal.missing,)
        counted = np.maximum([*marginal.shares, *absent], 0.0)
        if not marginal.edges:
            levels = tuple(name.removeprefix(f"{column.name}=") for name in column.features)
            others = 0.0 if absent else max(1.0 - float(counted.sum()), 0.0)
            rows = np.eye(width)
            if width == 1 or others > _SURELY * marginal.noise * math.sqrt(width):
                levels, counted = (*levels, OTHER), np.append(counted, others)
                rows = np.vstack([rows, np.zeros(width)])
            return cls(None, levels, rows, rows, _normalized(counted))
        assert isinstance(column, Numeric | Spline)
        edges = np.array(marginal.edges)
        places = column.at(np.linspace(0.0, 1.0, POINTS))
        basis = _with_absent(column.basis(places.copy()), width)
        over = _with_absent(column.basis((edges[1:] + edges[:-1]) / 2.0), width)
        if absent:
            over = np.vstack([over, np.eye(1, width, width - 1)])
        return cls(places, (), basis, over, _normalized(counted))


def _normalized(counted: Vector) -> Vector:
    total = float(counted.sum())
    return counted / total if total > 0.0 else np.full(counted.size, 1.0 / counted.size)


def _with_absent(basis: Matrix, width: int) -> Matrix:
    """Features of known numbers beside the one that says a number is missing."""
    return np.hstack([basis, np.zeros((len(basis), width - basis.shape[1]))])


_BARS = " ▁▂▃▄▅▆▇█"


def sparklines(found: tuple[Effect, ...], pairs: tuple[Surface, ...] = (), width: int = 24) -> str:
    """A line a column for a terminal: its effect from low to high, and how much it matters; then pairs."""
    long = max((len(_called(effect)) for effect in found), default=0)
    lines = [f"{'':{long}}  {'effect, low to high':{width}}  {'spread':>8}  {'noise':>8}"]
    for effect in found:
        noise = "" if effect.importance_noise is None else f"{effect.importance_noise:.2g}"
        drawn = _drawn(effect, width)
        lines.append(f"{_called(effect):{long}}  {drawn:{width}}  {effect.importance:>8.3g}  {noise:>8}")
    if pairs:
        named = [f"{' x '.join(pair.columns)} ({pair.importance:.3g})" for pair in pairs]
        lines.append(f"beyond that, together (spread): {', '.join(named)}")
    lines.append(
        "sd over the records: spread, of what a column adds to the score; noise, of the privacy noise in it"
    )
    return "\n".join(lines)


def _called(effect: Effect) -> str:
    return f"{effect.output}: {effect.column}" if effect.output else effect.column


def _drawn(effect: Effect, width: int) -> str:
    values = effect.values
    if effect.is_curve:
        values = values[np.linspace(0, values.size - 1, width).astype(int)]
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-12:
        return _BARS[1] * min(width, values.size)
    heights = np.rint((values - low) / (high - low) * (len(_BARS) - 2)).astype(int) + 1
    return "".join(_BARS[height] for height in heights[:width])
