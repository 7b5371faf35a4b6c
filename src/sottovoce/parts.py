"""Rows held elsewhere, in parts: a pass over all of them is the sum of the same pass over each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.rows import Rows, Sealed

P = ParamSpec("P")
T = TypeVar("T")


class Parts(Sealed, ABC):
    """Public facts about rows in parts, and how to sum a pass over them.

    Rows are numbered through the parts in order; no part has longer blocks than `block_length`."""

    __slots__ = ("block_length", "count", "dim", "n", "sparse")

    def __init__(self, n: int, dim: int, *, block_length: int, count: int, sparse: bool) -> None:
        self.n = n
        self.dim = dim
        self.block_length = block_length
        self.count = count
        self.sparse = sparse

    @abstractmethod
    def total(self, kernel: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """The sum of kernel(rows of a part, *arguments) over the parts, in an order fixed by their number."""

    @abstractmethod
    def take(self, indices: NDArray[np.int64]) -> Parts:
        """The rows at increasing `indices`, left where they are."""


def over_parts(kernel: Callable[Concatenate[Rows, P], T]) -> Callable[Concatenate[Rows | Parts, P], T]:
    """The kernel, for rows at hand and for rows in parts alike."""

    @wraps(kernel)
    def run(rows: Rows | Parts, /, *arguments: P.args, **named: P.kwargs) -> T:
        if isinstance(rows, Parts):
            return rows.total(run, *arguments, **named)
        return kernel(rows, *arguments, **named)

    return run


def parts_of(rows: Rows | Parts) -> int:
    """In how many parts a pass sums."""
    return rows.count if isinstance(rows, Parts) else 1


def added(answers: Sequence[T]) -> T:
    """Sum of what kernels returned, in order: numbers, arrays or tuples of them."""
    return reduce(_plus, answers)


def _plus(one: Any, other: Any) -> Any:
    if isinstance(one, tuple):
        return tuple(map(_plus, one, other))
    return one + other
