"""Budgets that promise little: said once, in plain words, where the promise is stated."""

from __future__ import annotations

import math

# Past it the odds that two neighbours give an outcome may differ by e^10 = 22,026: whoever narrows a record
# down to two candidates may name the right one with a chance of 99.995 %. Usual are 0.1 to 10.
WEAK_EPSILON = 10.0
# For tables so small that 1/n is no help: in one run of a thousand nothing need hold.
WEAK_DELTA = 1e-3


def caution(epsilon: float, delta: float, n: int | None = None) -> str:
    """What is weak about (epsilon, delta) for n records, or nothing at all.

    delta above 1/n allows to publish one record, drawn at random, in the clear."""
    said = []
    if epsilon > WEAK_EPSILON:
        odds = math.exp(-epsilon)
        chance = min(1.0, (1.0 + delta * odds) / (1.0 + odds))
        said.append(
            f"epsilon = {epsilon:g} promises little: whoever narrows a record down to two candidates may "
            f"name the right one with a chance of {100.0 * chance:.7g} %; take {WEAK_EPSILON:g} or less"
        )
    if n is not None and delta * n > 1.0:
        said.append(
            f"delta = {delta:.3g} is above 1/n = {1.0 / n:.3g}: to publish one record in the clear, drawn at "
            "random, would keep this promise; take delta well below 1/n"
        )
    elif delta > WEAK_DELTA:
        said.append(
            f"delta = {delta:.3g} is the chance that nothing is promised at all; take it well below 1/n"
        )
    return "; ".join(said)
