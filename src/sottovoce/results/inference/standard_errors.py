"""One step from released answers: an estimate, its covariance, and which part of it is privacy's.

Let f be the data's part of the risk, w* its minimizer in the population, g and H the answers at w, and
w = w* + d. Then g + H(w* - w) = (mean score at w*) + noise of g - E d + o(d), E the noise of H: the first has
covariance V/n, the second sigma^2 I, and E d has (s^2/2)(||d||^2 I + dd'), s the scale of E. So the step
-H^-1 g has covariance H^-1 [sigma^2 I + V/n + (s^2/2)(||d||^2 I + dd')] H^-1, with d from the step itself,
shortened by what sample and noise added to its length.

Eigenvectors of H whose eigenvalue does not stand out of the noise are hidden: nothing is inverted there. In
the basis of eigenvectors the equations of the others are free of them, so a step along the others is left,
with two more sources of error: d has a hidden part, of assumed covariance P (see `terms.coded`), which E d
sees as (s^2/2)(tr P I + P), and a coefficient that has a share in hidden directions misses it, by c'Pc. One
whose variance is mostly this last part says nothing but the assumption: it is not determined.

What is left of second order is that H changes on the way from where it was asked to the estimate: by a part k
of itself, see `curvature_change`. As if it were chance, (k / (1 - k))^2 dd' is added: next to nothing
where training came close, and an interval that stays honest where it did not. The noise of g is multiplied by
H^-1 as it was, whatever H has become, and takes no part in this.

That k is of all records. Those of a rare level are hardly seen in it, and yet they alone are the curvature of
the level's coefficient: where their score moved far, that coefficient gets a k and an addition of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from sottovoce.arrays import Mask, Matrix, Vector
from sottovoce.results.inference.allotment import least_ratio
from sottovoce.results.inference.design import Levels
from sottovoce.results.inference.findings import LastAnswers, curvature_change, mean_curvature
from sottovoce.results.inference.score_moment import ScoreMoment

_MOST = 0.95
_MANY = 1e9
_ANOTHER = 2.0
"""k / (1 - k) where a Hessian may have changed by two thirds of itself, so that it says little."""
_ASSUMED = 0.5
"""Part of a variance that may be assumed, not seen, in a coefficient that is determined."""


@final
@dataclass(frozen=True, eq=False)
class OneStep:
    """A step eta in an orthonormal basis Q of the directions that have a meaning, u = u_1 + Q eta.

    `spread` is the covariance that is assumed of a displacement in u where directions are hidden."""

    findings: LastAnswers
    basis: Matrix
    spread: Matrix
    levels: Levels

    @classmethod
    def of(
        cls,
        findings: LastAnswers,
        flat: Matrix,
        spread: Matrix | None = None,
        levels: Levels | None = None,
    ) -> OneStep:
        """Over all directions but those of `flat`, rows in u along which the risk is constant."""
        size = findings.weights.size
        spread = np.eye(size) if spread is None else spread
        levels = Levels(np.zeros((0, size)), np.zeros((size, 0))) if levels is None else levels
        if not len(flat):
            return cls(findings, np.eye(size), spread, levels)
        values, vectors = np.linalg.eigh(flat.T @ flat)
        return cls(findings, np.asarray(vectors[:, values < 1e-9 * values[-1]]), spread, levels)

    @cached_property
    def gradient(self) -> Vector:
        return np.asarray(self.basis.T @ self.findings.gradient)

    @cached_property
    def hessian(self) -> Matrix:
        matrix = self.basis.T @ self.findings.hessian @ self.basis
        return np.asarray(0.5 * (matrix + matrix.T))

    @cached_property
    def scores(self) -> ScoreMoment:
        """V, along the directions that are not hidden."""
        answer = self.basis.T @ self.findings.moment @ self.basis
        return ScoreMoment.of(answer, self.findings.moment_scale, *self._seen)

    @property
    def sampling(self) -> Matrix:
        return np.asarray(self.scores.value / self.findings.n)

    @cached_property
    def still(self) -> Matrix:
        """What of the covariance of the score does not depend on the step: V/n and the gradient's noise."""
        return np.asarray(self.sampling + self.findings.gradient_scale**2 * np.eye(len(self.sampling)))

    @cached_property
    def _spectrum(self) -> tuple[Vector, Matrix]:
        return np.linalg.eigh(self.hessian)

    @cached_property
    def hidden(self) -> Matrix:
        """Columns: directions along which the Hessian does not stand out of its noise."""
        values, vectors = self._spectrum
        return np.asarray(vectors[:, values < least_ratio(values.size) * self.findings.hessian_scale])

    @cached_property
    def _seen(self) -> tuple[Vector, Matrix]:
        """The other eigenvalues and eigenvectors."""
        values, vectors = self._spectrum
        first = self.hidden.shape[1]
        return values[first:], vectors[:, first:]

    @cached_property
    def assumed(self) -> Matrix:
        """The covariance taken for the hidden part of a displacement."""
        inner = self.hidden.T @ (self.basis.T @ self.spread @ self.basis) @ self.hidden
        return np.asarray(self.hidden @ inner @ self.hidden.T)

    @cached_property
    def displacement(self) -> Vector:
        """d, but for its sign: the step, its square by the Hessian without what sample and noise added to it
        on average."""
        values, vectors = self._seen
        along = vectors.T @ self.step
        added = float(np.sum(np.diag(vectors.T @ self.still @ vectors) / values))
        square = float(along**2 @ values)
        return np.asarray(math.sqrt(max(0.0, 1.0 - added / square)) * self.step if square else self.step)

    @cached_property
    def noise(self) -> Matrix:
        """Covariance of E d for d and a hidden part: what the Hessian's noise adds."""
        half, d = 0.5 * self.findings.hessian_scale**2, self.displacement
        size = float(d @ d) + float(np.trace(self.assumed))
        return np.asarray(half * (size * np.eye(d.size) + np.outer(d, d) + self.assumed))

    @cached_property
    def change(self) -> float:
        """k / (1 - k): what steps with the Hessian as it was may leave undone, in units of the last one.

        k is how far the Hessian may have changed; each step with the old one leaves the part k of its own."""
        found = self.findings
        way = found.moved + 0.5 * self.basis @ self.displacement
        there = found.coordinates(found.weights)
        return float(_undone(curvature_change(way, there, found.hessian, self._mean, found.third)))

    @cached_property
    def _mean(self) -> float:
        return mean_curvature(self.findings.hessian, self.findings.hessian_scale, self.findings.spread)

    @cached_property
    def level_changes(self) -> Vector:
        """`change` for the records of each level alone, by how far their own score moved.

        Where phi'' goes as e^t, as third / mean says at worst, a step from m back to 0 with the Hessian of 0
        leaves (m + e^-m - 1) / (1 - e^-m) of itself undone, so that it counts though the middle of its way
        lies near 0 again: it overshot. The middle counts as for all records."""
        bend = self.findings.third / self._mean
        began = self.levels.scores @ self.findings.moved
        middle = began + 0.5 * self.levels.scores @ self.basis @ self.step
        led = np.maximum(bend * np.abs(began), 1e-6)
        astray = (led + np.expm1(-led)) / -np.expm1(-led)
        return np.maximum(astray, _undone(bend * np.abs(middle)))

    @cached_property
    def _level_steps(self) -> Matrix:
        """Columns: what the step does to each level's coefficient, alone, shortened as `displacement` is."""
        rows = self.levels.scores @ self.basis
        moves = rows @ self.step
        added = np.einsum("ij,jk,ik->i", rows, self._sandwich(self.still), rows)
        short = np.sqrt(np.maximum(0.0, moves**2 - added))
        return np.asarray(self.basis.T @ self.levels.alone * short)

    @property
    def curves_down(self) -> bool:
        """Whether it curves down somewhere by more than noise does to eigenvalues that are 0."""
        return float(self._spectrum[0][0]) < -least_ratio(len(self.hessian)) * self.findings.hessian_scale

    @property
    def is_resolved(self) -> bool:
        """Whether no direction is hidden: the inverse is then close to the one without noise."""
        return not self.hidden.shape[1]

    @cached_property
    def inverse(self) -> Matrix:
        """That of the Hessian along all directions but the hidden ones."""
        values, vectors = self._seen
        return np.asarray((vectors / values) @ vectors.T)

    @cached_property
    def step(self) -> Vector:
        return np.asarray(-self.inverse @ self.gradient)

    @cached_property
    def covariance(self) -> Matrix:
        return self._with_undone(self.change * self.displacement)

    def _with_undone(self, part: Vector) -> Matrix:
        """The covariance of a step that leaves this part of the way undone, as if by chance."""
        levels = self._level_steps * self.level_changes
        undone = np.outer(part, part) + levels @ levels.T
        return np.asarray(self._sandwich(self.still + self.noise) + self.assumed + undone)

    @cached_property
    def sampling_covariance(self) -> Matrix:
        """What would be left of the covariance without noise for privacy."""
        return self._sandwich(self.sampling)

    def determined(self, along: Matrix) -> Mask:
        """Which rows of `along` times eta have a variance that was mostly seen, not assumed; what is added
        because the Hessian may have become another one is assumed, too."""
        whole, guessed = self.covariance, self.assumed
        if self.change > _ANOTHER:
            part = self.change * self.step
            whole, guessed = self._with_undone(part), guessed + np.outer(part, part)
        lost = (self._level_steps * self.level_changes)[:, self.level_changes > _ANOTHER]
        guessed = guessed + lost @ lost.T
        every, assumed = (np.einsum("ij,jk,ik->i", along, middle, along) for middle in (whole, guessed))
        return np.asarray(assumed <= _ASSUMED * every)

    def errors(self, along: Matrix) -> tuple[Vector, Vector]:
        """Standard errors of the rows of `along` times eta, and the degrees of freedom they have.

        The covariance rests on noisy matrices itself. With a = H^-1 c, b = H^-1 M a its value v = a'Ma moves
        with the noise of the moment, by a variance of S / n^2 (`ScoreMoment.strays`), and by -2 a'E b with
        that of the Hessian, so that var v = S / n^2 + 2 s^2 (|a|^2 |b|^2 + (a'b)^2); an error with
        2 v^2 / var v degrees of freedom strays as much (Satterthwaite)."""
        found = self.findings
        middle = self.still + self.noise
        a = along @ self.inverse
        b = a @ middle @ self.inverse
        whole = np.einsum("ij,jk,ik->i", along, self.covariance, along)
        aa, bb, ab = (np.einsum("ij,ij->i", x, y) for x, y in ((a, a), (b, b), (a, b)))
        strays = self.scores.strays(a) / found.n**2 + 2.0 * found.hessian_scale**2 * (aa * bb + ab**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = 2.0 * whole**2 / strays
        return np.sqrt(whole), np.clip(np.nan_to_num(freedom, nan=_MANY), 2.0, _MANY)

    def direction(self, terms: Matrix) -> Matrix:
        """Rows c with t w = t w_1 + c eta for the rows t of `terms`."""
        return np.asarray(self.findings.pulled(terms) @ self.basis)

    def values(self, terms: Matrix) -> Vector:
        """The terms at the estimate."""
        return np.asarray(terms @ self.findings.weights + self.direction(terms) @ self.step)

    def _sandwich(self, middle: Matrix) -> Matrix:
        return np.asarray(self.inverse @ middle @ self.inverse)


def _undone(k: float | Vector) -> Vector:
    """k / (1 - k), k cut off below 1."""
    cut = np.minimum(k, _MOST)
    return np.asarray(cut / (1.0 - cut))
