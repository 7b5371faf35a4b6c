"""What a request must be charged for: how far one record moves the answer, Delta, and what summing adds, 2E.

Every formula is of public facts about the rows and of the request's own band. The clamped contribution as
computed is what counts, and no other record's bits depend on the replaced one: so how margins and laws round
costs nothing, and only sums can err.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from sottovoce.accounting.relations import Relation
from sottovoce.arrays import Matrix, Vector
from sottovoce.errors import ParameterError
from sottovoce.privacy import sensitivity
from sottovoce.privacy.rounding import FEW, Arithmetic, gamma
from sottovoce.trusted import bands, requests
from sottovoce.trusted.bands import ROUND_UP, Reach
from sottovoce.trusted.laws import Law, Placing

SPREAD = 0.5
"""Largest norm of A = diag(p) - pp', Frobenius and spectral, for probabilities p.

With S = sum p^2 and sum p^3 >= S^2, ||A||_F^2 = S - 2 sum p^3 + S^2 <= S - S^2 <= 1/4. A is semidefinite, so
two terms A (x) zz' are sqrt2 of the longest apart in Frobenius norm, and in spectral norm no more than it."""


@final
@dataclass(frozen=True, kw_only=True)
class Facts:
    """Public facts about n records in the coordinates of a sum.

    No row is longer than `radius`; a record counts q between `lightest` and `weight`, with q ||z|| at most
    `influence` and q ||z||^2 at most `energy`; |y| is at most `target_reach` where y is a number to be
    predicted. `persons`: whether several rows may belong to one of the n, who then count no more together.
    `outputs`: how many scores a row has, each with a block of weights."""

    n: int
    radius: float
    weight: float
    lightest: float
    influence: float
    energy: float
    target_reach: float
    arithmetic: Arithmetic
    persons: bool = False
    outputs: int = 1

    @property
    def is_capped(self) -> bool:
        """Whether a record's influence ends before its length does."""
        return self.influence < self.weight * self.radius

    def reach(self, law: Law, w: Vector) -> Reach:
        """What a row can be at these weights."""
        norm = norm_above(w)
        far = self.radius * norm * ROUND_UP
        near = self.influence / self.weight * norm if self.is_capped else far
        match law.placing:
            case Placing.MARGIN:
                offset = (0.0, 0.0)
            case Placing.RESIDUAL:
                offset = (-self.target_reach, self.target_reach)
            case Placing.SHIFTED:
                offset = (law.shift, law.shift)
        return Reach(far, near, offset, self.arithmetic.margin_error(norm))


