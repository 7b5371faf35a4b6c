"""Methods by the names a user types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.errors import ParameterError, meant
from sottovoce.methods.accelerate import Accelerate
from sottovoce.methods.adapt import Adapt
from sottovoce.methods.batch_descent import BatchDescent
from sottovoce.methods.cubic import Cubic
from sottovoce.methods.drift import Drift
from sottovoce.methods.gradient_descent import GradientDescent
from sottovoce.methods.majorize import Majorize
from sottovoce.methods.paper.opt import Opt, OptBatch, OptSearch, TwoPhase, TwoPhaseBatch, TwoPhaseSearch
from sottovoce.methods.paper.trust_region import Tr, TrBatch
from sottovoce.methods.spider import Spider

if TYPE_CHECKING:
    from sottovoce.methods.base import Method

_METHODS: tuple[type[Method], ...] = (
    Adapt,
    Accelerate,
    Majorize,
    Cubic,
    Spider,
    Drift,
    Opt,
    OptSearch,
    OptBatch,
    TwoPhase,
    TwoPhaseSearch,
    TwoPhaseBatch,
    Tr,
    TrBatch,
    GradientDescent,
    BatchDescent,
)
METHODS: dict[str, type[Method]] = {method.name: method for method in _METHODS}


def by_name(name: str) -> Method:
    """The method with its defaults; an unknown name is refused with the known ones."""
    try:
        return METHODS[name]()
    except KeyError:
        raise ParameterError(
            f"there is no method {name!r}.{meant(name, METHODS)} Choose one of auto, {', '.join(METHODS)}."
        ) from None
