"""What a chain of runs promises together: the guarantee of a result covers every run it was computed from."""

from __future__ import annotations

import math
import weakref
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from sottovoce.accounting.allowance import LATTICE_PER_ONE, lattice_cap
from sottovoce.accounting.budget import Budget
from sottovoce.accounting.currency import LATTICE_SHARE, Gdp, named
from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np


@final
@dataclass(frozen=True, kw_only=True)
class Preset:
    """One run as it was allowed before it asked anything: its name, its budget and what it was counted in.

    `currency` is empty where it is not known, for results that were saved before it was kept. `unit` is whose
    data neighbours differ in, a record's or a person's. `value_asked`: whether the value of the risk was
    among the questions, the one whose charge under replacement does not cover zero-out."""

    run: str
    epsilon: float
    delta: float
    relation: Relation = Relation.REPLACE_ONE
    currency: str = ""
    order: float | None = None
    unit: str = "record"
    value_asked: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))

    @property
    def budget(self) -> Budget:
        return Budget(self.epsilon, self.delta, self.relation)


def composed(presets: tuple[Preset, ...]) -> tuple[float, float]:
    """The (epsilon, delta) of everything the runs released, each run counted once.

    In one currency their allowances add up, for gdp mu = sqrt(sum mu_i^2); (epsilon, delta) is read off at
    the smallest delta, so that no run's epsilon is undercut. Where currency or relation differ, or where that
    is smaller, epsilons and deltas add up. What several runs give is rounded up to the digits printed.

    From the presets, never from what was spent. A budget chosen in the light of an earlier run makes this an
    odometer: then the cap of the ledger, which is fixed beforehand, is what holds."""
    distinct = tuple(dict.fromkeys(presets))
    if len(distinct) == 1:
        return distinct[0].epsilon, distinct[0].delta
    epsilon, delta = _added(distinct)
    summed = _summed(distinct)
    return _stated(*((epsilon, delta) if summed[0] > epsilon or summed[1] > delta else map(Decimal, summed)))


def relation_of(presets: tuple[Preset, ...]) -> Relation:
    """What the composed promise is about: zero-out if one of the runs is, replacement being the stronger."""
    return max((preset.relation for preset in presets), key=list(Relation).index)


def composed_otherwise(presets: tuple[Preset, ...]) -> tuple[float, float] | None:
    """What the runs promise under the other relation, or None where nothing is known.

    Replacement charged: a term's length is at most the distance charged, 0 lying in the convex hull of the
    terms, so the same holds for zero-out; not so for the value of the risk. Zero-out charged: a replacement
    is two steps, so mu-GDP becomes 2 mu-GDP and is read off there. A Renyi divergence at one order says too
    little about two steps: (epsilon, delta) twice is (2 epsilon, (1 + e^epsilon) delta)."""
    distinct = tuple(dict.fromkeys(presets))
    if relation_of(distinct) is Relation.REPLACE_ONE:
        return None if any(preset.value_asked for preset in distinct) else composed(distinct)
    counted = _summed(distinct, steps=2) if distinct[0].currency == Gdp.name else (math.inf, math.inf)
    if all(map(math.isfinite, counted)):
        return _stated(*map(Decimal, counted))
    epsilon, delta = map(_as_typed, composed(distinct))
    return _stated(2 * epsilon, (1 + epsilon.exp()) * delta)


def _added(presets: tuple[Preset, ...]) -> tuple[Decimal, Decimal]:
    return (
        sum((_as_typed(preset.epsilon) for preset in presets), Decimal(0)),
        sum((_as_typed(preset.delta) for preset in presets), Decimal(0)),
    )


def _stated(epsilon: Decimal, delta: Decimal) -> tuple[float, float]:
    return _rounded_up(epsilon, 6), _rounded_up(min(delta, Decimal(1)), 3)


def _summed(presets: tuple[Preset, ...], steps: int = 1) -> tuple[float, float]:
    """The sum of allowances read as (epsilon, delta), and the lattice of all runs priced at that epsilon.

    A run's lattice moves its law by a total variation v_i of at most (delta_i/1000)/(1 + e^epsilon_i). All
    move the chain's by at most their sum, which at the chain's epsilon costs (1 + e^epsilon) sum v_i.
    In gdp, over `steps` neighbours, mu grows by that factor and mu^2 by its square."""
    kinds = {(preset.currency, preset.order, preset.relation) for preset in presets}
    name, order, _ = kinds.pop()
    currency = None
    with suppress(ParameterError):
        currency = named(name, order)
    if kinds or currency is None:
        return math.inf, math.inf
    smallest = float(Fraction(min(preset.delta for preset in presets)) * (1 - LATTICE_SHARE))
    allowed = sum(currency.cap(preset.budget) for preset in presets)
    epsilon = currency.epsilon(steps**2 * allowed, smallest)
    variation = sum(lattice_cap(preset.budget) + 1 for preset in presets) / LATTICE_PER_ONE
    try:
        return epsilon, smallest + (1.0 + math.exp(epsilon)) * variation * (1.0 + 1e-12)
    except OverflowError:
        return epsilon, math.inf


def _as_typed(number: float) -> Decimal:
    """The shortest decimal that is this float: 0.1 + 0.2 is 0.3, not the last digit's excess rounded up."""
    return Decimal(repr(number))


def _rounded_up(value: Decimal, digits: int) -> float:
    last = Decimal((0, (1,), value.adjusted() - digits + 1))
    return float(value.quantize(last, rounding=ROUND_CEILING)) if value else 0.0


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
    import numpy as np

    while isinstance(value, np.ndarray):
        known = _KNOWN.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        value = value.base
    return None
