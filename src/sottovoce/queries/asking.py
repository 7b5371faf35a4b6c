"""How a method asks: the oracle as a method sees it. Every query is charged before data is touched."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

from sottovoce.queries.derivatives import (
    CurvatureProduct,
    Gradient,
    GradientNorm,
    Hessian,
    LimitedGradient,
    SmallestEigenvalue,
    Value,
)
from sottovoce.queries.features import ColumnMoments, Gram, GramDiagonal
from sottovoce.queries.lines import Backtrack, GradientChange, Grid, Trials
from sottovoce.queries.scores import Information, ScoreMoment

if TYPE_CHECKING:
    from sottovoce.arrays import Matrix, Vector
    from sottovoce.problem import Problem
    from sottovoce.queries.base import Answer, Query
    from sottovoce.queries.features import Indices, Moments
    from sottovoce.queries.preconditioner import Preconditioner

T = TypeVar("T")


class Derivatives(ABC):
    """Gradients and Hessians at a price, of all records or of batches."""

    @property
    @abstractmethod
    def problem(self) -> Problem: ...

    @property
    @abstractmethod
    def units_left(self) -> int:
        """What the run may still spend, in the ledger's integer units."""

    @abstractmethod
    def mu_squared(self, units: int) -> float:
        """The Gaussian-privacy cost (Delta/scale)^2 that `units` buy in a plain Gaussian query."""

    @abstractmethod
    def price(self, query: Query[T], scale: float) -> int:
        """Units at which a query gets noise of sd `scale` at most. Reads no data."""

    @abstractmethod
    def ask(self, query: Query[T], units: int) -> Answer[T]:
        """The noisy answer for `units`, or a refusal that costs nothing."""

    def gradient(self, w: Vector, units: int) -> Answer[Vector]:
        return self.ask(Gradient(w), units)

    def hessian(self, w: Vector, units: int, ceiling: float = math.inf) -> Answer[Matrix]:
        return self.ask(Hessian(w, ceiling), units)

    def curvature_product(self, w: Vector, direction: Vector, units: int) -> Answer[Vector]:
        return self.ask(CurvatureProduct(w, direction), units)


class Queries(Derivatives):
    """Everything that may be asked of all records."""

    @abstractmethod
    def search(self, query: Backtrack, units: int) -> int | None:
        """The index that AboveThreshold finds for `units`, or None."""

    @abstractmethod
    def search_price(self, epsilon: float) -> int:
        """Units at which `search` is epsilon-differentially private."""

    @abstractmethod
    def batched(self, size: int) -> Derivatives:
        """Gradients and Hessians of secret batches of `size` records, fresh for every query."""

    @abstractmethod
    def preconditioned(self, preconditioner: Preconditioner) -> Queries:
        """The same queries, run and ledger in other coordinates, each record's influence capped."""

    def moments(self, units: int, *, balance: float = 2.0, groups: Indices | None = None) -> Moments:
        """Column means and mean squares in one release; see `ColumnMoments`."""
        query = ColumnMoments(balance, groups)
        return query.separated(self.ask(query, units), self.problem)

    def score_moment(self, w: Vector, units: int) -> Answer[Matrix]:
        return self.ask(ScoreMoment(w), units)

    def information(self, w: Vector, units: int) -> Answer[Matrix]:
        return self.ask(Information(w), units)

    def limited_gradient(self, w: Vector, limit: float, units: int) -> Answer[Vector]:
        return self.ask(LimitedGradient(w, limit), units)

    def gradient_change(self, w: Vector, step: Vector, units: int) -> Answer[Vector]:
        return self.ask(GradientChange(w, step), units)

    def gram(self, units: int) -> Answer[Matrix]:
        return self.ask(Gram(), units)

    def gram_diagonal(self, units: int) -> Answer[Vector]:
        return self.ask(GramDiagonal(), units)

    def trials(self, w: Vector, directions: Matrix, units: int) -> Answer[Vector]:
        return self.ask(Trials(w, directions), units)

    def gradient_norm(self, w: Vector, units: int) -> Answer[float]:
        return self.ask(GradientNorm(w), units)

    def smallest_eigenvalue(self, w: Vector, units: int) -> Answer[float]:
        return self.ask(SmallestEigenvalue(w), units)

    def value(self, w: Vector, units: int) -> Answer[float]:
        return self.ask(Value(w), units)

    def grid(
        self, w: Vector, direction: Vector, longest: float, shrink: float, count: int, units: int
    ) -> Answer[Vector]:
        return self.ask(Grid(w, direction, longest, shrink, count), units)

    def backtrack(
        self, w: Vector, direction: Vector, lengths: Vector, required: Vector, units: int
    ) -> int | None:
        return self.search(Backtrack(w, direction, lengths, required), units)
