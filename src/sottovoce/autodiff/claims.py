"""Checks on the user's word: the loss is a sum over examples, and the same each time it is asked.

Privacy does not rest on them, as every example is computed by itself. Meaning does: a module that looks at
its whole batch would be trained as if every batch held one example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from sottovoce.autodiff.terms import scalar_per_example
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.autodiff.examples import Examples
    from sottovoce.autodiff.terms import Terms

PROBES = 4
"""Examples looked at: enough to tell one from the rest."""


def check_module(module: Any, loss: Any) -> None:
    """Refuse layers that mix examples or draw at random, by their kind."""
    if not isinstance(module, nn.Module) or not callable(loss):
        raise ParameterError("TorchRisk takes a torch.nn.Module and a function loss(outputs, targets).")
    for layer in module.modules():
        if isinstance(layer, _BatchNorm) and (layer.training or layer.running_mean is None):
            raise ParameterError(
                f"{type(layer).__name__} normalizes by the statistics of a batch, so no example has a loss "
                "of its own. Use GroupNorm or LayerNorm, or module.eval() with statistics from public data."
            )
        if isinstance(layer, _DropoutNd) and layer.training and layer.p > 0.0:
            raise ParameterError(
                f"{type(layer).__name__} draws at random in training mode, so a loss is not a function of "
                "the weights. Call module.eval() first; privacy noise regularizes enough."
            )
        if isinstance(layer, nn.RNNBase) and layer.training and layer.dropout > 0.0:
            raise ParameterError(
                "dropout between recurrent layers draws at random. Call module.eval() first."
            )


def check_terms(terms: Terms, flat: Tensor, examples: Examples) -> None:
    """Refuse a loss that is not one number an example, or that moves when another example is replaced."""
    places = torch.arange(PROBES, device=examples.inputs.device) % examples.n
    inputs, targets = examples.inputs[places], examples.targets[places]
    losses = terms.together(flat, inputs, targets)
    if not scalar_per_example(losses, PROBES):
        raise ParameterError(
            "loss(outputs, targets) must return one number an example, in one dimension. "
            'Give the loss reduction="none" and average nothing yourself.'
        )
    replaced = terms.together(flat, *_replaced(inputs, targets, examples))
    alone = torch.cat(
        [_alone(terms, flat, inputs[i : i + 1], targets[i : i + 1]).reshape(-1) for i in range(PROBES)]
    )
    if not _same(losses[1:], replaced[1:]) or not _same(losses, alone):
        raise ParameterError(
            "an example's loss changes with the other examples of its batch: the module or the loss mixes "
            "them (batch statistics, a mean or a softmax over the batch). Privacy for one example needs a "
            "loss of its own; compute each from its own row."
        )
    if not _same(losses, terms.values(flat, inputs, targets)):
        raise ParameterError(
            "the module gives another loss when asked again or through torch.func.vmap: it draws at random, "
            "keeps a state or leaves PyTorch. Make it a function of weights and example alone."
        )


def _alone(terms: Terms, flat: Tensor, x: Tensor, y: Tensor) -> Tensor:
    loss = terms.together(flat, x, y)
    return loss if scalar_per_example(loss, 1) else torch.full((1,), torch.nan)


def _replaced(inputs: Tensor, targets: Tensor, examples: Examples) -> tuple[Tensor, Tensor]:
    """The same batch with another first example: real inputs moved at random, whole ones taken elsewhere."""
    other_inputs, other_targets = inputs.clone(), targets.clone()
    other = examples.n - 1
    other_targets[0] = examples.targets[other]
    other_inputs[0] = examples.inputs[other]
    if inputs.is_floating_point():
        generator = torch.Generator().manual_seed(0)
        shift = torch.randn(inputs.shape[1:], generator=generator, dtype=torch.float64)
        other_inputs[0] += shift.to(inputs)
    return other_inputs, other_targets


def _same(a: Tensor, b: Tensor) -> bool:
    """Equal but for rounding, which may differ with the size of a batch."""
    coarse = 1e-4 if a.dtype != torch.float64 else 1e-9
    return a.shape == b.shape and torch.allclose(a, b, rtol=coarse, atol=coarse, equal_nan=True)
