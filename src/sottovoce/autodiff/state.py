"""What a module remembers: parameters, buffers and plain attributes, compared before and after a call."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.Size)


def first_change(
    before: tuple[nn.Module, Any, dict[str, Tensor]], after: tuple[nn.Module, Any, dict[str, Tensor]]
) -> str | None:
    """The kind of the first layer, or of the loss, whose state differs; None where none does.

    Each side is a module, a loss and the tensors that stood in for the module's own while it was called."""
    (module, loss, held), (called, asked, written) = before, after
    for old, new in zip(module.modules(), called.modules(), strict=True):
        if not _same(_own(old), _own(new), set()):
            return type(new).__name__
    for name, tensor in held.items():
        if not _same(tensor, written[name], set()):
            return type(called.get_submodule(name.rpartition(".")[0])).__name__
    return None if _same(loss, asked, set()) else type(asked).__name__


def _own(layer: nn.Module) -> dict[str, Any]:
    """A layer's own state, without the layers inside it, which are looked at by themselves."""
    return {name: value for name, value in vars(layer).items() if name != "_modules"}


def _same(a: Any, b: Any, seen: set[tuple[int, int]]) -> bool:
    """Equal by value, as far as values can be looked into; NaN equals NaN."""
    if a is b or (id(a), id(b)) in seen:
        return True
    seen.add((id(a), id(b)))
    if type(a) is not type(b):
        return False
    if isinstance(a, Tensor):
        return a.shape == b.shape and a.dtype == b.dtype and bool(torch.all((a == b) | ((a != a) & (b != b))))
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and bool(np.all((a == b) | ((a != a) & (b != b))))
    if isinstance(a, _PLAIN):
        return bool(a == b or (a != a and b != b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key], seen) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(_same(x, y, seen) for x, y in zip(a, b, strict=True))
    if isinstance(a, set | frozenset):
        return bool(a == b)
    return _same(vars(a), vars(b), seen) if hasattr(a, "__dict__") else True
