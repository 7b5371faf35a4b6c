"""One example's loss and its derivatives, for many examples at once: torch.func over a module."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jacrev, vmap

from sottovoce.errors import DataError, ParameterError, SottovoceError

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.autodiff.parameters import Layout

Loss = Callable[[Tensor, Tensor], Tensor]


@final
class Terms:
    """loss(module(x), y) of single examples, as a function of the flat vector of weights.

    Every example is computed as a batch of its own, so no term can depend on another example, whatever the
    module does. Buffers and parameters that are not trained are constants."""

    def __init__(
        self, module: nn.Module, loss: Loss, layout: Layout, dtype: torch.dtype, device: torch.device
    ) -> None:
        self._module = module
        self._loss = loss
        self._layout = layout
        self._dtype = dtype
        self._device = device
        trained = set(layout.names)
        self._constants = {
            name: held.detach()
            for name, held in [*module.named_parameters(), *module.named_buffers()]
            if name not in trained
        }
        over = (None, 0, 0)
        self._values = vmap(self._one, in_dims=over)
        self._gradients = vmap(grad(self._one), in_dims=over)
        self._hessians = vmap(jacrev(grad(self._one)), in_dims=over)
        self._products = vmap(self._product, in_dims=(None, None, 0, 0))

    def vector(self, w: Vector) -> Tensor:
        """Weights as the module computes with them."""
        return torch.from_numpy(np.ascontiguousarray(w)).to(self._device, self._dtype)

    def together(self, flat: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The losses as the user's own code gives them for a whole batch."""
        with _translated(), torch.no_grad():
            return self._evaluate(flat, inputs, targets)

    def values(self, flat: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """Losses, one an example."""
        with _translated(), torch.no_grad():
            return self._values(flat, inputs, targets)

    def gradients(self, flat: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """Gradients, one row an example."""
        with _translated():
            return _detached(self._gradients(flat, inputs, targets))

    def products(self, flat: Tensor, direction: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """Hessians times a direction, one row an example: the gradient of the slope along it.

        As dear as forward over reverse, and PyTorch's forward mode loads a compiler first."""
        with _translated():
            return _detached(self._products(flat, direction, inputs, targets))

    def hessians(self, flat: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """Hessians, one matrix an example."""
        with _translated():
            return _detached(self._hessians(flat, inputs, targets))

    def _evaluate(self, flat: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        held = {**self._constants, **self._layout.split(flat)}
        return self._loss(functional_call(self._module, held, (inputs,)), targets)

    def _one(self, flat: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return self._evaluate(flat, x.unsqueeze(0), y.unsqueeze(0)).squeeze(0)

    def _product(self, flat: Tensor, direction: Tensor, x: Tensor, y: Tensor) -> Tensor:
        def slope(point: Tensor) -> Tensor:
            along: Tensor = grad(self._one)(point, x, y) @ direction
            return along

        bend: Tensor = grad(slope)(flat)
        return bend

    def __repr__(self) -> str:
        return f"Terms({type(self._module).__name__})"


def _detached(terms: Any) -> Tensor:
    held: Tensor = terms.detach()
    return held


@contextmanager
def _translated() -> Generator[None, None, None]:
    """What the user's code raises may quote data: only its kind is passed on."""
    try:
        yield
    except SottovoceError:
        raise
    except NotImplementedError:
        raise ParameterError(
            "PyTorch cannot differentiate this module or loss example by example as often as was asked. "
            "Replace the operation it has no rule for."
        ) from None
    except Exception as failure:
        raise DataError(
            f"the module or the loss raised {type(failure).__name__} on an example; its message is withheld, "
            "as it may quote data. Try them on made-up examples of the same shapes."
        ) from None


def scalar_per_example(losses: Any, count: int) -> bool:
    """Whether a loss gave one real number an example."""
    return isinstance(losses, Tensor) and losses.is_floating_point() and losses.shape == (count,)
