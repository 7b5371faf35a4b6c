"""Attack a mechanism or a method many times and state how much privacy it must have lost at least.

An audit cannot prove privacy; it can refute a claim. All of it runs on synthetic data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from sottovoce.accounting import Budget
from sottovoce.accounting.gdp import epsilon_of, mu_of
from sottovoce.audit.bounds import prove
from sottovoce.audit.canary import CanaryShape, Playback, Tap, likelihood_ratio
from sottovoce.errors import ParameterError
from sottovoce.methods.base import Goal, Method
from sottovoce.methods.registry import by_name
from sottovoce.models.linear import Risk
from sottovoce.privacy.noise import entropy_for
from sottovoce.privacy.oracle import Oracle
from sottovoce.results.result import Tolerance
from sottovoce.training import account_for, goal_for

Attack = Callable[[bool, int], float]
"""Runs the mechanism over one of two neighbours (True: the second), in its trial-th run, and scores it."""


@final
@dataclass(frozen=True, kw_only=True)
class Audit:
    """What the attack proved. `epsilon_at_least` holds for any mechanism (Clopper & Pearson); the Gaussian
    bounds compare with the claim of mu-GDP, which this library's full-pass methods make."""

    subject: str
    epsilon: float
    delta: float
    relation: str
    runs: int
    confidence: float
    epsilon_at_least: float
    mu: float | None
    mu_at_least: float

    @property
    def gaussian_epsilon_at_least(self) -> float:
        """The epsilon, at the claimed delta, of the smallest Gaussian mechanism that fits the attack."""
        return 0.0 if self.mu_at_least == 0.0 else epsilon_of(self.mu_at_least, self.delta)

    @property
    def flagged(self) -> bool:
        """Whether either bound refutes the claim; each errs with probability at most 1 - confidence."""
        return self.epsilon_at_least > self.epsilon or (self.mu is not None and self.mu_at_least > self.mu)

    def to_dict(self) -> dict[str, Any]:
        found = {"gaussian_epsilon_at_least": self.gaussian_epsilon_at_least, "flagged": self.flagged}
        return {**asdict(self), **found}

    def __str__(self) -> str:
        claim = f"epsilon={self.epsilon:g}, delta={self.delta:g}, {self.relation}"
        claim += "" if self.mu is None else f" (mu={self.mu:.4g})"
        verdict = "REFUTED: it loses more than it claims" if self.flagged else "not refuted"
        return "\n".join(
            (
                f"audit of {self.subject}: {self.runs} runs, confidence {100 * self.confidence:g} %",
                f"claim: {claim}",
                f"proved by Clopper-Pearson: epsilon >= {self.epsilon_at_least:.4g}",
                f"proved by Gaussian DP: mu >= {self.mu_at_least:.4g}, "
                f"that is epsilon >= {self.gaussian_epsilon_at_least:.4g}",
                f"verdict: {verdict}",
            )
        )


def audit_mechanism(
    attack: Attack,
    claim: Budget,
    *,
    runs: int = 2000,
    confidence: float = 0.999,
    gaussian: bool = True,
    subject: str = "a mechanism",
) -> Audit:
    """Score `runs` attacks, half on each of two neighbours, and bound what they prove.

    With `gaussian` the claim is taken as mu-GDP at the mu that (epsilon, delta) is worth. Each bound is
    wrong, which is to say above the truth, with probability at most 1 - confidence."""
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 200:
        raise ParameterError(
            "runs must be a whole number of at least 200; thousands prove more.", argument="runs"
        )
    if not (isinstance(confidence, float) and 0.9 <= confidence < 1.0):
        raise ParameterError(
            "confidence must be a number from 0.9 to below 1, for example 0.999.", argument="confidence"
        )
    here, there = (
        np.array([attack(second, trial) for trial in range(runs // 2)]) for second in (False, True)
    )
    proof = prove(here, there, delta=claim.delta, confidence=confidence)
    return Audit(
        subject=subject,
        epsilon=claim.epsilon,
        delta=claim.delta,
        relation=claim.relation.value,
        runs=2 * (runs // 2),
        confidence=confidence,
        epsilon_at_least=proof.epsilon_at_least,
        mu=mu_of(claim.epsilon, claim.delta) if gaussian else None,
        mu_at_least=proof.mu_at_least,
    )


def audit(
    method: str | Method,
    budget: Budget,
    *,
    shape: CanaryShape | None = None,
    tolerance: Tolerance | None = None,
    calibration: str = "tight",
    runs: int = 2000,
    confidence: float = 0.999,
    exact: bool = False,
    model_only: bool = False,
    noise_factor: float = 1.0,
    seed: int = 0,
) -> Audit:
    """Attack a method, configured as a user would, on two neighbours under the budget's relation.

    The attacker sees every answer that was released; with `model_only`, the final weights alone. `exact`
    draws the noise that private runs use instead of simulating it. A `noise_factor` below 1 breaks the noise
    on purpose, to see whether an audit of this size would notice."""
    chosen = by_name(method) if isinstance(method, str) else method
    public = CanaryShape() if shape is None else shape
    pair = public.pair(budget.relation)
    goal = goal_for(chosen, pair[0].problem, budget, tolerance, 0.99, calibration)
    amplified = bool(chosen.amplified(pair[0].problem, np.zeros(public.dim), goal, budget))
    trial = Trial(chosen, goal, budget, model_only or amplified)

    def attack(second: bool, number: int) -> float:
        stream = None if exact else 2 * (seed + number) + second
        return trial.score(pair, second, Tap.seeded(stream, noise_factor), seed + number)

    broken = "" if noise_factor == 1.0 else f", noise times {noise_factor:g}"
    seen = ", its model alone" if model_only else ""
    subject = f"method {chosen.name!r} on {public.n} records{seen}{broken}"
    return audit_mechanism(
        attack, budget, runs=runs, confidence=confidence, gaussian=not amplified, subject=subject
    )


@final
@dataclass(frozen=True)
class Trial:
    """One run of a method over one of two data sets, and the attacker's score of what it let out."""

    method: Method
    goal: Goal
    budget: Budget
    model_only: bool

    def score(self, pair: tuple[Risk, Risk], second: bool, tap: Tap, seed: int) -> float:
        mine, other = pair[::-1] if second else pair
        weights = self._run(mine, tap, seed)
        if self.model_only:
            # Also where batches are secret: what was read may not enter the score.
            return -float(weights[0])
        playback = Playback(tap.observed)
        self._run(other, playback, seed)
        ratio = likelihood_ratio(tap.observed, playback.exact)
        return -ratio if second else ratio

    def _run(self, risk: Risk, noise: Tap | Playback, seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        problem = risk.problem
        start = np.zeros(problem.dim)
        account = account_for(self.method, problem, start, self.goal, self.budget)
        run = account.run(self.budget, "audit", unit=problem.promised_to)
        oracle = Oracle(risk, run, noise, self.goal.calibration, entropy_for(seed))
        return self.method.run(oracle, start, self.goal, lambda row: None).weights
