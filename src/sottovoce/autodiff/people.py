"""Examples of persons: which are computed together, so that nobody's place depends on another's examples.

PyTorch may round an example's derivatives otherwise at another place of a batch, by an amount that nobody
bounds. So a person keeps a slot, by their number, and an example's place follows from the slot and from how
many of the person's own come before it. Examples 0, 1, 2 to 3, 4 to 7, ... of a person form layers. In a
layer of w examples a call computes the slots of length/w persons, gaps filled with a made-up example that
counts 0; a call without any example is left out, which changes no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np
import torch

from sottovoce.autodiff.examples import Examples, Piece
from sottovoce.data.sealed import Sealed
from sottovoce.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from torch import Tensor

    from sottovoce.data.persons import Persons

MOST_EXAMPLES = 2**24
"""Examples that all persons may have together: their number is private, so rounding allows for these."""

_LONGEST = 512
"""Examples in a call, at most: many are filled gaps."""


@final
class PersonExamples(Sealed):
    """n persons with their examples. Sums weigh each example by its share, and n is what divides them."""

    __slots__ = ("_filler", "_first", "_held", "_shares")

    def __init__(self, held: Examples, first: NDArray[np.int64], shares: Tensor) -> None:
        self._held = held
        self._first = first
        self._shares = shares
        self._filler: tuple[Tensor, Tensor] | None = None

    @classmethod
    def of(cls, examples: Examples, persons: Persons) -> PersonExamples:
        """Sorted by person; an example without a key is dropped, which is to count nothing."""
        if examples.n > MOST_EXAMPLES:
            raise DataError(f"persons may have at most {MOST_EXAMPLES} examples together.")
        order = persons.rows_in_order()
        shares = torch.from_numpy(persons.shares()[order]).to(examples.inputs.device)
        return cls(examples.take(order), persons.first_rows(), shares)

    @property
    def n(self) -> int:
        return len(self._first) - 1

    @property
    def inputs(self) -> Tensor:
        return self._held.inputs

    @property
    def targets(self) -> Tensor:
        return self._held.targets

    def fill_with(self, x: Tensor, y: Tensor) -> None:
        """The made-up example that stands where a person has none."""
        self._filler = (x, y)

    def take(self, indices: NDArray[np.int64]) -> PersonExamples:
        """These persons with all their examples."""
        counts = np.diff(self._first)[indices]
        first = np.concatenate([[0], np.cumsum(counts)])
        rows = np.arange(first[-1]) + np.repeat(self._first[indices] - first[:-1], counts)
        part = PersonExamples(self._held.take(rows), first, self._shares[torch.from_numpy(rows)])
        part._filler = self._filler
        return part

    def pieces(self, length: int) -> Iterator[Piece]:
        """Calls of one length: the largest power of two within `length`."""
        size = 1 << (min(length, _LONGEST).bit_length() - 1)
        counts = np.diff(self._first)
        start, width = 0, 1
        while start < counts.max(initial=0):
            slots = size // width
            for call in np.unique(np.flatnonzero(counts > start) // slots):
                yield self._call(slice(call * slots, (call + 1) * slots), start, width, size)
            start, width = start + width, min(size, max(1, start + width))

    def _call(self, slots: slice, start: int, width: int, size: int) -> Piece:
        assert self._filler is not None
        begins, counts = self._first[:-1][slots], np.diff(self._first)[slots]
        offsets = start + np.arange(width)
        present = offsets[None, :] < counts[:, None]
        places = torch.from_numpy(np.flatnonzero(present)).to(self._shares.device)
        rows = torch.from_numpy((begins[:, None] + offsets[None, :])[present]).to(self._shares.device)
        inputs, targets = (part.expand(size, *part.shape).clone() for part in self._filler)
        shares = torch.zeros(size, dtype=torch.float64, device=self._shares.device)
        inputs[places], targets[places] = self._held.inputs[rows], self._held.targets[rows]
        shares[places] = self._shares[rows]
        return Piece(inputs, targets, shares)

    def __repr__(self) -> str:
        return f"PersonExamples({self.n} persons, private)"
