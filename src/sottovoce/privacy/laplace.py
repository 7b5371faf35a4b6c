"""Integer Laplace noise, and the line search that it hides: AboveThreshold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sottovoce.errors import BudgetExceeded, DataError, ParameterError
from sottovoce.privacy.noise import SLACK, assert_within, exponent_for


def laplace_draws(sensitivity: int, epsilon: float, count: int) -> list[int]:
    """Independent integers with P(x) proportional to exp(-|x| epsilon / sensitivity), by OpenDP."""
    return [int(draw) for draw in _laplace_measurement(sensitivity, epsilon)([0] * count)]


@lru_cache(maxsize=16)
def _laplace_measurement(sensitivity: int, epsilon: float) -> Any:
    """OpenDP's integer Laplace, once its own map is within epsilon. Kept: a line search asks for it often."""
    import opendp.mod
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance

    opendp.mod.enable_features("contrib")
    scale = sensitivity / epsilon * (1.0 + SLACK)
    measurement = make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale)
    assert_within(measurement.map(sensitivity), epsilon)
    return measurement


SMALLEST_EPSILON, LARGEST_EPSILON = 2.0**-20, 2.0**20


def above_threshold(
    queries: Iterable[float | Fraction],
    sensitivity: float,
    epsilon: float,
    laplace: Callable[[int, float], int],
) -> int | None:
    """Index of the first query with q_i + Lap(4 Delta/epsilon) >= Lap(2 Delta/epsilon), or None.

    The paper's Algorithm 2 (Dwork & Roth, AboveThreshold, threshold 0): epsilon-DP however many queries there
    are, if each moves by at most `sensitivity` (Delta) when one record is replaced. One answer, then it ends;
    a query is computed only when its turn comes.

    `laplace(m, e)` draws integer noise whose law a shift by m changes by a factor of e^e at most. Rounded to
    the lattice a query moves by m = floor(Delta/g) + 1 steps at most. Shifting the threshold by m keeps every
    refusal, for epsilon/2; shifting the answer's own noise by 2m keeps its acceptance, for epsilon/2. Sums
    and comparisons are made in integers."""
    require_payable(sensitivity, epsilon)
    exponent = exponent_for(sensitivity / epsilon)
    steps = math.floor(math.ldexp(sensitivity, -exponent)) + 1

    threshold = laplace(steps, epsilon / 2)
    for index, query in enumerate(queries):
        if _to_lattice(query, exponent) + laplace(2 * steps, epsilon / 2) >= threshold:
            return index
    return None


def require_payable(sensitivity: float, epsilon: float) -> None:
    """Refuse numbers for which no noise is drawn: before the charge."""
    for name, value in (("sensitivity", sensitivity), ("epsilon", epsilon)):
        if not (math.isfinite(value) and value > 0.0):
            raise ParameterError(f"{name} must be a finite positive number, got {value}.")
    scale = sensitivity / epsilon
    if epsilon < SMALLEST_EPSILON:
        raise BudgetExceeded(
            f"epsilon={epsilon:.3g} is too little for a search; it takes 2^-20. Nothing was released."
        )
    if epsilon > LARGEST_EPSILON:
        raise ParameterError(f"epsilon must be at most 2^20, got {epsilon:.3g}.")
    if not 1e-250 < scale < 1e250:
        raise ParameterError(f"sensitivity / epsilon must lie in 1e-250..1e250, got {scale:.3g}.")


def _to_lattice(query: float | Fraction, exponent: int) -> int:
    try:
        return round(Fraction(query) / Fraction(2) ** exponent)
    except (OverflowError, ValueError):
        # The bounds rule this out; the message quotes nothing.
        raise DataError(
            "a query is not a finite number; nothing was released. Please report a bug."
        ) from None
