"""Confidence statements about the true gradient and curvature, from noisy answers and known noise.

Levels are fixed before the run. A bound at level beta is wrong with probability at most beta, whatever
the data and whatever the method decided from the same answer.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, final

from sottovoce.accounting.wording import at_least, at_most
from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.results.result import Tolerance

_EXACT_LIMIT = 1e5
"""Squared signal-to-noise, plus 100 d, up to which the noncentral chi-square is inverted numerically.

Past it SciPy's distribution function loses its third digit, and the simple bound is as good."""


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What holds at the returned weights with probability at least `confidence`, over the noise.

    `clipped`: it speaks of the mean of clipped gradients and Hessians, not of the risk's own. `neighbours`:
    between which data sets that noise does not tell, in words."""

    gradient_norm_at_most: float
    curvature_at_least: float
    confidence: float
    below_noise_floor: bool = False
    clipped: bool = False
    neighbours: str = ""

    def meets(self, tolerance: Tolerance) -> bool:
        """Whether both bounds lie within a tolerance whose curvature has been resolved."""
        if tolerance.curvature is None:
            raise ParameterError(
                "this tolerance has no curvature yet: give Tolerance(gradient=..., curvature=...) or take "
                "result.tolerance, where the default sqrt(M * gradient) is filled in."
            )
        return (
            self.gradient_norm_at_most <= tolerance.gradient
            and self.curvature_at_least >= -tolerance.curvature
        )

    def __str__(self) -> str:
        gradient = (
            f"below the noise floor of {at_most(self.gradient_norm_at_most):.3g}"
            if self.below_noise_floor
            else f"at most {at_most(self.gradient_norm_at_most):.3g}"
        )
        curvature = f"{at_least(self.curvature_at_least):.3g}"
        noise = f", noise for: {self.neighbours}" if self.neighbours else ""
        confidence = f"with {100 * self.confidence:.6g} % confidence{noise}"
        if self.clipped:
            return (
                f"the norm of the mean clipped gradient is {gradient} and the smallest eigenvalue of the "
                f"mean clipped Hessian at least {curvature}, {confidence}; nothing is "
                "certified about the risk without clipping"
            )
        return (
            f"the true gradient norm is {gradient} and the smallest Hessian eigenvalue at least "
            f"{curvature}, {confidence}"
        )

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self))}</p>"


@final
@dataclass
class Handed:
    """Error probability that gradient tests of a run have taken so far, and the curvature tests made."""

    gradient: float = 0.0
    curvature_tests: int = 0


@final
@dataclass(frozen=True, kw_only=True)
class Levels:
    """Error probability 1 - confidence, split before the run over every test it could make.

    Gradient tests share equally; curvature tests, few but of unknown number, get 6/(pi t)^2 for the t-th.
    Splitting afterwards over the tests that happened to be made would be wrong.

    Every answer that may certify takes a level, which depends on how many took one before and never on an
    answer. All levels taken from one object, or from those made of it, sum to at most 1 - confidence,
    whatever a method does: a test beyond the plan is handed 0, where every bound is infinite."""

    confidence: float
    gradient_tests: int
    curvature_tested: bool
    handed: Handed = field(default_factory=Handed, compare=False, repr=False)

    @property
    def gradient(self) -> float:
        """Level of each planned gradient test."""
        return self._gradient_whole / self.gradient_tests if self.gradient_tests else 0.0

    def take_gradient(self) -> float:
        """The level of a gradient test about to be made."""
        if self.handed.gradient + self.gradient > self._gradient_whole * (1.0 + 1e-9):
            return 0.0
        self.handed.gradient += self.gradient
        return self.gradient

    def take_curvature(self) -> float:
        """The level of a curvature test about to be made; 0 where the plan has none."""
        level = self.next_curvature if self.curvature_tested else 0.0
        self.handed.curvature_tests += 1
        return level

    def untested(self) -> Levels:
        """For points that are visited and never certified: they take nothing."""
        return replace(self, gradient_tests=0, curvature_tested=False)

    def on_the_way(self) -> Levels:
        """Half the gradient's error for points that only count if the run is cut short."""
        return replace(self, gradient_tests=2 * self.gradient_tests)

    def at_the_end(self) -> Levels:
        """The other half for the one measurement planned at the end."""
        return replace(self, gradient_tests=2)

    @property
    def _gradient_whole(self) -> float:
        return (0.5 if self.curvature_tested else 1.0) * (1.0 - self.confidence)

    @property
    def next_curvature(self) -> float:
        """Level of the next curvature test."""
        return self.curvature(self.handed.curvature_tests + 1)

    def curvature(self, test: int) -> float:
        """Level of the test-th curvature test, counted from 1; the series sums to half the error."""
        return 0.5 * (1.0 - self.confidence) * 6.0 / (math.pi * test) ** 2


