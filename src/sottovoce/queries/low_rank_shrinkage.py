"""A few directions made shorter: K = I - V diag(1 - f) V', kept as its few columns.

Along the directions in which rows vary most a record's length says little about all others. Made shorter
there, rows have less influence, and noise that follows it is smaller everywhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy import linalg

from sottovoce.arrays import Matrix, Vector
from sottovoce.errors import ParameterError

_UP = 1.0 + 2.0**-30
_LONGEST = 2.0
"""Most length of a direction: they are meant to have 1, and no bound below rests on it."""


@final
@dataclass(frozen=True, eq=False)
class LowRankShrinkage:
    """`directions` V (columns by k) and `factors` f in (0, 1]: for orthonormal V, K v_j = f_j v_j.

    K is symmetric. Nothing below asks V to be orthonormal, so rounding in it costs no privacy."""

    directions: Matrix
    factors: Vector

    def __post_init__(self) -> None:
        directions = np.array(self.directions, dtype=np.float64)
        factors = np.array(self.factors, dtype=np.float64)
        if directions.ndim != 2 or factors.shape != directions.shape[1:]:
            raise ParameterError(
                "directions must be a matrix with a column for each of the factors.", argument="directions"
            )
        if not np.all((factors >= 1e-6) & (factors <= 1.0)):
            raise ParameterError("factors must lie between 1e-6 and 1.", argument="factors")
        lengths = np.linalg.norm(directions, axis=0)
        if not np.all(lengths <= _LONGEST):
            raise ParameterError(
                f"directions must be finite and no longer than {_LONGEST:g}.", argument="directions"
            )
        for name, array in (("directions", directions), ("factors", factors)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def columns(self) -> int:
        return len(self.directions)

    def applied(self, blocks: Matrix) -> Matrix:
        """Rows times K."""
        along = (blocks @ self.directions) * (1.0 - self.factors)
        return np.asarray(blocks - along @ self.directions.T)

    def undone(self, blocks: Matrix) -> Matrix:
        """Rows times the inverse of K, by Woodbury: I + W (I - W'W)^-1 W' with W = V diag(1 - f)^(1/2)."""
        scaled = self.directions * np.sqrt(1.0 - self.factors)
        inner = np.eye(self.factors.size) - scaled.T @ scaled
        return np.asarray(blocks + linalg.solve(inner, (blocks @ scaled).T).T @ scaled.T)

    @cached_property
    def norm(self) -> float:
        """Upper bound of ||K||: I - WW' has the eigenvalue 1 and those of I - W'W."""
        scaled = self.directions * np.sqrt(1.0 - self.factors)
        values = linalg.eigvalsh(scaled.T @ scaled)
        rounding = 2.0**-52 * (self.columns + 32.0) * self.stretch
        return (max(1.0, float(np.abs(1.0 - values).max(initial=0.0))) + rounding) * _UP

    @cached_property
    def stretch(self) -> float:
        """Upper bound of the norm of I + |V| diag(1 - f) |V|': what products by K round by."""
        sizes = np.abs(self.directions) * np.sqrt(1.0 - self.factors)
        return (1.0 + float(linalg.eigvalsh(sizes.T @ sizes)[-1:].sum())) * _UP
