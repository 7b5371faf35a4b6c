"""Coordinates in which a risk is asked, made from released or declared numbers: no record enters.

A record x becomes z = M x, with M = K diag(scale) (I - shift e_c'): columns are centred through the constant
column c, scaled, and turned by K. M is linear, so a model of z is a model of x: <z, u> = <x, w>, w = M'u. An
intercept that shrinks with its row, and a blank row of zeros, are centred rightly: by their own share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np
from scipy import linalg

from sottovoce.arrays import Matrix, Vector
from sottovoce.errors import ParameterError
from sottovoce.queries.low_rank_shrinkage import LowRankShrinkage

_SCALES = (1e-15, 1e15)
_UP = 1.0 + 2.0**-30


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Preconditioner:
    """z = M x and what a record counts there: omega = min(1, C/rho, B C^2/rho^2), rho = ||z||.

    `scale` has an entry above 0 for each column; `shift`, 0 where nothing is centred, is in units of the
    `constant` column; K is a square matrix, `turn`, or a `shrinkage` of a few directions, or neither; `cap`
    is C and `ceiling` B. Then omega rho <= C and omega rho^2 <= B C^2: no record has more influence, however
    long. Margins are the whole record's."""

    scale: Vector
    cap: float
    shift: Vector | None = None
    constant: int | None = None
    turn: Matrix | None = None
    shrinkage: LowRankShrinkage | None = None
    ceiling: float = 2.0

    def __post_init__(self) -> None:
        low, high = _SCALES
        scale = np.array(self.scale, dtype=np.float64)
        if scale.ndim != 1 or scale.size < 1 or not np.all((scale >= low) & (scale <= high)):
            raise ParameterError(
                f"scale must hold one number within [{low:g}, {high:g}] for each column.", argument="scale"
            )
        if not low <= self.cap <= high or not 1.0 <= self.ceiling <= high:
            raise ParameterError("cap must be above 0 and ceiling at least 1, both finite.", argument="cap")
        object.__setattr__(self, "scale", _sealed(scale))
        if self.shift is not None:
            self._set_shift(np.array(self.shift, dtype=np.float64))
        if self.turn is not None:
            turn = np.array(self.turn, dtype=np.float64)
            if turn.shape != (scale.size, scale.size) or not np.all(np.abs(turn) <= high):
                raise ParameterError(
                    "turn must be a finite square matrix with a row for each column.", argument="turn"
                )
            object.__setattr__(self, "turn", _sealed(turn))
        if self.shrinkage is not None:
            self._require_fitting(self.shrinkage)
            object.__setattr__(self, "shrinkage", replace(self.shrinkage))

    def rebuilt(self) -> Preconditioner:
        """The same coordinates, every number derived from them computed anew."""
        return replace(self)

    def _require_fitting(self, shrinkage: LowRankShrinkage) -> None:
        if type(shrinkage) is not LowRankShrinkage or shrinkage.columns != self.columns:
            raise ParameterError(
                f"shrinkage must be a LowRankShrinkage of {self.columns} columns.", argument="shrinkage"
            )
        if self.turn is not None:
            raise ParameterError("a preconditioner is turned by a matrix or flattened, not both.")

    def _set_shift(self, shift: Vector) -> None:
        columns = self.scale.size
        if self.constant is None or not 0 <= self.constant < columns:
            raise ParameterError("shift centres through the constant column: name it, or centre nothing.")
        if shift.shape != (columns,) or not np.all(np.abs(shift) <= _SCALES[1]) or shift[self.constant]:
            raise ParameterError(
                "shift must hold a finite number for each column, 0 for the constant one.", argument="shift"
            )
        object.__setattr__(self, "shift", _sealed(shift))

    @property
    def columns(self) -> int:
        return int(self.scale.size)

    @property
    def is_mixed(self) -> bool:
        """Whether a coordinate depends on other columns than its own and the constant."""
        return self.turn is not None or self.shrinkage is not None

    @cached_property
    def matrix(self) -> Matrix:
        """M, columns by columns."""
        return _sealed(self.to_coordinates(np.eye(self.columns)).T.copy())

    def to_user(self, u: Vector) -> Vector:
        """w = M'u, block by block where there are several outputs."""
        blocks = self._blocks(u)
        if self.turn is not None:
            blocks = blocks @ self.turn
        if self.shrinkage is not None:
            blocks = self.shrinkage.applied(blocks)
        w = blocks * self.scale
        if self.shift is not None:
            w[:, self.constant] -= w @ self.shift
        return np.asarray(w.reshape(np.shape(u)))

    def from_user(self, w: Vector) -> Vector:
        """u with M'u = w."""
        blocks = self._blocks(w).copy()
        if self.shift is not None:
            blocks[:, self.constant] += blocks @ self.shift
        blocks /= self.scale
        if self.turn is not None:
            blocks = linalg.solve(self.turn.T, blocks.T).T
        if self.shrinkage is not None:
            blocks = self.shrinkage.undone(blocks)
        return np.asarray(blocks.reshape(np.shape(w)))

    def to_coordinates(self, gradient: Vector) -> Vector:
        """M g: rows, or the gradient in u where g is that in w; block by block."""
        blocks = self._blocks(gradient)
        if self.shift is not None:
            blocks = blocks - blocks[:, self.constant, None] * self.shift
        blocks = blocks * self.scale
        if self.turn is not None:
            blocks = blocks @ self.turn.T
        if self.shrinkage is not None:
            blocks = self.shrinkage.applied(blocks)
        return np.asarray(blocks.reshape(np.shape(gradient)))

    def conjugated(self, matrix: Matrix) -> Matrix:
        """M S M' for a symmetric S of one or several blocks, symmetric to the last bit."""
        half = self.to_coordinates(matrix)
        whole = self.to_coordinates(np.ascontiguousarray(half.T))
        return np.asarray(0.5 * (whole + whole.T))

    def longest(self, radius: float) -> float:
        """No ||M x|| with ||x|| <= radius is above this: R ||M||, rounded up.

        Without a turn, x = (f, x_c) gives ||z||^2 <= (t ||f|| + s |x_c|)^2 + (t_c x_c)^2, t the largest scale
        of the others and s = ||scale shift||: R times the norm of a matrix of two by two."""
        return radius * self.norm

    @cached_property
    def norm(self) -> float:
        """Upper bound of ||M||. Entries of M may cancel: a turned one is off by their rounding, too; of a
        flattened one the norms of its factors are multiplied."""
        if self.turn is not None:
            rounding = 2.0**-52 * (2.0 * self.columns + 32.0) * self.stretch
            return (float(np.linalg.norm(self.matrix, 2)) + rounding) * _UP
        flattened = 1.0 if self.shrinkage is None else self.shrinkage.norm
        if self.shift is None or self.constant is None:
            return flattened * float(self.scale.max()) * _UP
        others = np.delete(self.scale, self.constant)
        corner = [[float(others.max(initial=0.0)), float(np.linalg.norm(self.scale * self.shift))]]
        centred = float(np.linalg.norm([*corner, [0.0, float(self.scale[self.constant])]], 2))
        return flattened * centred * _UP

    @cached_property
    def stretch(self) -> float:
        """Upper bound of the norm of |K| diag(scale) (I + |shift| e_c'): what products by M can round by."""
        shifted = 0.0 if self.shift is None else float(np.linalg.norm(self.scale * self.shift))
        stretch = float(self.scale.max()) + shifted
        if self.turn is not None:
            size = np.abs(self.turn)
            stretch *= math.sqrt(float(size.sum(axis=0).max()) * float(size.sum(axis=1).max()))
        if self.shrinkage is not None:
            stretch *= self.shrinkage.stretch
        return stretch * _UP

    def counts(self, lengths: Vector) -> Vector:
        """omega for records whose rho is at most `lengths`: rounded down, so that both caps hold exactly."""
        ratio = self.cap / np.maximum(lengths, self.cap)
        counts = np.minimum(1.0, ratio * np.minimum(1.0, self.ceiling * ratio) * (1.0 - 2.0**-40))
        return np.where(lengths <= self.cap, 1.0, counts)

    def _blocks(self, entries: Vector) -> Matrix:
        return np.asarray(entries, dtype=np.float64).reshape(-1, self.columns)


def _sealed(array: Vector) -> Vector:
    array.flags.writeable = False
    return array
