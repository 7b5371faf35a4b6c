"""How far floating point can carry a computed answer from the exact one: what must be added to a sensitivity.

If every answer lies within E of the exact one, replacing a record moves it at most 2E further than it should:
**the allowance for a query is 2E**. All bounds are worst case over data, in units of the mean over n records,
and use gamma_m = m u / (1 - m u), which bounds m roundings in any order of summation.

A pass over the rows makes these errors:
- a margin <x, w> is a sum of `dim` products: gamma_d R ||w||; with a target, one subtraction more;
- phi and its derivatives are computed to within `function_ulps` of their range;
- a block's sum has block_length terms and there is one more sum over the blocks, and over the parts if rows
  are held in several, so each entry is off by gamma_m times the sum of |terms|, m = block_length + blocks +
  JOINING + a few, and summed over entries, in l2, by gamma_m n sup||term||: no factor of the dimension;
- the data part, divided by n, is added to public parts (the regularizer): u times all their norms, each time.

In the coordinates of a preconditioner, sums over records are made in x, and their sum is multiplied by M. An
error e in x becomes M e, no longer than stretch ||e||; the product itself adds gamma_d |M| |sum|, no longer
than gamma_d stretch times the sum. Weights w = M'u are rounded once more, so margins are those of w off by
gamma_d stretch ||u||: twice the norm of w covers both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from sottovoce.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence


UNIT_ROUNDOFF = 2.0**-53
UNDERFLOW = 2.0**-1000
"""Added to every bound: outweighs results too small for gamma, even where subnormals are flushed to zero."""

JOINS = 4
"""Additions that join the data part to public parts."""

JOINING = 64
"""Additions allowed for joining parts, in every pass: noise is then the same wherever rows are held."""

FEW = 16
"""Single operations a term meets besides its sums: weighting, division by n, the sqrt2 of svec, mirroring."""


def gamma(terms: float) -> float:
    """Relative error of `terms` successive roundings: m u / (1 - m u)."""
    if not 0.0 <= terms * UNIT_ROUNDOFF <= 0.5:
        raise ParameterError(f"{terms} roundings leave no accuracy. Use fewer columns or smaller blocks.")
    return terms * UNIT_ROUNDOFF / (1.0 - terms * UNIT_ROUNDOFF)


@dataclass(frozen=True, kw_only=True)
class Arithmetic:
    """Public facts about a pass that bound its rounding error; each method gives E for one query.

    Throughout `slope` >= |phi'|, `curvature` >= |phi''|, `third` >= |phi'''|, `highest` >= phi on the margins
    met, class weights included; `added` sums the norms of the public parts added to the mean. Softmax fits
    with slope sqrt2, curvature 1/2, third 0.2722, the Frobenius norm of its weights and K more function_ulps.

    `weight`: most that a record counts.

    `n` divides every sum. `records`: how many count in a sum at most, n if not told; a Poisson batch may hold
    more than n, its expected size. `terms`: how many rows a sum may have, as many as records if not told; the
    rows of a person count no more than one record together. `summands`: how many terms a score is a sum of,
    dim if not told; with several outputs each has a block of weights of its own."""

    n: int
    dim: int
    block_length: int
    radius: float
    target_reach: float = 0.0
    function_ulps: int = 64
    weight: float = 1.0
    records: int | None = None
    terms: int | None = None
    summands: int | None = None

    def __post_init__(self) -> None:
        for name in ("n", "dim", "block_length", "function_ulps"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        for name in ("radius", "target_reach", "weight"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ParameterError(f"{name} is {getattr(self, name)}; it must be finite and at least 0.")

    def gradient(self, *, slope: float, curvature: float, weight_norm: float, added: float = 0.0) -> float:
        """E of the gradient, l2: a term phi'(t) x is at most slope R and follows t at rate curvature."""
        factor = curvature * self.margin(weight_norm) + self._evaluation(slope)
        return self._mean(slope * self.radius, factor * self.radius, added)

    def hessian(self, *, curvature: float, third: float, weight_norm: float, added: float = 0.0) -> float:
        """E of the Hessian, Frobenius: a term phi''(t) xx' has norm at most curvature R^2."""
        factor = third * self.margin(weight_norm) + self._evaluation(curvature)
        return self._mean(curvature * self.radius**2, factor * self.radius**2, added)

    def mean(self, largest: float) -> float:
        """E of a mean of terms that a few operations make of a record, none longer than `largest`, l2."""
        return self._mean(largest, gamma(FEW) * largest, 0.0)

    def gram(self) -> float:
        """E of X'X/n, Frobenius, and of its diagonal: terms xx' of norm at most R^2 and their sum."""
        return self._mean(self.radius**2, 0.0, 0.0)

    def moments(self, emphasis: float) -> float:
        """E of the column means and `emphasis` times the mean squares, summed over groups or not, l2."""
        largest = self.radius + emphasis * self.radius**2
        return self._mean(largest, gamma(self.dim + FEW) * largest, 0.0)

    def number(self, largest: float) -> float:
        """E of a mean of numbers that are clamped to `largest`: as computed they are exact, sums err."""
        return self._mean(largest, 0.0, 0.0)

    def value(self, *, highest: float, slope: float, weight_norm: float, added: float = 0.0) -> float:
        """E of the mean loss."""
        return self._mean(highest, slope * self.margin(weight_norm) + self._evaluation(highest), added)

    def difference(
        self, *, slope: float, highest: float, weight_norm: float, step_norm: float, added: float = 0.0
    ) -> float:
        """E of f(w) - f(w + p), summed as per-record differences, each at most slope R ||p||.

        Both losses carry their own errors, which do not shrink with p: hence a floor on ||p||."""
        ends = (weight_norm, weight_norm + step_norm)
        term = slope * sum(map(self.margin, ends)) + 2.0 * self._evaluation(highest)
        return self._mean(slope * self.radius * step_norm, term, added)

    def normalized_trials(
        self,
        *,
        slope: float,
        highest: float,
        weight_norm: float,
        step_norms: Sequence[float],
        added: Sequence[float] | None = None,
    ) -> float:
        """E of (f(w) - f(w + p_j)) / ||p_j|| for all j, l2; the norms in the denominators are rounded too."""
        norms = gamma(self.dim + FEW) * slope * self._first
        return math.hypot(
            *(
                norms
                + self.difference(
                    slope=slope, highest=highest, weight_norm=weight_norm, step_norm=step, added=public
                )
                / step
                for step, public in zip(step_norms, added or [0.0] * len(step_norms), strict=True)
            )
        )

    def gradient_norm(
        self, *, slope: float, curvature: float, weight_norm: float, added: float = 0.0
    ) -> float:
        """E of the gradient's norm: the gradient's, and a sum of `dim` squares."""
        error = self.gradient(slope=slope, curvature=curvature, weight_norm=weight_norm, added=added)
        return error + gamma(self.dim + FEW) * (slope * self._first + added + error)

    def smallest_eigenvalue(
        self, *, curvature: float, third: float, weight_norm: float, added: float = 0.0
    ) -> float:
        """E of the Hessian's smallest eigenvalue by dense `eigh`: the Hessian's, by Weyl, and the solver's.

        Householder reduction is `dim` reflections of backward error c d u ||H||_F each, and the tridiagonal
        solver is no worse: 16 d^2 u ||H||_F in all. `added` is the Frobenius norm of the public part."""
        error = self.hessian(curvature=curvature, third=third, weight_norm=weight_norm, added=added)
        return error + gamma(16.0 * self.dim**2) * (curvature * self._second + added + error)

    @property
    def _first(self) -> float:
        """Largest mean of q x."""
        return self._crowd * self.weight * self.radius

    @property
    def _second(self) -> float:
        """Largest mean of q xx', Frobenius."""
        return self._crowd * self.weight * self.radius**2

    @property
    def _crowd(self) -> float:
        """Records in a sum, at most, over what it is divided by."""
        return (self.records or self.n) / self.n

    def margin(self, weight_norm: float) -> float:
        """Error of one margin or residual."""
        error = gamma((self.summands or self.dim) + FEW) * (self.radius * weight_norm + self.target_reach)
        return error + UNDERFLOW

    def margin_error(self, weight_norm: float) -> float:
        """Error of one margin at weights of this norm, in the coordinates of the sums."""
        return self.margin(weight_norm)

    def _evaluation(self, largest: float) -> float:
        return self.function_ulps * UNIT_ROUNDOFF * largest

    def _mean(self, largest: float, term: float, added: float) -> float:
        """Mean of terms no larger than `largest`, each off by `term`, times what each record counts, plus the
        public part."""
        counted = self._crowd * self.weight
        largest, term = counted * largest, counted * term
        terms = self.terms or self.records or self.n
        blocks = -(-terms // self.block_length)
        sums = gamma(min(terms, self.block_length) + blocks + JOINING + FEW)
        return term + sums * (largest + term) + JOINS * UNIT_ROUNDOFF * (largest + added) + UNDERFLOW


@final
@dataclass(frozen=True, kw_only=True)
class StretchedArithmetic(Arithmetic):
    """E of each query in u; `radius` is that of the rows x, `stretch` bounds || |M| ||, norms are of u."""

    stretch: float

    def gradient(self, *, slope: float, curvature: float, weight_norm: float, added: float = 0.0) -> float:
        error = super().gradient(slope=slope, curvature=curvature, weight_norm=self._user(weight_norm))
        return self._carried(error, slope * super()._first, self.stretch, added)

    def hessian(self, *, curvature: float, third: float, weight_norm: float, added: float = 0.0) -> float:
        error = super().hessian(curvature=curvature, third=third, weight_norm=self._user(weight_norm))
        return self._carried(error, curvature * super()._second, self.stretch**2, added)

    def gram(self) -> float:
        return self._carried(super().gram(), super()._second, self.stretch**2, 0.0)

    def moments(self, emphasis: float) -> float:
        first = self._carried(super().moments(0.0), self._first, self.stretch, 0.0)
        return first + emphasis * self.gram()

    def value(self, *, highest: float, slope: float, weight_norm: float, added: float = 0.0) -> float:
        return super().value(highest=highest, slope=slope, weight_norm=self._user(weight_norm), added=added)

    def difference(
        self, *, slope: float, highest: float, weight_norm: float, step_norm: float, added: float = 0.0
    ) -> float:
        return super().difference(
            slope=slope,
            highest=highest,
            weight_norm=self._user(weight_norm),
            step_norm=self._user(step_norm),
            added=added,
        )

    @property
    def _first(self) -> float:
        return super()._first * self.stretch

    @property
    def _second(self) -> float:
        return super()._second * self.stretch**2

    def margin_error(self, weight_norm: float) -> float:
        return self.margin(self._user(weight_norm))

    def _user(self, norm: float) -> float:
        return 2.0 * self.stretch * norm

    def _carried(self, error: float, largest: float, factor: float, added: float) -> float:
        """An answer no larger than `largest`, off by `error`, after products that stretch by `factor`."""
        products = gamma(2.0 * (self.summands or self.dim) + FEW) * (largest + error)
        return factor * (error + products) + JOINS * UNIT_ROUNDOFF * (factor * largest + added) + UNDERFLOW
