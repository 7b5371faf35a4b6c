"""Weights that predict alike have one of least penalty: along directions that the declared columns make flat.

Where each row has one of a block's categories, the indicators of the block sum to the constant. Then adding t
to the constant's weight and taking t from each of the block's changes no prediction, only the penalty. A
column that is centred far from zero puts a large weight on the constant; sharing it with the blocks spares
penalty. Rows without a category are predicted otherwise, by t times the constant: how many there are, the
released means say roughly, and the gradients asked after such a move say better. All of this is
post-processing of answers and declared facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy import linalg

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.problem import Problem
    from sottovoce.queries import Moments
    from sottovoce.regularizers import Regularizer

_ROUNDS = 50
"""Majorized steps to the least penalty; for a quadratic one the first is exact."""

_MISSING = np.append(0.0, np.geomspace(1e-6, 1.0, 61))
_COMPLETE = 0.9
"""Parts of rows without a category that are compared, and how likely none is before anything is seen; small
parts are as likely as large ones on a scale of orders of magnitude."""

_DOUBT = 0.5
"""Relative error of what rows without a category add to a gradient."""


@final
@dataclass
class LeastPenalty:
    """Least r(w + D t) + (1/2) sum k t^2 over t: `directions` are the columns of D, in the user's weights.

    k is what a move is expected to cost in loss: phi'' c^2 p, c the constant and p the part of rows that have
    it and none of the block's categories. `against` holds, for each block and each p that is compared, half
    the squared distance of what was seen from what p would give, in standard errors. `free`: the last weight
    is not penalized."""

    regularizer: Regularizer
    free: bool
    directions: Matrix
    constant: float
    curvature: float
    slope: float
    against: Matrix

    @classmethod
    def of(cls, moments: Moments, problem: Problem, curvature: float) -> LeastPenalty:
        """For the declared blocks of indicators; nothing is moved where there are none, or no penalty."""
        place, blocks = problem.constant, problem.indicators
        if place is None or problem.regularizer.curvature_high <= 0.0:
            blocks = ()
        directions, against = np.zeros((problem.columns, len(blocks))), np.zeros((len(blocks), _MISSING.size))
        constant = 0.0 if place is None else float(moments.means[place])
        for block, (start, stop) in enumerate(blocks):
            directions[start:stop, block] = -1.0
            directions[place, block] = 1.0
            seen = float(moments.means @ directions[:, block])
            error = moments.mean_scale * float(np.linalg.norm(directions[:, block]))
            against[block] = 0.5 * ((seen - constant * _MISSING) / error) ** 2
        return cls(
            problem.regularizer, problem.intercept, directions, constant, curvature, problem.slope, against
        )

    @property
    def lacking(self) -> Vector:
        """For each block the expected part of rows without a category of it."""
        prior = np.append(_COMPLETE, np.full(_MISSING.size - 1, (1.0 - _COMPLETE) / (_MISSING.size - 1)))
        likely = prior * np.exp(self.against.min(axis=1, keepdims=True) - self.against)
        return np.asarray(likely @ _MISSING / likely.sum(axis=1))

    def at(self, w: Vector) -> Vector:
        """The weights of least penalty among those that predict as w does, output by output."""
        if not len(self.against):
            return w
        return np.asarray(w + (self._moves(w) @ self.directions.T).reshape(w.shape))

    def update(self, w: Vector, along: Matrix, errors: Vector) -> None:
        """Take in the derivatives along the directions, outputs by blocks, that a noisy gradient at `at(w)`
        has, of standard errors `errors`: rows without a category of a block pull back by their part of it."""
        if not len(self.against):
            return
        moves = self._moves(w)
        seen = along - self._pull(w.reshape(-1, len(self.directions)) + moves @ self.directions.T)
        pulls = np.clip(self.curvature * self.constant * moves, -0.5 * self.slope, 0.5 * self.slope)
        expected = self.constant * pulls[:, :, None] * _MISSING
        variance = errors[:, None] ** 2 + (_DOUBT * expected) ** 2
        heard = (seen[:, :, None] - expected) ** 2 / variance + np.log(variance / errors[:, None] ** 2)
        self.against = self.against + 0.5 * heard.sum(axis=0)

    @property
    def majorant(self) -> Matrix:
        """Curvature of the least penalty for the weights of one output: A - A D (D'A D + k)^-1 D'A."""
        bends = np.diag(self._diagonal)
        if not len(self.against):
            return bends
        pulled = bends @ self.directions
        return np.asarray(bends - pulled @ linalg.solve(self._bends(self._costs), pulled.T, assume_a="pos"))

    def _moves(self, w: Vector) -> Matrix:
        """t, outputs by blocks."""
        blocks, costs = w.reshape(-1, len(self.directions)), self._costs
        moves, bends = np.zeros((len(blocks), costs.size)), self._bends(costs)
        for _ in range(_ROUNDS):
            slopes = self._pull(blocks + moves @ self.directions.T) + moves * costs
            step = linalg.solve(bends, slopes.T, assume_a="pos").T
            moves = moves - step
            if np.max(np.abs(step)) <= 1e-9 * np.max(np.abs(moves), initial=1e-300):
                break
        return np.asarray(moves)

    def _pull(self, blocks: Matrix) -> Matrix:
        """Derivatives of the penalty along the directions."""
        pull = np.zeros_like(blocks)
        kept = blocks.shape[1] - self.free
        pull[:, :kept] = self.regularizer.gradient(blocks[:, :kept])
        return np.asarray(pull @ self.directions)

    @property
    def _costs(self) -> Vector:
        return np.asarray(self.curvature * self.constant**2 * self.lacking)

    @property
    def _diagonal(self) -> Vector:
        diagonal = np.full(len(self.directions), self.regularizer.curvature_high)
        diagonal[diagonal.size - self.free :] = 0.0
        return diagonal

    def _bends(self, costs: Vector) -> Matrix:
        return np.asarray((self.directions.T * self._diagonal) @ self.directions + np.diag(costs))
