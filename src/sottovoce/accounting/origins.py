"""Which arrays are weights of a result, so that a run that starts from them is told where they came from.

An array is known while it lives, with its views. A copy, the outcome of arithmetic, and what went through a
file or another process are not: of these only their owner can say where they came from."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

if TYPE_CHECKING:
    from sottovoce.accounting.lineage import Preset


@final
@dataclass(frozen=True)
class Origin:
    """The runs some weights were computed from, and the ledger they were charged to, if any."""

    lineage: tuple[Preset, ...]
    ledger: str
    simulated: bool


_KNOWN: dict[int, tuple[weakref.ref[Any], Origin]] = {}


def mark(weights: np.ndarray[Any, Any], origin: Origin) -> None:
    """Remember where these weights came from for as long as they live."""
    key = id(weights)

    def forget(gone: weakref.ref[Any]) -> None:
        if key in _KNOWN and _KNOWN[key][0] is gone:
            del _KNOWN[key]

    _KNOWN[key] = (weakref.ref(weights, forget), origin)


def origin_of(value: object) -> Origin | None:
    """Where an array came from, if it is or shows the weights of a result; None where that is not known."""
    while isinstance(value, np.ndarray):
        known = _KNOWN.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        value = value.base
    return None
