"""Audit a method by one run with many canaries (Steinke, Nasr & Jagielski 2023).

Canaries are m records, each in a column of its own so that none hides another. A fair coin decides which of
two neighbours each is: its label is one or the other, or, under zero-out, it counts or does not. The method
runs once; the auditor guesses coins from the final weights and abstains where they say little.

If the method is (epsilon, delta)-DP, at least v of r guesses are right with probability at most
P[B >= v] + 2 m delta max_i P[v > B >= v - i] / i, B binomial of r trials at e^epsilon / (1 + e^epsilon)
(their corollary 5.4). A mu-GDP method is (epsilon, delta(epsilon))-DP for every epsilon, so the least of
these bounds is one for mu. Other records may be any, so the canaries may be planted among those of a table:
such a run reads private records, is charged as a fit is, and lets out how many coins its weights tell.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
from scipy import special, stats

from sottovoce.accounting import Budget, Ledger
from sottovoce.accounting.gdp import delta_of, epsilon_of, mu_of
from sottovoce.accounting.relations import Relation
from sottovoce.arrays import Vector
from sottovoce.audit import planted
from sottovoce.data.options import AS_WRITTEN, ReadOptions
from sottovoce.errors import ParameterError
from sottovoce.methods.base import Method
from sottovoce.training import minimize

EPSILONS = np.linspace(0.0, 12.0, 97)
"""Where delta(epsilon) of a mu is tried; any finite set gives a valid bound."""


@final
@dataclass(frozen=True, kw_only=True)
class OneRun:
    """`right` of `guesses` coins out of `canaries` were guessed right; what that proves at `confidence`."""

    subject: str
    epsilon: float
    delta: float
    relation: str
    canaries: int
    guesses: int
    right: int
    confidence: float
    epsilon_at_least: float
    mu: float
    mu_at_least: float

    @property
    def gaussian_epsilon_at_least(self) -> float:
        """The epsilon, at the claimed delta, of the least mu proved."""
        return 0.0 if self.mu_at_least == 0.0 else epsilon_of(self.mu_at_least, self.delta)

    @property
    def flagged(self) -> bool:
        return self.epsilon_at_least > self.epsilon or self.mu_at_least > self.mu

    def to_dict(self) -> dict[str, Any]:
        found = {"gaussian_epsilon_at_least": self.gaussian_epsilon_at_least, "flagged": self.flagged}
        return {**asdict(self), **found}

    def __str__(self) -> str:
        verdict = "REFUTED: it loses more than it claims" if self.flagged else "not refuted"
        return "\n".join(
            (
                f"audit of {self.subject} by one run: {self.right} of {self.guesses} guesses right, "
                f"{self.canaries} canaries, confidence {100 * self.confidence:g} %",
                f"claim: epsilon={self.epsilon:g}, delta={self.delta:g}, {self.relation} (mu={self.mu:.4g})",
                f"proved for any mechanism: epsilon >= {self.epsilon_at_least:.4g}",
                f"proved by Gaussian DP: mu >= {self.mu_at_least:.4g}, "
                f"that is epsilon >= {self.gaussian_epsilon_at_least:.4g}",
                f"verdict: {verdict}; evidence, not a guarantee",
            )
        )


def audit_one_run(
    method: str | Method,
    budget: Budget,
    *,
    canaries: int = 400,
    confidence: float = 0.95,
    simulate: int | None = None,
    coins: int = 0,
    table: Any = None,
    schema: Any = None,
    ledger: Ledger | None = None,
    reading: ReadOptions = AS_WRITTEN,
) -> OneRun:
    """Train once on `canaries` made-up records and see how many coins their weights tell.

    `simulate` seeds the noise, `coins` the coins; how many guesses are made follows from the claim alone.
    With a `table` and its `schema`, as for `fit`, the canaries are planted among its rows and the run is
    charged to the `ledger`: it costs what a fit costs."""
    if isinstance(canaries, bool) or not isinstance(canaries, int) or not 100 <= canaries <= 20_000:
        raise ParameterError("canaries must be a whole number from 100 to 20000.", argument="canaries")
    if not (isinstance(confidence, float) and 0.5 <= confidence < 1.0):
        raise ParameterError(
            "confidence must be a number from 0.5 to below 1, for example 0.95.", argument="confidence"
        )
    if (table is None) != (schema is None) or (table is None and ledger is not None):
        raise ParameterError("a table, its schema, and a ledger if there is one, go together.")
    tossed = np.random.default_rng(coins).integers(0, 2, canaries) == 1
    if table is None:
        held = planted.alone(tossed, budget.relation)
    else:
        held = planted.among(table, schema, tossed, budget.relation, reading)
    mu = mu_of(budget.epsilon, budget.delta)
    guesses = _promising(canaries, mu, confidence)
    result = minimize(
        held.risk, budget=budget, method=method, ledger=ledger, simulate=simulate, purpose="audit by one run"
    )
    weights = result.weights[held.first : held.first + canaries]
    right = correct_guesses(weights, tossed, guesses, budget.relation)
    fellows = f" among {held.others:,} records of a table" if held.others else ""
    return OneRun(
        subject=f"method {result.method!r}{fellows}",
        epsilon=budget.epsilon,
        delta=budget.delta,
        relation=budget.relation.value,
        canaries=canaries,
        guesses=guesses,
        right=right,
        confidence=confidence,
        epsilon_at_least=epsilon_proved(canaries, guesses, right, budget.delta, confidence),
        mu=mu,
        mu_at_least=mu_proved(canaries, guesses, right, confidence),
    )


def correct_guesses(
    weights: Vector, tossed: np.ndarray[Any, np.dtype[np.bool_]], guesses: int, relation: Relation
) -> int:
    """Right guesses: where weights lie farthest from the middle, above it means heads."""
    middle = 0.0 if relation is Relation.REPLACE_ONE else float(np.median(weights))
    boldest = np.argsort(-np.abs(weights - middle), kind="stable")[:guesses]
    return int(np.sum((weights[boldest] > middle) == tossed[boldest]))


def chance(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """No (epsilon, delta)-DP method has `right` guesses or more right with a larger probability."""
    share = float(special.expit(epsilon))
    below = np.cumsum(stats.binom.pmf(np.arange(right - 1, -1, -1), guesses, share))
    steepest = float(np.max(below / np.arange(1, right + 1), initial=0.0))
    return min(1.0, float(stats.binom.sf(right - 1, guesses, share)) + 2.0 * canaries * delta * steepest)


def epsilon_proved(canaries: int, guesses: int, right: int, delta: float, confidence: float) -> float:
    """The largest epsilon, to three digits from below, at which so many right guesses are too unlikely."""
    return _largest(lambda epsilon: chance(canaries, guesses, right, epsilon, delta) < 1.0 - confidence, 20.0)


def mu_proved(canaries: int, guesses: int, right: int, confidence: float) -> float:
    def refuted(mu: float) -> bool:
        return any(
            chance(canaries, guesses, right, float(epsilon), delta_of(mu, float(epsilon))) < 1.0 - confidence
            for epsilon in EPSILONS
        )

    return _largest(refuted, 8.0)


def _largest(refuted: Any, top: float) -> float:
    """Bisection from below; 0 where nothing is refuted."""
    low, high = 0.0, top
    for _ in range(14):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


@lru_cache
def _promising(canaries: int, mu: float, confidence: float) -> int:
    """How many guesses prove most, if each weight tells its coin like a Gaussian of separation mu."""
    at = special.ndtri((np.arange(canaries) + 0.5) / canaries)
    scores = np.sort(np.abs(np.concatenate([at - mu / 2.0, at + mu / 2.0])))[::-2]
    told_right = np.cumsum(special.expit(mu * scores))
    choices = sorted({max(20, round(canaries * part)) for part in (0.02, 0.05, 0.1, 0.2, 0.4, 1.0)})
    return max(choices, key=lambda r: (mu_proved(canaries, r, int(told_right[r - 1]), confidence), r))
