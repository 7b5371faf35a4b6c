"""The door for tensors: inputs and targets of n examples, held and never shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from sottovoce.data.sealed import Sealed
from sottovoce.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class Piece(NamedTuple):
    """Examples computed at once, and what each counts: 1 without shares."""

    inputs: Tensor
    targets: Tensor
    shares: Tensor | None = None


@final
class Examples(Sealed):
    """n inputs with their targets, on one device. Nothing about them but n and their shapes is public."""

    __slots__ = ("inputs", "targets")

    def __init__(self, inputs: Tensor, targets: Tensor) -> None:
        self.inputs = inputs
        self.targets = targets

    @classmethod
    def of(cls, data: Any, dtype: torch.dtype, device: torch.device) -> Examples:
        """A copy of `data` = (inputs, targets); real numbers are kept in `dtype`, whole numbers as int64.

        An example with a number that is not finite is let in: what it contributes becomes zero."""
        if not isinstance(data, tuple | list) or len(data) != 2:
            raise DataError("data must be a pair (inputs, targets) of tensors with one row an example.")
        inputs, targets = (_tensor(part, dtype, device) for part in data)
        if inputs.ndim < 1 or targets.ndim < 1 or len(inputs) != len(targets) or not len(inputs):
            raise DataError("inputs and targets must hold the same number of examples, at least one.")
        return cls(inputs, targets)

    @property
    def n(self) -> int:
        return len(self.inputs)

    def fill_with(self, x: Tensor, y: Tensor) -> None:
        """Nothing: there are no gaps."""

    def pieces(self, length: int) -> Iterator[Piece]:
        """Consecutive examples, `length` at a time."""
        for start in range(0, self.n, length):
            yield Piece(self.inputs[start : start + length], self.targets[start : start + length])

    def take(self, indices: NDArray[np.int64]) -> Examples:
        """A copy of the examples at these positions."""
        places = torch.from_numpy(indices).to(self.inputs.device)
        return Examples(self.inputs[places], self.targets[places])

    def __repr__(self) -> str:
        return f"Examples({self.n}, private)"


def _tensor(part: Any, dtype: torch.dtype, device: torch.device) -> Tensor:
    try:
        # PyTorch warns of arrays that may not be written to, as dataframes hand out.
        writable = part.copy() if isinstance(part, np.ndarray) else part
        held = torch.as_tensor(writable).detach().clone()
    except Exception:
        held = None
    if held is None or held.is_complex() or held.is_sparse or held.is_quantized:
        raise DataError(
            "inputs and targets must be dense tensors, or arrays, of real or whole numbers."
        ) from None
    return held.to(device, dtype if held.is_floating_point() else torch.int64)
