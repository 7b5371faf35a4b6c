"""Private training that needs no tuning and says what it reached.

Public names load on first use, so `import sottovoce` stays light."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sottovoce._version import VERSION as __version__

if TYPE_CHECKING:
    from sottovoce import autodiff, errors, evaluation, losses, methods, regularizers, report
    from sottovoce.accounting import Budget, Ledger
    from sottovoce.certificate import Certificate
    from sottovoce.encoding import BoundedEncoder
    from sottovoce.estimators import PrivateClassifier, PrivateRegressor
    from sottovoce.fitting import fit
    from sottovoce.model import Model
    from sottovoce.planner import Plan, plan
    from sottovoce.records import Records
    from sottovoce.result import Guarantee, Result, Stop, Tolerance
    from sottovoce.risk import Risk
    from sottovoce.schema import Schema
    from sottovoce.search import PrivateSearch
    from sottovoce.softmax import SoftmaxRisk
    from sottovoce.training import minimize

_HOMES = {
    "BoundedEncoder": "sottovoce.encoding",
    "Budget": "sottovoce.accounting",
    "Certificate": "sottovoce.certificate",
    "Guarantee": "sottovoce.result",
    "Ledger": "sottovoce.accounting",
    "Model": "sottovoce.model",
    "Plan": "sottovoce.planner",
    "PrivateClassifier": "sottovoce.estimators",
    "PrivateRegressor": "sottovoce.estimators",
    "PrivateSearch": "sottovoce.search",
    "Records": "sottovoce.records",
    "Result": "sottovoce.result",
    "Risk": "sottovoce.risk",
    "Schema": "sottovoce.schema",
    "SoftmaxRisk": "sottovoce.softmax",
    "Stop": "sottovoce.result",
    "Tolerance": "sottovoce.result",
    "fit": "sottovoce.fitting",
    "minimize": "sottovoce.training",
    "plan": "sottovoce.planner",
}
_ROOMS = ("autodiff", "errors", "evaluation", "losses", "methods", "regularizers", "report")

__all__ = [
    "BoundedEncoder",
    "Budget",
    "Certificate",
    "Guarantee",
    "Ledger",
    "Model",
    "Plan",
    "PrivateClassifier",
    "PrivateRegressor",
    "PrivateSearch",
    "Records",
    "Result",
    "Risk",
    "Schema",
    "SoftmaxRisk",
    "Stop",
    "Tolerance",
    "__version__",
    "autodiff",
    "errors",
    "evaluation",
    "fit",
    "losses",
    "methods",
    "minimize",
    "plan",
    "regularizers",
    "report",
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
