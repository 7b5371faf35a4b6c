"""Scalar losses with the constants that sensitivity and smoothness need.

Margin losses (two classes): Logistic, SoftplusHinge, and the nonconvex Sigmoid, Savage.
Residual losses (numbers): PseudoHuber, LogCosh, and the nonconvex Cauchy, GemanMcClure, Welsch.
"""

from __future__ import annotations

import inspect
from typing import Final

from sottovoce.errors import ParameterError, meant
from sottovoce.losses.base import Constants, Kind, Loss
from sottovoce.losses.margin import Logistic, Savage, Sigmoid, SoftplusHinge
from sottovoce.losses.redescending import Cauchy, GemanMcClure, Welsch
from sottovoce.losses.residual import LogCosh, PseudoHuber

__all__ = [
    "Cauchy",
    "Constants",
    "GemanMcClure",
    "Kind",
    "LogCosh",
    "Logistic",
    "Loss",
    "PseudoHuber",
    "Savage",
    "Sigmoid",
    "SoftplusHinge",
    "Welsch",
    "by_name",
]

_SHELF: Final[dict[str, type[Loss]]] = {
    loss.name: loss
    for loss in (
        Logistic,
        SoftplusHinge,
        Sigmoid,
        Savage,
        PseudoHuber,
        LogCosh,
        Cauchy,
        GemanMcClure,
        Welsch,
    )
}

_SMOOTH_VARIANT: Final = {
    "hinge": "softplus-hinge",
    "squared-hinge": "softplus-hinge",
    "huber": "pseudo-huber",
}


def by_name(name: str, **parameters: float) -> Loss:
    """The loss of that name; one without a Lipschitz second derivative is refused for its smooth variant."""
    if name in _SMOOTH_VARIANT:
        raise ParameterError(
            f"loss {name!r} has no Lipschitz second derivative, which second-order methods need. "
            f"Use {_SMOOTH_VARIANT[name]!r}, its smooth variant."
        )
    if name not in _SHELF:
        raise ParameterError(
            f"loss {name!r} is unknown.{meant(name, _SHELF)} Choose one of {', '.join(map(repr, _SHELF))}."
        )
    loss = _SHELF[name]
    accepted = list(inspect.signature(loss).parameters)
    for parameter in parameters:
        if parameter not in accepted:
            taken = " and ".join(map(repr, accepted)) if accepted else "no parameter"
            raise ParameterError(f"loss {name!r} does not take {parameter!r}. It takes {taken}.")
    return loss(**parameters)
