"""What a chain of runs promises together: the guarantee of a result covers every run it was computed from."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from sottovoce.accounting.allowance import LATTICE_PER_ONE, lattice_cap
from sottovoce.accounting.budget import Budget
from sottovoce.accounting.currency import LATTICE_SHARE, Gdp, named
from sottovoce.accounting.relations import Relation, unit_of
from sottovoce.accounting.wording import rounded_up
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np


@final
@dataclass(frozen=True, kw_only=True)
class Preset:
    """One run as it was allowed before it asked anything: its name, its budget and what it was counted in.

    `currency` is empty where it is not known, for results that were saved before it was kept. `unit` is whose
    data neighbours differ in, a record's or a person's. Two facts limit a run charged for replacement to that
    relation. `value_asked`: the value of the risk was among the queries. `counted`: n persons were counted
    instead of declared, so that zeroing one out changes n and with it every sensitivity."""

    run: str
    epsilon: float
    delta: float
    relation: Relation = Relation.REPLACE_ONE
    currency: str = ""
    order: float | None = None
    unit: str = "record"
    value_asked: bool = False
    counted: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))
        object.__setattr__(self, "unit", unit_of(self.unit))
        if self.counted and (self.unit == "record" or self.relation is Relation.ZERO_OUT):
            raise ParameterError("only persons are counted, and only under replacement: zero-out needs n.")

    @property
    def budget(self) -> Budget:
        return Budget(self.epsilon, self.delta, self.relation)

    def steps(self, relation: Relation) -> int | None:
        """How many neighbours of this run's relation lead from one data set to a neighbour under `relation`.

        Two lead by zero-out from a record to another in its place: out and in. One suffices for zero-out
        where replacement was charged: 0 lies in the convex hull of the terms of every query, so no term is
        longer than the distance charged. None, which is to say that nothing is known, for the value of the
        risk, whose terms are all positive, and where n was counted."""
        if self.relation is relation:
            return 1
        if self.relation is Relation.ZERO_OUT:
            return 2
        return None if self.value_asked or self.counted else 1


def composed(presets: tuple[Preset, ...]) -> tuple[float, float]:
    """The (epsilon, delta) of everything the runs released, each run counted once, under `relation_of` them.

    In one currency their allowances add up, for gdp mu = sqrt(sum mu_i^2); (epsilon, delta) is read off at
    the smallest delta, so that no run's epsilon is undercut. Where currencies differ, or where that is
    smaller, epsilons and deltas add up. What several runs give is rounded up to the digits printed.

    From the presets, never from what was spent. A budget chosen in the light of an earlier run makes this an
    odometer: then the cap of the ledger, which is fixed beforehand, is what holds."""
    stated = composed_under(presets, relation_of(presets))
    assert stated is not None
    return stated


def relation_of(presets: tuple[Preset, ...]) -> Relation:
    """What the composed promise is about: zero-out if one of the runs is and all promise something under it.

    Else replacement, under which every run promises something."""
    if all(preset.relation is Relation.REPLACE_ONE for preset in presets):
        return Relation.REPLACE_ONE
    known = all(preset.steps(Relation.ZERO_OUT) is not None for preset in presets)
    return Relation.ZERO_OUT if known else Relation.REPLACE_ONE


def composed_otherwise(presets: tuple[Preset, ...]) -> tuple[float, float] | None:
    """What the runs promise under the other relation, or None where nothing is known."""
    return composed_under(presets, relation_of(presets).other)


def composed_under(presets: tuple[Preset, ...], relation: Relation) -> tuple[float, float] | None:
    """What the runs promise under a relation, or None where one of them promises nothing, see `Preset.steps`.

    Two steps make mu-GDP 2 mu-GDP, which is read off there. A Renyi divergence at one order says too little
    about two steps: (epsilon, delta) twice is (2 epsilon, (1 + e^epsilon) delta)."""
    distinct = tuple(dict.fromkeys(presets))
    if len({preset.unit for preset in distinct}) > 1:
        raise ParameterError(
            "runs that protect records and runs that protect persons have no promise in common. Train and "
            "recalibrate with the same unit."
        )
    steps = [preset.steps(relation) for preset in distinct]
    if None in steps:
        return None
    taken = [step for step in steps if step is not None]
    if max(taken) == 1 and len(distinct) == 1:
        return distinct[0].epsilon, distinct[0].delta
    epsilon, delta = _added(distinct, taken)
    summed = _summed(distinct, taken)
    if max(taken) == 1:
        return _stated(
            *((epsilon, delta) if summed[0] > epsilon or summed[1] > delta else map(Decimal, summed))
        )
    if all(map(math.isfinite, summed)):
        return _stated(*map(Decimal, summed))
    whole = composed_under(distinct, relation.other)
    return _stated(epsilon, delta) if whole is None else _stated(*_twice(*map(_as_typed, whole)))


def _added(presets: tuple[Preset, ...], steps: Sequence[int]) -> tuple[Decimal, Decimal]:
    """Epsilons and deltas of the runs, each over its steps, added up."""
    pairs = [(_as_typed(preset.epsilon), _as_typed(preset.delta)) for preset in presets]
    each = [_twice(*pair) if taken == 2 else pair for pair, taken in zip(pairs, steps, strict=True)]
    return sum((pair[0] for pair in each), Decimal(0)), sum((pair[1] for pair in each), Decimal(0))


def _twice(epsilon: Decimal, delta: Decimal) -> tuple[Decimal, Decimal]:
    """(epsilon, delta) over two neighbours in a row: P <= e^epsilon (e^epsilon P'' + delta) + delta."""
    return 2 * epsilon, (1 + epsilon.exp()) * delta


def _stated(epsilon: Decimal, delta: Decimal) -> tuple[float, float]:
    return rounded_up(epsilon, 6), rounded_up(min(delta, Decimal(1)), 3)


def _summed(presets: tuple[Preset, ...], steps: Sequence[int]) -> tuple[float, float]:
    """The sum of allowances read as (epsilon, delta), and the lattice of all runs priced at that epsilon.

    A run's lattice moves its law by a total variation v_i of at most (delta_i/1000)/(1 + e^epsilon_i). All
    move the chain's by at most their sum, which at the chain's epsilon costs (1 + e^epsilon) sum v_i.
    In gdp, over several neighbours in a row, a run's mu grows by their number and mu^2 by its square; in
    other currencies nothing is known of more than one."""
    kinds = {(preset.currency, preset.order) for preset in presets}
    name, order = kinds.pop()
    currency = None
    with suppress(ParameterError):
        currency = named(name, order)
    if kinds or currency is None or (max(steps) > 1 and name != Gdp.name):
        return math.inf, math.inf
    smallest = float(Fraction(min(preset.delta for preset in presets)) * (1 - LATTICE_SHARE))
    allowed = sum(
        taken**2 * currency.cap(preset.budget) for preset, taken in zip(presets, steps, strict=True)
    )
    epsilon = currency.epsilon(allowed, smallest)
    variation = sum(lattice_cap(preset.budget) + 1 for preset in presets) / LATTICE_PER_ONE
    try:
        return epsilon, smallest + (1.0 + math.exp(epsilon)) * variation * (1.0 + 1e-12)
    except OverflowError:
        return epsilon, math.inf


def _as_typed(number: float) -> Decimal:
    """The shortest decimal that is this float: 0.1 + 0.2 is 0.3, not the last digit's excess rounded up."""
    return Decimal(repr(number))


@final
@dataclass(frozen=True)
class Origin:
    """The runs some weights were computed from, and the ledger they were charged to, if any; the most records
    or persons that one of them had, and what must be `said` of all that is computed from them."""

    lineage: tuple[Preset, ...]
    ledger: str
    simulated: bool
    n: int = 1
    said: tuple[str, ...] = ()


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
