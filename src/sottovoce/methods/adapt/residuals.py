"""How large residuals are, from noisy counts in dyadic bands: where to limit slopes, and what that leaves.

A limit tau on |phi'| saves noise in proportion to tau, and leaves curvature only to the records whose
residual is below it: the noise that counts is tau / P(|t| < tau), least where tau is small. What speaks for a
larger one is that errors may be skewed: the minimizer is then moved by up to E(|t| - tau)+.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy import special

from sottovoce.methods.adapt.coordinates import Prior, beyond_chance
from sottovoce.methods.adapt.expected_curvature import Asked, ExpectedCurvature
from sottovoce.methods.adapt.inspection import Inspection, Stand
from sottovoce.methods.adapt.posterior import SecantCurvature
from sottovoce.methods.expected_excess import sensitivity_of
from sottovoce.queries import Gradient, LimitedGradient, ResidualBands
from sottovoce.queries.residuals import edges

if TYPE_CHECKING:
    from sottovoce.arrays import Vector
    from sottovoce.methods.adapt.expected_curvature import Outset
    from sottovoce.methods.adapt.posterior import Posterior
    from sottovoce.methods.base import State
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer, Queries

_USUAL, _DOUBT = 0.3, 1.5
"""Prior of the residuals' scale: median in units of the largest target, and sd of its logarithm."""

_SCALES = np.exp(np.linspace(-6.0, 2.0, 81))
"""Scales that are compared, in units of the usual one."""

_CLEAR = 3.0
"""Standard errors that the sum of all counts is at least taken for."""

_FARTHEST = 2.0
"""Squared distance of two laws, at most."""

SHARE = 0.005
"""Of the budget for each count of residuals."""

COUNTED_AFTER = (1, 2, 4, 8, 16)
"""Gradients after which residuals are counted again; before the first they are, too."""

_EXPLAINED = 0.8
"""Prior sd of the predictor, in units of what residuals are before anything is fitted."""

_ONE_SD = 0.6827
"""The part of a normal law within one standard deviation."""

_SKEWED = 0.3
"""The part of E(|t| - tau)+ by which a limit is taken to move the mean prediction: as much as the median of
errors as skewed as chi-square with four degrees of freedom is off their mean, in units of E|t|."""