def norm_bound(noisy_norm: float, scale: float, dim: int, level: float) -> tuple[float, bool]:
    """Upper bound on ||g|| from ||g + scale z||, z standard normal in `dim` coordinates, wrong with
    probability at most `level`; and whether the answer lies below the noise floor.

    ||g~||^2/scale^2 is noncentral chi-square, so the bound inverts its distribution function in the
    noncentrality. Below the floor even g = 0 would rarely give so small an answer; then the bound for a
    typical pure-noise answer is stated instead, which is larger and so still valid."""
    from scipy import special

    if level <= 0.0:
        return math.inf, False
    simple = noisy_norm - scale * float(special.ndtri(level))
    ratio = (noisy_norm / scale) ** 2
    if ratio > _EXACT_LIMIT + 100.0 * dim:
        return simple, False
    floor = float(special.chdtr(dim, ratio)) < level
    if floor:
        ratio = float(special.chdtri(dim, 0.5))
    return min(_noncentrality(ratio, dim, level, scale), _simple(ratio, scale, level)), floor


def _simple(ratio: float, scale: float, level: float) -> float:
    """||g|| <= ||g~|| + scale z: the noise along g alone is one normal variable."""
    from scipy import special

    return scale * (math.sqrt(ratio) - float(special.ndtri(level)))


def _noncentrality(ratio: float, dim: int, level: float, scale: float) -> float:
    from scipy import optimize, special

    def excess(root: float) -> float:
        return float(special.chndtr(ratio, dim, root * root)) - level

    top = math.sqrt(ratio) - float(special.ndtri(level)) + 1.0
    if excess(0.0) <= 0.0:
        return 0.0
    if not excess(top) < 0.0:
        return math.inf
    # brentq brackets the root within xtol: step past it so that the bound stays on the safe side
    return scale * (float(optimize.brentq(excess, 0.0, top, xtol=1e-9, rtol=1e-12)) + 1e-8)


@lru_cache(maxsize=256)
def certifying_scale(dim: int, level: float, fraction: float) -> float:
    """Largest noise sd, as a part of a tolerance, that lets a typical answer certify it.

    Typical is ||g~||^2 = ||g||^2 + d s^2, where the true norm is `fraction` of the tolerance."""
    if not 0.0 < fraction < 1.0:
        raise ParameterError("fraction must lie strictly between 0 and 1.", argument="fraction")
    low, high = 0.0, 1.0
    for _ in range(30):
        scale = 0.5 * (low + high)
        bound, _ = norm_bound(math.hypot(fraction, scale * math.sqrt(dim)), scale, dim, level)
        low, high = (scale, high) if bound <= 1.0 else (low, scale)
    return low


def spectral_margin(scale: float, dim: int, level: float) -> float:
    """With probability at least 1 - level no eigenvalue of symmetric noise exceeds this.

    P(lambda_max(E) > scale (sqrt(2d) + t)) <= exp(-t^2/2): Gaussian concentration of a 1-Lipschitz
    function whose mean is at most scale sqrt(2d)."""
    if level <= 0.0:
        return math.inf
    return scale * (math.sqrt(2.0 * dim) + math.sqrt(2.0 * math.log(1.0 / level)))


def scalar_margin(scale: float, level: float) -> float:
    """One-sided normal quantile: a noisy scalar exceeds its truth by more with probability `level`."""
    from scipy import special

    return -scale * float(special.ndtri(level))
