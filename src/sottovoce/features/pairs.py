"""Which pairs of numbers act together: one noisy gradient over the products of all pairs, at an additive fit.

A product of two centred numbers is what two columns do together at first order; where the gradient along it
stands out of the noise, the pair gets a surface of its own: all products of the features of two short
splines. An interaction without any such part, in which both columns act by their distance from the middle, is
not noticed. The query is a gradient of the risk itself, bounded and charged like any other."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, final

import numpy as np

from sottovoce.data.columns import Column, Number
from sottovoce.data.layout import RowLayout
from sottovoce.data.numbers import Numeric, Spline
from sottovoce.errors import ParameterError
from sottovoce.features.curves import bends, spline
from sottovoce.features.selection import Bending, Gain, Gains, expected_gains, gradient_at, may_pay
from sottovoce.queries import Preconditioner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.arrays import Matrix, Vector
    from sottovoce.data.schema import Schema
    from sottovoce.features.marginals import Marginal
    from sottovoce.methods.adapt.inspection import Stand
    from sottovoce.queries import Queries

KNOTS = 2
FEATURES = (KNOTS + 4) ** 2
"""Knots of the splines whose products are a surface: six features each, 36 of a pair."""

MOST_PAIRS = 8
"""Pairs that get a surface, at most: those that gain most."""

EXPECTED = 2.0
"""Pairs that act together, at most, before anything is seen. Were it all of them, an answer that is nearly
noise would leave each with the gain of a usual one, and eight surfaces would be taken for it."""

MOST_LOOKED_AT = 300
"""Pairs that are looked at, at most: those of 25 numbers."""

_MOST_BYTES = 4 << 30
"""Memory that their products may take, four bytes each."""

_REACH = 3.0
"""Numbers are centred and cut off at this many standard deviations before they are multiplied."""

_LONGEST = 1.5
"""As for bends: the cap on influence over the root mean square length, less 1, times the root of columns."""

_SHORT = 1e-3
"""Length of the other coordinates beside products of mean square 1."""


@final
@dataclass(frozen=True)
class Centred(Number):
    """A number, after its transform, less its released mean, over `reach` times its released standard
    deviation, within [-1, 1].

    `of` is the column that it is read from."""

    of: Numeric | Spline
    centre: float
    reach: float

    @property
    def source(self) -> str:
        return self.of.source

    def basis(self, values: Vector) -> NDArray[np.float64]:
        inside = self.of.transformed(np.clip(values, self.of.low, self.of.high))
        moved = (inside - self.centre) / self.reach
        return np.clip(moved, -1.0, 1.0)[:, None]

    def to_dict(self) -> dict[str, Any]:
        return {"type": "centred", "of": self.of.name, "centre": self.centre, "reach": self.reach}

    def _named(self) -> tuple[str, ...]:
        return (self.name,)

    @classmethod
    def by(cls, column: Numeric | Spline, marginal: Marginal, name: str) -> Centred:
        edges, mass = column.transformed(np.array(marginal.edges)), np.diff(marginal.law)
        middle = (edges[1:] + edges[:-1]) / 2.0
        centre = float(mass @ middle)
        spread = math.sqrt(max(float(mass @ (middle - centre) ** 2), (float(edges[1] - edges[0])) ** 2))
        return cls(name, column, centre, _REACH * spread, missing=column.missing)


def may_pair(model: str, schema: Schema, n: int) -> tuple[str, ...]:
    """Names of the numbers that may act together in a model of this name: those that may bend and are
    declared neither shape nor direction. None where there are too many of them, or too many records, to hold
    their products; "smooth" is then refused. Public numbers decide."""
    if model not in ("smooth", "auto"):
        return ()
    names = tuple(
        column.name
        for column in schema.columns
        if isinstance(column, Numeric) and bends(column, schema) and not column.shape and not column.monotone
    )
    pairs = math.comb(len(names), 2)
    if pairs <= MOST_LOOKED_AT and 4 * n * pairs <= _MOST_BYTES:
        return names if pairs else ()
    if model == "smooth":
        raise ParameterError(
            f'model="smooth" holds the products of all pairs of numbers in memory, {MOST_LOOKED_AT} of them '
            f'and {_MOST_BYTES >> 30} GB at most: here {pairs} of {n:,} records. Declare shape = "linear" of '
            'numbers that act alone, or take model="additive".'
        )
    return ()


def paired(
    schema: Schema, plain: Schema, pairs: tuple[tuple[str, str], ...], marginals: tuple[Marginal, ...] = ()
) -> Schema:
    """The schema with a surface of each pair; its columns are short splines of the numbers in `plain`."""
    numbers = {column.name: column for column in plain.columns}
    found = {marginal.name: marginal for marginal in marginals}
    crossed = {name for pair in pairs for name in pair}
    columns = list[Column]()
    for column in schema.columns:
        number = numbers[column.name]
        if column.name in crossed and isinstance(number, Numeric):
            column = spline(number, KNOTS, found.get(column.name))
        columns.append(column)
    return replace(schema, columns=tuple(columns), interactions=(*schema.interactions, *pairs))


@final
@dataclass(frozen=True, eq=False)
class Products:
    """The schema whose rows have the products of all pairs beside the features of `before`, and coordinates
    in which those have mean square 1 if columns are independent, and all else is short."""

    before: Schema
    schema: Schema
    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, schema: Schema, names: tuple[str, ...], marginals: tuple[Marginal, ...]) -> Products:
        found = {marginal.name: marginal for marginal in marginals}
        mark = " centred"
        while any(column.name.endswith(mark) for column in schema.columns):
            mark += "'"
        centred = {
            column.name: Centred.by(column, found[column.name], column.name + mark)
            for column in schema.columns
            if column.name in names and isinstance(column, Numeric | Spline)
        }
        pairs = tuple(combinations(centred, 2))
        crossed = tuple((centred[first].name, centred[second].name) for first, second in pairs)
        columns = (*schema.columns, *centred.values())
        wide = replace(schema, columns=columns, interactions=(*schema.interactions, *crossed))
        return cls(schema, wide, pairs)

    @property
    def _first(self) -> int:
        """Where the products begin."""
        return RowLayout.of(self.schema).dim - 1 - len(self.pairs)

    @property
    def preconditioner(self) -> Preconditioner:
        layout = RowLayout.of(self.schema)
        scale = np.full(layout.dim, _SHORT)
        scale[self._first : -1] = _REACH**2
        count, columns = len(self.pairs), len(self.schema.columns) - len(self.before.columns)
        cap = math.sqrt(count) * (1.0 + _LONGEST / math.sqrt(columns))
        return Preconditioner(scale=scale / layout.unit, cap=cap)

    def weights_of(self, w: Vector) -> Vector:
        """Those of these features that have the scores of the weights w of the features before."""
        old, new = RowLayout.of(self.before), RowLayout.of(self.schema)
        rows = w.reshape(-1, old.dim) * (old.unit / new.unit)
        width = sum(len(column.features) for column in self.before.columns)
        found = np.zeros((len(rows), new.dim))
        found[:, :width] = rows[:, :width]
        found[:, self._first - (old.dim - 1 - width) : self._first] = rows[:, width:-1]
        found[:, -1] = rows[:, -1]
        return np.asarray(found.ravel())

    def asked(
        self, ask: Queries, w: Vector, stand: Stand, units: int
    ) -> tuple[Matrix, Matrix, Bending] | None:
        """What products are seen to gain, outputs by pairs, its error, and how the loss bends there; nothing
        is asked where no surface may pay."""
        preconditioner = self.preconditioner
        inside = ask.preconditioned(preconditioner)
        query, bending = gradient_at(inside, preconditioner.from_user(self.weights_of(w)), stand)
        if not may_pay(ask, bending, FEATURES, w.size, stand.deviation):
            return None
        answer = inside.ask(query, units)
        rows = answer.value.reshape(-1, ask.problem.columns)[:, self._first : -1]
        error = bending.unit * math.sqrt(answer.scale**2 + bending.scatter / ask.problem.n)
        return bending.unit * rows, np.full_like(rows, error), bending


def together(
    ask: Queries, products: Products, w: Vector, stand: Stand, units: int, learned: int
) -> tuple[tuple[str, str], ...]:
    """The pairs whose surfaces gain more than their features cost, asked for at the weights w."""
    asked = products.asked(ask, w, stand, units)
    if asked is None:
        return ()
    seen, errors, bending = asked
    split = [seen[:, [place]] for place in range(len(products.pairs))]
    error = [errors[:, [place]] for place in range(len(products.pairs))]
    found = tuple(
        Gain(str(place), gain, FEATURES)
        for place, gain in enumerate(expected_gains(split, error, most=EXPECTED).tolist())
    )
    kept = Gains(found, bending).worthwhile(ask, w.size, stand.deviation, MOST_PAIRS, learned=learned)
    return tuple(pair for place, pair in enumerate(products.pairs) if str(place) in kept)
