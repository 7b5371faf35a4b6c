"""What exact noise on a lattice costs in delta beyond continuous noise.

A discrete Gaussian and a continuous one rounded to the lattice differ, per entry, by a total variation of
4 pdf(1)/48 (step/scale)^2 to leading order. An (epsilon, delta) law within total variation v of it is
(epsilon, delta + (1 + e^epsilon) v); along an adaptive run v adds up."""

from __future__ import annotations

import math
from fractions import Fraction

from sottovoce.accounting.budget import Budget
from sottovoce.accounting.currency import LATTICE_SHARE
from sottovoce.accounting.events import (
    Event,
    GaussianEvent,
    PureEvent,
    SharedBatchEvent,
    SubsampledGaussianEvent,
)
from sottovoce.errors import UnsupportedEvent

# 4 pdf(1)/48 = 0.0201642..., rounded up past the next order's part while step <= 0.16 scale. A coarser
# lattice exceeds every allowance anyway, since delta < 1.
TOTAL_VARIATION = Fraction(202, 10_000)
LATTICE_PER_ONE = 2**100


def lattice_units(event: Event) -> int:
    """Total variation between the event's noise and continuous noise, in units of 2^-100, rounded up."""
    match event:
        case GaussianEvent() | SubsampledGaussianEvent():
            ratio = Fraction(event.step) / Fraction(event.scale)
            return math.ceil(TOTAL_VARIATION * event.entries * ratio**2 * LATTICE_PER_ONE)
        case SharedBatchEvent():
            return sum(lattice_units(part) for part in event.parts)
        case PureEvent():
            return 0
        case _:
            raise UnsupportedEvent(f"{type(event).__name__} has no known lattice. Nothing was released.")


def lattice_cap(budget: Budget) -> int:
    """The total variation that costs a thousandth of delta: (delta/1000) / (1 + e^epsilon), rounded down."""
    share = math.exp(-budget.epsilon) / (1.0 + math.exp(-budget.epsilon)) * (1.0 - 1e-14)
    return math.floor(Fraction(budget.delta) * LATTICE_SHARE * Fraction(share) * LATTICE_PER_ONE)
