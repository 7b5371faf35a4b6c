"""What all noisy gradients together tell of the weights sought: a bank of Kalman filters.

Each filter holds a hypothesis: the predictor has standard deviation T, and the risk bends `factor` times as
much as the second moments S of the rows say. Under it g = H (u - u*) + noise at any u, H = h factor S, h the
mean phi'' between u and u*, so u - H^-1 g is u* plus an error of known size; the filter combines all of them
with a prior. Answers decide between the hypotheses. Everything here is post-processing of answers.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.methods.noise_propagation import StepNoise

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.methods.adapt.second_moments import SecondMoments
    from sottovoce.queries.features import Indices

_SIZES = np.exp([-6.0, -3.6, -2.6, *np.linspace(-1.75, 1.75, 8)])
_FACTORS = 2.0 ** np.arange(6)
_SIZE_DOUBT, _UNUSUAL, _NOTHING = 0.6, 4.0, 1.0
"""Prior standard deviation of log T, most that speaks against any T, and what speaks against the least, by
which there is nothing to be found: one table in nine."""

_CURVATURE_DOUBT = 0.5
_FIRST_DOUBT = 0.3
"""Relative error of H^-1 g besides its noise; less for the first answer, where h rests on no estimate."""

_CORRELATED = 0.03
"""Most that the mean square of an unseen correlation of two coordinates is taken for."""

_IDLE, _MOST_GROUPS = 0.03, 4
"""Prior variance of a group of columns without signal, in units of the others', and how many groups may be
declared for any of them to be without."""

_LEAST_GAIN = 0.7
"""Where one answer tells more than the prior, its gain: then errors of H die out, and means of later weights
remove what noise that lets in."""

_TELLING = 10.0
"""An answer tells more than the prior where its variance times this is less."""

_OVERSHOT = 1.6
"""Gains times the largest curvature over the believed one: below 2, errors of H shrink."""


_HIDDEN = 0.6
"""Where noise is followed, eigenvalues of S are lower by this part of its edge: some are nothing else."""


_LONGEST = 0.5
"""Most that one answer scales the weights by, less 1."""

_DENIED = 2.0
"""No T shrinks the weights of a model of residuals that found this many times what T allows."""


@final
@dataclass(frozen=True)
class SecantCurvature:
    """h across and along the weights for every hypothesis; `highest` bounds it."""

    across: Vector
    along: Vector
    highest: float


class GradientObservation(NamedTuple):
    """A noisy gradient at u, its noise, and the curvatures from u to the weights under each hypothesis."""

    u: Matrix
    answer: Matrix
    scale: float
    curve: SecantCurvature


@final
@dataclass(frozen=True)
class Along:
    """What a gradient at u says along u, per square of the predictor there: `seen` with variance `noise`,
    and how the risk bends along and across u under each hypothesis."""

    seen: float
    noise: float
    bends: Vector
    across: Vector

    @property
    def pulled(self) -> Vector:
        """By how much H^-1 g misjudges the length of u, which noise hardly hides."""
        away = self.seen / self.bends - self.seen / self.across
        return np.asarray(np.clip(away, -_LONGEST, _LONGEST))

    def spread(self, outputs: int) -> Vector:
        """The variance, in units of u^2, that taking this in adds."""
        return self.noise * np.maximum(self.bends**-2.0 - self.across**-2.0, 0.0) * outputs


@final
@dataclass
class Posterior:
    """Means (hypotheses by outputs by directions) and variances of u* along the eigenvectors of S.

    `spectrum` are the eigenvalues of the weighted second moments, `whole` those of all rows counted alike,
    `signals` the prior variances of the minimizer for all records to come, `priors` with chance in these,
    `ridge` the penalty's curvature along each, `error` the mean square by which S may miss a correlation.
    `classes`: h goes with the weights' length, so that an answer is judged by what was found, too.
    `step_noise` is how the last answer moved the estimate, and how the risk bends there at least; `edge` is
    that of the noise in S."""

    spectrum: Vector
    whole: Vector
    ridge: Vector
    error: float
    sizes: Vector
    factors: Vector
    signals: Matrix
    priors: Matrix
    means: Matrix
    variances: Matrix
    evidence: Vector
    classes: bool = False
    edge: float = 0.0
    step_noise: StepNoise | None = None

    @classmethod
    def prior(
        cls,
        moments: SecondMoments,
        counted: float,
        ridge: Vector,
        outputs: int,
        deviation: float,
        sampling: Callable[[Vector], Vector],
        groups: Indices,
        constant: int | None = None,
        *,
        classes: bool = False,
    ) -> Posterior:
        """Signal goes with the eigenvalues; some of the `groups` of columns may have none. A record counts
        `counted` on average. The risk may bend more than S says by what noise can hide in it: less likely the
        more, at most by twice that. The minimizer of these records is that of all plus chance, of variance
        `sampling` over S. Of `classes`, which may be of unequal size, the constant has the
        prior variance of the usual T instead of a share in T."""
        spectrum, whole = moments.spectrum, moments.spectrum / counted
        hidden = 1.0 + moments.edge / max(float(np.median(spectrum)), 1e-12)
        grid = itertools.product(
            deviation * _SIZES, _FACTORS[2.0 * hidden >= _FACTORS], _active(groups, constant)
        )
        sizes, factors, active = (np.array(column) for column in zip(*grid, strict=True))
        parts = np.array([(moments.vectors[groups == g] ** 2).sum(axis=0) for g in range(groups.max() + 1)])
        strength = parts @ whole
        variances = active * (sizes**2 / factors / (active @ strength))[:, None]
        if constant is not None and classes:
            variances[:, groups[constant]] = deviation**2 / strength[groups[constant]]
        signals = variances @ parts
        priors = signals + sampling(sizes)[:, None] / whole
        evidence = -np.minimum(0.5 * (np.log(sizes / deviation) / _SIZE_DOUBT) ** 2, _UNUSUAL)
        evidence[sizes == sizes.min()] = -_NOTHING
        evidence -= np.log(factors)
        evidence -= np.where(factors > 1.0, 2.0 * np.log1p(factors / hidden), 0.0)
        means = np.zeros((sizes.size, outputs, spectrum.size))
        error = min(_CORRELATED, moments.error)
        return cls(
            spectrum,
            whole,
            ridge,
            error,
            sizes,
            factors,
            signals,
            priors,
            means,
            priors.copy(),
            evidence,
            classes,
            moments.edge,
        )

    @property
    def weights(self) -> Vector:
        """Probabilities of the hypotheses."""
        likely = np.exp(self.evidence - self.evidence.max())
        return np.asarray(likely / likely.sum())

    @property
    def factor(self) -> float:
        """By how much the risk bends more than S says."""
        return float(self.weights @ self.factors)

    @property
    def estimate(self) -> Matrix:
        """The u of least expected loss, outputs by directions: each hypothesis counts by its curvature."""
        return np.asarray(np.tensordot(self._costs, self.means, axes=1))

    @property
    def found(self) -> float:
        """Variance of the predictor at the estimate, averaged over outputs."""
        squares = np.mean(self.estimate**2, axis=0)
        return self.factor * float(self.whole @ squares)

    @property
    def unknown(self) -> float:
        """Variance of the predictor that is still expected between the estimate and u*."""
        spread = self.variances + np.mean((self.means - self.estimate) ** 2, axis=1)
        return self.factor * float(self.whole @ (self._costs @ spread))

    @property
    def doubt(self) -> float:
        """Mean square of the relative error that a first answer has besides its noise."""
        return _FIRST_DOUBT**2 + self.error * self.spectrum.size

    @property
    def deviations(self) -> Vector:
        """Under each hypothesis: standard deviation of the predictor at u*."""
        squares = np.mean(self.means**2, axis=1) + self.variances
        return np.asarray(np.sqrt(self.factors * (squares @ self.whole)))

    def reached(self, u: Matrix) -> Vector:
        """Under each hypothesis: standard deviation of the predictor at u, in units of that at u*."""
        found = float(self.whole @ np.mean(u**2, axis=0))
        return np.asarray(np.sqrt(self.factors * found) / self.deviations)

    def information_gain(self, scale: Vector | float, curve: Vector | float) -> Matrix:
        """For each hypothesis and direction: how far an answer of noise `scale` tells more than the prior, of
        classes than what was found beyond its variance, if that is larger."""
        noise, signal = (scale / self._bends(curve)) ** 2, self.priors
        if self.classes:
            signal = np.maximum(signal, np.mean(self.means**2, axis=1) - self.variances)
        return np.asarray(signal / (signal + _TELLING * noise))

    def signal_share(self, sampling: Vector) -> Vector:
        """Along each direction, the part of the estimate that is expected of the minimizer for all records to
        come: the rest is chance in these, of variance `sampling` over S. Where a hypothesis about residuals
        has found clearly more than it allows, what is beyond chance takes the place of its T."""
        chance, signals = sampling[:, None] / self.whole, self.signals
        if not self.classes:
            found = np.mean(self.means**2, axis=1) @ self.whole
            left = (chance + self.variances) @ self.whole
            signal = self.signals @ self.whole
            denied = found > _DENIED * (signal + left)
            signals = signals * np.where(denied, (found - left) / signal, 1.0)[:, None]
        return np.asarray(self._costs @ (signals / (signals + chance)))

    def update(self, observation: GradientObservation, usual: float) -> None:
        """Take in a noisy gradient; `usual` is the noise of an answer for an even share."""
        u, answer, scale, curve = observation
        bends = self._bends(curve.across)
        away = u - self.means
        square = np.mean(away**2, axis=1) + self.variances
        error = self._error(square, first=not np.any(u))
        moved, noise = self._pseudo_observation(observation)
        if np.any(u):
            self._decide(self._along(observation), u, away)
        else:
            total = (self.variances + noise + error) * bends**2
            self.evidence = self.evidence - 0.5 * (
                np.sum(np.sum(answer**2, axis=0) / total + len(u) * np.log(total), axis=1)
            )
        gain = self.variances / (self.variances + noise + error)
        gain = np.maximum(gain, _LEAST_GAIN * self.information_gain(usual, curve.across))
        gain = np.minimum(gain, (_OVERSHOT * curve.across / curve.highest)[:, None])
        self.means = self.means + gain[:, None, :] * (away + moved)
        costs = self._costs
        seen = np.maximum(1.0 - _HIDDEN * self.edge / self.spectrum, 0.0)
        self.step_noise = StepNoise(costs @ (gain / bends), scale, seen * (costs @ bends))
        left = self.variances * (1.0 - gain) ** 2 + gain**2 * (noise + error)
        self.variances = np.minimum(self.variances, left)

    def _pseudo_observation(self, observation: GradientObservation) -> tuple[Matrix, Matrix]:
        """Where an answer says that u* lies from u, under each hypothesis, and the variance of its noise."""
        bends = self._bends(observation.curve.across)
        moved, noise = -observation.answer / bends[:, None, :], (observation.scale / bends) ** 2
        if not np.any(observation.u):
            return moved, noise
        along = self._along(observation)
        moved = moved - along.pulled[:, None, None] * observation.u
        return moved, noise + np.outer(along.spread(len(observation.u)), np.mean(observation.u**2, axis=0))

    def _error(self, square: Vector, *, first: bool) -> Vector:
        """Variance of u - H^-1 g besides noise, `square` being that of the way from u to u*: curvature is
        known in part only, and what S misses of correlations leaks from all directions into each."""
        doubt = _FIRST_DOUBT if first else _CURVATURE_DOUBT
        return doubt**2 * square + self.error * (square @ self.spectrum)[..., None] / self.spectrum

    def _along(self, observation: GradientObservation) -> Along:
        curve = observation.curve
        u, scaled = observation.u, self.spectrum * observation.u
        length = float(np.sum(scaled * u))
        ridge = float(np.sum(self.ridge * u**2)) / length
        return Along(
            float(np.sum(u * observation.answer)) / length,
            (observation.scale * float(np.linalg.norm(u)) / length) ** 2,
            curve.along * self.factors + ridge,
            curve.across * self.factors + ridge,
        )

    def _decide(self, along: Along, u: Matrix, away: Matrix) -> None:
        """Let the one number <u, g>, which noise hardly hides, decide between the hypotheses."""
        scaled = self.spectrum * u
        length = float(np.sum(scaled * u))
        gap = np.sum(scaled * away, axis=(1, 2)) / length
        known = self.variances @ np.sum(scaled**2, axis=0) / length**2
        variance = along.noise + along.bends**2 * (
            known * (1.0 + _CURVATURE_DOUBT**2) + (_CURVATURE_DOUBT * gap) ** 2 + 1e-4
        )
        self.evidence = self.evidence - 0.5 * (
            (along.seen - along.bends * gap) ** 2 / variance + np.log(variance)
        )

    def _bends(self, curve: Vector | float) -> Matrix:
        rates = np.broadcast_to(curve, self.factors.shape) * self.factors
        return np.asarray(np.outer(rates, self.spectrum) + self.ridge)

    @property
    def _costs(self) -> Vector:
        costs = self.weights * self.factors
        return np.asarray(costs / costs.sum())


def _active(groups: Indices, constant: int | None) -> list[Vector]:
    """Relative prior variances of the groups under each hypothesis about which of them have signal. All have
    it under the first; the constant always, and a single group, whose strength is T."""
    count = int(groups.max()) + 1
    others = [group for group in range(count) if constant is None or group != groups[constant]]
    idle = [members for k in range(1, len(others)) for members in itertools.combinations(others, k)]
    active = np.ones((1 + len(idle) * (len(others) <= _MOST_GROUPS), count))
    for row, members in zip(active[1:], idle, strict=False):
        row[list(members)] = _IDLE
    return list(active)
