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

    __slots__ = ("_filler", "_units", "_whole", "inputs", "targets")

    def __init__(self, inputs: Tensor, targets: Tensor, units: Units, *, whole: bool) -> None:
        self.inputs = inputs
        self.targets = targets
        self._units = units
        self._whole = whole
        self._filler: tuple[Tensor, Tensor] | None = None

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
        return cls(
            inputs, targets, Units(np.arange(n + 1), np.arange(n), np.arange(n), np.ones(n)), whole=True
        )

    def by_person(self, persons: Persons) -> Examples:
        """Sorted by person; an example without a key is dropped, which is to count nothing."""
        if self.n > MOST_EXAMPLES:
            raise DataError(f"persons may have at most {MOST_EXAMPLES} examples together.")
        order = persons.rows_in_order()
        units = Units(persons.first_rows(), order, persons.row_numbers()[order], persons.shares()[order])
        return Examples(self.inputs, self.targets, units, whole=False)

    @property
    def n(self) -> int:
        return len(self._units.first) - 1

    def fill_with(self, x: Tensor, y: Tensor) -> None:
        """The made-up example that stands where a call has none."""
        self._filler = (x, y)

    def take(self, indices: NDArray[np.int64]) -> Examples:
        """These records, or persons with all their examples; each keeps its number. Nothing is copied."""
        part = Examples(self.inputs, self.targets, self._units.of(indices), whole=False)
        part._filler = self._filler
        return part

    def pieces(self, longest: int, expected: int, reach: float = 4.0) -> Iterator[Piece]:
        """Calls of one length, which `longest`, the public number `expected` of units and, where their places
        collide, `reach` decide."""
        assert self._filler is not None
        longest = min(longest, _LONGEST)
        device = self.inputs.device
        length = (
            places.even_length(expected, longest)
            if self._whole
            else places.spread_length(expected, longest, reach)
        )
        for call in places.calls(self._units.numbers, length):
            at, rows = (
                torch.from_numpy(part).to(device) for part in (call.places, self._units.rows[call.rows])
            )
            inputs, targets = (part.expand(length, *part.shape).contiguous() for part in self._filler)
            shares = torch.zeros(length, dtype=torch.float64, device=device)
            for filled, held in ((inputs, self.inputs), (targets, self.targets)):
                filled.index_copy_(0, at, held.index_select(0, rows))
            shares[at] = torch.from_numpy(self._units.shares[call.rows]).to(device)
            yield Piece(inputs, targets, shares)

    def __repr__(self) -> str:
        return f"Examples({self.n}, private)"


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
