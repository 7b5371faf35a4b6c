"""Certificates keep their word: whole runs, many times, against the exact gradient and Hessian.

A 95 % certificate may be wrong in at most 5 % of runs. If it is wrong in exactly 5 %, more than `alarm(runs)`
of them has probability below 1e-6 (binomial tail): 14 of 60 by default, 149 of 2,000 with `-m slow`. Bounds
must not be absurd either: their median stays below 3 times the truth plus the noise floor of the answer they
rest on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.methods.base import Goal, Method
from sottovoce.methods.cubic import Cubic
from sottovoce.methods.majorize import Majorize
from sottovoce.methods.measurement import scalar_pays
from sottovoce.privacy.noise import SimulatedNoise
from sottovoce.privacy.oracle import Oracle
from sottovoce.queries import Answer
from tests import problems

FEW, MANY = 60, 2000
CONFIDENCE = 0.95
BUDGET = sv.Budget(epsilon=1.0, delta=1e-5)


def alarm(runs: int) -> int:
    """A promise kept in 95 % of runs is broken in more than so many with probability below 1e-6."""
    return int(stats.binom.isf(1e-6, runs, 1.0 - CONFIDENCE))


@dataclass(frozen=True)
class Study:
    """What the runs claimed and what was true."""

    wrong: int
    median_ratio: float


class Remembering:
    """The oracle, with the scale of the last gradient or norm answer kept for the floor."""

    def __init__(self, ask: Oracle) -> None:
        self._ask = ask
        self.floor = np.inf

    def __getattr__(self, name: str) -> object:
        return getattr(self._ask, name)

    def gradient(self, w: np.ndarray, units: int) -> Answer[np.ndarray]:
        answer = self._ask.gradient(w, units)
        self.floor = answer.scale * np.sqrt(w.size)
        return answer

    def gradient_norm(self, w: np.ndarray, units: int) -> Answer[float]:
        answer = self._ask.gradient_norm(w, units)
        self.floor = answer.scale
        return answer


def study(risk: sv.Risk, method: Method, tolerance: sv.Tolerance | None, runs: int) -> Study:
    goal = Goal(
        tolerance=None if tolerance is None else tolerance.resolved(risk.problem), confidence=CONFIDENCE
    )
    wrong, ratios = 0, []
    for seed in range(runs):
        ask = Remembering(Oracle(risk, sv.Ledger(BUDGET).run(BUDGET), SimulatedNoise(seed)))
        outcome = method.run(ask, np.zeros(risk.dim), goal, lambda row: None)  # type: ignore[arg-type]
        claim = outcome.certificate
        gradient = float(np.linalg.norm(risk.gradient(outcome.weights)))
        curvature = risk.smallest_eigenvalue(outcome.weights)
        wrong += gradient > claim.gradient_norm_at_most or curvature < claim.curvature_at_least
        ratios.append(claim.gradient_norm_at_most / (gradient + ask.floor))
    return Study(wrong, float(np.median(ratios)))


TIGHT = sv.Tolerance(gradient=0.05, curvature=0.02)
CASES = {
    "majorize, nonconvex, spend it all": (problems.sigmoid(60, 3), Majorize(steps=2), None),
    "majorize, convex, tolerance": (
        problems.logistic(300, 3),
        Majorize(steps=2),
        sv.Tolerance(gradient=0.06, curvature=0.5),
    ),
    "cubic, nonconvex, tolerance": (problems.sigmoid(300, 3), Cubic(steps=1), TIGHT),
}
LONG_CASES = {
    "majorize, convex, spend it all": (problems.logistic(60, 3), Majorize(steps=6), None),
    "majorize, nonconvex, tight curvature": (problems.sigmoid(300, 3), Majorize(steps=6), TIGHT),
    "majorize, long vector": (problems.logistic(200, 60), Majorize(steps=3), None),
    "cubic, convex, spend it all": (problems.logistic(60, 3), Cubic(free_steps=3), None),
    "cubic, nonconvex, many steps": (problems.sigmoid(300, 3), Cubic(steps=5), TIGHT),
}


@pytest.mark.parametrize("case", CASES)
def test_a_95_percent_certificate_is_wrong_in_at_most_5_percent_of_runs_and_not_loose(case: str) -> None:
    found = study(*CASES[case], FEW)
    assert found.wrong <= alarm(FEW)
    assert found.median_ratio <= 3.0


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES | LONG_CASES)
def test_two_thousand_runs_keep_their_word_too(case: str) -> None:
    """pytest -m slow tests/test_coverage.py: five minutes."""
    found = study(*(CASES | LONG_CASES)[case], MANY)
    assert found.wrong <= alarm(MANY)
    assert found.median_ratio <= 3.0


def test_a_certificate_that_ignored_the_noise_would_be_caught() -> None:
    """The same study over the noisy norm itself, taken at its word: the alarm must ring."""
    risk = problems.logistic(60, 3)
    w = np.full(3, 0.5)
    truth = np.linalg.norm(risk.gradient(w))
    wrong = 0
    for seed in range(FEW):
        ask = Oracle(risk, sv.Ledger(BUDGET).run(BUDGET), SimulatedNoise(seed))
        wrong += np.linalg.norm(ask.gradient(w, ask.units_left).value) < truth
    assert wrong > alarm(FEW)


def test_levels_split_after_the_fact_would_be_caught() -> None:
    """Taking the best of ten bounds, each at the full level, is wrong ten times as often as it says."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(FEW):
        answers = 3.0 + rng.standard_normal(10)
        bounds = answers - stats.norm.ppf(0.05)
        wrong += bounds.min() < 3.0
    assert wrong > alarm(FEW)


@pytest.mark.parametrize(("dim", "pays"), [(3, False), (54, True), (2000, True), (100_000, True)])
def test_the_norm_alone_is_paid_for_where_the_vector_is_long(dim: int, pays: bool) -> None:
    assert scalar_pays(dim, 0.005) is pays
