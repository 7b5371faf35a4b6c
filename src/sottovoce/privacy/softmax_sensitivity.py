"""Sensitivities of requests about softmax probabilities; `sensitivity` is for one number a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sottovoce.accounting.relations import Relation
from sottovoce.privacy.rounding import FEW, gamma
from sottovoce.privacy.sensitivity import (
    Facts,
    eigenvalue_rounding,
    line_drops,
    norm_above,
    over_n,
    product_moves,
    score_rounding,
    step_drops,
)
from sottovoce.trusted import bands, requests
from sottovoce.trusted.bands import ROUND_UP

SPREAD = 0.5
"""Largest norm of A = diag(p) - pp', Frobenius and spectral, for probabilities p.

With S = sum p^2 and sum p^3 >= S^2, ||A||_F^2 = S - 2 sum p^3 + S^2 <= S - S^2 <= 1/4. A is semidefinite, so
two terms A (x) zz' are sqrt2 of the longest apart in Frobenius norm, and in spectral norm no more than it."""


def _vector(request: requests.ClassVector, facts: Facts, relation: Relation) -> float:
    """r (x) z with ||r|| <= limit as clamped: terms that may point anywhere."""
    limit = _as_computed(request.limit, facts)
    distance = bands.ball_distance(limit * facts.influence, relation)
    return over_n(distance, facts, facts.arithmetic.vectors(limit))


def _norm(request: requests.Norm, facts: Facts, relation: Relation) -> float:
    assert isinstance(request.of, requests.ClassVector)
    limit = _as_computed(request.of.limit, facts)
    distance = bands.ball_distance(limit * facts.influence, relation)
    return over_n(distance, facts, facts.arithmetic.norm(limit, norm_above(request.added)))


def _number(request: requests.ClassNumber, facts: Facts, relation: Relation) -> float:
    span = request.span.checked()
    rounding = facts.arithmetic.mean(span.largest)
    return over_n(bands.number_distance(span, facts.lightest, facts.weight, relation), facts, rounding)


def _matrix(request: requests.ClassMatrix, facts: Facts, relation: Relation) -> float:
    spread = _as_computed(SPREAD, facts)
    distance = bands.moment_distance(spread * facts.energy, relation)
    return over_n(distance, facts, facts.arithmetic.matrices(spread))


def _information(request: requests.ClassInformation, facts: Facts, relation: Relation) -> float:
    spread = _as_computed(SPREAD, facts)
    distance = bands.moment_distance(spread * facts.influence**2, relation)
    return over_n(distance, facts, facts.arithmetic.matrices(facts.weight * spread))


def _spectral(facts: Facts, relation: Relation) -> float:
    """A difference of semidefinite terms has a spectral norm of at most the larger of the two."""
    spread = _as_computed(SPREAD, facts)
    return relation.distance(diameter=spread, norm=spread) * facts.energy


def _eigenvalue(request: requests.SmallestEigenvalue, facts: Facts, relation: Relation) -> float:
    return over_n(_spectral(facts, relation), facts, eigenvalue_rounding(SPREAD, request.added, facts))


def _product(request: requests.Product, facts: Facts, relation: Relation) -> float:
    return product_moves(_spectral(facts, relation), SPREAD, facts)


def _scores(request: requests.ClassScores, facts: Facts, relation: Relation) -> float:
    limit = _as_computed(request.limit, facts)
    distance = bands.moment_distance((limit * facts.influence) ** 2 * ROUND_UP, relation)
    return over_n(distance, facts, score_rounding(limit**2, facts))


def _steps(request: requests.ClassSteps, facts: Facts, relation: Relation) -> float:
    steepest = _as_computed(request.steepest, facts)
    return step_drops(steepest, request.steps, request.divisors, facts, relation)


def _line(request: requests.ClassLine, facts: Facts, relation: Relation) -> float:
    steepest = _as_computed(request.steepest, facts)
    return line_drops(steepest, request.direction, request.lengths, facts, relation)


def _as_computed(largest: float, facts: Facts) -> float:
    """With what K numbers may err by, their sum and their length: p sums to 1 within K roundings."""
    return largest * (1.0 + gamma(4.0 * (facts.outputs + FEW)))


SOFTMAX_SENSITIVITIES: dict[type, Callable[[Any, Facts, Relation], float]] = {
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