def charge(request: requests.Request, facts: Facts, relation: Relation) -> float:
    """The sensitivity of a request about records of these facts."""
    _require_finite(request)
    match request:
        case requests.VectorSum():
            return _vector(request, facts, relation)
        case requests.NumberSum(law, span, _):
            low, high = facts.lightest * law.lightest, facts.weight * law.heaviest
            distance = bands.number_distance(span.checked(), low, high, relation)
            largest = span.largest * law.heaviest
            rounding = facts.arithmetic.value(highest=largest, slope=0.0, weight_norm=0.0)
            return distance / facts.n * ROUND_UP + 2.0 * rounding
        case requests.MatrixSum(law, span, _):
            distance = bands.matrix_distance(span.checked(), relation) * law.heaviest * facts.energy
            return distance / facts.n * ROUND_UP + _matrix_rounding(request, facts)
        case requests.InformationSum(law, span, _):
            distance = bands.matrix_distance(span.checked(), relation) * law.heaviest * facts.influence**2
            often = facts.weight * span.largest * law.heaviest
            rounding = facts.arithmetic.hessian(curvature=often, third=0.0, weight_norm=0.0)
            return distance / facts.n * ROUND_UP + 2.0 * rounding
        case requests.ScoreSum(law, band, _):
            largest = (band.largest * law.heaviest) ** 2
            distance = bands.moment_distance(largest * facts.influence**2 * ROUND_UP, relation)
            often = (4.0 if facts.persons else 2.0) * facts.weight * largest
            rounding = facts.arithmetic.hessian(curvature=often, third=0.0, weight_norm=0.0)
            return distance / facts.n * ROUND_UP + 2.0 * rounding
        case requests.StepDrops(law, steepest, _, steps, divisors):
            return _step_drops(steepest * law.heaviest, steps, divisors, facts, relation)
        case requests.LineDrops(law, steepest, _, direction, lengths):
            return _line_drops(steepest * law.heaviest, direction, lengths, facts, relation)
        case requests.ResidualShares():
            distance = bands.moment_distance(facts.weight, relation)
            return distance / facts.n * ROUND_UP + 2.0 * facts.arithmetic.mean(1.0)
        case requests.Norm(requests.VectorSum() as of, added):
            steepest = of.band.largest * of.law.heaviest
            rounding = facts.arithmetic.gradient_norm(
                slope=steepest, curvature=0.0, weight_norm=0.0, added=norm_above(added)
            )
            return _vector_distance(of, facts, relation) + 2.0 * rounding
        case requests.SmallestEigenvalue(requests.MatrixSum(law, span, _), added):
            rounding = facts.arithmetic.smallest_eigenvalue(
                curvature=span.largest * law.heaviest,
                third=0.0,
                weight_norm=0.0,
                added=norm_above(np.ravel(added)),
            )
            return _spectral(law, span, facts, relation) + 2.0 * rounding
        case requests.Product(requests.MatrixSum(law, span, _) as of, _):
            distance = _spectral(law, span, facts, relation) + _matrix_rounding(of, facts)
            size = span.largest * law.heaviest * facts.energy + distance
            return (distance + 2.0 * gamma(facts.arithmetic.dim + 16.0) * size) * ROUND_UP
        case requests.ClassVector(_, limit):
            rounding = facts.arithmetic.gradient(slope=limit, curvature=0.0, weight_norm=0.0)
            return _class_vector(limit, facts, relation) + 2.0 * rounding
        case requests.Norm(requests.ClassVector(_, limit), added):
            rounding = facts.arithmetic.gradient_norm(
                slope=limit, curvature=0.0, weight_norm=0.0, added=norm_above(added)
            )
            return _class_vector(limit, facts, relation) + 2.0 * rounding
        case requests.ClassNumber(_, span):
            distance = bands.number_distance(span.checked(), facts.lightest, facts.weight, relation)
            rounding = facts.arithmetic.value(highest=span.largest, slope=0.0, weight_norm=0.0)
            return distance / facts.n * ROUND_UP + 2.0 * rounding
        case requests.ClassMatrix():
            distance = bands.moment_distance(SPREAD * facts.energy, relation)
            return distance / facts.n * ROUND_UP + _class_rounding(1.0, facts)
        case requests.ClassInformation():
            distance = bands.moment_distance(SPREAD * facts.influence**2, relation)
            return distance / facts.n * ROUND_UP + _class_rounding(facts.weight, facts)
        case requests.SmallestEigenvalue(requests.ClassMatrix(), added):
            rounding = facts.arithmetic.smallest_eigenvalue(
                curvature=SPREAD, third=0.0, weight_norm=0.0, added=norm_above(np.ravel(added))
            )
            return _class_spectral(facts, relation) + 2.0 * rounding
        case requests.Product(requests.ClassMatrix(), _):
            moves = _class_spectral(facts, relation) + _class_rounding(1.0, facts)
            size = SPREAD * facts.energy + moves
            return (moves + 2.0 * gamma(facts.arithmetic.dim + 16.0) * size) * ROUND_UP
        case requests.ClassScores(_, limit):
            distance = bands.moment_distance((limit * facts.influence) ** 2 * ROUND_UP, relation)
            often = (4.0 if facts.persons else 2.0) * facts.weight * limit**2
            rounding = facts.arithmetic.hessian(curvature=often, third=0.0, weight_norm=0.0)
            return distance / facts.n * ROUND_UP + 2.0 * rounding
        case requests.ClassSteps(steepest, _, steps, divisors):
            return _step_drops(_in_norm(steepest, facts), steps, divisors, facts, relation)
        case requests.ClassLine(steepest, _, direction, lengths):
            return _line_drops(_in_norm(steepest, facts), direction, lengths, facts, relation)
        case requests.Gram() | requests.Squares():
            distance = sensitivity.gram(radius=1.0, n=facts.n, relation=relation) * facts.energy * ROUND_UP
            return distance + 2.0 * facts.arithmetic.gram()
        case requests.Means():
            distance = bands.ball_distance(facts.influence, relation)
            return distance / facts.n * ROUND_UP + 2.0 * facts.arithmetic.moments(0.0)
        case requests.Moments(balance, _):
            bound = sensitivity.capped_moments if facts.is_capped else sensitivity.moments
            distance = bound(influence=facts.influence, balance=balance, n=facts.n, relation=relation)
            factor = math.sqrt(balance) * facts.influence / facts.energy
            return distance + 2.0 * facts.arithmetic.moments(factor)
        case _:
            raise ParameterError(f"{type(request).__name__} is no request about records.")


def _vector(request: requests.VectorSum, facts: Facts, relation: Relation) -> float:
    steepest = request.band.largest * request.law.heaviest
    rounding = facts.arithmetic.gradient(slope=steepest, curvature=0.0, weight_norm=0.0)
    return _vector_distance(request, facts, relation) + 2.0 * rounding


def _vector_distance(request: requests.VectorSum, facts: Facts, relation: Relation) -> float:
    """A record that counts less gives the same vector nearer to 0: inside the hull."""
    law = request.law
    distance = bands.vector_distance(request.band, facts.reach(law, request.w), relation)
    return distance * law.heaviest * facts.influence / facts.n * ROUND_UP


def _spectral(law: Law, span: bands.Span, facts: Facts, relation: Relation) -> float:
    distance = bands.spectral_distance(span.checked(), relation)
    return distance * law.heaviest * facts.energy / facts.n * ROUND_UP


