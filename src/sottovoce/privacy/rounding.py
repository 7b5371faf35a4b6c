"""What summing in floating point adds to a sensitivity.

A contribution is the clamped number as computed, times its row: how margins and laws round costs nothing, and
only sums can err. If every answer lies within E of the exact sum, replacing a record moves it at most 2E
further than it should: **the allowance is 2E**. Bounds are worst case over data, in units of the mean over
n records, and use gamma_m = m u / (1 - m u), which bounds m roundings in any order of summation.

A block's sum has block_length terms and there is one more sum over the blocks, and over the parts if rows are
held in several, so each entry is off by gamma_m times the sum of |terms|, m = block_length + blocks + JOINING
+ a few, and over all entries, in l2, by gamma_m n sup||term||: no factor of the dimension.

In the coordinates of a preconditioner, sums over records are made in x, and their sum is multiplied by M. An
error e in x becomes M e, no longer than stretch ||e||; the product itself adds gamma_d |M| |sum|, no longer
than gamma_d stretch times the sum. Weights w = M'u are rounded once more, so margins are those of w off by
gamma_d stretch ||u||: twice the norm of w covers both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from sottovoce.errors import ParameterError

UNIT_ROUNDOFF = 2.0**-53
UNDERFLOW = 2.0**-1000
"""Added to every bound: outweighs results too small for gamma, even where subnormals are flushed to zero."""

JOINING = 64
"""Additions allowed for joining parts, in every pass: noise is then the same wherever rows are held."""

FEW = 16
"""Single operations a term meets besides its sums: weighting, division by n, the sqrt2 of svec, mirroring."""


def gamma(terms: float) -> float:
    """Relative error of `terms` successive roundings: m u / (1 - m u)."""
    if not 0.0 <= terms * UNIT_ROUNDOFF <= 0.5:
        raise ParameterError(f"{terms} roundings leave no accuracy. Use fewer columns or smaller blocks.")
    return terms * UNIT_ROUNDOFF / (1.0 - terms * UNIT_ROUNDOFF)


@final
@dataclass(frozen=True, kw_only=True)
class Arithmetic:
    """Public facts about a pass that bound its rounding error; each method gives E for one shape of sum.

    `radius` is that of the rows as held, `weight` the most that a record counts. `n` divides every sum.
    `records`: how many count in a sum at most, n if not told; a Poisson batch may hold more than n, its
    expected size. `terms`: how many rows a sum may have, as many as records if not told; the rows of a person
    count no more than one record together. `summands`: how many terms a score is a sum of, dim if not told;
    with several outputs each has a block of weights of its own. `stretch` bounds || |M| || of a
    preconditioner; norms of weights are then those of u."""

    n: int
    dim: int
    block_length: int
    radius: float
    target_reach: float = 0.0
    weight: float = 1.0
    records: int | None = None
    terms: int | None = None
    summands: int | None = None
    stretch: float | None = None

    def __post_init__(self) -> None:
        for name in ("n", "dim", "block_length"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        for name in ("radius", "target_reach", "weight"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ParameterError(f"{name} is {getattr(self, name)}; it must be finite and at least 0.")

    def mean(self, largest: float) -> float:
        """E of a mean of terms that are no longer than `largest` times what their record counts, l2."""
        terms = self.terms or self.records or self.n
        blocks = -(-terms // self.block_length)
        sums = gamma(min(terms, self.block_length) + blocks + JOINING + FEW)
        return sums * self.counted * largest + UNDERFLOW

    def vectors(self, largest: float) -> float:
        """E of a mean of c z, |c| at most `largest`, l2."""
        return self._carried(largest * self.radius, self.stretch)

    def matrices(self, largest: float) -> float:
        """E of a mean of c zz', |c| at most `largest`, Frobenius, and of its diagonal."""
        return self._carried(largest * self.radius**2, self.stretch and self.stretch**2)

    def moments(self, emphasis: float) -> float:
        """E of the column means and `emphasis` times the mean squares, summed over groups or not, l2."""
        squares = self.matrices(1.0)
        return self.vectors(1.0) + emphasis * (squares + gamma(self.dim + FEW) * (self._size(2) + squares))

    def norm(self, largest: float, added: float) -> float:
        """E of the norm of a mean of c z and a public vector of norm `added`: a sum of `dim` squares more."""
        error = self.vectors(largest)
        return error + gamma(self.dim + FEW) * (largest * self._size(1) + added + error)

    def smallest_eigenvalue(self, largest: float, added: float) -> float:
        """E of the smallest eigenvalue of a mean of c zz' and a public matrix of norm `added`, by dense
        `eigh`: the matrix's, by Weyl, and the solver's.

        Householder reduction is `dim` reflections of backward error c d u ||H||_F each, and the tridiagonal
        solver is no worse: 16 d^2 u ||H||_F in all."""
        error = self.matrices(largest)
        return error + gamma(16.0 * self.dim**2 + FEW) * (largest * self._size(2) + added + error)

    def drop(self, steepest: float, length: float) -> float:
        """E of a mean of numbers within steepest |<z, p>| as computed, p of this length."""
        return self.mean(steepest * (self.radius * self._held(length) + self.margin_error(length)))

    def margin_error(self, weight_norm: float) -> float:
        """Error of one margin or residual at weights of this norm."""
        terms = (self.summands or self.dim) + FEW
        return gamma(terms) * (self.radius * self._held(weight_norm) + self.target_reach) + UNDERFLOW

    @property
    def counted(self) -> float:
        """Most that the records of a sum count, over what it is divided by."""
        return self.weight * (self.records or self.n) / self.n

    def _held(self, norm: float) -> float:
        """Norm of weights in the coordinates of the rows as held."""
        return norm if self.stretch is None else 2.0 * self.stretch * norm

    def _size(self, power: int) -> float:
        """Largest mean of q z, or of q zz', Frobenius."""
        return self.counted * (self.radius * (1.0 if self.stretch is None else self.stretch)) ** power

    def _carried(self, largest: float, factor: float | None) -> float:
        """As `mean`, after products with M that stretch by `factor`."""
        error = self.mean(largest)
        if factor is None:
            return error
        products = gamma(2.0 * (self.summands or self.dim) + FEW) * (self.counted * largest + error)
        return factor * (error + products) + UNDERFLOW
