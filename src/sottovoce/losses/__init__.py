"""Scalar losses with the constants that sensitivity and smoothness need.

Margin losses (two classes): Logistic, SoftplusHinge, and the nonconvex Sigmoid, Savage.
Residual losses (numbers): PseudoHuber, LeastSquares, LogCosh, and the nonconvex Cauchy, GemanMcClure, Welsch.
Counts with a declared bound: Poisson.
"""

from __future__ import annotations

import inspect
from contextlib import suppress
from typing import Final

from sottovoce.errors import ParameterError, meant
from sottovoce.losses.base import Constants, Kind, Loss
from sottovoce.losses.counts import Cloglog, Poisson
from sottovoce.losses.margin import Logistic, Savage, Sigmoid, SoftplusHinge
from sottovoce.losses.redescending import Cauchy, GemanMcClure, Welsch
from sottovoce.losses.residual import LeastSquares, LogCosh, PseudoHuber, Scaled

__all__ = [
    "Cauchy",
    "Cloglog",
    "Constants",
    "GemanMcClure",
    "Kind",
    "LeastSquares",
    "LogCosh",
    "Logistic",
    "Loss",
    "Poisson",
    "PseudoHuber",
    "Savage",
    "Sigmoid",
    "SoftplusHinge",
    "Welsch",
    "by_name",
    "by_text",
]

BY_NAME: Final[dict[str, type[Loss]]] = {
    loss.name: loss
    for loss in (
        Logistic,
        SoftplusHinge,
        Sigmoid,
        Savage,
        PseudoHuber,
        LeastSquares,
        LogCosh,
        Cauchy,
        GemanMcClure,
        Welsch,
        Poisson,
        Cloglog,
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
    if name not in BY_NAME:
        raise ParameterError(
            f"loss {name!r} is unknown.{meant(name, BY_NAME)} Choose one of {', '.join(map(repr, BY_NAME))}."
        )
    loss = BY_NAME[name]
    accepted = list(inspect.signature(loss).parameters)
    if loss is Poisson and not parameters:
        raise ParameterError(
            "loss 'poisson' needs the bound of the counts: 'poisson:20', or a target declared as a count."
        )
    for parameter in parameters:
        if parameter not in accepted:
            taken = " and ".join(map(repr, accepted)) if accepted else "no parameter"
            raise ParameterError(f"loss {name!r} does not take {parameter!r}. It takes {taken}.")
    return loss(**parameters)


def by_text(text: str) -> Loss:
    """The loss "name" or "name:number", as in "cauchy:0.2", for targets mapped to [-1, 1].

    The number is the loss's parameter: the scale of a robust loss, in halves of the declared range, the
    sharpness of softplus-hinge, the bound of poisson. Without it a robust loss has its `usual` scale."""
    name, colon, number = text.partition(":")
    if not colon:
        kind = BY_NAME.get(name)
        return kind(kind.usual) if kind is not None and issubclass(kind, Scaled) else by_name(name)
    parameters = list(inspect.signature(BY_NAME[name]).parameters) if name in BY_NAME else []
    value: float | None = None
    with suppress(ValueError):
        value = float(number)
    if name in BY_NAME and (value is None or not parameters):
        takes = f"a number, such as {name}:0.2" if parameters else "none"
        raise ParameterError(
            f"after the colon of loss {text!r} stands its parameter; {name!r} takes {takes}."
        )
    return by_name(name, **dict.fromkeys(parameters, value or 0.0))
