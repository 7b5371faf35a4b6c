"""The sensitivity of a request: how far one record moves the answer, Delta, and what summing adds, 2E.

Every formula is of public facts about the rows and of the request's own band. The clamped contribution as
computed is what counts, and no other record's bits depend on the replaced one: so how margins and laws round
costs nothing, and only sums can err.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from sottovoce.accounting.relations import Relation
from sottovoce.arrays import Matrix, Vector
from sottovoce.errors import ParameterError
from sottovoce.privacy.rounding import Arithmetic, gamma
from sottovoce.trusted import bands, example_requests, requests
from sottovoce.trusted.bands import ROUND_UP, Reach
from sottovoce.trusted.laws import Law, Placing


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


def sensitivity(request: requests.Request, facts: Facts, relation: Relation) -> float:
    """The sensitivity of a request about records of these facts: of its shape alone."""
    _require_sound(request)
    of = getattr(request, "of", request)
    if type(of) not in _READ_OFF.get(type(request), (type(of),)):
        raise ParameterError(f"{type(request).__name__} is not read off a {type(of).__name__}.")
    if isinstance(of, requests.ClassRequest):
        from sottovoce.privacy.softmax_sensitivity import SOFTMAX_SENSITIVITIES

        return SOFTMAX_SENSITIVITIES[type(request)](request, facts, relation)
    if isinstance(of, requests.ExampleRequest):
        from sottovoce.privacy.example_sensitivity import EXAMPLE_SENSITIVITIES

        return EXAMPLE_SENSITIVITIES[type(request)](request, facts, relation)
    if type(request) not in _SENSITIVITIES:
        raise ParameterError(f"{type(request).__name__} is no request about records.")
    return _SENSITIVITIES[type(request)](request, facts, relation)


def over_n(distance: float, facts: Facts, rounding: float) -> float:
    """A mean whose terms move by `distance`, and whose sums err by `rounding` in each of two neighbours."""
    return distance / facts.n * ROUND_UP + 2.0 * rounding


def _vector(request: requests.VectorSum, facts: Facts, relation: Relation) -> float:
    rounding = facts.arithmetic.vectors(request.band.largest * request.law.heaviest)
    return over_n(_vector_distance(request, facts, relation), facts, rounding)


def _vector_distance(request: requests.VectorSum, facts: Facts, relation: Relation) -> float:
    """A record that counts less gives the same vector nearer to 0: inside the hull."""
    law = request.law
    distance = bands.vector_distance(request.band, facts.reach(law, request.w), relation)
    return distance * law.heaviest * facts.influence


def _change(request: requests.VectorChange, facts: Facts, relation: Relation) -> float:
    """c z is s zz'p, s in the span or nearer to 0: a term of a matrix sum, times p. Two of these lie ||p||
    times their spectral distance apart, and what computing <z, p> adds; or twice `limit` q ||z||, if less."""
    law, span, length = request.law, request.span.checked(), norm_above(request.direction)
    error = facts.arithmetic.margin_error(length)
    strayed = bands.ball_distance(span.largest * error * facts.influence, relation)
    near = bands.spectral_distance(span, relation) * facts.energy * length + strayed
    far = bands.ball_distance(request.limit * facts.influence, relation)
    steepest = min(request.limit, span.largest * (facts.radius * length + error)) * ROUND_UP
    rounding = facts.arithmetic.vectors(steepest * law.heaviest)
    return over_n(min(near, far) * law.heaviest * ROUND_UP, facts, rounding)


def _norm(request: requests.Norm, facts: Facts, relation: Relation) -> float:
    of = request.of
    assert isinstance(of, requests.VectorSum)
    rounding = facts.arithmetic.norm(of.band.largest * of.law.heaviest, norm_above(request.added))
    return over_n(_vector_distance(of, facts, relation), facts, rounding)


def _number(request: requests.NumberSum, facts: Facts, relation: Relation) -> float:
    law, span = request.law, request.span.checked()
    low, high = facts.lightest * law.lightest, facts.weight * law.heaviest
    rounding = facts.arithmetic.mean(span.largest * law.heaviest)
    return over_n(bands.number_distance(span, low, high, relation), facts, rounding)


def _matrix(request: requests.MatrixSum, facts: Facts, relation: Relation) -> float:
    law, span = request.law, request.span.checked()
    distance = bands.matrix_distance(span, relation) * law.heaviest * facts.energy
    return over_n(distance, facts, facts.arithmetic.matrices(span.largest * law.heaviest))


def _information(request: requests.InformationSum, facts: Facts, relation: Relation) -> float:
    law, span = request.law, request.span.checked()
    distance = bands.matrix_distance(span, relation) * law.heaviest * facts.influence**2
    return over_n(distance, facts, facts.arithmetic.matrices(facts.weight * span.largest * law.heaviest))


def _scores(request: requests.ScoreSum, facts: Facts, relation: Relation) -> float:
    largest = (request.band.largest * request.law.heaviest) ** 2
    distance = bands.moment_distance(largest * facts.influence**2 * ROUND_UP, relation)
    return over_n(distance, facts, score_rounding(largest, facts))


def score_rounding(largest: float, facts: Facts) -> float:
    """Of a sum of ss', ||s||^2 at most `largest` times a record's energy; persons' rows are summed first."""
    return facts.arithmetic.matrices((4.0 if facts.persons else 2.0) * facts.weight * largest)


