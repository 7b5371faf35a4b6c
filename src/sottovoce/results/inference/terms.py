"""Coefficients as a user reads them: names, units, and what each category is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.errors import ParameterError
from sottovoce.results.inference.design import Group, Levels
from sottovoce.results.inference.findings import LastAnswers

INTERCEPT = "intercept"

LOG_REACH = 2.0
NUMBER_REACH = 0.5
"""What is assumed where nothing is declared: a full move of a feature is off by no more in log odds or log
rates, or in halves of a target's range, along directions that noise hides."""


@final
@dataclass(frozen=True, eq=False)
class UserTerms:
    """Terms = matrix w + offset for the weights w of one output, in an order that no record changes.

    Where there are several `outputs` the first is what the others are compared with. `chances`: differences
    are logarithms of what `ratio` names. `flat` has rows of weights that mean nothing: no record there can be
    has a score that depends on them. `moves` times w is how far each feature moves the score at most, which
    along directions that noise hides is taken to be off by no more than `within`."""

    names: tuple[str, ...]
    matrix: Matrix
    offset: Vector
    groups: tuple[Group, ...] = ()
    outputs: tuple[str, ...] = ()
    chances: bool = False
    moves: Matrix | None = None
    levels: tuple[int, ...] = ()
    flat: Matrix | None = None
    ratio: str = "odds ratio"
    within: float | None = None

    @classmethod
    def plain(cls, names: tuple[str, ...], outputs: tuple[str, ...] = (), chances: bool = False) -> UserTerms:
        """The weights as they are."""
        size = len(names)
        return cls(names, np.eye(size), np.zeros(size), outputs=outputs, chances=chances)

    @property
    def assumed(self) -> float:
        """What is taken to hold along directions that noise hides."""
        if self.within is not None:
            return self.within
        return LOG_REACH if self.chances else NUMBER_REACH


@final
@dataclass(frozen=True, eq=False)
class Coding:
    """Terms of all outputs against their references; `flat`, rows in u, are the directions that mean nothing,
    `spread` the covariance, in u, that hidden directions are taken to have, `levels` the terms 0 or 1."""

    names: tuple[str, ...]
    matrix: Matrix
    offset: Vector
    flat: Matrix
    spread: Matrix
    levels: Levels
    groups: tuple[Group, ...]
    references: dict[str, str]


def coded(terms: UserTerms, findings: LastAnswers, within: float | None = None) -> Coding:
    """Terms of every output but the first against the first; of a single one, as they are.

    A bound is taken for two standard deviations: with (R basis) u = full moves of all features, P is
    (within/2)^2 (R basis)^-1 (R basis)^-T."""
    outputs, columns = findings.outputs, findings.weights.size // findings.outputs
    names, block, offset, groups = terms.names, terms.matrix, terms.offset, terms.groups
    flat = [] if terms.flat is None else [*np.kron(np.eye(outputs), terms.flat)]
    flat = [findings.coordinates(row) for row in flat]
    references = {group.name: group.reference for group in groups if group.reference is not None}
    moves = np.eye(columns) if terms.moves is None else terms.moves
    solved = np.linalg.inv(moves @ findings.basis)
    present = list(terms.levels)
    alike = np.eye(outputs)
    levels = Levels(
        scores=np.asarray(np.kron(alike, (moves @ findings.basis)[present]), dtype=np.float64),
        alone=np.asarray(np.kron(alike, solved[:, present]), dtype=np.float64),
    )
    spread: Matrix = (0.5 * (terms.assumed if within is None else within)) ** 2 * (solved @ solved.T)
    if outputs > 1:
        labels = terms.outputs or tuple(f"class {k}" for k in range(outputs))
        references["classes"] = labels[0]
        against_first = np.eye(outputs)[1:] - np.eye(outputs)[0]
        flat += [np.kron(np.ones(outputs), unit) for unit in np.eye(columns)]
        size = len(names)
        groups = tuple(
            replace(
                group,
                name=f"{label}: {group.name}",
                members=tuple(place + size * k for place in group.members),
            )
            for k, label in enumerate(labels[1:])
            for group in groups
        )
        names = tuple(f"{label}: {name}" for label in labels[1:] for name in names)
        block = np.kron(against_first, block)
        offset, spread = np.tile(offset, outputs - 1), np.asarray(np.kron(np.eye(outputs), spread))
    directions = np.array(flat) if flat else np.zeros((0, findings.weights.size))
    return Coding(names, block, offset, directions, spread, levels, groups, references)


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
        raise ParameterError(
            f"names must hold {len(terms.names)} names, one for each column.", argument="names"
        )
    return replace(terms, names=tuple(given))


def checked_within(within: float) -> float:
    """A bound on what each feature alone moves the score by, from what is known without the data."""
    number = isinstance(within, int | float) and not isinstance(within, bool)
    if not number or not 0.0 < within <= 1e300:
        raise ParameterError(
            "within, a bound on every coefficient, must be finite and above 0.", argument="within"
        )
    return float(within)
