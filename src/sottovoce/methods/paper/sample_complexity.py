"""How many records the paper's methods need: its n_min as printed, and with the errata repaired.

At every visit the analysis wants noise of norm ||e|| <= min(c_1 eps_g, c_2 eps_H^2 / M) in the gradient and
||E|| <= c eps_H in the Hessian (paper: eq. bounded_noise). Noise shrinks as 1/n, so each requirement is a
least n, a function of public constants; `sample_laws` holds the two readings of each requirement.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.methods.paper.constants import Curve, NoiseShare, SearchShare, trial_count
from sottovoce.methods.paper.sample_laws import Corrected, Law

if TYPE_CHECKING:
    from sottovoce.problem import Problem
    from sottovoce.results.result import Tolerance


@final
@dataclass(frozen=True, kw_only=True)
class Setting:
    """Public constants of a problem and what is asked of it.

    `gradient_bound` (paper: B_g) and `hessian_bound` (B_H) bound one record's gradient and Hessian in norm,
    `hessian_rank` the Hessian's rank: 1 for a linear model, unknown (None) in the paper. `widening` is 1 for
    noise isotropic in the Frobenius norm, sqrt2 for the paper's one sd on and above the diagonal. All visits
    together may fail with probability `failure`."""

    dim: int
    curve: Curve
    gradient_bound: float
    hessian_bound: float
    gap: float
    tolerance: Tolerance
    failure: float = 0.01
    hessian_rank: int | None = None
    widening: float = math.sqrt(2.0)
    noise: NoiseShare = field(default_factory=NoiseShare)
    search: SearchShare = field(default_factory=SearchShare)

    def __post_init__(self) -> None:
        positive = (self.gradient_bound, self.hessian_bound, self.gap, self.widening)
        if self.dim < 1 or not all(0.0 < value < math.inf for value in positive):
            raise ParameterError("the dimension, bounds, gap and widening must be positive and finite.")
        if not 0.0 < self.failure < 1.0:
            raise ParameterError(f"failure is a probability strictly between 0 and 1, got {self.failure}.")
        if self.tolerance.curvature is None:
            raise ParameterError(
                "give Tolerance(gradient=..., curvature=...), or take Setting.of(problem, ...)."
            )

    @classmethod
    def of(cls, problem: Problem, tolerance: Tolerance, *, failure: float = 0.01) -> Setting:
        """A problem's own constants, started at zero weights, with the noise of tight calibration."""
        return cls(
            dim=problem.dim,
            curve=Curve.of(problem),
            gradient_bound=problem.slope * problem.influence,
            hessian_bound=max(problem.curvature_low, problem.curvature_high) * problem.energy,
            gap=problem.gap(np.zeros(problem.dim)),
            tolerance=tolerance.resolved(problem),
            failure=failure,
            hessian_rank=problem.outputs,
            widening=1.0,
        )

    @property
    def curvature(self) -> float:
        """epsilon_H."""
        assert self.tolerance.curvature is not None
        return self.tolerance.curvature

    @property
    def gradient_room(self) -> float:
        """Largest tolerated ||e||: min(c_1 eps_g, c_2 eps_H^2 / M)."""
        by_curvature = self.noise.curvature_gradient * self.curvature**2 / self.curve.hessian_lipschitz
        return min(self.noise.gradient * self.tolerance.gradient, by_curvature)

    @property
    def hessian_room(self) -> float:
        """Largest tolerated ||E||: c eps_H."""
        return self.noise.curvature * self.curvature

    @property
    def short_visits(self) -> int:
        """T of short steps."""
        return math.ceil(self.gap / self.noise.short_decrease(self.curve, self.tolerance))

    @property
    def searched_visits(self) -> int:
        """T of line search."""
        return math.ceil(self.gap / self.search.decrease(self.noise, self.curve, self.tolerance))

    @property
    def trials(self) -> int:
        """i_max: most comparisons of one search, gradient or curvature."""
        shrinks = (self.search.gradient_shrink, self.search.curvature_shrink)
        return max(trial_count(shrink, self.search.longer) for shrink in shrinks)

    @property
    def search_leverage(self) -> float:
        """Records per unit of noise in a trial: B_g max(4b/(c_g eps_g), 8bM/(t_2 c_H eps_H^2)).

        A unit is a trial's sensitivity, 2 b gamma B_g ||p|| / n; noise may eat half the decrease required."""
        share, lipschitz = self.search, self.curve.hessian_lipschitz
        by_gradient = 4.0 * share.longer / (share.gradient * self.tolerance.gradient)
        by_curvature = 8.0 * share.longer * lipschitz / (share.curvature * self.curvature**2)
        return self.gradient_bound * max(by_gradient, by_curvature / share.roots(self.noise)[1])


