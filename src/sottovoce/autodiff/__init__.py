"""PyTorch modules under the same ledger, methods and certificates (extra: `sottovoce[torch]`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sottovoce.autodiff.risk import TorchRisk

__all__ = ["TorchRisk"]


def without_torch(what: str) -> ModuleNotFoundError:
    """What to say where PyTorch is not installed."""
    return ModuleNotFoundError(
        f"{what} needs PyTorch. Install it with: pip install 'sottovoce[torch]'", name="torch"
    )


def __getattr__(name: str) -> Any:
    if name != "TorchRisk":
        raise AttributeError(f"module 'sottovoce.autodiff' has no attribute {name!r}")
    try:
        from sottovoce.autodiff.risk import TorchRisk
    except ModuleNotFoundError as missing:
        if missing.name != "torch":
            raise
        raise without_torch(name) from None
    globals()[name] = TorchRisk
    return TorchRisk


def __dir__() -> list[str]:
    return list(__all__)
