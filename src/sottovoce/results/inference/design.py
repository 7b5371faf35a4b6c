"""What coefficients are read for: terms psi of which the encoded features are linear functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from sottovoce.arrays import Mask, Matrix, Vector


@final
@dataclass(frozen=True)
class Group:
    """Terms of one column or interaction, by place; its categories are compared with `reference`, if it has
    one: the name of a row that stands at `position` among the members when it is shown."""

    name: str
    members: tuple[int, ...]
    reference: str | None = None
    position: int = 0


@final
@dataclass(frozen=True, eq=False)
class Levels:
    """Terms that are 0 or 1. Rows of `scores` times a displacement in u: how far it moves the score of
    records that have one. Columns of `alone`: the displacement that moves this term by 1 and no other."""

    scores: Matrix
    alone: Matrix


@final
@dataclass(frozen=True, eq=False)
class Design:
    """x = matrix psi for every record, the constant last; square, so that each fixes the other.

    `indicators`: terms that are 0 or 1. `empty`: terms that are 0 in every record there can be, by
    declaration. Made from public facts, so that terms and their order are those of the declaration, whatever
    the records and the noise."""

    names: tuple[str, ...]
    matrix: Matrix
    indicators: Mask
    empty: Mask
    groups: tuple[Group, ...]

    @cached_property
    def inverse(self) -> Matrix:
        """psi = inverse x."""
        return np.asarray(np.linalg.inv(self.matrix))

    @classmethod
    def of_indicators(cls, blocks: tuple[tuple[int, int], ...], means: Vector, constant: int) -> Design:
        """Columns as they are, but for the commonest of each block of indicators, by these means: in its
        place 1 where none of the block holds."""
        columns = means.size
        matrix, indicators = np.eye(columns), np.zeros(columns, dtype=bool)
        for start, stop in blocks:
            place = start + int(np.argmax(means[start:stop]))
            matrix[place, start:stop], matrix[place, constant] = -1.0, 1.0
            indicators[start:stop] = True
        names = tuple(f"x{place}" for place in range(columns))
        return cls(names, matrix, indicators, np.zeros(columns, dtype=bool), ())

    @property
    def shown_groups(self) -> tuple[Group, ...]:
        """The groups with places among the terms that are not empty."""
        places = np.cumsum(~self.empty) - 1
        return tuple(
            replace(
                group,
                members=tuple(int(places[place]) for place in group.members if not self.empty[place]),
            )
            for group in self.groups
        )
