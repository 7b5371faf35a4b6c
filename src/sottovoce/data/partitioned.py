"""Rows held elsewhere, in parts: a pass over all of them is the sum of the same pass over each.

Sums of parts are added up by a tree, FAN_IN at a time. A term meets at most FAN_IN - 1 additions on each of
LEVELS levels, so MOST_PARTS parts cost it LEVELS (FAN_IN - 1) = 60 roundings at most. The allowance counts
them for all rows, wherever they are held: how many parts there are, or how many of them are empty, is never
seen in the noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data.rows import Rows
from sottovoce.data.sealed import Sealed
from sottovoce.errors import ParameterError

P = ParamSpec("P")
T = TypeVar("T")

FAN_IN = 16
LEVELS = 4
MOST_PARTS = FAN_IN**LEVELS


class Parts(Sealed, ABC):
    """Public facts about rows in parts, and how to sum a pass over them.

    Rows are numbered through the parts in order; no part has longer blocks than `block_length`. `expected` is
    that of `Rows`, for all parts together: a record's content may decide in which part it is."""

    __slots__ = ("block_length", "dim", "expected", "n", "sparse")

    def __init__(self, n: int, dim: int, *, block_length: int, sparse: bool) -> None:
        self.n = n
        self.dim = dim
        self.block_length = block_length
        self.sparse = sparse
        self.expected = n

    @abstractmethod
    def total(self, kernel: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """The sum of kernel(rows of a part, *arguments) over the parts, by the tree above."""

    @abstractmethod
    def take(self, indices: NDArray[np.int64]) -> Parts:
        """The rows at increasing `indices`, left where they are."""

    @abstractmethod
    def scaled(self, shares: Vector) -> Parts:
        """The same rows, each counting so much of what it counted."""

    @abstractmethod
    def expecting(self, expected: int | None) -> Parts:
        """As `Rows.expecting`."""

    @abstractmethod
    def reweighted(self, rule: Callable[[Rows], Vector]) -> Parts:
        """The same rows, not copied, each counting what the rule says of it."""


def over_parts(kernel: Callable[Concatenate[Rows, P], T]) -> Callable[Concatenate[Rows | Parts, P], T]:
    """The kernel, for rows at hand and for rows in parts alike."""

    @wraps(kernel)
    def run(rows: Rows | Parts, /, *arguments: P.args, **named: P.kwargs) -> T:
        if isinstance(rows, Parts):
            return rows.total(run, *arguments, **named)
        return kernel(rows, *arguments, **named)

    return run


def gathered(rows: Rows | Parts) -> Rows:
    """Rows at hand; those in parts are refused."""
    if isinstance(rows, Parts):
        raise ParameterError("persons' scores are summed where all rows are: read them without Dask.")
    return rows


def added(answers: Sequence[T]) -> T:
    """Sum of what kernels returned, in order: numbers, arrays or tuples of them."""
    return reduce(_plus, answers)


def _plus(one: Any, other: Any) -> Any:
    if isinstance(one, tuple):
        return tuple(map(_plus, one, other))
    return one + other
