"""`adapt`: learn centre and spread of the columns privately, then train where noise hurts least."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.methods.adapt_paces import steps_for
from sottovoce.methods.adapted_descent import Descent
from sottovoce.methods.bends import Bends
from sottovoce.methods.calibration import share as calibration_share
from sottovoce.methods.coordinates import Coordinates
from sottovoce.methods.grouping import by_column, sharing
from sottovoce.methods.least_penalty import LeastPenalty
from sottovoce.methods.measurement import LearnedMethod
from sottovoce.methods.posterior import Posterior
from sottovoce.methods.second_moments import SecondMoments
from sottovoce.problem import LARGEST_MATRIX, matrix_fits

if TYPE_CHECKING:
    from sottovoce.methods.loop import Goal, Walk
    from sottovoce.problem import Problem


@final
@dataclass(frozen=True, kw_only=True)
class Adapt(LearnedMethod):
    """Release column means and squares, choose coordinates, cap influence there, and combine gradients.

    1. Means and squares for `moments_share` of the budget. 2. A geometry with the least expected excess loss.
    3. The weighted second moments there for `gram_share`. 4. `steps` gradients with growing shares, each
    where all before it say that the weights are: a posterior mean, as far as the noise allows. Slopes are
    limited where the noise that saves is worth more than the bias. 5. The mean of the last half where noise
    is small, else all answers weighed again, and of a logistic model two numbers that tell how long the
    weights should be. There, for what is left, the gradient of the user's own risk: the certificate speaks
    of it.

    The steps follow the weighted risk in learned coordinates; nothing about it is certified. All choices are
    made from public numbers and released answers: there is nothing to tune."""

    name: ClassVar[str] = "adapt"

    def taken(self, problem: Problem) -> int:
        return steps_for(problem, self.steps)

    def last_share(self, problem: Problem, mu: float) -> float:
        return calibration_share(problem, mu) if Bends(problem).limited else 0.0

    def insist_possible(self, problem: Problem, goal: Goal) -> None:
        super().insist_possible(problem, goal)
        if not matrix_fits(problem.columns):
            raise ParameterError(
                f"method 'adapt' forms a matrix of columns by columns, here {problem.columns}; the limit is "
                f"{LARGEST_MATRIX}. Use 'accelerate', or fewer columns."
            )

    def prepared(self, walk: Walk, whole: int, kept: int) -> Descent:
        """Moments, coordinates and second moments: what the steps need to know."""
        ask, problem = walk.ask, walk.problem
        bends = Bends(problem)
        shared = sharing(problem, math.sqrt(ask.mu_squared(whole)))
        asked = ask.moments(int(whole * self.moments_share), groups=shared)
        moments = by_column(asked, problem, shared)
        walk.record("moments", moments.units)
        gram_units = int(whole * self.gram_share)
        last = int(whole * self.last_share(problem, math.sqrt(ask.mu_squared(whole))))
        mu = math.sqrt(ask.mu_squared(max(1, ask.units_left - gram_units - kept - last)))
        chosen = Coordinates.chosen(moments, problem, bends.belief, mu)
        inside = ask.reshaped(chosen.geometry)
        gram = inside.gram(gram_units)
        walk.record("gram", gram.units)
        found = SecondMoments.of(gram, chosen.diagonal, chosen.errors)
        least = LeastPenalty.of(moments, problem, bends.belief.curvature)
        ridge = chosen.geometry.conjugated(least.majorant)
        along = np.einsum("ij,ij->j", found.vectors, ridge @ found.vectors)
        posterior = Posterior.prior(found, chosen.counted, along, problem.outputs, bends.belief.deviation)
        return Descent(
            inside,
            chosen,
            found.vectors,
            least,
            posterior,
            bends,
            mu,
            self.taken(problem),
            last,
            moments.means,
        )
