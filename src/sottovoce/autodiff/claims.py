"""Checks on the user's word: the loss is a sum over examples, the same each time, and writes nothing down.

They are made with made-up examples on throwaway copies. Privacy does not rest on them, as every example is
computed by itself on a fresh copy. Meaning does: a module that looks at its whole batch would be trained as
if every batch held one example, and one that sets itself up on its first batch would never do so."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.lazy import LazyModuleMixin

from sottovoce.autodiff.terms import scalar_per_example
from sottovoce.errors import DataError, ParameterError

if TYPE_CHECKING:
    from sottovoce.autodiff.examples import Kinds
    from sottovoce.autodiff.terms import Terms

PROBES = 4
"""Made-up examples: enough to tell one from the rest."""


def check_module(module: Any, loss: Any) -> None:
    """Refuse layers that mix examples, draw at random or set themselves up later, by their kind."""
    if not isinstance(module, nn.Module) or not callable(loss):
        raise ParameterError("TorchRisk takes a torch.nn.Module and a function loss(outputs, targets).")
    for layer in module.modules():
        if isinstance(layer, LazyModuleMixin):
            raise ParameterError(
                f"{type(layer).__name__} takes its shape from the first batch it sees. Call the module on "
                "made-up examples once, or declare the shapes."
            )
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


def check_terms(terms: Terms, flat: Tensor, kinds: Kinds, *, matrices: bool) -> None:
    """Refuse a loss that is not one number an example, that moves when another example is replaced, that
    changes what it remembers, or that has no second derivative; `matrices`: as Hessians, else as products."""
    inputs, targets, losses = _asked(terms, flat, kinds)
    if not scalar_per_example(losses, PROBES):
        raise ParameterError(
            "loss(outputs, targets) must return one number an example, in one dimension. "
            'Give the loss reduction="none" and average nothing yourself.'
        )
    writer = terms.written(flat, inputs, targets)
    if writer is not None:
        raise ParameterError(
            f"{writer} changes its own state when it is called: running statistics, a first batch that sets "
            "it up, a counter, a cache. Set it up on made-up or public examples, then freeze it by "
            "module.eval()."
        )
    replaced = terms.together(flat, *_replaced(inputs, targets))
    alone = torch.cat(
        [_alone(terms, flat, inputs[i : i + 1], targets[i : i + 1]).reshape(-1) for i in range(PROBES)]
    )
    if not _same(losses[1:], replaced[1:]) or not _same(losses, alone):
        raise ParameterError(
            "an example's loss changes with the other examples of its batch: the module or the loss mixes "
            "them (batch statistics, a mean or a softmax over the batch). Privacy for one example needs a "
            "loss of its own; compute each from its own row."
        )
    terms.stand_in(inputs[0], targets[0])
    if not terms.works(flat, inputs, targets) or not _same(losses, terms.values(flat, inputs, targets)):
        raise ParameterError(
            "the module gives another loss when asked again or through torch.func.vmap: it draws at random, "
            "keeps a state or leaves PyTorch. Make it a function of weights and example alone."
        )
    one = (inputs[:1], targets[:1])
    with suppress(DataError):
        terms.gradients(flat, *one)
        if matrices:
            terms.hessians(flat, *one)
        else:
            terms.products(flat, torch.ones_like(flat), *one)
        return
    raise ParameterError(
        "the module or the loss cannot be differentiated twice example by example: it writes into a tensor "
        "in place or leaves PyTorch. Make it a function of weights and example alone."
    )


def made_up(kinds: Kinds, ceiling: int) -> tuple[Tensor, Tensor]:
    """Examples of these shapes and kinds, made from nothing else: real inputs normal, whole numbers and all
    targets counting from 0 to `ceiling` and over again, as every label set and vocabulary has a 0."""
    count = torch.arange(PROBES, device=kinds.inputs.device) % (ceiling + 1)

    def counted(like: Tensor) -> Tensor:
        rows = count.reshape(-1, *[1] * (like.ndim - 1))
        return rows.expand(PROBES, *like.shape[1:]).to(like.dtype).clone()

    inputs = counted(kinds.inputs)
    if inputs.is_floating_point():
        generator = torch.Generator().manual_seed(0)
        inputs = torch.randn(inputs.shape, generator=generator, dtype=torch.float64).to(inputs)
    return inputs, counted(kinds.targets)


def _asked(terms: Terms, flat: Tensor, kinds: Kinds) -> tuple[Tensor, Tensor, Tensor]:
    """Made-up examples that the module takes, and their losses."""
    kind = ""
    for ceiling in (1, 0):
        inputs, targets = made_up(kinds, ceiling)
        try:
            return inputs, targets, terms.together(flat, inputs, targets)
        except Exception as failure:
            kind = type(failure).__name__
    raise ParameterError(
        f"the module or the loss raised {kind} on made-up examples of the shapes and kinds given. Check that "
        "they fit; labels and other whole numbers count from 0."
    )


def _alone(terms: Terms, flat: Tensor, x: Tensor, y: Tensor) -> Tensor:
    loss = terms.together(flat, x, y)
    return loss if scalar_per_example(loss, 1) else torch.full((1,), torch.nan)


def _replaced(inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The same batch with another first example: the last one, and real inputs moved at random besides."""
    other_inputs, other_targets = inputs.clone(), targets.clone()
    other_targets[0], other_inputs[0] = targets[-1], inputs[-1]
    if inputs.is_floating_point():
        generator = torch.Generator().manual_seed(1)
        shift = torch.randn(inputs.shape[1:], generator=generator, dtype=torch.float64)
        other_inputs[0] += shift.to(inputs)
    return other_inputs, other_targets


def _same(a: Tensor, b: Tensor) -> bool:
    """Equal but for rounding, which may differ with the size of a batch."""
    coarse = 1e-4 if a.dtype != torch.float64 else 1e-9
    return a.shape == b.shape and torch.allclose(a, b, rtol=coarse, atol=coarse, equal_nan=True)