@final
@dataclass(frozen=True)
class ResidualScale:
    """`below[k]` is the estimated part of records with |t| < ends[k]; both rise.

    Noisy shares are fitted by three laws (normal, Laplace, Cauchy-like tails) of unknown scale, weighed by
    their likelihood, and where they differ from the fit by more than noise explains, they are believed."""

    ends: Vector
    below: Vector

    @classmethod
    def of(cls, answer: Answer[Vector], problem: Problem) -> ResidualScale:
        """From the answer to `ResidualBands`; records that count less than 1 count in their parts."""
        ends = edges(problem)[::-1]
        least = _CLEAR * answer.scale * math.sqrt(answer.value.size)
        whole = min(1.0, max(float(answer.value.sum()), least))
        seen, scale = answer.value[::-1] / whole, answer.scale / whole
        laws = _laws(ends, _USUAL * problem.label_reach)
        shares = np.diff(laws, axis=1, prepend=0.0, append=1.0)
        misfit = ((seen - shares) ** 2).sum(axis=1)
        doubt = np.tile((np.log(_SCALES) / _DOUBT) ** 2, len(laws) // _SCALES.size)
        against = 0.5 * misfit / scale**2 + 0.5 * doubt
        likely = np.exp(against.min() - against)
        fitted = likely @ shares / likely.sum()
        gap = min(float(((seen - fitted) ** 2).sum()), _FARTHEST)
        chance = scale**2 * seen.size * beyond_chance(seen.size)
        trust = max(0.0, 1.0 - chance / max(gap, 1e-300))
        kept = np.maximum(fitted + trust * (seen - fitted), 0.0)
        return cls(ends, np.cumsum(kept / kept.sum())[:-1])

    def within(self, size: float) -> float:
        """The part of residuals smaller than `size`."""
        if size >= self.ends[-1]:
            far = 1.0 - (1.0 - self.below[-1]) * (self.ends[-1] / size) ** 2
            return float(min(1.0, far))
        inner = np.append(0.0, self.ends)
        return float(np.interp(size, inner, np.append(0.0, self.below)))

    def beyond(self, size: float) -> float:
        """E(|t| - size)+, by the middles of the bands."""
        lows = np.append(0.0, self.ends)
        middles = np.append(0.5 * (lows[1:] + lows[:-1]), 1.25 * self.ends[-1])
        mass = np.diff(self.below, prepend=0.0, append=1.0)
        return float(mass @ np.maximum(middles - size, 0.0))

    @property
    def deviation(self) -> float:
        """The size that 68 % of residuals stay below: their sd if they are normal. Tails do not enter."""
        sizes, below = np.append(0.0, self.ends), np.append(0.0, self.below)
        return float(np.interp(_ONE_SD, below, sizes))

    def bias(self, size: float) -> float:
        """Excess loss to expect of the minimizer where slopes are limited to `size`."""
        return 0.5 * (_SKEWED * self.beyond(size)) ** 2

    def candidates(self) -> Vector:
        """Limits that are compared."""
        return np.asarray(self.deviation * 2.0 ** np.arange(-1.5, 3.01, 0.5))


def counted(state: State, units: int) -> ResidualScale:
    """Count residuals at the state's weights."""
    answer = state.ask.ask(ResidualBands(state.w), units)
    state.record("residuals counted", answer.units)
    return ResidualScale.of(answer, state.problem)


def counts_residuals(problem: Problem) -> bool:
    """Whether the loss is convex in residuals, so that their scale is worth knowing. Public."""
    return bool(problem.label_reach) and problem.limitable and problem.outputs == 1


@final
@dataclass
class ResidualCurvature(ExpectedCurvature):
    """A convex loss of residuals with slopes limited at tau bends by P(|t| < tau) of its supremum.

    `scale` is what the last count says; `first` what the first did, before anything was fitted."""

    scale: ResidualScale
    first: ResidualScale

    @property
    def prior(self) -> Prior:
        deviation = _EXPLAINED * self.first.deviation
        return Prior(deviation, deviation, self.at(deviation), 2.0 * self._slope(deviation))

    def sampling(self, sizes: Vector) -> Vector:
        """Squared slopes and curvature of residuals that are limited both go with how many are below."""
        return np.full(sizes.size, self.scale.deviation**2)

    def at(self, deviation: float) -> float:
        return self.problem.curvature_high * max(self.scale.within(2.0 * self.scale.deviation), 0.1)

    def asked(self, inside: Queries, outset: Outset, posterior: Posterior) -> Asked:
        """The limit with the least expected excess. Noise is taken to go with the limit: pricing each
        candidate by itself would take longer than the answer."""
        point, model, highest = outset.point, outset.model, self.problem.curvature_high
        sizes = self.scale.candidates()
        limits = np.array([self._slope(float(size)) for size in sizes])
        queries = [
            LimitedGradient(point, float(limit)) if limit < self.problem.slope else Gradient(point)
            for limit in limits
        ]
        moved = sensitivity_of(inside, queries[0]) * (limits / limits[0])
        noise = moved / outset.mu
        bends = highest * np.array([self.scale.within(float(size)) for size in sizes])
        lost = [
            model.excess(sd * model.curvature / max(bend, 1e-9)) + self.scale.bias(float(size))
            for sd, bend, size in zip(noise, bends, sizes, strict=True)
        ]
        best = int(np.argmin(lost))
        across = np.full(posterior.sizes.size, max(bends[best], 0.02 * highest))
        curves = SecantCurvature(across, across, highest)
        limit = float(limits[best]) / self.problem.slope
        return Asked(queries[best], float(moved[best]), lambda _reached: curves, limit)

    def _slope(self, size: float) -> float:
        """A slope that no residual smaller than `size` has."""
        return float(min(self.problem.curvature_high * size, self.problem.slope))


@final
@dataclass(frozen=True)
class ResidualCounts(Inspection):
    """Residuals are counted again and again, as the fit improves, and limits follow."""

    units: int
    curvature: ResidualCurvature

    def aside(self, step: int, steps: int) -> int:
        return self.units * sum(step <= after < steps for after in COUNTED_AFTER)

    def made(self, state: State, stand: Stand) -> bool:
        if stand.step in COUNTED_AFTER and stand.step < stand.steps:
            self.curvature.scale = counted(state, self.units)
        return False


def _laws(ends: Vector, usual: float) -> Vector:
    """P(|t| < ends), laws and scales by ends."""
    ratio = ends / (usual * _SCALES[:, None])
    normal = special.erf(ratio / math.sqrt(2.0))
    laplace = 1.0 - np.exp(-ratio / 0.7)
    heavy = ratio / np.sqrt(1.0 + ratio**2)
    return np.concatenate([normal, laplace, heavy])
