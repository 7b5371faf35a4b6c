"""A module's trainable parameters as one vector, and back."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import torch
from torch import Tensor, nn

from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.arrays import Vector


@final
@dataclass(frozen=True)
class Layout:
    """Names and shapes of the parameters that are trained, in the order in which the vector holds them.

    A parameter that several layers share counts once; one with requires_grad=False stays as it is."""

    names: tuple[str, ...]
    shapes: tuple[torch.Size, ...]

    @classmethod
    def of(cls, module: nn.Module) -> Layout:
        trained = {name: p for name, p in module.named_parameters() if p.requires_grad}
        if not trained:
            raise ParameterError("the module has no parameter with requires_grad=True: nothing to train.")
        if not all(p.is_floating_point() for p in trained.values()):
            raise ParameterError("trained parameters must be real numbers, not complex or quantized ones.")
        return cls(tuple(trained), tuple(p.shape for p in trained.values()))

    @property
    def sizes(self) -> list[int]:
        return [shape.numel() for shape in self.shapes]

    @property
    def dim(self) -> int:
        return sum(self.sizes)

    def split(self, flat: Tensor) -> dict[str, Tensor]:
        """The parameters in a vector, as views of it."""
        parts = torch.split(flat, self.sizes)
        return {
            name: part.view(shape) for name, part, shape in zip(self.names, parts, self.shapes, strict=True)
        }

    def vector(self, module: nn.Module) -> Vector:
        """The module's own parameters, in float64."""
        held = dict(module.named_parameters())
        parts = [held[name].detach().to("cpu", torch.float64).reshape(-1) for name in self.names]
        flat: Vector = torch.cat(parts).numpy().copy()
        if not np.all(np.isfinite(flat)):
            raise ParameterError("the module's parameters must be finite: a run starts from them.")
        return flat

    def module(self, template: nn.Module, weights: Vector) -> nn.Module:
        """A copy of the module with these weights in it, in the module's own precision."""
        flat = torch.from_numpy(np.array(weights, dtype=np.float64))
        if flat.shape != (self.dim,):
            raise ParameterError(
                f"weights must hold {self.dim} numbers, in one dimension.", argument="weights"
            )
        built = copy.deepcopy(template)
        held = dict(built.named_parameters())
        with torch.no_grad():
            for name, part in self.split(flat).items():
                held[name].copy_(part)
        return built
