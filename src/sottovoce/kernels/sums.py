"""Records behind bounded sums: what a request costs and what it is answered, in one place.

Public facts come from the records as they were bounded at the door and from coordinates as measured here, not
from whoever asks. Every contribution is clamped in the pass that sums it, to the band that is charged for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np
from scipy import linalg

from sottovoce.data.partitioned import Parts, gathered
from sottovoce.data.persons import MOST_ROWS
from sottovoce.data.records import Records
from sottovoce.data.sealed import Sealed
from sottovoce.errors import ParameterError
from sottovoce.kernels import influence, passes
from sottovoce.privacy.rounding import Arithmetic
from sottovoce.privacy.sensitivity import Facts, sensitivity
from sottovoce.problem import require_matrix_fits
from sottovoce.queries.preconditioner import Preconditioner
from sottovoce.trusted import requests
from sottovoce.trusted.requests import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.accounting.relations import Relation
    from sottovoce.arrays import Matrix, Vector

S = TypeVar("S", bound="RowSums")

LARGEST_REACH = 1e100
"""Most that the entries of w may sum to, alone or times the radius: no square or sum over rows overflows."""


class RowSums(Sealed, Sums):
    """Sums over the rows of records, maybe in the coordinates of a preconditioner."""

    def __init__(self, records: Records, preconditioner: Preconditioner | None = None) -> None:
        if type(records) is not Records:
            raise ParameterError("sums are made over Records, which were bounded at the door.")
        self._records = records
        self._preconditioner = preconditioner

    @property
    def n(self) -> int:
        return self._records.n

    @property
    def by_person(self) -> bool:
        return self._records.persons is not None

    @property
    def is_n_private(self) -> bool:
        return bool(self._records.counting["counted"])

    @property
    def outputs(self) -> int:
        """Blocks of weights: one for each class of softmax."""
        return 1

    @property
    def dim(self) -> int:
        return self.outputs * self._records.dim

    @cached_property
    def arithmetic(self) -> Arithmetic:
        """What bounds the rounding of a pass over these rows."""
        preconditioner = self._preconditioner
        return Arithmetic(
            n=self.n,
            dim=self.dim,
            block_length=self._records._rows.block_length,
            radius=self._records.radius,
            target_reach=self._target_reach,
            weight=self._records.counting["weight"],
            terms=None if self._records.persons is None else MOST_ROWS,
            summands=self._records.dim,
            stretch=None if preconditioner is None else preconditioner.stretch,
        )

    @cached_property
    def facts(self) -> Facts:
        """What is public about these rows."""
        counting, preconditioner, radius = self._records.counting, self._preconditioner, self._records.radius
        weight = counting["weight"]
        influence_cap = math.inf if preconditioner is None else weight * preconditioner.cap
        energy_cap = (
            math.inf if preconditioner is None else weight * preconditioner.ceiling * preconditioner.cap**2
        )
        longest = radius if preconditioner is None else preconditioner.longest(radius)
        return Facts(
            n=self.n,
            radius=longest,
            weight=weight,
            lightest=counting["lightest"] if preconditioner is None else 0.0,
            influence=min(weight * longest, influence_cap),
            energy=min(weight * longest**2, energy_cap),
            target_reach=self._target_reach,
            arithmetic=self.arithmetic,
            persons=self.by_person,
            outputs=self.outputs,
        )

    def sensitivity(self, request: requests.Request, relation: Relation) -> float:
        return sensitivity(request, self.facts, relation)

    @property
    def _target_reach(self) -> float:
        return 0.0 if self._records.target is None else max(map(abs, self._records.target))

    @property
    def _rows(self) -> Any:
        return self._records._rows

    def batch(self: S, size: int, most: int) -> S:
        """The same sums over `size` records, no more than `most` of them in a sum: for what they cost."""
        sized = type(self)(self._records, self._preconditioner)
        sized.__dict__["arithmetic"] = replace(self.arithmetic, n=size, records=most)
        sized.__dict__["facts"] = replace(self.facts, n=size, arithmetic=sized.arithmetic)
        sized.prices_only = True
        return sized

    def subset(self: S, indices: NDArray[np.int64], n: int | None = None) -> S:
        return type(self)(self._records.subset(indices, n), self._preconditioner)

    def preconditioned(self: S, preconditioner: Preconditioner) -> S:
        """Measure every record once, here; what it counts is kept, nothing else."""
        if self._preconditioner is not None:
            raise ParameterError("this risk has a preconditioner already. Take the risk as the user gave it.")
        if type(preconditioner) is not Preconditioner or preconditioner.columns != self._records.dim:
            raise ParameterError(
                f"preconditioner must be a Preconditioner of the records' {self._records.dim} columns."
            )
        measured = preconditioner.rebuilt()
        rule = partial(influence.counts, preconditioner=measured, radius=self._records.radius)
        return type(self)(self._records.reweighted(rule), measured)

    def weights(self, w: Any, name: str = "w") -> Vector:
        """w in the coordinates of the rows as held, once no product with a row can overflow. Not to be
        written to, as what requests hold: to compiled passes that is a type of its own."""
        held = np.asarray(w)
        if self._preconditioner is not None and held.shape == (self.dim,) and held.dtype.kind in "biuf":
            held = self._preconditioner.to_user(held)
        weights = checked_weights(held, self.dim, self._records.radius, name).view()
        weights.flags.writeable = False
        return weights

    def vector(self, sums: Vector) -> Vector:
        """A sum over rows as held, as one over rows in coordinates."""
        mean = sums / self.n
        return mean if self._preconditioner is None else self._preconditioner.to_coordinates(mean)

    def matrix(self, sums: Matrix) -> Matrix:
        mean = sums / self.n
        return mean if self._preconditioner is None else self._preconditioner.conjugated(mean)

    def gram(self) -> Matrix:
        require_matrix_fits(self._records.dim)
        return self.matrix(passes.gram(self._rows))

    def squares(self) -> Vector:
        preconditioner = self._preconditioner
        if preconditioner is not None and preconditioner.is_mixed:
            return np.diag(self.gram()).copy()
        squares = passes.gram_diagonal(self._rows) / self.n
        if preconditioner is None:
            return np.asarray(squares)
        if preconditioner.shift is not None:
            assert preconditioner.constant is not None
            crossed = passes.gram_column(self._rows, preconditioner.constant) / self.n
            held = crossed[preconditioner.constant]
            squares = squares - 2.0 * preconditioner.shift * crossed + preconditioner.shift**2 * held
        return np.asarray(squares * preconditioner.scale**2)

    def moments(self) -> Matrix:
        """Means and mean squares of the columns, two rows."""
        if self._preconditioner is None:
            return np.asarray(passes.moments(self._rows) / self.n)
        return np.stack([self.vector(passes.moments(self._rows)[0]), self.squares()])

    def _features(self, request: requests.Request) -> Any:
        match request:
            case requests.Gram():
                return self.gram()
            case requests.Squares():
                return self.squares()
            case requests.Means():
                return self.moments()[0]
            case requests.Moments(balance, groups):
                means, squares = self.moments()
                summed = squares if groups is None else np.bincount(groups, squares)
                factor = math.sqrt(balance) * self.facts.influence / self.facts.energy
                return np.concatenate([means, factor * summed])
            case requests.Norm(of, added):
                return float(np.linalg.norm(self.answer(of) + added))
            case requests.SmallestEigenvalue(of, added):
                return float(linalg.eigvalsh(self.answer(of) + added, subset_by_index=(0, 0))[0])
            case requests.Product(of, direction):
                unit = np.asarray(direction, dtype=np.float64)
                return self.answer(of) @ (unit / max(1.0, float(np.linalg.norm(unit))))
            case _:
                raise ParameterError(f"{type(request).__name__} is no request about these records.")


@final
class LinearSums(RowSums):
    """Sums of one number a record: what a law says of its margin, residual or count."""

    def answer(self, request: requests.Request) -> Any:
        match request:
            case requests.VectorSum(law, band, w):
                return self.vector(passes.gradient(self._rows, law, self.weights(w), band))
            case requests.VectorChange(law, span, limit, w, direction):
                at, step = self.weights(w), self.weights(direction, "direction")
                total = passes.gradient_change(self._rows, law, at, step, span.checked(), limit)
                return self.vector(total)
            case requests.NumberSum(law, span, w):
                return passes.value(self._rows, law, self.weights(w), span.checked()) / self.n
            case requests.MatrixSum(law, span, w):
                require_matrix_fits(self.dim)
                return self.matrix(passes.hessian(self._rows, law, self.weights(w), span.checked()))
            case requests.InformationSum(law, span, w):
                require_matrix_fits(self.dim)
                return self.matrix(passes.information(self._rows, law, self.weights(w), span.checked()))
            case requests.ScoreSum(law, band, w):
                require_matrix_fits(self.dim)
                people, weights = self._records.persons, self.weights(w)
                if people is None:
                    return self.matrix(passes.score_moment(self._rows, law, weights, band))
                from sottovoce.kernels import persons

                return self.matrix(persons.score_moment(gathered(self._rows), people, law, weights, band))
            case requests.ResidualShares(law, w, edges):
                return passes.residual_bands(self._rows, law, self.weights(w), edges) / self.n
            case requests.StepDrops(law, steepest, w, steps, divisors):
                held = np.stack([self.weights(step, "each direction") for step in steps])
                total = passes.trials(self._rows, law, self.weights(w), held, steepest)
                return total / self.n / divisors
            case requests.LineDrops():
                fall = self.falls(request)
                return np.array([fall(float(length)) for length in request.lengths])
            case _:
                return self._features(request)

    def value_and_gradient(
        self, value: requests.NumberSum, gradient: requests.VectorSum
    ) -> tuple[float, Vector]:
        """Two answers at the same weights in one pass."""
        law, band, span = gradient.law, gradient.band, value.span.checked()
        total, sums = passes.value_and_gradient(self._rows, law, self.weights(gradient.w), band, span)
        return total / self.n, self.vector(sums)

    def falls(self, request: requests.LineDrops | requests.ClassLine) -> Callable[[float], float]:
        assert isinstance(request, requests.LineDrops)
        rows, law, steepest = self._rows, request.law, request.steepest
        w, direction = self.weights(request.w), self.weights(request.direction, "direction")
        if isinstance(rows, Parts):
            return lambda gamma: (
                float(passes.trials(rows, law, w, gamma * direction[None], steepest)[0]) / self.n
            )
        margins = passes.Margins(rows, law, w, direction, steepest)
        return lambda gamma: margins.decrease(gamma) / self.n


def checked_weights(w: Any, dim: int, radius: float, name: str = "w") -> Vector:
    """w in float64, once its shape is right and no product with a row can overflow."""
    given = np.asarray(w)
    if given.dtype.kind not in "biuf" or given.shape != (dim,):
        raise ParameterError(f"{name} must hold {dim} real numbers, in one dimension.")
    weights = np.ascontiguousarray(given, dtype=np.float64)
    with np.errstate(over="ignore"):
        reach = np.abs(weights).sum() * max(1.0, radius)
    if not reach <= LARGEST_REACH:
        raise ParameterError(f"{name} must be finite, in sum and times the radius at most {LARGEST_REACH:g}.")
    return weights
