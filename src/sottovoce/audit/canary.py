"""Two neighbouring synthetic data sets, and what the answers released over one of them tell about which.

No private data is read: rows are zeros but for the canary, which is replaced by its opposite, so that a
gradient at zero moves as far as it can; under zero-out it counts nothing instead.

The score of a run is the log-likelihood ratio of its Gaussian
answers, exact answers over both data sets being known to the attacker: the strongest attack there is on what
a method of full passes lets out. Answers on secret batches are scored by the weights they lead to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from sottovoce.accounting.relations import Relation
from sottovoce.arrays import Vector
from sottovoce.data.records import Records
from sottovoce.losses import Kind, Logistic, Loss
from sottovoce.models.linear import Risk
from sottovoce.privacy.noise import ExactNoise, Noise, SimulatedNoise
from sottovoce.regularizers import L2, Regularizer

if TYPE_CHECKING:
    from sottovoce.privacy.noise import NoiseCalibration

TARGET = (-1.0, 1.0)


@final
@dataclass(frozen=True, kw_only=True)
class CanaryShape:
    """The public part of a configuration."""

    n: int = 20
    dim: int = 2
    radius: float = 1.0
    loss: Loss = field(default_factory=Logistic)
    regularizer: Regularizer = field(default_factory=lambda: L2(1e-3))
    target: tuple[float, float] = TARGET

    def pair(self, relation: Relation = Relation.REPLACE_ONE) -> tuple[Risk, Risk]:
        """Risks over the data set with the canary and over the one with its opposite, or without it."""
        if relation is Relation.ZERO_OUT:
            return self._risk(1.0, counts=1.0), self._risk(1.0, counts=0.0)
        return self._risk(1.0), self._risk(-1.0)

    def _risk(self, side: float, counts: float | None = None) -> Risk:
        features = np.zeros((self.n, self.dim))
        features[0, 0] = side * self.radius
        if self.loss.kind is Kind.MARGIN:
            declared: dict[str, Any] = {"labels": (-1, 1)}
            targets = np.ones(self.n)
        else:
            target = (0.0, 1.0) if self.loss.kind is Kind.COUNT else self.target
            declared = {"target": target}
            targets = np.full(self.n, target[1])
        if counts is not None:
            declared["sample_weight"] = np.array([counts] + [1.0] * (self.n - 1))
        records = Records.from_arrays(features, targets, radius=self.radius, **declared)
        return Risk(records, self.loss, self.regularizer)


@final
@dataclass(frozen=True)
class Observation:
    """One release: the exact answer, what came out, and the charged scale. For synthetic data only."""

    exact: Vector | None
    released: Any
    scale: float


class Tap:
    """Draws noise for a run and keeps all it drew; `factor` other than 1 breaks it on purpose."""

    def __init__(self, noise: Noise, factor: float = 1.0) -> None:
        self._noise = noise
        self._factor = factor
        self.observed: list[Observation] = []

    @classmethod
    def seeded(cls, seed: int | None, factor: float) -> Tap:
        return cls(ExactNoise() if seed is None else SimulatedNoise(seed), factor)

    @property
    def simulated(self) -> bool:
        return self._noise.simulated

    def gaussian(self, exact: Vector, calibration: NoiseCalibration) -> Vector:
        released = self._noise.gaussian(exact, calibration)
        if self._factor != 1.0:
            released = exact + self._factor * (released - exact)
        self.observed.append(Observation(exact.copy(), released, calibration.scale))
        return released.copy()

    def laplace(self, sensitivity: int, epsilon: float) -> int:
        return round(self._factor * self._noise.laplace(sensitivity, epsilon))

    def first_above(
        self, queries: Iterable[float | Fraction], sensitivity: float, epsilon: float
    ) -> int | None:
        released = self._noise.first_above(queries, sensitivity, epsilon / self._factor)
        self.observed.append(Observation(None, released, 0.0))
        return released


class Playback:
    """Gives the answers of a tap again, over the other data set, and keeps that one's exact answers."""

    simulated = True

    def __init__(self, observed: list[Observation]) -> None:
        self._observed = observed
        self.exact: list[Vector | None] = []

    def gaussian(self, exact: Vector, calibration: NoiseCalibration) -> Vector:
        self.exact.append(exact.copy())
        answer: Vector = self._observed[len(self.exact) - 1].released
        return answer.copy()

    def laplace(self, sensitivity: int, epsilon: float) -> int:
        return 0

    def first_above(
        self, queries: Iterable[float | Fraction], sensitivity: float, epsilon: float
    ) -> int | None:
        self.exact.append(None)
        found: int | None = self._observed[len(self.exact) - 1].released
        return found


def likelihood_ratio(observed: list[Observation], other: list[Vector | None]) -> float:
    """log p(answers | other data set) - log p(answers | the one they came from); Gaussian answers only."""
    total = 0.0
    for mine, theirs in zip(observed, other, strict=True):
        if mine.exact is not None and theirs is not None:
            near, far = mine.released - mine.exact, mine.released - theirs
            total += float(near @ near - far @ far) / (2.0 * mine.scale**2)
    return total
