"""The door for tensors: inputs and targets, each example at a place of its own, held and never shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from sottovoce.data import places
from sottovoce.data.sealed import Sealed
from sottovoce.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sottovoce.data.persons import Persons

MOST_EXAMPLES = 2**24
"""Examples that all persons may have together: their number is private, so rounding allows for these."""

_LONGEST = 8192
"""Examples in a call, at most."""


class Piece(NamedTuple):
    """Examples computed at once, and what each counts: 0 for a made-up one."""

    inputs: Tensor
    targets: Tensor
    shares: Tensor


class Kinds(NamedTuple):
    """Empty tensors of the shapes and types that examples have."""

    inputs: Tensor
    targets: Tensor


class Units(NamedTuple):
    """Which examples are whose: those of unit u are `first[u]` to `first[u + 1]`, a record having one.

    `rows` say where an example is held, `numbers` decide its place, `shares` what it counts."""

    first: NDArray[np.int64]
    rows: NDArray[np.int64]
    numbers: NDArray[np.int64]
    shares: NDArray[np.float64]

    def of(self, indices: NDArray[np.int64]) -> Units:
        """These units."""
        counts = np.diff(self.first)[indices]
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        at = np.arange(first[-1]) + np.repeat(self.first[indices] - first[:-1], counts)
        return Units(first, self.rows[at], self.numbers[at], self.shares[at])


@final
class Examples(Sealed):
    """n records or persons with their examples, on one device. Sums weigh each example by its share.

    Nothing about them but n and their shapes is public."""

    __slots__ = ("_held", "_units", "_whole")

    def __init__(self, held: tuple[Tensor, Tensor], units: Units, *, whole: bool) -> None:
        """`held` are inputs and targets, each with a row more at the end, for the made-up example."""
        self._held = held
        self._units = units
        self._whole = whole

    @classmethod
    def of(cls, data: Any, dtype: torch.dtype, device: torch.device) -> Examples:
        """A copy of `data` = (inputs, targets); real numbers are kept in `dtype`, whole numbers as int64.

        An example with a number that is not finite is let in: what it contributes becomes zero."""
        if not isinstance(data, tuple | list) or len(data) != 2:
            raise DataError("data must be a pair (inputs, targets) of tensors with one row an example.")
        inputs, targets = (_tensor(part, dtype, device) for part in data)
        if inputs.ndim < 1 or targets.ndim < 1 or len(inputs) != len(targets) or not len(inputs):
            raise DataError("inputs and targets must hold the same number of examples, at least one.")
        n = len(inputs)
        units = Units(np.arange(n + 1), np.arange(n), np.arange(n), np.ones(n))
        return cls((_with_a_row_more(inputs), _with_a_row_more(targets)), units, whole=True)

    def by_person(self, persons: Persons) -> Examples:
        """Sorted by person; an example without a key is dropped, which is to count nothing."""
        if self.n > MOST_EXAMPLES:
            raise DataError(f"persons may have at most {MOST_EXAMPLES} examples together.")
        order = persons.rows_in_order()
        units = Units(persons.first_rows(), order, persons.row_numbers()[order], persons.shares()[order])
        return Examples(self._held, units, whole=False)

    @property
    def kinds(self) -> Kinds:
        """All that whoever makes up examples is shown: not even how many persons have."""
        return Kinds(*(part.new_empty((0, *part.shape[1:])) for part in self._held))

    @property
    def n(self) -> int:
        return len(self._units.first) - 1

    def fill_with(self, x: Tensor, y: Tensor) -> None:
        """The made-up example that stands where a call has none."""
        for held, made_up in zip(self._held, (x, y), strict=True):
            held[-1] = made_up

    def take(self, indices: NDArray[np.int64]) -> Examples:
        """These records, or persons with all their examples; each keeps its number. Nothing is copied."""
        return Examples(self._held, self._units.of(indices), whole=False)

    def pieces(self, longest: int, expected: int, reach: float = 4.0) -> Iterator[Piece]:
        """Calls of one length, which `longest`, the public number `expected` of units and, where their places
        collide, `reach` decide."""
        longest = min(longest, _LONGEST)
        inputs, targets = self._held
        length = (
            places.even_length(expected, longest)
            if self._whole
            else places.spread_length(expected, longest, reach)
        )
        for call in places.calls(self._units.numbers, length):
            rows, shares = np.full(length, len(inputs) - 1), np.zeros(length)
            rows[call.places] = self._units.rows[call.rows]
            shares[call.places] = self._units.shares[call.rows]
            at, counts = (torch.from_numpy(part).to(inputs.device) for part in (rows, shares))
            yield Piece(inputs.index_select(0, at), targets.index_select(0, at), counts)

    def __repr__(self) -> str:
        return f"Examples({self.n}, private)"


def _with_a_row_more(part: Tensor) -> Tensor:
    return torch.cat([part, torch.zeros_like(part[:1])])


def _tensor(part: Any, dtype: torch.dtype, device: torch.device) -> Tensor:
    """A copy of a tensor or array, whose type was declared when it was made.

    A list has none: it would follow from all rows, and one cell of another kind would change the others."""
    typed = isinstance(part, Tensor) or (
        isinstance(part, np.ndarray) and part.dtype.kind in "biuf" and not isinstance(part, np.ma.MaskedArray)
    )
    try:
        # PyTorch warns of arrays that may not be written to, as dataframes hand out.
        writable = np.array(part) if isinstance(part, np.ndarray) else part
        held = torch.as_tensor(writable).detach().clone() if typed else None
    except Exception:
        held = None
    if held is None or held.is_complex() or held.is_sparse or held.is_quantized:
        raise DataError(
            "inputs and targets must be dense tensors, or NumPy arrays, of real or whole numbers. Give lists "
            "and frames a type first: torch.tensor(rows, dtype=torch.float64), frame.to_numpy(np.float64)."
        ) from None
    return held.to(device, dtype if held.is_floating_point() else torch.int64)
