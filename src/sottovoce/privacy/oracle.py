"""The only object that sees both data and method: charge the ledger, compute, add noise, release."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, final

import numpy as np

from sottovoce.accounting.checks import positive
from sottovoce.accounting.events import GaussianEvent, PureEvent, Query
from sottovoce.errors import ParameterError
from sottovoce.moments import Moments, checked_groups
from sottovoce.privacy import arguments, sparse_vector
from sottovoce.privacy.batches import BatchOracle
from sottovoce.privacy.bounds import norm_above
from sottovoce.privacy.desk import PRICE_SLACK, Desk
from sottovoce.privacy.lattice import Calibration as Noising
from sottovoce.privacy.lattice import calibrate
from sottovoce.privacy.symmetric import packing_for
from sottovoce.questions import Answer, Calibration

if TYPE_CHECKING:
    from collections.abc import Callable

    from sottovoce.accounting import Run
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.geometry import Geometry
    from sottovoce.moments import Indices
    from sottovoce.privacy.noise import Noise
    from sottovoce.risks.protocol import ExactRisk

T = TypeVar("T")

SHORTEST_TRIAL = 1e-6
"""Trial steps shorter than this, in units of 1/radius, are refused: rounding would drown their difference."""


@final
class Oracle(Desk):
    """Answers a method's questions about a risk, each at the price the method names.

    Formal guarantee: every answer is a Gaussian (or AboveThreshold) mechanism whose event was charged to the
    run before the data was touched; a refused charge raises and computes nothing."""

    def __init__(
        self,
        risk: ExactRisk,
        run: Run,
        noise: Noise,
        calibration: Calibration = Calibration.TIGHT,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        super().__init__(risk, run, noise)
        self._calibration = calibration
        self._entropy = entropy
        self._bounds = (
            risk.bounds if calibration is Calibration.TIGHT else replace(risk.bounds, calibration=calibration)
        )

    def gradient(self, w: Vector, units: int) -> Answer[Vector]:
        w = self._admit(w)
        sensitivity = self._bounds.gradient(w)
        return self._gaussian(
            Query.GRADIENT, sensitivity, w.size, units, lambda: self._risk.gradient(w), _itself
        )

    def hessian(self, w: Vector, units: int) -> Answer[Matrix]:
        w = self._admit(w)
        return self._symmetric(Query.HESSIAN, self._bounds.hessian(w), units, lambda: self._risk.hessian(w))

    def curvature_product(self, w: Vector, direction: Vector, units: int) -> Answer[Vector]:
        w, unit = self._admit(w), arguments.unit_vector(direction, self.problem.dim)
        return self._gaussian(
            Query.CURVATURE_PRODUCT,
            self._bounds.curvature_product(w),
            w.size,
            units,
            lambda: self._risk.curvature_product(w, unit),
            _itself,
        )

    def gram(self, units: int) -> Answer[Matrix]:
        return self._symmetric(Query.GRAM, self._bounds.gram(), units, self._risk.gram)

    def gram_diagonal(self, units: int) -> Answer[Vector]:
        return self._gaussian(
            Query.GRAM_DIAGONAL,
            self._bounds.gram_diagonal(),
            self.problem.columns,
            units,
            self._risk.gram_diagonal,
            _itself,
        )

    def moments(self, units: int, *, balance: float = 2.0, groups: Indices | None = None) -> Moments:
        columns = self.problem.columns
        members = checked_groups(groups, columns)
        count = columns if members is None else int(members.max()) + 1
        sensitivity, factor = self._bounds.moments(balance)

        def compute() -> Vector:
            means, squares = self._risk.moments()
            summed = squares if members is None else np.bincount(members, squares, minlength=count)
            return np.concatenate([means, factor * summed])

        answer = self._gaussian(Query.MOMENTS, sensitivity, columns + count, units, compute, _itself)
        means, squares = answer.value[:columns], answer.value[columns:] / factor
        return Moments(means, squares, answer.scale, answer.scale / factor, answer.units)

    def reshaped(self, geometry: Geometry) -> Oracle:
        return Oracle(self._risk.reshaped(geometry), self._run, self._noise, self._calibration, self._entropy)

    def trials(self, w: Vector, directions: Matrix, units: int) -> Answer[Vector]:
        w = self._admit(w)
        asked = arguments.steps(directions, self.problem.dim)
        steps = np.stack([self._admit(w + p) for p in asked]) - w
        # of the steps as taken: rounding w + p or the public limit may have changed them
        lengths = np.linalg.norm(steps, axis=1)
        if not np.all(lengths * self.problem.radius >= SHORTEST_TRIAL):
            raise ParameterError("a trial step is too short to be told from rounding; drop it.")
        sensitivity = self._bounds.trials(w, steps)
        return self._gaussian(
            Query.TRIALS,
            sensitivity,
            len(steps),
            units,
            lambda: self._risk.trials(w, steps) / lengths,
            _itself,
        )

    def gradient_norm(self, w: Vector, units: int) -> Answer[float]:
        w = self._admit(w)

        def compute() -> Vector:
            return np.array([np.linalg.norm(self._risk.gradient(w))])

        return self._gaussian(Query.GRADIENT_NORM, self._bounds.gradient_norm(w), 1, units, compute, _number)

    def smallest_eigenvalue(self, w: Vector, units: int) -> Answer[float]:
        w = self._admit(w)
        return self._gaussian(
            Query.EIGENVALUE,
            self._bounds.smallest_eigenvalue(w),
            1,
            units,
            lambda: np.array([self._risk.smallest_eigenvalue(w)]),
            _number,
        )

    def backtrack(
        self, w: Vector, direction: Vector, lengths: Vector, required: Vector, units: int
    ) -> int | None:
        w = self._admit(w)
        direction, lengths = self._line(direction, lengths)
        required = arguments.requirements(required, lengths.size)
        sensitivity = self._bounds.difference(w, float(np.max(lengths)) * direction)
        epsilon = self._run.currency.pure_epsilon(self._affordable(units))
        sparse_vector.insist_payable(sensitivity, epsilon)
        self._run.charge(PureEvent(Query.LINE_SEARCH, epsilon))
        line = self._risk.along(w, direction)
        queries = (line.decrease(float(a)) - float(b) for a, b in zip(lengths, required, strict=True))
        return self._noise.first_above(queries, sensitivity, epsilon)

    def grid(
        self, w: Vector, direction: Vector, longest: float, shrink: float, count: int, units: int
    ) -> Answer[Vector]:
        w = self._admit(w)
        direction, lengths = self._line(direction, arguments.grid_lengths(longest, shrink, count))
        sensitivity = self._bounds.grid(w, direction, float(lengths[0]), shrink, lengths.size)

        def compute() -> Vector:
            line = self._risk.along(w, direction)
            return np.array([line.decrease(float(length)) for length in lengths])

        return self._gaussian(Query.LINE_SEARCH, sensitivity, lengths.size, units, compute, _itself)

    def value(self, w: Vector, units: int) -> Answer[float]:
        w = self._admit(w)
        return self._gaussian(
            Query.VALUE, self._bounds.value(w), 1, units, lambda: np.array([self._risk.value(w)]), _number
        )

    def price(self, query: Query, w: Vector, scale: float) -> int:
        w = self._admit(w)
        event = GaussianEvent(query, self._bounds.of(query, w) * PRICE_SLACK, scale, 1, 0.0)
        return self._run.currency.price(event)

    def search_price(self, epsilon: float) -> int:
        asked = positive("epsilon", epsilon) * PRICE_SLACK
        return self._run.currency.price(PureEvent(Query.LINE_SEARCH, asked))

    def batched(self, size: int, *, shared: bool = False) -> BatchOracle:
        return BatchOracle(
            self._risk, self._run, self._noise, self._bounds, self._entropy, size=size, shared=shared
        )

    def _line(self, direction: Vector, lengths: Vector) -> tuple[Vector, Vector]:
        direction, lengths = arguments.line(direction, lengths, self.problem.dim)
        if not norm_above(direction) * float(np.max(lengths)) <= self.problem.weight_limit * (1.0 + 1e-9):
            raise ParameterError("a trial step reaches beyond the public limit on weights; shorten it.")
        return direction, lengths

    def _symmetric(
        self, query: Query, sensitivity: float, units: int, compute: Callable[[], Matrix]
    ) -> Answer[Matrix]:
        dim = self.problem.columns if query is Query.GRAM else self.problem.dim
        packing = packing_for(self._calibration is Calibration.PUBLISHED and query is Query.HESSIAN)
        answer = self._gaussian(
            query,
            sensitivity,
            dim * (dim + 1) // 2,
            units,
            lambda: packing.pack(compute()),
            packing.unpack,
        )
        return replace(answer, scale=answer.scale * packing.widening)

    def _gaussian(
        self,
        query: Query,
        sensitivity: float,
        entries: int,
        units: int,
        compute: Callable[[], Vector],
        shape: Callable[[Vector], T],
    ) -> Answer[T]:
        """The one way to a Gaussian answer: calibrate from public numbers, charge, compute, add noise."""
        calibration = calibrate(sensitivity, self.mu_squared(self._affordable(units)), entries)
        grant = self._run.charge(_event(query, calibration, entries))
        released = self._noise.gaussian(compute(), calibration)
        return Answer(shape(released), calibration.scale, grant.units)


def _event(query: Query, calibration: Noising, entries: int) -> GaussianEvent:
    return GaussianEvent(
        query=query,
        sensitivity=calibration.sensitivity,
        scale=calibration.scale,
        entries=entries,
        step=2.0**calibration.exponent,
    )


def _itself(released: Vector) -> Vector:
    return released


def _number(released: Vector) -> float:
    return float(released[0])
