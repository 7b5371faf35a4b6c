"""What the scores of an attack prove: lower bounds on epsilon and mu at a stated confidence.

The attack says "the other data set" where its score exceeds a threshold. Its true and false positive rates
are bounded by Clopper & Pearson, exactly and for any law of the scores. (epsilon, delta)-DP allows
tpr <= e^epsilon fpr + delta, and the same for the complements; mu-GDP allows tpr <= Phi(Phi^{-1}(fpr) + mu),
so that of runs divided equally over both data sets at most Phi(mu/2) are told right.
The threshold is chosen on scores that are then thrown away."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import special

from sottovoce.arrays import Vector
from sottovoce.errors import ParameterError

PILOT_SHARE = 0.1
"""Part of the scores spent on choosing thresholds."""

PILOT_CONFIDENCE = 0.9
"""Steers the choice away from thresholds at which the pilot saw too little to tell."""

CANDIDATES = 200


@final
@dataclass(frozen=True, kw_only=True)
class Rates:
    """How often the attack was right and wrong, each bounded at half of the error allowed."""

    true_positive_at_least: float
    false_positive_at_most: float

    @classmethod
    def at(cls, threshold: float, here: Vector, there: Vector, confidence: float) -> Rates:
        """`here` and `there` are scores over the two data sets."""
        level = (1.0 - confidence) / 2.0
        _, false_high = clopper_pearson(int(np.sum(here > threshold)), here.size, level)
        true_low, _ = clopper_pearson(int(np.sum(there > threshold)), there.size, level)
        return cls(true_positive_at_least=true_low, false_positive_at_most=false_high)

    def epsilon(self, delta: float) -> float:
        """The epsilon proved by positives: log((tpr - delta) / fpr), never below 0."""
        return _log_ratio(self.true_positive_at_least - delta, self.false_positive_at_most)

    def epsilon_of_negatives(self, delta: float) -> float:
        """The epsilon proved by negatives: log((1 - fpr - delta) / (1 - tpr)), never below 0."""
        return _log_ratio(1.0 - self.false_positive_at_most - delta, 1.0 - self.true_positive_at_least)


def clopper_pearson(found: int, among: int, level: float) -> tuple[float, float]:
    """Bounds on a probability, each wrong with probability at most `level`, from `found` of `among`."""
    low = float(special.betaincinv(found, among - found + 1, level)) if found else 0.0
    high = float(special.betainccinv(found + 1, among - found, level)) if found < among else 1.0
    return low, high


def mu_of_guesses(threshold: float, here: Vector, there: Vector, confidence: float) -> float:
    """The mu proved by how many of the runs, as many on each data set, are told right: 2 Phi^{-1}(share).

    Right guesses are a sum of independent trials of two chances; past its mean, a binomial of their average
    has the heavier tail (Hoeffding 1956, theorem 4), so Clopper & Pearson bound the average from below."""
    among = min(here.size, there.size)
    right = int(np.sum(here[:among] <= threshold)) + int(np.sum(there[:among] > threshold))
    share, _ = clopper_pearson(right, 2 * among, 1.0 - confidence)
    return 2.0 * float(special.ndtri(share)) if share > 0.5 else 0.0


Bound = Callable[[Rates, float], float]


@final
@dataclass(frozen=True, kw_only=True)
class Proof:
    """Lower bounds, each of which holds with the stated confidence."""

    epsilon_at_least: float
    mu_at_least: float
    confidence: float


def prove(here: Vector, there: Vector, *, delta: float, confidence: float) -> Proof:
    """Bounds from scores over the two data sets, with thresholds and direction chosen on a pilot."""
    if min(here.size, there.size) < 100:
        raise ParameterError("an audit needs at least 100 runs on each data set.")
    (pilot_here, here), (pilot_there, there) = _split(here), _split(there)
    pooled = np.concatenate([pilot_here, pilot_there])
    candidates = np.quantile(pooled, np.linspace(0.0, 1.0, CANDIDATES + 2)[1:-1]).tolist()

    def promise(sign: Bound, threshold: float) -> float:
        return sign(Rates.at(threshold, pilot_here, pilot_there, PILOT_CONFIDENCE), delta)

    signs: tuple[Bound, ...] = (Rates.epsilon, Rates.epsilon_of_negatives)
    sign, threshold = max(itertools.product(signs, candidates), key=lambda each: promise(*each))
    # Halfway the most runs are told right, if the scores are as symmetric as a Gaussian's.
    middle = float(np.median(pooled))
    return Proof(
        epsilon_at_least=sign(Rates.at(threshold, here, there, confidence), delta),
        mu_at_least=mu_of_guesses(middle, here, there, confidence),
        confidence=confidence,
    )


def _split(scores: Vector) -> tuple[Vector, Vector]:
    pilot = int(PILOT_SHARE * scores.size)
    return scores[:pilot], scores[pilot:]


def _log_ratio(more: float, less: float) -> float:
    return max(0.0, math.log(more / less)) if more > 0.0 and less > 0.0 else 0.0