def _matrix_rounding(request: requests.MatrixSum, facts: Facts) -> float:
    largest = request.span.largest * request.law.heaviest
    return 2.0 * facts.arithmetic.hessian(curvature=largest, third=0.0, weight_norm=0.0)


def _class_vector(limit: float, facts: Facts, relation: Relation) -> float:
    """r (x) z with ||r|| <= limit as clamped: terms that may point anywhere."""
    return bands.ball_distance(limit * facts.influence, relation) / facts.n * ROUND_UP


def _class_spectral(facts: Facts, relation: Relation) -> float:
    """A difference of semidefinite terms has a spectral norm of at most the larger of the two."""
    return relation.distance(diameter=SPREAD, norm=SPREAD) * facts.energy / facts.n * ROUND_UP


def _class_rounding(often: float, facts: Facts) -> float:
    """Of a sum of q (diag p - pp') (x) zz', the rounding of p included: as computed, p sums to 1 within K
    roundings."""
    return 2.0 * facts.arithmetic.hessian(curvature=often * SPREAD, third=0.0, weight_norm=0.0)


def _in_norm(steepest: float, facts: Facts) -> float:
    """With what the length of K numbers may err by."""
    return steepest * (1.0 + gamma(facts.outputs + FEW))


def _step_drops(steepest: float, steps: Matrix, divisors: Vector, facts: Facts, relation: Relation) -> float:
    """Each entry is within s q ||P_j z|| / divisor_j as computed, P_j having a row an output: with P all of
    them over their divisors, together within s q ||P z|| <= s C ||P||, and what computing P_j z adds."""
    lengths = np.array([norm_above(step) for step in steps])
    scaled, arithmetic = (steps / divisors[:, None]).reshape(len(steps) * facts.outputs, -1), facts.arithmetic
    errors = [arithmetic.margin_error(float(length)) for length in lengths]
    strayed = norm_above(np.array(errors) / divisors) * facts.weight
    longest = steepest * (facts.influence * spectral_above(scaled) + strayed)
    rounding = [
        arithmetic.difference(slope=steepest, highest=0.0, weight_norm=0.0, step_norm=float(length))
        + gamma(FEW) * steepest * facts.influence * float(length)
        for length in lengths
    ]
    distance = bands.ball_distance(longest, relation) / facts.n * ROUND_UP
    return distance + 2.0 * norm_above(np.array(rounding) / divisors)


def _line_drops(
    steepest: float, direction: Vector, lengths: Vector, facts: Facts, relation: Relation
) -> float:
    """As steps gamma_i p: together s C ||p|| sqrt(sum gamma_i^2)."""
    length, arithmetic = norm_above(direction), facts.arithmetic
    strayed = facts.weight * arithmetic.margin_error(length)
    longest = steepest * (facts.influence * length + strayed) * norm_above(lengths)
    rounding = arithmetic.difference(
        slope=steepest,
        highest=0.0,
        weight_norm=0.0,
        step_norm=length * float(np.max(np.abs(lengths))),
    )
    distance = bands.ball_distance(longest, relation) / facts.n * ROUND_UP
    return distance + 2.0 * math.sqrt(lengths.size) * rounding


def _require_finite(request: requests.Request) -> None:
    """No number of a request may be infinite or missing: a bound of it would mean nothing."""
    for name in ("w", "edges", "steps", "direction", "lengths", "added", "steepest", "limit"):
        if hasattr(request, name) and not np.all(np.isfinite(getattr(request, name))):
            raise ParameterError(f"{name} of a request must be finite.")
    for name in ("steepest", "limit"):
        if getattr(request, name, 0.0) < 0.0:
            raise ParameterError(f"{name} must be at least 0.")
    of = getattr(request, "of", None)
    if of is not None:
        _require_finite(of)
    if isinstance(request, requests.StepDrops | requests.ClassSteps) and not np.all(request.divisors > 0.0):
        raise ParameterError("divisors must be above 0.")


def norm_above(v: Vector) -> float:
    """Norm, rounded up by more than its own error; taken over the largest entry, lest squares underflow."""
    largest = float(np.max(np.abs(v), initial=0.0))
    if not 0.0 < largest < math.inf:
        return largest
    return math.nextafter(largest * float(np.linalg.norm(v / largest)) * (1.0 + 2.0**-40), math.inf)


def spectral_above(steps: Matrix) -> float:
    """Spectral norm, rounded up; never above the Frobenius norm, and that for many steps."""
    frobenius = norm_above(np.ravel(steps))
    if min(steps.shape) > 64 or not 0.0 < frobenius < math.inf:
        return frobenius
    unit = steps / frobenius
    square = unit @ unit.T if len(unit) <= unit.shape[1] else unit.T @ unit
    found = math.sqrt(max(float(np.linalg.eigvalsh(square)[-1]), 0.0))
    return min(frobenius, frobenius * (found + 2.0**-40) * ROUND_UP)
