"""The grid that exact noise lives on: its step, what rounding to it costs, and the scale that pays for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from sottovoce.errors import BudgetExceeded, ParameterError

BITS = 38
"""One noise scale is 2^38 to 2^39 steps: fine enough for a thousandth of delta at any epsilon up to 25."""

SLACK = 1e-12
"""Relative margin over every float operation here and in OpenDP's own conservative arithmetic."""

WIDEST = 2.0**40
"""Most steps in one scale: what the vectorized sampler takes."""


@final
@dataclass(frozen=True, kw_only=True)
class Noising:
    """Gaussian noise that hides a query within mu^2 = (sensitivity / scale)^2.

    The exact answer moves by at most `moves` in l2 when one record is replaced; rounded to the lattice
    2^exponent it moves by at most `sensitivity`. The ledger charges for (sensitivity, scale), which is
    never more than the `mu_squared` asked for."""

    moves: float
    sensitivity: float
    scale: float
    exponent: int
    entries: int
    mu_squared: float

    @property
    def step(self) -> float:
        return math.ldexp(1.0, self.exponent)


def exponent_for(scale: float) -> int:
    """k = floor(log2(scale)) - 38, exactly: the lattice 2^k has 2^38 to 2^39 steps in one scale."""
    return math.frexp(scale)[1] - 1 - BITS


def calibrate(sensitivity: float, mu_squared: float, entries: int) -> Noising:
    """Scale and lattice for a query that moves by `sensitivity`: s = (sensitivity + g sqrt(entries)) / mu.

    Rounding to the nearest multiple of g moves each entry by at most g/2, in both of two neighbours, so
    their distance grows by at most g sqrt(entries). Sums and quotients are widened by 1e-12."""
    _positive("sensitivity", sensitivity)
    _positive("mu_squared", mu_squared)
    if entries < 1:
        raise ParameterError(f"entries must be at least 1, got {entries}.")
    mu = math.sqrt(mu_squared)
    unrounded = sensitivity / mu
    if not 1e-250 < unrounded < 1e250:
        raise ParameterError(
            f"sensitivity / mu must lie in 1e-250..1e250, got {unrounded:.3g}. Rescale the query."
        )
    exponent = exponent_for(unrounded)
    rounded = (sensitivity + math.ldexp(math.sqrt(entries), exponent)) * (1.0 + SLACK)
    scale = rounded / mu * (1.0 + SLACK)
    if math.ldexp(scale, -exponent) > WIDEST:
        raise BudgetExceeded(
            f"mu_squared={mu_squared:.3g} is too small for {entries} entries: rounding would swamp them. "
            "Nothing was released. Spend more on each answer."
        )
    return Noising(
        moves=sensitivity,
        sensitivity=rounded,
        scale=scale,
        exponent=exponent,
        entries=entries,
        mu_squared=mu_squared,
    )


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0.0):
        raise ParameterError(f"{name} must be a finite positive number, got {value}.")
