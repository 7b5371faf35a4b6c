"""Private training that needs no tuning and says what it reached.

Public names load on first use, so `import sottovoce` stays light."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sottovoce._version import VERSION as __version__

if TYPE_CHECKING:
    from sottovoce import autodiff, errors, evaluation, losses, methods, regularizers, report
    from sottovoce.accounting import Budget, Ledger
    from sottovoce.accounting.guarantee import Guarantee
    from sottovoce.accounting.resume import Resume
    from sottovoce.data.encoder import BoundedEncoder
    from sottovoce.data.options import ReadOptions
    from sottovoce.data.records import Records
    from sottovoce.data.schema import Schema
    from sottovoce.estimators.linear import PrivateClassifier
    from sottovoce.estimators.module import fit_torch as fit_torch
    from sottovoce.estimators.regressor import PrivateRegressor
    from sottovoce.estimators.search import PrivateSearch
    from sottovoce.fitting import fit
    from sottovoce.model import Model
    from sottovoce.models.linear import Risk
    from sottovoce.models.softmax import SoftmaxRisk
    from sottovoce.planning.planner import Plan, plan
    from sottovoce.report.about import About
    from sottovoce.results.certificate import Certificate
    from sottovoce.results.inference.request import Inference
    from sottovoce.results.result import Result, Stop, Tolerance
    from sottovoce.training import minimize

_HOMES = {
    "About": "sottovoce.report.about",
    "BoundedEncoder": "sottovoce.data.encoder",
    "Budget": "sottovoce.accounting",
    "Certificate": "sottovoce.results.certificate",
    "Guarantee": "sottovoce.accounting.guarantee",
    "Inference": "sottovoce.results.inference.request",
    "Ledger": "sottovoce.accounting",
    "Model": "sottovoce.model",
    "Plan": "sottovoce.planning.planner",
    "PrivateClassifier": "sottovoce.estimators.linear",
    "PrivateRegressor": "sottovoce.estimators.regressor",
    "PrivateSearch": "sottovoce.estimators.search",
    "ReadOptions": "sottovoce.data.options",
    "Records": "sottovoce.data.records",
    "Result": "sottovoce.results.result",
    "Resume": "sottovoce.accounting.resume",
    "Risk": "sottovoce.models.linear",
    "Schema": "sottovoce.data.schema",
    "SoftmaxRisk": "sottovoce.models.softmax",
    "Stop": "sottovoce.results.result",
    "Tolerance": "sottovoce.results.result",
    "fit": "sottovoce.fitting",
    "fit_torch": "sottovoce.estimators.module",
    "minimize": "sottovoce.training",
    "plan": "sottovoce.planning.planner",
}
_ROOMS = ("autodiff", "errors", "evaluation", "losses", "methods", "regularizers", "report")

# `fit_torch` is named by itself: `from sottovoce import *` does without PyTorch.
__all__ = [
    "About",
    "BoundedEncoder",
    "Budget",
    "Certificate",
    "Guarantee",
    "Inference",
    "Ledger",
    "Model",
    "Plan",
    "PrivateClassifier",
    "PrivateRegressor",
    "PrivateSearch",
    "ReadOptions",
    "Records",
    "Result",
    "Resume",
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
