"""Queries about the features alone: their second moments, and means and mean squares released together."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.accounting.checks import positive
from sottovoce.accounting.events import QueryKind
from sottovoce.arrays import Matrix, Vector
from sottovoce.errors import ParameterError
from sottovoce.problem import require_matrix_fits
from sottovoce.queries.base import Answer, Form, Query
from sottovoce.trusted import requests

if TYPE_CHECKING:
    from sottovoce.models.bounds import Bounds
    from sottovoce.problem import Problem

Indices = NDArray[np.intp]


@final
@dataclass(frozen=True)
class Gram(Query[Matrix]):
    kind = QueryKind.GRAM
    form = Form.SYMMETRIC

    def admitted(self, problem: Problem) -> Self:
        require_matrix_fits(problem.columns)
        return self

    def length(self, problem: Problem) -> int:
        return problem.columns

    def request(self, bounds: Bounds) -> Any:
        return requests.Gram()


@final
@dataclass(frozen=True)
class GramDiagonal(Query[Vector]):
    """Each column's mean square."""

    kind = QueryKind.GRAM_DIAGONAL

    def length(self, problem: Problem) -> int:
        return problem.columns

    def request(self, bounds: Bounds) -> Any:
        return requests.Squares()


@final
@dataclass(frozen=True, eq=False)
class Moments:
    """Noisy means of q x_j and of q x_j^2, or of its sums over groups of columns, and what both cost.

    Noise is independent in each entry, of standard deviation `mean_scale` and `square_scale`."""

    means: Vector
    squares: Vector
    mean_scale: float
    square_scale: float
    units: int


@final
@dataclass(frozen=True)
class ColumnMoments(Query[Vector]):
    """Column means, then f times column mean squares, those summed over `groups` of columns if given.

    f = sqrt(balance) influence / energy, so that `balance` = (R sd of means / sd of squares)^2."""

    balance: float = 2.0
    groups: Indices | None = None
    kind = QueryKind.MOMENTS

    def admitted(self, problem: Problem) -> Self:
        groups = checked_groups(self.groups, problem.columns)
        return replace(self, balance=positive("balance", self.balance), groups=groups)

    def length(self, problem: Problem) -> int:
        return problem.columns + (problem.columns if self.groups is None else int(self.groups.max()) + 1)

    def request(self, bounds: Bounds) -> Any:
        return requests.Moments(self.balance, self.groups)

    def factor(self, problem: Problem) -> float:
        return math.sqrt(self.balance) * problem.influence / problem.energy

    def separated(self, answer: Answer[Vector], problem: Problem) -> Moments:
        """Means and squares apart."""
        factor, columns = self.factor(problem), problem.columns
        means, squares = answer.value[:columns], answer.value[columns:] / factor
        return Moments(means, squares, answer.scale, answer.scale / factor, answer.units)


@final
@dataclass(frozen=True)
class ColumnMeans(Query[Vector]):
    """(1/n) sum q_i x_i: of rows made of indicators, the share of every bin and category.

    A term is no longer than q R, so two are at most 2 q R apart; a person's mean of rows
    lies in their hull."""

    kind = QueryKind.MARGINALS

    def length(self, problem: Problem) -> int:
        return problem.columns

    def request(self, bounds: Bounds) -> Any:
        return requests.Means()


def checked_groups(groups: Indices | None, columns: int) -> Indices | None:
    """The group of each column, numbered from 0; every number up to the largest has a column."""
    if groups is None:
        return None
    members = np.asarray(groups)
    if members.dtype.kind not in "iu" or members.shape != (columns,):
        raise ParameterError(
            f"groups must hold a whole number for each of the {columns} columns.", argument="groups"
        )
    found = np.unique(members)
    if not np.array_equal(found, np.arange(found.size)):
        raise ParameterError("groups must be numbered 0, 1, 2, ... without a gap.", argument="groups")
    return members.astype(np.intp)
