"""Sensitivities of requests about clipped examples; `sensitivity` is for rows and their laws.

A term depends on its example, its place and public numbers alone, and is cut in float64 after all rounding,
so only sums can err. Terms no longer than c may point anywhere: two of them lie 2c apart. A person's examples
have shares that sum to 1 at most, so what a person adds lies in the hull of cut terms and 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sottovoce.accounting.relations import Relation
from sottovoce.privacy.sensitivity import Facts, eigenvalue_rounding, norm_above, over_n
from sottovoce.trusted import bands, example_requests, requests

ABOVE = 1.0 + 2.0**-40
"""Outweighs the rounding of the few operations that make a limit."""


def _within(longest: float, facts: Facts, relation: Relation) -> float:
    """A mean of vectors no longer than this."""
    return over_n(bands.ball_distance(longest, relation), facts, facts.arithmetic.mean(longest))


def _gradients(request: example_requests.ClippedGradients, facts: Facts, relation: Relation) -> float:
    return _within(request.limit, facts, relation)


def _counted(request: example_requests.CountedGradients, facts: Facts, relation: Relation) -> float:
    """As one vector no longer than limit sqrt(1 + weight^2/4)."""
    return _within(request.limit * math.hypot(1.0, request.weight / 2.0) * ABOVE, facts, relation)


def _changes(request: example_requests.GradientChanges, facts: Facts, relation: Relation) -> float:
    return _within(request.limit, facts, relation)


def _shares(request: example_requests.GradientShares, facts: Facts, relation: Relation) -> float:
    return over_n(bands.moment_distance(1.0, relation), facts, facts.arithmetic.mean(1.0))


def _norm(request: requests.Norm, facts: Facts, relation: Relation) -> float:
    assert isinstance(request.of, example_requests.ClippedGradients)
    limit = request.of.limit
    rounding = facts.arithmetic.norm(limit, norm_above(request.added))
    return over_n(bands.ball_distance(limit, relation), facts, rounding)


def _hessians(request: example_requests.ClippedHessians, facts: Facts, relation: Relation) -> float:
    return _within(request.limit, facts, relation)


def _eigenvalue(request: requests.SmallestEigenvalue, facts: Facts, relation: Relation) -> float:
    """No eigenvalue moves further than its matrix does, in Frobenius norm."""
    assert isinstance(request.of, example_requests.ClippedHessians)
    limit = request.of.limit
    rounding = eigenvalue_rounding(limit, request.added, facts)
    return over_n(bands.ball_distance(limit, relation), facts, rounding)


def _products(request: example_requests.ClippedProducts, facts: Facts, relation: Relation) -> float:
    return _within(request.limit * ABOVE, facts, relation)


def _losses(request: example_requests.ClippedLosses, facts: Facts, relation: Relation) -> float:
    span = request.span.checked()
    rounding = facts.arithmetic.mean(span.largest)
    return over_n(bands.number_distance(span, facts.lightest, facts.weight, relation), facts, rounding)


def _steps(request: example_requests.LossSteps, facts: Facts, relation: Relation) -> float:
    """Each entry by itself, so all together in a box: as long as its diagonal."""
    lengths = np.array([norm_above(step) for step in request.steps]) / request.divisors
    return _within(request.steepest * norm_above(lengths) * ABOVE, facts, relation)


def _line(request: example_requests.LossLine, facts: Facts, relation: Relation) -> float:
    length = norm_above(request.direction) * norm_above(request.lengths)
    return _within(request.steepest * length * ABOVE, facts, relation)


EXAMPLE_SENSITIVITIES: dict[type, Callable[[Any, Facts, Relation], float]] = {
    example_requests.ClippedGradients: _gradients,
    example_requests.CountedGradients: _counted,
    example_requests.GradientChanges: _changes,
    example_requests.GradientShares: _shares,
    example_requests.ClippedHessians: _hessians,
    example_requests.ClippedProducts: _products,
    example_requests.ClippedLosses: _losses,
    example_requests.LossSteps: _steps,
    example_requests.LossLine: _line,
    requests.Norm: _norm,
    requests.SmallestEigenvalue: _eigenvalue,
}
