"""One example's loss and its derivatives, for many examples at once: torch.func over a module."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jacrev, vmap

from sottovoce.autodiff.fused import Fused
from sottovoce.autodiff.state import first_change
from sottovoce.errors import DataError, ParameterError

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.autodiff.parameters import Layout

Loss = Callable[[Tensor, Tensor], Tensor]
Single = Callable[[Tensor, Tensor, Tensor], Tensor]
"""A number or an array of one example, from flat weights, its input and its target."""


@final
class Terms:
    """loss(module(x), y) of single examples, as a function of the flat vector of weights.

    Every example is computed as a batch of its own, so no term can depend on another example, whatever the
    module does. Each call works on a fresh copy of module, loss, buffers and weights, so nothing that an
    example writes survives it. Buffers and parameters that are not trained are constants."""

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
            name: held.detach().clone()
            for name, held in [*module.named_parameters(), *module.named_buffers()]
            if name not in trained
        }
        self._stand_in: tuple[Tensor, Tensor] | None = None

    @property
    def dim(self) -> int:
        return self._layout.dim

    @property
    def device(self) -> torch.device:
        return self._device

    def vector(self, w: Vector) -> Tensor:
        """Weights as the module computes with them, in memory of their own."""
        return torch.from_numpy(np.array(w)).to(self._device, self._dtype)

    def stand_in(self, x: Tensor, y: Tensor) -> None:
        """Keep a made-up example that the module takes, to fill the places of those that it does not."""
        self._stand_in = (x, y)

    @property
    def filler(self) -> tuple[Tensor, Tensor]:
        """That example."""
        assert self._stand_in is not None
        return self._stand_in

    def fused(self, flat: Tensor) -> Fused | None:
        """Sums of clipped gradients by layers, where the module is a chain of layers that are known."""
        module, loss, constants = self._fresh()
        found = Fused.of(module, constants, self._layout, loss)
        return found if found is not None and found.agrees(self, flat) else None

    def together(self, flat: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """The losses as the user's own code gives them for a whole batch, which must be made up."""
        with torch.no_grad():
            return self._evaluate(*self._fresh(), flat.clone(), inputs, targets)

    def written(self, flat: Tensor, inputs: Tensor, targets: Tensor) -> str | None:
        """The kind of layer, or loss, that changes its own state when asked for a loss, if any."""
        module, loss, held = self._fresh()
        held.update(self._layout.split(flat.clone()))
        before = copy.deepcopy((module, loss, held))
        with torch.no_grad():
            loss(functional_call(module, held, (inputs,)), targets)
        return first_change(before, (module, loss, held))

    def values(self, flat: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """Losses, one an example."""
        with torch.no_grad():
            return self._each(lambda one: one, flat, inputs, targets)

    def gradients(self, flat: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """Gradients, one row an example."""
        return self._each(grad, flat, inputs, targets)

    def products(self, flat: Tensor, direction: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """Hessians times a direction, one row an example: the gradient of the slope along it.

        As dear as forward over reverse, and PyTorch's forward mode loads a compiler first."""

        def bent(one: Single) -> Single:
            def slope(point: Tensor, x: Tensor, y: Tensor) -> Tensor:
                along: Tensor = grad(one)(point, x, y) @ direction
                return along

            bend: Single = grad(slope)
            return bend

        return self._each(bent, flat, inputs, targets)

    def hessians(self, flat: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
        """Hessians, one matrix an example."""
        return self._each(lambda one: jacrev(grad(one)), flat, inputs, targets)

    def works(self, flat: Tensor, inputs: Tensor, targets: Tensor) -> bool:
        """Whether module and loss take all of these examples."""
        with torch.no_grad():
            return _attempt(lambda: self._at_once(lambda one: one, flat, inputs, targets)) is not None

    def _each(
        self, transform: Callable[[Single], Single], flat: Tensor, inputs: Tensor, targets: Tensor
    ) -> Tensor:
        """The transform of one example's loss, for each; NaN, which counts as zero, where the code raises.

        Whether it raises on an example is found out from that example alone. The others are computed again at
        their places in a batch of the same size, so that no bit of theirs depends on it."""
        terms = _attempt(lambda: self._at_once(transform, flat, inputs, targets))
        if terms is not None:
            return terms
        self._require_differentiable(transform, flat)

        def fails(i: int) -> bool:
            one = (inputs[i : i + 1], targets[i : i + 1])
            return _attempt(lambda: self._at_once(transform, flat, *one)) is None

        broken = torch.tensor([fails(i) for i in range(len(inputs))], device=inputs.device)
        if self._stand_in is not None:
            inputs, targets = inputs.clone(), targets.clone()
            inputs[broken], targets[broken] = self._stand_in
            terms = _attempt(lambda: self._at_once(transform, flat, inputs, targets))
        if terms is None:
            raise DataError(
                "the module or the loss raised an error; its message is withheld, as it may quote data. Try "
                "them on made-up examples of the same shapes."
            )
        terms[broken] = torch.nan
        return terms

    def _require_differentiable(self, transform: Callable[[Single], Single], flat: Tensor) -> None:
        """Refuse what PyTorch has no rule for: found out from the made-up example, never from a record."""
        if self._stand_in is None:
            return
        x, y = (part.unsqueeze(0) for part in self._stand_in)
        try:
            self._at_once(transform, flat, x, y)
        except NotImplementedError:
            raise ParameterError(
                "PyTorch cannot differentiate this module or loss example by example as often as was asked. "
                "Replace the operation it has no rule for."
            ) from None
        except Exception:
            return

    def _at_once(
        self, transform: Callable[[Single], Single], flat: Tensor, inputs: Tensor, targets: Tensor
    ) -> Tensor:
        module, loss, held = self._fresh()

        def one(point: Tensor, x: Tensor, y: Tensor) -> Tensor:
            return self._evaluate(module, loss, held, point, x.unsqueeze(0), y.unsqueeze(0)).squeeze(0)

        terms: Tensor = vmap(transform(one), in_dims=(None, 0, 0))(flat.clone(), inputs, targets)
        return terms.detach()

    def _fresh(self) -> tuple[nn.Module, Loss, dict[str, Tensor]]:
        module, loss = copy.deepcopy((self._module, self._loss))
        return module, loss, {name: held.clone() for name, held in self._constants.items()}

    def _evaluate(
        self,
        module: nn.Module,
        loss: Loss,
        constants: dict[str, Tensor],
        flat: Tensor,
        inputs: Tensor,
        targets: Tensor,
    ) -> Tensor:
        held = {**constants, **self._layout.split(flat)}
        return loss(functional_call(module, held, (inputs,)), targets)

    def __repr__(self) -> str:
        return f"Terms({type(self._module).__name__})"


def _attempt(compute: Callable[[], Tensor]) -> Tensor | None:
    """What is computed, or None where the user's code raised: what it says may quote data and is dropped."""
    try:
        return compute()
    except Exception:
        return None


def scalar_per_example(losses: Any, count: int) -> bool:
    """Whether a loss gave one real number an example."""
    return isinstance(losses, Tensor) and losses.is_floating_point() and losses.shape == (count,)
