"""Private training that needs no tuning and says what it reached.

Public names load on first use, so `import sottovoce` stays light."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sottovoce._version import VERSION as __version__

if TYPE_CHECKING:
    from sottovoce import errors, losses, methods, regularizers
    from sottovoce.accounting import Budget, Ledger
    from sottovoce.certificate import Certificate
    from sottovoce.training import minimize
    from sottovoce.records import Records
    from sottovoce.result import Guarantee, Result, Stop, Tolerance
    from sottovoce.risk import Risk

_HOMES = {
    "Budget": "sottovoce.accounting",
    "Certificate": "sottovoce.certificate",
    "Guarantee": "sottovoce.result",
    "Ledger": "sottovoce.accounting",
    "Records": "sottovoce.records",
    "Result": "sottovoce.result",
    "Risk": "sottovoce.risk",
    "Stop": "sottovoce.result",
    "Tolerance": "sottovoce.result",
    "minimize": "sottovoce.training",
}
_ROOMS = ("errors", "losses", "methods", "regularizers")

__all__ = [
    "Budget",
    "Certificate",
    "Guarantee",
    "Ledger",
    "Records",
    "Result",
    "Risk",
    "Stop",
    "Tolerance",
    "__version__",
    "errors",
    "losses",
    "methods",
    "minimize",
    "regularizers",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"sottovoce.{name}")
    else:
        raise AttributeError(f"module 'sottovoce' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
