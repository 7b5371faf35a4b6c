"""Terms of a declared table: each category against a reference declared beforehand, whatever the noise.

A column's block f of encoded features is a linear function of the terms psi that coefficients are read for,
(1, f) = B (1, psi). A number has psi = f, or the number itself. Of categories, psi has all but the reference
and one more, 1 where a cell has no declared category: a level of its own. An interaction's features are all
products, so they are functions of the products of (1, psi) by the Kronecker product of both B: main effects
are those at the other column's reference, as in R."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from sottovoce.arrays import Mask, Matrix, Vector
from sottovoce.data.columns import Categorical, Column
from sottovoce.data.dates import DatePart
from sottovoce.data.numbers import Binned, Numeric, Spline
from sottovoce.data.schema import INTERCEPT, Schema
from sottovoce.data.survival import INTERVAL
from sottovoce.errors import ParameterError, meant
from sottovoce.results.inference.design import Design, Group

MISSING = "(missing)"
OTHER = "(missing or other)"
UNDECLARED = "(other)"
_ONE: Mapping[str, float] = {}


@final
@dataclass(frozen=True, eq=False)
class _Block:
    """(1, f) = matrix (1, psi); psi have these names, are 0 or 1, are never anything but 0."""

    names: tuple[str, ...]
    matrix: Matrix
    indicators: Mask
    empty: Mask
    reference: int | None = None
    features: tuple[str, ...] = ()


def design_of(
    schema: Schema, *, raw: bool, against: Sequence[str] = (), per: Mapping[str, float] = _ONE
) -> Design:
    """The terms of a schema: x = unit matrix psi. With `raw` numbers are in their own units, or in as many of
    them as `per` says for a column, else in half-ranges from the middle; `against` names other references,
    such as "region=north"."""
    wanted = _wanted(schema, against)
    _check_units(schema, per)
    blocks = {
        column.name: _block(column, raw, wanted.get(column.name), per.get(column.name, 1.0))
        for column in schema.columns
    }
    if schema.target is not None and schema.target.survival is not None:
        made = blocks[INTERVAL]  # every row that is made has an interval
        blocks[INTERVAL] = replace(made, empty=np.append(made.empty[:-1], True))
    total = len(schema.features)
    matrix, names = np.zeros((total, total)), list[str]()
    indicators, empty, groups = list[bool](), list[bool](), list[Group]()
    places: dict[str, int] = {}
    for name, block in blocks.items():
        place = places[name] = len(names)
        size = len(block.names)
        matrix[place : place + size, place : place + size] = block.matrix[1:, 1:]
        matrix[place : place + size, -1] = block.matrix[1:, 0]
        names += block.names
        indicators += block.indicators.tolist()
        empty += block.empty.tolist()
        reference = None if block.reference is None else block.features[block.reference]
        groups.append(Group(name, tuple(range(place, place + size)), reference, block.reference or 0))
    for first, second in schema.interactions:
        one, other, place = blocks[first], blocks[second], len(names)
        products = np.kron(one.matrix[1:], other.matrix[1:])
        size, left, right = len(products), len(one.names), len(other.names)
        cells = products.reshape(size, left + 1, right + 1)
        rows = slice(place, place + size)
        matrix[rows, -1] = cells[:, 0, 0]
        matrix[rows, places[first] : places[first] + left] = cells[:, 1:, 0]
        matrix[rows, places[second] : places[second] + right] = cells[:, 0, 1:]
        matrix[rows, rows] = cells[:, 1:, 1:].reshape(size, size)
        names += [f"{a} x {b}" for a in one.names for b in other.names]
        indicators += np.outer(one.indicators, other.indicators).ravel().tolist()
        empty += np.logical_or.outer(one.empty, other.empty).ravel().tolist()
        groups.append(Group(f"{first} x {second}", tuple(range(place, place + size))))
    matrix[-1, -1] = 1.0
    return Design(
        (*names, INTERCEPT),
        matrix,
        np.array([*indicators, True]),
        np.array([*empty, False]),
        tuple(groups),
    )


def asked_in(schema: Schema) -> Callable[[Vector], Design]:
    """The terms in which answers are asked, by released means of the columns.

    Against a rare category all others look alike, so that their common part is lost in the noise first:
    answers are asked against the commonest, whatever coefficients are then compared with."""

    def design(means: Vector) -> Design:
        against, place = list[str](), 0
        for column in schema.columns:
            features = column.features
            if _has_levels(column):
                against.append(features[int(np.argmax(means[place : place + len(features)]))])
            place += len(features)
        return design_of(schema, raw=False, against=against)

    return design


def _wanted(schema: Schema, against: Sequence[str]) -> dict[str, int]:
    """Places of references by column, from names of features."""
    known = {
        feature: (column.name, place)
        for column in schema.columns
        if _has_levels(column)
        for place, feature in enumerate(column.features)
    }
    unknown = [name for name in against if name not in known]
    if unknown:
        raise ParameterError(
            f"against={unknown[0]!r} names no declared category.{meant(unknown[0], tuple(known))} "
            + (f"Take one of {', '.join([*known][:20])}." if known else "This table has none.")
        )
    return dict(known[name] for name in against)


def _check_units(schema: Schema, per: Mapping[str, float]) -> None:
    numbers = [column.name for column in schema.columns if not _has_levels(column)]
    for name, size in per.items():
        if name not in numbers:
            raise ParameterError(
                f"per: {name!r} is no declared number.{meant(name, tuple(numbers))} "
                f"Take one of {', '.join(numbers)}."
            )
        if isinstance(size, bool) or not isinstance(size, int | float) or not 0.0 < size < math.inf:
            raise ParameterError(f"per: {name!r} must have a finite number above 0, such as 10.")


def _has_levels(column: Column) -> bool:
    return isinstance(column, Spline) or column.one_hot


def _block(column: Column, raw: bool, wanted: int | None, per: float) -> _Block:
    if _has_levels(column):
        return _levels(column, _declared(column) if wanted is None else wanted)
    size = len(column.features)
    matrix, indicators = np.eye(size + 1), np.zeros(size, dtype=bool)
    indicators[size - column.indicator :] = True
    if raw:
        middle, half = _constants(column)
        matrix[1, 0], matrix[1, 1] = -middle / half, per / half
    head, *rest = column.features
    names = (head if per == 1.0 else f"{head} (per {per:g})", *rest)
    return _Block(names, matrix, indicators, np.zeros(size, dtype=bool))


def _constants(column: Column) -> tuple[float, float]:
    """What is subtracted from a number and what it is divided by."""
    if isinstance(column, Numeric):
        return column.constants
    assert isinstance(column, DatePart)
    assert column.low is not None
    assert column.high is not None
    return (column.low + column.high) / 2.0, (column.high - column.low) / 2.0


def _levels(column: Column, reference: int) -> _Block:
    """Features that sum to 1 where a cell has any: all but one, then 1 where it has none."""
    features, size = column.features, len(column.features)
    kept = [place for place in range(size) if place != reference]
    matrix = np.zeros((size + 1, size + 1))
    matrix[0, 0] = 1.0
    for position, place in enumerate(kept):
        matrix[place + 1, position + 1] = 1.0
    matrix[reference + 1, 0], matrix[reference + 1, 1:] = 1.0, -1.0
    rest = UNDECLARED if column.indicator else OTHER if isinstance(column, Categorical) else MISSING
    names = (*(features[place] for place in kept), f"{column.name}={rest}")
    indicators = np.full(size, not isinstance(column, Spline))
    indicators[-1] = True
    if column.indicator and isinstance(column, Spline):
        indicators[size - 2] = True
    empty = np.zeros(size, dtype=bool)
    empty[-1] = column.indicator and not isinstance(column, Categorical)
    return _Block(names, matrix, indicators, empty, reference, features)


def _declared(column: Column) -> int:
    """The reference among the features: as declared, or the first."""
    if isinstance(column, Categorical) and column.reference is not None:
        return column.categories.index(column.reference)
    if isinstance(column, Binned) and column.reference is not None:
        return int(np.searchsorted(np.array(column.edges), column.reference, side="right"))
    return 0
