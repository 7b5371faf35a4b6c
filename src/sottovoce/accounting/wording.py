"""A promise in words, what is weak about it, and what is left of a cap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

from sottovoce.accounting.budget import Budget
from sottovoce.accounting.checks import whole
from sottovoce.accounting.currency import LATTICE_SHARE, Currency, Units
from sottovoce.accounting.relations import Relation
from sottovoce.errors import ParameterError


class Worded:
    """Says a guarantee in words."""

    epsilon: float
    delta: float
    n: int
    relation: Relation
    simulated: bool
    runs: int
    cap_epsilon: float | None
    cap_delta: float | None
    unit: str
    other_epsilon: float | None
    other_delta: float | None

    @property
    def neighbours(self) -> str:
        """How neighbours differ, in words."""
        return self.relation.words(self.unit)

    @property
    def otherwise(self) -> str:
        """The promise under the other relation, in words."""
        other = self.relation.other
        if self.other_epsilon is None or self.other_delta is None:
            return f"under {other.value} nothing is stated"
        if (self.other_epsilon, self.other_delta) == (self.epsilon, self.delta):
            return f"under {other.value} the same"
        return f"under {other.value} {stated(self.other_epsilon, self.other_delta)}"

    @property
    def chain(self) -> str:
        """How the promise was composed and what limits it, in words; empty for a single run."""
        if self.runs == 1:
            return ""
        most = f"{self.n:,} {self.unit}s at most"
        said = f"composed over {self.runs} runs on {most}, each started from the one before"
        if self.cap_epsilon is None or self.cap_delta is None:
            return f"{said}; no ledger caps them all, so their budgets must have been fixed beforehand"
        return (
            f"{said}; if a budget was chosen after seeing an earlier result, what holds is the cap of their "
            f"ledger, {stated(self.cap_epsilon, self.cap_delta)}"
        )

    @property
    def whose(self) -> str:
        """Whose data it is about, in words."""
        if self.runs == 1:
            return f"the {self.n:,} {self.unit}s"
        return f"the {self.unit}s of {self.runs} runs, {self.n:,} at most in each"

    @property
    def caveat(self) -> str:
        """What is weak about this promise; empty if nothing is, or if there is none."""
        return "" if self.simulated else caution(self.epsilon, self.delta, self.n, self.relation, self.unit)

    def __str__(self) -> str:
        if self.simulated:
            return "none: the noise was simulated from a seed, so nothing is private"
        promise = f"{stated(self.epsilon, self.delta)}-differential privacy"
        facts = f"{promise}, neighbours: {self.neighbours}, n = {self.n}; {self.otherwise}"
        return f"{facts}; {self.chain}" if self.chain else facts


def rounded_up(value: Decimal, digits: int) -> float:
    """The least number of so many significant digits that is no smaller."""
    last = Decimal((0, (1,), value.adjusted() - digits + 1))
    return float(value.quantize(last, rounding=ROUND_CEILING)) if value else 0.0


def at_most(value: float, digits: int = 3) -> float:
    """A bound from above in so many digits, for a sentence that says it: never smaller than it is."""
    return rounded_up(Decimal(repr(float(value))), digits) if math.isfinite(value) else value


def at_least(value: float, digits: int = 3) -> float:
    """A bound from below in so many digits: never larger than it is."""
    return 0.0 - at_most(-value, digits)


def stated(epsilon: float, delta: float) -> str:
    """(epsilon, delta) in six digits and three, rounded up: what is printed is kept."""
    return f"({at_most(epsilon, 6):g}, {at_most(delta, 3):.3g})"


# Past it the odds that two neighbours give an outcome may differ by e^10 = 22,026: whoever narrows a record
# down to two candidates may name the right one with a chance of 99.995 %. Usual are 0.1 to 10.
WEAK_EPSILON = 10.0
# For tables so small that 1/n is no help: in one run of a thousand nothing need hold.
WEAK_DELTA = 1e-3


def caution(
    epsilon: float,
    delta: float,
    n: int | None = None,
    relation: Relation = Relation.REPLACE_ONE,
    unit: str = "record",
) -> str:
    """What is weak about (epsilon, delta) for n records or persons, or nothing at all.

    delta above 1/n allows to publish the data of one, drawn at random, in the clear."""
    said = []
    if epsilon > WEAK_EPSILON:
        guess = (
            f"whoever narrows a {unit} down to two candidates may name the right one"
            if relation is Relation.REPLACE_ONE
            else f"whoever asks whether a {unit} was counted may tell"
        )
        said.append(
            f"epsilon = {epsilon:g} promises little: {guess} with a chance of "
            f"{100.0 * right_guess(epsilon, delta):.7g} %; take {WEAK_EPSILON:g} or less"
        )
    if n is not None and delta * n > 1.0:
        said.append(
            f"delta = {delta:.3g} is above 1/n = {1.0 / n:.3g}: to publish one {unit}'s data in the clear, "
            "drawn at random, would keep this promise; take delta well below 1/n"
        )
    elif delta > WEAK_DELTA:
        said.append(f"delta = {delta:.3g} lets all be revealed with that probability; take it well below 1/n")
    return "; ".join(said)


def right_guess(epsilon: float, delta: float) -> float:
    """Best chance to tell which of two equally likely neighbours was used: (e^eps + delta)/(1 + e^eps).

    Under (epsilon, delta)-DP the total variation of what is seen is at most
    (e^eps - 1 + 2 delta)/(e^eps + 1), and the best guess is right with half of one plus that."""
    odds = math.exp(-max(0.0, epsilon))
    return min(1.0, (1.0 + delta * odds) / (1.0 + odds))


def affordable(left: Units, budget: Budget, currency: Currency, times: int = 1) -> float:
    """The largest epsilon, in three digits, at which `times` runs at this budget's delta fit into `left`.

    0 where none does. What a run may spend is rounded as `Ledger.run` rounds it: such runs are all taken."""
    units = left // whole("times", times)
    if units < 1:
        return 0.0
    found = currency.epsilon(units, float(Fraction(budget.delta) * (1 - LATTICE_SHARE))) * (1.0 + 1e-9)
    step = 10.0 ** (math.floor(math.log10(found)) - 2) if found > 0.0 else 0.0
    for fewer in range(3):
        epsilon = float(f"{(math.floor(found / step) - fewer) * step:.12g}") if step else 0.0
        if epsilon > 0.0 and _fits(Budget(epsilon, budget.delta, budget.relation), currency, units):
            return epsilon
    return 0.0


def _fits(budget: Budget, currency: Currency, units: Units) -> bool:
    with suppress(ParameterError):
        return currency.cap(budget) <= units
    return False


def ledger_html(cap: Budget, unit: str, spent: float, each: Sequence[tuple[int, float]]) -> str:
    """A bar of the cap and what is left of it, in the colours of the text around it, for a notebook."""
    fits = [f"{times} more of epsilon {epsilon:g}" for times, epsilon in each if epsilon]
    part = f"background: currentColor; opacity: .6; height: 100%; width: {100.0 * spent:.1f}%"
    bar = f'<div style="border: 1px solid; height: .8em; max-width: 30em"><div style="{part}"></div></div>'
    left = ", or ".join(fits) or "no run"
    return (
        f"<p>Ledger, cap epsilon {cap.epsilon:g} at delta {cap.delta:g}, {cap.relation.value}, for every "
        f"{unit}: {100.0 * spent:.1f} % spent</p>{bar}<p>Left at this delta: {left}</p>"
    )
