"""What requests about softmax probabilities must be charged for; `charges` is for one number a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sottovoce.accounting.relations import Relation
from sottovoce.privacy.charges import (
    Facts,
    eigenvalue_rounding,
    line_drops,
    matrix_rounding,
    norm_above,
    over_n,
    product_moves,
    score_rounding,
    step_drops,
)
from sottovoce.privacy.rounding import FEW, gamma
from sottovoce.trusted import bands, requests
from sottovoce.trusted.bands import ROUND_UP

SPREAD = 0.5
"""Largest norm of A = diag(p) - pp', Frobenius and spectral, for probabilities p.

With S = sum p^2 and sum p^3 >= S^2, ||A||_F^2 = S - 2 sum p^3 + S^2 <= S - S^2 <= 1/4. A is semidefinite, so
two terms A (x) zz' are sqrt2 of the longest apart in Frobenius norm, and in spectral norm no more than it."""


def _vector(request: requests.ClassVector, facts: Facts, relation: Relation) -> float:
    rounding = facts.arithmetic.gradient(slope=request.limit, curvature=0.0, weight_norm=0.0)
    return over_n(_vector_distance(request.limit, facts, relation), facts, rounding)


def _vector_distance(limit: float, facts: Facts, relation: Relation) -> float:
    """r (x) z with ||r|| <= limit as clamped: terms that may point anywhere."""
    return bands.ball_distance(limit * facts.influence, relation)


def _norm(request: requests.Norm, facts: Facts, relation: Relation) -> float:
    assert isinstance(request.of, requests.ClassVector)
    limit = request.of.limit
    rounding = facts.arithmetic.gradient_norm(
        slope=limit, curvature=0.0, weight_norm=0.0, added=norm_above(request.added)
    )
    return over_n(_vector_distance(limit, facts, relation), facts, rounding)


def _number(request: requests.ClassNumber, facts: Facts, relation: Relation) -> float:
    span = request.span.checked()
    rounding = facts.arithmetic.number(span.largest)
    return over_n(bands.number_distance(span, facts.lightest, facts.weight, relation), facts, rounding)


def _matrix(request: requests.ClassMatrix, facts: Facts, relation: Relation) -> float:
    """The rounding of p included: as computed, p sums to 1 within K roundings."""
    return over_n(
        bands.moment_distance(SPREAD * facts.energy, relation), facts, matrix_rounding(SPREAD, facts)
    )


def _information(request: requests.ClassInformation, facts: Facts, relation: Relation) -> float:
    distance = bands.moment_distance(SPREAD * facts.influence**2, relation)
    return over_n(distance, facts, matrix_rounding(facts.weight * SPREAD, facts))


def _spectral(facts: Facts, relation: Relation) -> float:
    """A difference of semidefinite terms has a spectral norm of at most the larger of the two."""
    return relation.distance(diameter=SPREAD, norm=SPREAD) * facts.energy


def _eigenvalue(request: requests.SmallestEigenvalue, facts: Facts, relation: Relation) -> float:
    return over_n(_spectral(facts, relation), facts, eigenvalue_rounding(SPREAD, request.added, facts))


def _product(request: requests.Product, facts: Facts, relation: Relation) -> float:
    return product_moves(_spectral(facts, relation), SPREAD, facts)


def _scores(request: requests.ClassScores, facts: Facts, relation: Relation) -> float:
    distance = bands.moment_distance((request.limit * facts.influence) ** 2 * ROUND_UP, relation)
    return over_n(distance, facts, score_rounding(request.limit**2, facts))


def _steps(request: requests.ClassSteps, facts: Facts, relation: Relation) -> float:
    steepest = _in_norm(request.steepest, facts)
    return step_drops(steepest, request.steps, request.divisors, facts, relation)


def _line(request: requests.ClassLine, facts: Facts, relation: Relation) -> float:
    steepest = _in_norm(request.steepest, facts)
    return line_drops(steepest, request.direction, request.lengths, facts, relation)


def _in_norm(steepest: float, facts: Facts) -> float:
    """With what the length of K numbers may err by."""
    return steepest * (1.0 + gamma(facts.outputs + FEW))


CLASS_CHARGES: dict[type, Callable[[Any, Facts, Relation], float]] = {
    requests.ClassVector: _vector,
    requests.ClassNumber: _number,
    requests.ClassMatrix: _matrix,
    requests.ClassInformation: _information,
    requests.ClassScores: _scores,
    requests.ClassSteps: _steps,
    requests.ClassLine: _line,
    requests.Norm: _norm,
    requests.SmallestEigenvalue: _eigenvalue,
    requests.Product: _product,
}