def _spectral(request: requests.MatrixSum, facts: Facts, relation: Relation) -> float:
    return bands.spectral_distance(request.span.checked(), relation) * request.law.heaviest * facts.energy


def _eigenvalue(request: requests.SmallestEigenvalue, facts: Facts, relation: Relation) -> float:
    of = request.of
    assert isinstance(of, requests.MatrixSum)
    largest = of.span.largest * of.law.heaviest
    return over_n(_spectral(of, facts, relation), facts, eigenvalue_rounding(largest, request.added, facts))


def eigenvalue_rounding(largest: float, added: Matrix, facts: Facts) -> float:
    return facts.arithmetic.smallest_eigenvalue(largest, norm_above(np.ravel(added)))


def _product(request: requests.Product, facts: Facts, relation: Relation) -> float:
    of = request.of
    assert isinstance(of, requests.MatrixSum)
    largest = of.span.largest * of.law.heaviest
    return product_moves(_spectral(of, facts, relation), largest, facts)


def product_moves(distance: float, largest: float, facts: Facts) -> float:
    """A matrix times a vector no longer than 1: it moves no further, and the product rounds."""
    moves = over_n(distance, facts, facts.arithmetic.matrices(largest))
    size = largest * facts.energy + moves
    return (moves + 2.0 * gamma(facts.arithmetic.dim + 16.0) * size) * ROUND_UP


def _steps(request: requests.StepDrops, facts: Facts, relation: Relation) -> float:
    steepest = request.steepest * request.law.heaviest
    return step_drops(steepest, request.steps, request.divisors, facts, relation)


def _line(request: requests.LineDrops, facts: Facts, relation: Relation) -> float:
    steepest = request.steepest * request.law.heaviest
    return line_drops(steepest, request.direction, request.lengths, facts, relation)


def _shares(request: requests.ResidualShares, facts: Facts, relation: Relation) -> float:
    return over_n(bands.moment_distance(facts.weight, relation), facts, facts.arithmetic.mean(1.0))


def _gram(request: requests.Gram | requests.Squares, facts: Facts, relation: Relation) -> float:
    return over_n(bands.moment_distance(facts.energy, relation), facts, facts.arithmetic.matrices(1.0))


def _means(request: requests.Means, facts: Facts, relation: Relation) -> float:
    return over_n(bands.ball_distance(facts.influence, relation), facts, facts.arithmetic.moments(0.0))


def _moments(request: requests.Moments, facts: Facts, relation: Relation) -> float:
    distance = bands.moments_distance(request.balance, relation, is_capped=facts.is_capped)
    factor = math.sqrt(request.balance) * facts.influence / facts.energy
    return over_n(distance * facts.influence, facts, facts.arithmetic.moments(factor))


