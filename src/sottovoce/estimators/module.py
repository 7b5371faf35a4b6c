"""`fit_torch`: a PyTorch module, a loss an example, tensors and a budget, and nothing to tune."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from sottovoce.accounting import Budget, Ledger
from sottovoce.autodiff import without_torch
from sottovoce.errors import ParameterError
from sottovoce.files import write
from sottovoce.methods.clipped_adam import ClippedAdam
from sottovoce.training import minimize

try:
    import torch
    from torch import nn

    from sottovoce.autodiff.risk import TorchRisk
    from sottovoce.estimators import safetensors
except ModuleNotFoundError as missing:
    if missing.name != "torch":
        raise
    raise without_torch("fit_torch") from None

if TYPE_CHECKING:
    from torch import Tensor

    from sottovoce.accounting.guarantee import Guarantee
    from sottovoce.accounting.resume import Resume
    from sottovoce.autodiff.terms import Loss
    from sottovoce.results.result import Result

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


@final
@dataclass(frozen=True, kw_only=True)
class TrainedModule:
    """A module with trained weights, and what is promised about it. Holds no data."""

    module: nn.Module
    result: Result

    @property
    def guarantee(self) -> Guarantee:
        return self.result.guarantee

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is not promised, in plain words."""
        return self.result.caveats

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers by name, as `torch.nn.Module.load_state_dict` takes them."""
        return dict(self.module.state_dict())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file: parameters and buffers, the promise in its metadata."""
        privacy = {name: value if isinstance(value, str) else json.dumps(value) for name, value in self._told}
        write(path, safetensors.packed(self.state_dict(), privacy))

    @property
    def _told(self) -> list[tuple[str, Any]]:
        result = self.result
        return [
            ("format", "pt"),
            *result.privacy.items(),
            ("objective", result.objective),
            ("stopped", str(result.stop)),
            ("caveats", list(result.caveats)),
        ]

    def __repr__(self) -> str:
        return f"TrainedModule({type(self.module).__name__}, {self.result!r})"

    def __str__(self) -> str:
        return "\n".join(
            (
                f"trained: {self.result.objective}",
                f"stopped: {self.result.stop}",
                f"guarantee: {self.guarantee}",
                *(f"caveat: {caveat}" for caveat in self.caveats),
            )
        )


def fit_torch(
    module: nn.Module,
    loss: Loss,
    data: Any,
    budget: Budget,
    *,
    groups: Any = None,
    persons: int | None = None,
    ledger: Ledger | None = None,
    simulate: int | None = None,
    purpose: str = "",
    progress: bool = False,
    resume: str | Resume | None = None,
    invalid: str = "raise",
    memory: float = 2.0**25,
    device: str | torch.device | None = None,
) -> TrainedModule:
    """Train a module with (epsilon, delta)-differential privacy: a budget, and nothing to tune.

    Clip, batch size, number of steps and step lengths follow from the number of examples and from released
    answers (`methods.clipped_adam`). The module is left as it is; training starts from its parameters, which
    must not depend on the data. With relation="zero-out" batches are Poisson ones, as in Opacus; otherwise
    they have a fixed size, and the promise is the stronger one about replacing an example. Without a ledger
    file, an interruption from the keyboard returns what was trained until then.

    Args:
        module: Its layers must map each example by itself: batch normalization and dropout in training mode,
            hooks and lazy layers are refused.
        loss: loss(outputs, targets) gives one number an example.
        data: (inputs, targets), tensors or arrays with one row an example, or a `TensorDataset` of the two.
        budget: The promise.
        groups: The key of each example's person; the promise is then about persons.
        persons: How many persons there are, as zero-out demands.
        ledger: As for `minimize`.
        simulate: As for `minimize`.
        purpose: As for `minimize`.
        progress: Whether a bar shows steps, passes over the data, budget spent and time left.
        resume: As for `minimize`.
        invalid: "zero" lets examples in on which module or loss raise an error; they count for nothing.
        memory: Bytes of per-example derivatives held at once.
        device: Where to compute; a CUDA device is used if there is one.
    """
    _require_plain(module)
    risk = TorchRisk(
        module,
        loss,
        _tensors(data),
        memory=memory,
        dtype=_precision(module),
        device=device,
        invalid=invalid,
        groups=groups,
        persons=persons,
    )
    resumable = isinstance(ledger, Ledger) and ledger.persistent
    result = minimize(
        risk,
        budget=budget,
        method=ClippedAdam(interruptible=not resumable),
        ledger=ledger,
        simulate=simulate,
        purpose=purpose,
        progress=progress,
        resume=resume,
    )
    return TrainedModule(module=risk.module_with(result), result=result)


def _require_plain(module: Any) -> None:
    """Refuse hooks: they run on every example, and what they write down or change is nobody's to bound."""
    if isinstance(module, nn.Module) and any(
        getattr(layer, name) for layer in module.modules() for name in _HOOKS
    ):
        raise ParameterError(
            "the module has hooks, which are called with single examples. Remove them, and write what they "
            "do to the outputs into forward."
        )


def _tensors(data: Any) -> Any:
    """The two tensors of a data set that holds them as they are."""
    return data.tensors if isinstance(data, torch.utils.data.TensorDataset) else data


def _precision(module: nn.Module) -> torch.dtype:
    """What to compute an example in: double where the module is double throughout, else single."""
    kinds = {held.dtype for held in module.parameters()} if isinstance(module, nn.Module) else set()
    return torch.float64 if kinds == {torch.float64} else torch.float32
