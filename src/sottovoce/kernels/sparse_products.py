"""Products of a block of CSR rows with float64 vectors, in scipy."""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

import numpy as np
from scipy import sparse

from sottovoce.arrays import Matrix, Vector
from sottovoce.kernels.products import View, double


class SparseView(View):
    """CSR rows with their entries cast to float64."""

    def __init__(self, features: Any) -> None:
        self._features = features

    @cached_property
    def _wide(self) -> Any:
        return double(self._features)

    def times(self, w: Any) -> Any:
        return self._wide @ w

    def gather(self, factors: Vector) -> Vector:
        return np.asarray(self._wide.T @ factors)

    def squares(self, weights: Vector | None = None) -> Vector:
        X = self._wide
        terms = X.data * X.data
        if weights is not None:
            terms *= np.repeat(weights, np.diff(X.indptr))
        return np.asarray(np.bincount(X.indices, terms, minlength=X.shape[1]), dtype=np.float64)

    @final
    def add_outer(self, total: Matrix, weights: Vector | None, convex: bool) -> None:
        wide = self._wide
        add_sparse(total, wide.T @ (wide if weights is None else scale_sparse(wide, weights)))


def scale_sparse(features: Any, weights: Vector) -> Any:
    """diag(weights) X."""
    data = features.data * np.repeat(weights, np.diff(features.indptr))
    return sparse.csr_array((data, features.indices, features.indptr), shape=features.shape)


def add_sparse(total: Matrix, product: Any) -> None:
    entries = product.tocoo()
    total[entries.row, entries.col] += entries.data
