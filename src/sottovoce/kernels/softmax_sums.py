"""Sums of K numbers a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.partitioned import Parts, gathered
from sottovoce.kernels import persons, softmax
from sottovoce.kernels.sums import RowSums
from sottovoce.problem import require_matrix_fits
from sottovoce.trusted import requests


@final
class SoftmaxSums(RowSums):
    """Sums of K numbers a record: its softmax probabilities, which the kernels form themselves."""

    @property
    def outputs(self) -> int:
        assert self._records.labels is not None
        return len(self._records.labels)

    def answer(self, request: requests.Request) -> Any:
        rows = self._rows
        match request:
            case requests.ClassVector(w, limit):
                return self.vector(softmax.gradient(rows, self.classes(w), limit).ravel())
            case requests.ClassNumber(w, span):
                return softmax.value(rows, self.classes(w), span.checked()) / self.n
            case requests.ClassMatrix(w):
                require_matrix_fits(self.dim)
                return self.matrix(softmax.hessian(rows, self.classes(w)))
            case requests.ClassInformation(w):
                require_matrix_fits(self.dim)
                return self.matrix(softmax.information(rows, self.classes(w)))
            case requests.ClassScores(w, limit):
                require_matrix_fits(self.dim)
                people, weights = self._records.persons, self.classes(w)
                if people is None:
                    return self.matrix(softmax.score_moment(rows, weights, limit))
                return self.matrix(persons.softmax_score_moment(gathered(rows), people, weights, limit))
            case requests.ClassSteps(steepest, w, steps, divisors):
                held = np.stack([self.classes(step, "each direction") for step in steps])
                return softmax.trials(rows, self.classes(w), held, steepest) / self.n / divisors
            case requests.ClassLine():
                fall = self.falls(request)
                return np.array([fall(float(length)) for length in request.lengths])
            case _:
                return self._features(request)

    def value_and_gradient(
        self, value: requests.ClassNumber, gradient: requests.ClassVector
    ) -> tuple[float, Vector]:
        """Two answers at the same weights in one pass."""
        weights, span = self.classes(gradient.w), value.span.checked()
        total, sums = softmax.value_and_gradient(self._rows, weights, span, gradient.limit)
        return total / self.n, self.vector(sums.ravel())

    def falls(self, request: requests.LineDrops | requests.ClassLine) -> Callable[[float], float]:
        assert isinstance(request, requests.ClassLine)
        rows, w, steepest = self._rows, self.classes(request.w), request.steepest
        direction = self.classes(request.direction, "direction")
        if isinstance(rows, Parts) or rows.streamed:
            return lambda gamma: float(softmax.trials(rows, w, gamma * direction[None], steepest)[0]) / self.n
        here, moves = softmax.scores_along(rows, w, direction)
        return lambda gamma: softmax.decrease(rows, here, moves, gamma, steepest) / self.n

    def classes(self, w: Vector, name: str = "w") -> Matrix:
        """Weights in the coordinates of the rows as held, class by class."""
        return self.weights(w, name).reshape(self.outputs, -1)
