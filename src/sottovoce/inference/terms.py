"""Coefficients as a user reads them: names, units, and what each category is compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.errors import ParameterError
from sottovoce.inference.findings import LastAnswers

_FLAT = 3.0
"""A direction counts as flat below this many standard deviations of the Hessian's noise along it."""

INTERCEPT = "intercept"


@final
@dataclass(frozen=True)
class Group:
    """Indicators of one categorical column: their places among the terms, and the constant's."""

    name: str
    members: tuple[int, ...]
    constant: int


@final
@dataclass(frozen=True, eq=False)
class UserTerms:
    """Terms = matrix w + offset for the weights w of one output; square, so terms and weights fix each other.

    Where there are several `outputs` the first is what the others are compared with. `chances`: differences
    are logarithms of what `ratio` names. A full move of a feature is `sizes` units of its term, 1 unless
    said, and is declared to move the score by no more than `within`, if that is said."""

    names: tuple[str, ...]
    matrix: Matrix
    offset: Vector
    groups: tuple[Group, ...] = ()
    outputs: tuple[str, ...] = ()
    chances: bool = False
    sizes: Vector | None = None
    ratio: str = "odds ratio"
    within: float | None = None

    @classmethod
    def plain(cls, names: tuple[str, ...], outputs: tuple[str, ...] = (), chances: bool = False) -> UserTerms:
        """The weights as they are."""
        size = len(names)
        return cls(names, np.eye(size), np.zeros(size), outputs=outputs, chances=chances)

    def flat(self, group: Group) -> Vector:
        """The direction in w that adds to every category what it takes from the constant."""
        moves = np.zeros(len(self.names))
        moves[list(group.members)], moves[group.constant] = 1.0, -1.0
        return np.asarray(np.linalg.solve(self.matrix, moves))


@final
@dataclass(frozen=True, eq=False)
class Coding:
    """Terms of all outputs against their references, and the directions, in u, that mean nothing.

    `references` says for each column what its categories are compared with."""

    names: tuple[str, ...]
    matrix: Matrix
    offset: Vector
    sizes: Vector
    flat: Matrix
    references: dict[str, str]


def coded(terms: UserTerms, findings: LastAnswers, against: str | None = None) -> Coding:
    """Terms as asked for.

    A column's categories are compared with none of them, as in a model with an intercept, where records
    without a declared category are seen to exist; where the released Hessian is flat along all of them at
    once, only differences mean something, and the first declared category is the reference, or `against`."""
    outputs, columns = findings.outputs, len(terms.names)
    wanted = _wanted(terms, against)
    names, block, offset = list(terms.names), terms.matrix.copy(), terms.offset.copy()
    sizes = np.array([float(name != INTERCEPT) for name in names]) if terms.sizes is None else terms.sizes
    flat: list[Any] = []
    dropped: list[int] = []
    references = {}
    for group in terms.groups:
        along = terms.flat(group)
        is_flat = _is_flat(findings, along)
        if not is_flat and group.name not in wanted:
            continue
        reference = wanted.get(group.name, group.members[0])
        references[group.name] = terms.names[reference]
        for place in group.members:
            if place != reference:
                block[place] -= block[reference]
        block[group.constant] += block[reference]
        offset[group.constant] += offset[reference]
        if is_flat:
            flat += [findings.coordinates(row) for row in np.kron(np.eye(outputs), along)]
            dropped.append(reference)
        else:
            block[reference] *= -1.0
            names[reference] = f"{group.name}=(none declared)"
    kept = [place for place in range(columns) if place not in dropped]
    names, block = [names[place] for place in kept], block[kept]
    offset, sizes = offset[kept], sizes[kept]
    if outputs > 1:
        labels = terms.outputs or tuple(f"class {k}" for k in range(outputs))
        references["classes"] = labels[0]
        against_first = np.eye(outputs)[1:] - np.eye(outputs)[0]
        flat += [np.kron(np.ones(outputs), unit) for unit in np.eye(columns)]
        names = [f"{label}: {name}" for label in labels[1:] for name in names]
        block = np.kron(against_first, block)
        offset, sizes = np.tile(offset, outputs - 1), np.tile(sizes, outputs - 1)
    directions = np.array(flat) if flat else np.zeros((0, findings.weights.size))
    return Coding(tuple(names), block, offset, sizes, directions, references)


def _wanted(terms: UserTerms, against: str | None) -> Mapping[str, int]:
    if against is None:
        return {}
    for group in terms.groups:
        for place in group.members:
            if terms.names[place] == against:
                return {group.name: place}
    known = [terms.names[place] for group in terms.groups for place in group.members]
    raise ParameterError(
        f"against={against!r} names no declared category. "
        + (f"Take one of {', '.join(known[:20])}." if known else "This model has no categorical columns.")
    )


def _is_flat(findings: LastAnswers, along: Vector) -> bool:
    """Whether the Hessian, summed over outputs, is within its noise of 0 along a direction of one block."""
    total = 0.0
    for row in np.kron(np.eye(findings.outputs), along):
        unit = findings.coordinates(row)
        unit = unit / float(np.linalg.norm(unit))
        total += float(unit @ findings.hessian @ unit)
    return total < _FLAT * findings.hessian_scale * math.sqrt(findings.outputs)


def plain_terms(findings: LastAnswers) -> UserTerms:
    """The weights as they are, under the names x0, x1, ..."""
    columns = findings.weights.size // findings.outputs
    names = tuple(INTERCEPT if place == findings.constant else f"x{place}" for place in range(columns))
    return UserTerms.plain(names, chances=findings.likelihood)


def named(terms: UserTerms, names: Sequence[str]) -> UserTerms:
    """The same terms under other names; the intercept keeps its own if it is left out."""
    given = [str(name) for name in names]
    if len(given) == len(terms.names) - 1 and INTERCEPT in terms.names:
        given.insert(terms.names.index(INTERCEPT), INTERCEPT)
    if len(given) != len(terms.names):
        raise ParameterError(f"names must hold {len(terms.names)} names, one for each column.")
    return replace(terms, names=tuple(given))


def checked_within(within: float) -> float:
    """A bound on what each feature alone moves the score by, from what is known without the data."""
    number = isinstance(within, int | float) and not isinstance(within, bool)
    if not number or not 0.0 < within < math.inf:
        raise ParameterError("within, a bound on every coefficient, must be finite and above 0.")
    return float(within)
