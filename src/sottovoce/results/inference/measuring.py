"""The last queries of a run: what intervals and tests need, asked in coordinates of their own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.errors import ParameterError
from sottovoce.problem import LARGEST_MATRIX
from sottovoce.results.inference.allotment import (
    Allotment,
    curvature_at,
    curvature_bend,
    curvature_ceiling,
    least_ratio,
)
from sottovoce.results.inference.coordinates import CAP, standardized
from sottovoce.results.inference.findings import LastAnswers, curvature_change, mean_curvature

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.problem import Problem
    from sottovoce.queries import Answer, Moments, Queries
    from sottovoce.results.inference.request import Inference

_KEPT = 0.15
"""Part of the units below which the last gradient is not pushed by asking again."""

_FAR = 0.5
"""A Hessian that may have changed by this part of itself on the way is asked again."""


def require_inferable(problem: Problem, share: float) -> None:
    """Refused before the first charge: risks that have no intervals."""
    if share and (problem.matrix_free or problem.clipped):
        raise ParameterError(
            "inference is for linear models and softmax: the weights of a module are not identified, so "
            "they have no standard errors. Leave inference out."
        )
    if share and not problem.gathered:
        raise ParameterError(
            "standard errors for persons need all their rows in one place. Leave inference out, or read the "
            "table here, without Dask."
        )
    if share and problem.dim > LARGEST_MATRIX:
        raise ParameterError(
            f"inference needs a matrix of all weights, here {problem.dim}; the limit is {LARGEST_MATRIX}. "
            "Use fewer columns, or leave inference out."
        )


def measured(ask: Queries, w: Vector, units: int, asked: Inference) -> LastAnswers:
    """Steps from w to the minimizer without its penalty, and answers there, for `units` in all.

    1. Means and squares of the columns choose coordinates; influence is capped there. The mean record's score
    says where phi'' of a count or of a rare class is cut off in the Hessian. 2. That Hessian and a
    first gradient at w give a step along all directions that stand out of the Hessian's noise; where it led
    so far that the Hessian may be another, both are asked again, for less, while enough is left. 3. At the
    point reached the second moment of scores and, for what is left, the gradient again: its noise stays.
    How far it may have changed is known by sup|phi'''| and by its ratio to phi'', whichever says less.
    A loss that is no likelihood has no information, weights may depend on what is predicted, and rows of a
    person on each other: their errors are `robust`, and persons are what is independent."""
    grouped = ask.problem.unit != "record"
    robust = asked.robust or grouped or not ask.problem.likelihood or ask.problem.lightest < 1.0
    parts = Allotment.expected(ask.problem, math.sqrt(ask.mu_squared(units)))
    moments = ask.moments(int(units * parts.coordinates))
    preconditioner = standardized(moments, ask.problem, asked.design_for(ask.problem, moments.means))
    inside = ask.preconditioned(preconditioner)
    problem = inside.problem
    spread = problem.outputs * (preconditioner.cap / CAP) ** 2
    ceiling = curvature_ceiling(problem, curvature_at(ask.problem, _score_of_mean(moments, ask.problem, w)))
    ceiling = ceiling if ceiling < problem.curvature_high else math.inf
    scores_units, spent = int(units * parts.scores), moments.units
    here, share = problem.within_limit(preconditioner.from_user(w)), 1.0
    while True:
        hessian = inside.hessian(here, int(units * share * parts.hessian), ceiling)
        curvature = hessian.value - problem.regularizer.curvature(here)
        first = inside.gradient(here, int(units * share * parts.first))
        step = seen_step(first.value - problem.regularizer.gradient(here), curvature, hessian.scale)
        there = problem.within_limit(here + step)
        spent += hessian.units + first.units
        start, here, share = here, there, 0.5
        mean = mean_curvature(curvature, hessian.scale, spread)
        third = min(problem.third, curvature_bend(problem) * mean)
        again = int(units * share * (parts.hessian + parts.first))
        affordable = spent + again + scores_units <= (1.0 - _KEPT) * units
        if not affordable or curvature_change(there - start, there, curvature, mean, third) <= _FAR:
            break
    last = inside.gradient(there, units - spent - scores_units)
    scores = _scores(inside, there, scores_units, robust)
    return LastAnswers(
        n=problem.n,
        outputs=problem.outputs,
        weights=preconditioner.to_user(there),
        moved=there - start,
        third=third,
        spread=spread,
        basis=np.asarray(preconditioner.matrix.T),
        gradient=last.value - problem.regularizer.gradient(there),
        hessian=curvature,
        moment=scores.value,
        gradient_scale=last.scale,
        hessian_scale=hessian.scale,
        moment_scale=scores.scale,
        robust=robust,
        likelihood=problem.likelihood,
        constant=ask.problem.constant,
    )


def _score_of_mean(moments: Moments, problem: Problem, w: Vector) -> float:
    """<x, w> of the mean record, by released means of q x; of a constant h the mean of q h and that of
    q h^2 say what records count on average. 0 with several outputs, or where the noise says nothing."""
    if problem.outputs > 1:
        return 0.0
    counted, place = 1.0, problem.constant
    if place is not None and moments.squares[place] > 0.0:
        counted = float(np.clip(moments.means[place] ** 2 / moments.squares[place], 0.1, 1.0))
    return float(moments.means @ w) / counted


def seen_step(gradient: Vector, hessian: Matrix, scale: float) -> Vector:
    """-H^-1 g along eigenvectors whose eigenvalue stands out of noise of this scale, 0 along the others."""
    values, vectors = np.linalg.eigh(hessian)
    seen = values >= least_ratio(values.size) * scale
    along = vectors[:, seen]
    return np.asarray(-(along @ ((along.T @ gradient) / values[seen])))


def _scores(ask: Queries, w: Vector, units: int, robust: bool) -> Answer[Matrix]:
    return ask.score_moment(w, units) if robust else ask.information(w, units)
