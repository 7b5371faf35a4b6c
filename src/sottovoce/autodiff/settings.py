"""What a user declares about a module: clips, constants, memory and device, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import torch

from sottovoce.errors import ParameterError

MATRIX_LIMIT = 300
"""Most weights for which per-example Hessians are formed unless asked for: 720 kB an example."""

_LARGEST_MATRIX = 2000
_COPIES = 4
"""Arrays of the size of the answer that differentiation holds at once."""

_ACTIVATIONS = 64
"""Numbers an example needs besides, at least."""


@final
@dataclass(frozen=True, kw_only=True)
class Settings:
    """Public numbers: nothing here may come from the data."""

    declared: bool
    gradient_clip: float
    curvature_clip: float
    loss_bound: float
    smoothness: float
    hessian_lipschitz: float
    curvature: str
    memory: float
    dtype: torch.dtype
    device: torch.device

    @classmethod
    def of(cls, *, smoothness: float | None, hessian_lipschitz: float | None, **given: Any) -> Settings:
        """Declared values with the missing ones filled in from the clips, which are declared both or not.

        The only constant of the Hessian's change that two clips can give in the right units is their
        curvature^2 / slope."""
        clips = ("gradient_clip", "curvature_clip")
        given["declared"] = given["gradient_clip"] is not None
        if given["declared"] is not (given["curvature_clip"] is not None):
            raise ParameterError("declare gradient_clip and curvature_clip, or neither.")
        if not given["declared"]:
            given |= dict.fromkeys(clips, 1.0)
        for name in (*clips, "loss_bound", "memory"):
            given[name] = _positive(name, given[name])
        if smoothness is None:
            smoothness = given["curvature_clip"]
        if hessian_lipschitz is None:
            hessian_lipschitz = given["curvature_clip"] ** 2 / given["gradient_clip"]
        if given["curvature"] not in ("auto", "matrix", "products"):
            raise ParameterError('curvature must be "auto", "matrix" or "products".', argument="curvature")
        if given["dtype"] not in (torch.float64, torch.float32):
            raise ParameterError("dtype must be torch.float64 or torch.float32.", argument="dtype")
        given["device"] = _device(given["device"])
        return cls(
            smoothness=_positive("smoothness", smoothness),
            hessian_lipschitz=_positive("hessian_lipschitz", hessian_lipschitz),
            **given,
        )

    def forms_matrices(self, dim: int) -> bool:
        """Whether curvature is asked for as a matrix."""
        if self.curvature == "matrix" and dim > _LARGEST_MATRIX:
            raise ParameterError(
                f'curvature="matrix" forms a Hessian an example, and {dim} weights are too many: the limit '
                f'is {_LARGEST_MATRIX}. Use curvature="products".'
            )
        return self.curvature == "matrix" or (self.curvature == "auto" and dim <= MATRIX_LIMIT)

    def chunk(self, entries: int) -> int:
        """Examples computed at once when each gives so many numbers: as many as the memory holds."""
        held = 8.0 * _COPIES * (entries + _ACTIVATIONS)
        return int(max(1.0, min(self.memory / held, 2.0**30)))


def _positive(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-100 < value < math.inf:
        raise ParameterError(
            f"{name} must be a positive finite number, chosen without looking at the data.", argument=name
        )
    return float(value)


def _device(asked: Any) -> torch.device:
    if asked is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(asked)
    except (RuntimeError, TypeError):
        raise ParameterError(
            'device must be one that PyTorch knows, such as "cpu" or "cuda".', argument="device"
        ) from None
