"""What a run released for inference: a gradient, a Hessian and a second moment of scores at one point."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, final

import numpy as np

from sottovoce.arrays import Matrix, Vector
from sottovoce.files import finite, truth_of

LARGEST = 1e100
"""No number of a file is larger, so that squares and products are finite."""
_ACROSS = 0.25
_NUMBERS = ("gradient_scale", "hessian_scale", "moment_scale", "third", "spread")


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LastAnswers:
    """Noisy answers about the data's part of a risk at `weights`, in coordinates u with w = basis u.

    The Hessian is that at u - `moved`; phi''' is at most `third`, and the mean of ||z||^2 about `spread`.
    `basis` is that of one output's block. Noise is independent: of sd `gradient_scale` in each entry of the
    gradient; symmetric matrices have theirs on the diagonal and 1/sqrt2 of it beside it. The penalty is left
    out of both derivatives: it is public, and no part of what the records say. `robust`: the moment is that
    of the scores themselves, not the information a `likelihood` has. `constant`: the intercept's column."""

    n: int
    outputs: int
    weights: Vector
    moved: Vector
    basis: Matrix
    gradient: Vector
    hessian: Matrix
    moment: Matrix
    gradient_scale: float
    hessian_scale: float
    moment_scale: float
    robust: bool
    likelihood: bool
    constant: int | None
    third: float
    spread: float

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-ready values; symmetric matrices by their lower triangles."""
        raw = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("hessian", "moment"):
            raw[name] = raw[name][np.tril_indices(len(raw[name]))]
        return {name: np.asarray(value).tolist() for name, value in raw.items()}

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> LastAnswers:
        """The findings of `to_dict`; KeyError, TypeError or ValueError for anything else."""
        weights, gradient, moved = (finite_vector(raw[name]) for name in ("weights", "gradient", "moved"))
        outputs, basis = int(raw["outputs"]), np.array(raw["basis"], dtype=np.float64)
        if outputs < 1:
            raise ValueError("there is at least one output")
        columns = weights.size // outputs
        fits = gradient.shape == weights.shape == moved.shape and basis.shape == (columns, columns)
        if not fits or int(raw["n"]) < 1:
            raise ValueError("these shapes do not fit")
        scales = {name: finite(raw[name]) for name in _NUMBERS}
        if min(scales.values()) < 0.0 or not scales["spread"] or not np.all(np.abs(basis) <= LARGEST):
            raise ValueError("noise has a scale of at least 0")
        if np.linalg.matrix_rank(basis) < columns:
            raise ValueError("these are no coordinates")
        return cls(
            n=int(raw["n"]),
            outputs=outputs,
            weights=weights,
            basis=basis,
            gradient=gradient,
            moved=moved,
            hessian=symmetric(raw["hessian"], weights.size),
            moment=symmetric(raw["moment"], weights.size),
            robust=truth_of(raw["robust"]),
            likelihood=truth_of(raw["likelihood"]),
            constant=None if raw["constant"] is None else int(raw["constant"]),
            **scales,
        )

    def user(self, u: Vector) -> Vector:
        """w = basis u, block by block; rows of a matrix are taken each for itself."""
        blocks = np.asarray(u).reshape(*np.shape(u)[:-1], self.outputs, -1)
        return np.asarray(blocks @ self.basis.T).reshape(np.shape(u))

    def pulled(self, terms: Matrix) -> Matrix:
        """Rows c with c u = t w for the rows t of `terms`."""
        blocks = terms.reshape(len(terms), self.outputs, -1)
        return np.asarray((blocks @ self.basis).reshape(terms.shape))

    def coordinates(self, w: Vector) -> Vector:
        """u with w = basis u, of one or several blocks."""
        return np.asarray(np.linalg.solve(self.basis, w.reshape(self.outputs, -1).T).T.ravel())


def curvature_change(way: Vector, point: Vector, hessian: Matrix, mean: float, third: float) -> float:
    """About the part of itself by which a Hessian changes on a way p to a point u; `mean` is that of phi''.

    k = third (|p_u| + |p - p_u| / 4) / mean, p_u the part of p along u, |p|^2 = p'Hp / mean the mean square
    of <z, p>. A change of all margins by one factor moves every phi'' the same way; across u changes go both
    ways, and most of them cancel."""
    size = max(float(point @ hessian @ point), 0.0)
    along = float(way @ hessian @ point) / size * point if size else np.zeros_like(point)
    parts = (max(0.0, float(part @ hessian @ part)) / mean for part in (along, way - along))
    lengthwise, across = map(math.sqrt, parts)
    return third * (lengthwise + _ACROSS * across) / mean


def mean_curvature(hessian: Matrix, scale: float, spread: float) -> float:
    """Mean phi'' by the trace of a Hessian, at least its noise; `spread` is the records' mean ||z||^2."""
    return max(float(np.trace(hessian)), scale * math.sqrt(len(hessian)), 1e-300) / spread


def finite_vector(raw: Any) -> Vector:
    found = np.array(raw, dtype=np.float64)
    if found.ndim != 1 or not np.all(np.abs(found) <= LARGEST):
        raise ValueError("a vector of finite numbers is missing")
    return found


def symmetric(raw: Any, size: int) -> Matrix:
    lower = finite_vector(raw)
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size)] = lower
    return np.asarray(matrix + np.tril(matrix, -1).T)