def step_drops(steepest: float, steps: Matrix, divisors: Vector, facts: Facts, relation: Relation) -> float:
    """Each entry is within s q ||P_j z|| / divisor_j as computed, P_j having a row an output: with P all of
    them over their divisors, together within s q ||P z|| <= s C ||P||, and what computing P_j z adds."""
    lengths = np.array([norm_above(step) for step in steps])
    scaled, arithmetic = (steps / divisors[:, None]).reshape(len(steps) * facts.outputs, -1), facts.arithmetic
    errors = [arithmetic.margin_error(float(length)) for length in lengths]
    strayed = norm_above(np.array(errors) / divisors) * facts.weight
    longest = steepest * (facts.influence * spectral_above(scaled) + strayed)
    rounding = [arithmetic.drop(steepest, float(length)) for length in lengths]
    distance = bands.ball_distance(longest, relation) / facts.n * ROUND_UP
    return distance + 2.0 * norm_above(np.array(rounding) / divisors)


def line_drops(
    steepest: float, direction: Vector, lengths: Vector, facts: Facts, relation: Relation
) -> float:
    """As steps gamma_i p: together s C ||p|| sqrt(sum gamma_i^2)."""
    length, arithmetic = norm_above(direction), facts.arithmetic
    strayed = facts.weight * arithmetic.margin_error(length)
    longest = steepest * (facts.influence * length + strayed) * norm_above(lengths)
    rounding = arithmetic.drop(steepest, length * float(np.max(np.abs(lengths))))
    distance = bands.ball_distance(longest, relation) / facts.n * ROUND_UP
    return distance + 2.0 * math.sqrt(lengths.size) * rounding


def _require_sound(request: Any) -> None:
    """No number of a request may be infinite or missing: a bound of it would mean nothing. Edges fall, or a
    search among them could find for one record what it found for the record before; each step has a divisor,
    or steps would be bounded in one layout and answered in another."""
    for name in ("w", "edges", "steps", "direction", "lengths", "added", "steepest", "limit", "weight"):
        if hasattr(request, name) and not np.all(np.isfinite(getattr(request, name))):
            raise ParameterError(f"{name} of a request must be finite.")
    for name in ("steepest", "limit", "weight"):
        if getattr(request, name, 0.0) < 0.0:
            raise ParameterError(f"{name} must be at least 0.")
    of = getattr(request, "of", None)
    if of is not None:
        _require_sound(of)
    if not np.all(np.diff(getattr(request, "edges", ())) <= 0.0):
        raise ParameterError("edges of a request must fall.")
    if not hasattr(request, "divisors"):
        return
    if request.divisors.shape != request.steps.shape[:1] or not np.all(request.divisors > 0.0):
        raise ParameterError("divisors must be above 0, one for each step.")


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


_READ_OFF: dict[type, tuple[type, ...]] = {
    requests.Norm: (requests.VectorSum, requests.ClassVector, example_requests.ClippedGradients),
    requests.SmallestEigenvalue: (
        requests.MatrixSum,
        requests.ClassMatrix,
        example_requests.ClippedHessians,
    ),
    requests.Product: (requests.MatrixSum, requests.ClassMatrix),
}
"""Of which sums something may be read off; what it moves by follows from theirs."""

_SENSITIVITIES: dict[type, Callable[[Any, Facts, Relation], float]] = {
    requests.VectorSum: _vector,
    requests.VectorChange: _change,
    requests.NumberSum: _number,
    requests.MatrixSum: _matrix,
    requests.InformationSum: _information,
    requests.ScoreSum: _scores,
    requests.StepDrops: _steps,
    requests.LineDrops: _line,
    requests.ResidualShares: _shares,
    requests.Norm: _norm,
    requests.SmallestEigenvalue: _eigenvalue,
    requests.Product: _product,
    requests.Gram: _gram,
    requests.Squares: _gram,
    requests.Means: _means,
    requests.Moments: _moments,
}
