"""`adapt`: what is asked for before, during and after the descent, and for which share of the budget."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.methods.adapt.coordinates import Coordinates, by_column, prior_groups, sharing
from sottovoce.methods.adapt.descent import Descent
from sottovoce.methods.adapt.expected_curvature import expected_curvature
from sottovoce.methods.adapt.inspection import SaddleCheck
from sottovoce.methods.adapt.least_penalty import LeastPenalty
from sottovoce.methods.adapt.posterior import Posterior
from sottovoce.methods.adapt.residuals import (
    COUNTED_AFTER,
    SHARE,
    ResidualCounts,
    ResidualCurvature,
    counted,
    counts_residuals,
)
from sottovoce.methods.adapt.second_moments import SecondMoments, widened
from sottovoce.methods.measurement import LearnedMethod, curvature_in_doubt
from sottovoce.methods.saddles import LOOK_SHARE
from sottovoce.problem import LARGEST_MATRIX, matrix_fits
from sottovoce.queries import ResidualBands, SmallestEigenvalue

if TYPE_CHECKING:
    from sottovoce.methods.adapt.expected_curvature import ExpectedCurvature
    from sottovoce.methods.adapt.inspection import Inspection
    from sottovoce.methods.base import Goal, State
    from sottovoce.methods.forecast import QueryNoise
    from sottovoce.planning.dry_run import DryRun
    from sottovoce.problem import Problem


@final
@dataclass(frozen=True, kw_only=True)
class Adapt(LearnedMethod):
    """Release column means and squares, choose coordinates, cap influence there, and combine gradients.

    1. Of a convex loss of residuals: how large these are at the start. 2. Means and squares for
    `moments_share` of the budget. 3. A preconditioner with the least expected excess loss. 4. The weighted
    second moments there for `gram_share`. 5. `steps` gradients with growing shares, each where all before it
    say that the weights are (`posterior`), slopes limited where the noise that saves is worth more than the
    bias; residuals are counted again on the way, and of a loss that is not convex the curvature is looked at.
    6. For what is left, the gradient of the user's own risk: the certificate speaks of it.

    The steps follow the weighted risk in learned coordinates; nothing about it is certified. All choices are
    made from public numbers, released answers and the constants listed in docs/adapt.md."""

    name: ClassVar[str] = "adapt"
    looks: tuple[Inspection, ...] = field(default=(), repr=False)

    def looking(self, look: Inspection) -> Adapt:
        """The method that makes this inspection, too."""
        return replace(self, looks=(*self.looks, look))

    def taken(self, problem: Problem) -> int:
        """Twice as many where outputs are several: their curvature differs most from what is believed."""
        return 2 * self.steps if problem.outputs > 1 else self.steps

    def beside(self, dry_run: DryRun) -> list[QueryNoise]:
        asked = []
        if curvature_in_doubt(dry_run.problem, None):
            asked.append(dry_run.noise(SmallestEigenvalue, int(dry_run.units * LOOK_SHARE)))
        if counts_residuals(dry_run.problem):
            times = 1 + sum(after < self.taken(dry_run.problem) for after in COUNTED_AFTER)
            asked.append(dry_run.noise(ResidualBands, int(dry_run.units * SHARE), times))
        return asked

    def require_possible(self, problem: Problem, goal: Goal) -> None:
        super().require_possible(problem, goal)
        if not matrix_fits(problem.columns):
            raise ParameterError(
                f"method 'adapt' forms a matrix of columns by columns, here {problem.columns}; the limit is "
                f"{LARGEST_MATRIX}. Use 'accelerate', or fewer columns."
            )

    def prepared(self, state: State, whole: int, kept: int) -> Descent:
        """Residuals, moments, coordinates and second moments: what the steps need to know."""
        ask, problem = state.ask, state.problem
        curvature, inspections = self._foreseen(state, whole)
        shared = sharing(problem, math.sqrt(ask.mu_squared(whole)))
        asked = ask.moments(int(whole * self.moments_share), groups=shared)
        moments = by_column(asked, problem, shared)
        state.record("moments", moments.units)
        steps = self.taken(problem)
        gram_units = int(whole * self.gram_share)
        aside = gram_units + kept + sum(each.aside(0, steps) for each in inspections)
        mu = math.sqrt(ask.mu_squared(max(1, ask.units_left - aside)))
        chosen = Coordinates.chosen(moments, problem, curvature.prior, mu)
        inside = ask.preconditioned(chosen.preconditioner)
        gram = inside.gram(gram_units)
        state.record("gram", gram.units)
        found = SecondMoments.of(gram, chosen.diagonal, chosen.errors)
        if counts_residuals(problem):
            chosen, found = widened(chosen, found, gram, curvature.prior, problem.n * mu)
            inside = ask.preconditioned(chosen.preconditioner)
        least = LeastPenalty.of(moments, problem, curvature.prior.curvature)
        ridge = chosen.preconditioner.conjugated(least.majorant)
        along = np.einsum("ij,ij->j", found.vectors, ridge @ found.vectors)
        posterior = Posterior.prior(
            found,
            chosen.counted,
            along,
            problem.outputs,
            curvature.prior.deviation,
            lambda sizes: curvature.sampling(sizes) / problem.n,
            prior_groups(problem),
            problem.constant,
            classes=not problem.label_reach,
        )
        return Descent(
            inside=inside,
            chosen=chosen,
            vectors=found.vectors,
            least=least,
            posterior=posterior,
            curvature=curvature,
            inspections=inspections,
            mu=mu,
            steps=steps,
            means=moments.means,
        )

    def _foreseen(self, state: State, whole: int) -> tuple[ExpectedCurvature, tuple[Inspection, ...]]:
        """What to expect of the loss, for residuals after they were counted, and what to ask on the way."""
        problem = state.problem
        inspections = list(self.looks)
        if curvature_in_doubt(problem, None):
            inspections.append(SaddleCheck(int(whole * LOOK_SHARE)))
        if not counts_residuals(problem):
            return expected_curvature(problem), tuple(inspections)
        units = int(whole * SHARE)
        first = counted(state, units)
        curvature = ResidualCurvature(problem, first, first)
        return curvature, (*inspections, ResidualCounts(units, curvature))
