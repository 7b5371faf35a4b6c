"""Sums over the features alone, the same for one row of weights and for several."""

from __future__ import annotations

from abc import ABC, abstractmethod

from scipy import linalg

from sottovoce.arrays import Matrix, Vector
from sottovoce.data.records import Records
from sottovoce.data.sealed import Sealed
from sottovoce.kernels import passes as kernels
from sottovoce.regularizers import Regularizer


class FeatureSums(Sealed, ABC):
    """A risk over records: what it says of their features, whatever its loss, and of its Hessian."""

    _records: Records
    _regularizer: Regularizer

    @property
    def records(self) -> Records:
        return self._records

    @property
    def regularizer(self) -> Regularizer:
        return self._regularizer

    @property
    def n(self) -> int:
        """Number of records, or of persons."""
        return self._records.n

    @abstractmethod
    def hessian(self, w: Vector) -> Matrix:
        """Hessian of f at w. Exact: for the data's owner only."""

    def gram_diagonal(self) -> Vector:
        """Diagonal of X'X/n: each column's mean square. Exact: for the data's owner only."""
        return kernels.gram_diagonal(self._records._rows) / self.n

    def gram_column(self, column: int) -> Vector:
        """One column of `gram`. Exact: for the data's owner only."""
        return kernels.gram_column(self._records._rows, column) / self.n

    def moments(self) -> Matrix:
        """Means of q x_j and of q x_j^2 for each column, two rows. Exact: for the data's owner only."""
        return kernels.moments(self._records._rows) / self.n

    def smallest_eigenvalue(self, w: Vector) -> float:
        """Smallest eigenvalue of the Hessian at w, by a dense solver. Exact: for the data's owner only."""
        return float(linalg.eigvalsh(self.hessian(w), subset_by_index=(0, 0))[0])