@final
@dataclass(frozen=True, kw_only=True)
class Multipliers:
    """Noise over sensitivity (paper: sigma_g, sigma_H), and 1/epsilon of a search (lambda)."""

    gradient: float
    hessian: float
    search: float = 0.0

    @classmethod
    def short_step(cls, rho: float, visits: int) -> Multipliers:
        """rho-zCDP over `visits` gradients and Hessians: sigma^2 = T / rho (eq. short_sigma, c_f = 0)."""
        sigma = math.sqrt(visits / rho)
        return cls(gradient=sigma, hessian=sigma)

    @classmethod
    def line_search(cls, rho: float, visits: int) -> Multipliers:
        """With a search at every visit: sigma^2 = lambda^2 = 3T / (2 rho) (eq. ls_sigma)."""
        sigma = math.sqrt(1.5 * visits / rho)
        return cls(gradient=sigma, hessian=sigma, search=sigma)


@final
@dataclass(frozen=True, kw_only=True)
class SampleSize:
    """Records that each requirement alone asks for, 0 where it does not apply; `visits` is T."""

    visits: int
    gradient_noise: float
    hessian_noise: float
    line_search: float = 0.0
    gradient_sampling: float = 0.0
    hessian_sampling: float = 0.0

    @property
    def records(self) -> int:
        """n_min: enough for all requirements."""
        return math.ceil(max(self._terms().values()))

    @property
    def binding(self) -> str:
        """The name of the requirement that asks for most."""
        terms = self._terms()
        return max(terms, key=terms.__getitem__)

    def _terms(self) -> dict[str, float]:
        return {name: value for name, value in asdict(self).items() if name != "visits"}


def short_step(setting: Setting, noise: Multipliers, law: Law | None = None) -> SampleSize:
    """Theorem short_thm: n_min of `opt`. The failure probability is shared by 2 requirements at T visits."""
    law = law or Corrected()
    level = setting.failure / (2 * setting.short_visits)
    return SampleSize(
        visits=setting.short_visits,
        gradient_noise=law.gradient(setting, noise.gradient, level),
        hessian_noise=law.hessian(setting, noise.hessian, level),
    )


def line_search(setting: Setting, noise: Multipliers, law: Law | None = None) -> SampleSize:
    """Lemma ls_decrease, Theorem ls_thm: n_min of `opt-ls` by AboveThreshold; 3 requirements at T visits."""
    law = law or Corrected()
    level = setting.failure / (3 * setting.searched_visits)
    return SampleSize(
        visits=setting.searched_visits,
        gradient_noise=law.gradient(setting, noise.gradient, level),
        hessian_noise=law.hessian(setting, noise.hessian, level),
        line_search=law.search(setting, noise.search, level),
    )


def mini_batch(setting: Setting, noise: Multipliers, rate: float, law: Law | None = None) -> SampleSize:
    """Theorem ls_batch: n_min of `opt-b` with batches of rate * n records; 4 requirements at T visits."""
    if not 0.0 < rate <= 1.0:
        raise ParameterError(f"rate is the part of the records in a batch, in (0, 1], got {rate}.")
    law = law or Corrected()
    level = setting.failure / (4 * setting.short_visits)
    gradient_batch, hessian_batch = law.batch(setting, level)
    return SampleSize(
        visits=setting.short_visits,
        gradient_noise=law.halved(rate) * law.gradient(setting, noise.gradient, level),
        hessian_noise=law.halved(rate) * law.hessian(setting, noise.hessian, level),
        gradient_sampling=gradient_batch / rate,
        hessian_sampling=hessian_batch / rate,
    )
