"""Products of a block of float32 rows with float64 vectors: the reference in NumPy, and which one to use.

The environment variable SOTTOVOCE_KERNELS chooses: `reference` casts each block to float64 and multiplies by
BLAS or scipy; `compiled` casts each entry in a register and is there wherever numba has wheels. Unset, large
tables take the compiled path if they can. Either way a sum of m terms meets at most m roundings, which is all
that `rounding` asks. A row's product depends on that row and, by BLAS, on its place in the block; that of a
person's row, whose place others decide, on the row alone.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Any, ClassVar, final

import numpy as np
from scipy import sparse

from sottovoce.arrays import Matrix, Vector, row_dots
from sottovoce.data.compact import Compact
from sottovoce.data.rows import Rows
from sottovoce.trusted.compiling import is_compiled

_scratch = threading.local()


class View(ABC):
    """One block of rows X, ready to be multiplied; it uses this thread's buffers: one at a time.

    `folds`: `add_moments` and `add_outer` take several blocks that lie together, and add them one after
    another."""

    folds: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, features: Any) -> None: ...

    @abstractmethod
    def times(self, w: Any) -> Any:
        """X w, or X W for a matrix of columns."""

    @abstractmethod
    def gather(self, factors: Vector) -> Vector:
        """X' c."""

    @abstractmethod
    def squares(self, weights: Vector | None = None) -> Vector:
        """Sum of squares of each column, rows counting `weights`."""

    def add_moments(self, total: Matrix, weights: Vector | None, n: int) -> None:
        """Add the sums of each column and of its squares, the n rows counting `weights`."""
        total[0] += self.gather(np.ones(n) if weights is None else weights)
        total[1] += self.squares(weights)

    @abstractmethod
    def add_outer(self, total: Vector, weights: Vector | None, convex: bool) -> None:
        """Add X' diag(weights) X, or X'X, as the view's last act; `convex` promises weights of at least 0."""

    @staticmethod
    def room(dim: int) -> tuple[int, ...]:
        """Shape of the total that `add_outer` adds to."""
        return dim, dim

    @staticmethod
    def matrix(total: Vector, dim: int) -> Matrix:
        """The total as a matrix, symmetric to the last bit."""
        return symmetric(total)


class WideView(View):
    """Dense or compact rows written as float64 in this thread's buffer."""

    def __init__(self, features: Any) -> None:
        self._wide: Matrix = double(features)

    def times(self, w: Any) -> Any:
        return self._wide @ w

    def gather(self, factors: Vector) -> Vector:
        return np.asarray(self._wide.T @ factors)

    def squares(self, weights: Vector | None = None) -> Vector:
        return wide_squares(self._wide, weights)

    def add_outer(self, total: Matrix, weights: Vector | None, convex: bool) -> None:
        wide = self._wide
        if weights is not None and not convex:
            total += wide.T @ np.multiply(wide, weights[:, None], out=buffer("weighted", wide.shape))
            return
        if weights is not None:
            wide *= np.sqrt(weights)[:, None]
        total += wide.T @ wide


@final
class RowwiseView(WideView):
    """Each product summed by itself: no row that comes or goes before it changes a digit, as by BLAS."""

    def times(self, w: Any) -> Any:
        columns = np.atleast_2d(np.ascontiguousarray(w.T))
        found = np.stack([row_dots(self._wide, column) for column in columns])
        return found[0] if w.ndim == 1 else found.T


def view_for(rows: Rows) -> type[View]:
    """How to view the blocks of these rows, by the setting and by public facts."""
    if is_compiled(rows.entries):
        return compiled_view(rows)
    if rows.sparse:
        from sottovoce.kernels.sparse_products import SparseView

        return SparseView
    return WideView if rows.expected is None else RowwiseView


def compiled_view(rows: Rows) -> type[View]:
    if rows.layout is not None:
        from sottovoce.kernels.compiled.compact_products import CompiledCompactView

        return CompiledCompactView
    if rows.sparse:
        from sottovoce.kernels.compiled.sparse_sums import CompiledSparseView

        return CompiledSparseView
    from sottovoce.kernels.compiled.products import DenseView

    return DenseView


def double(features: Any) -> Any:
    """The block in float64: in this thread's buffer, overwritten by the next block; CSR in a new array."""
    if sparse.issparse(features):
        parts = (features.data.astype(np.float64), features.indices, features.indptr)
        return sparse.csr_array(parts, shape=features.shape)
    wide = buffer("rows", features.shape)
    if isinstance(features, Compact):
        features.widen(wide)
    else:
        np.copyto(wide, features)
    return wide


def buffer(name: str, shape: tuple[int, int]) -> Matrix:
    """This thread's array of that name, its content left over from the last use."""
    size = shape[0] * shape[1]
    held: Vector | None = getattr(_scratch, name, None)
    if held is None or held.size < size:
        held = np.empty(size)
        setattr(_scratch, name, held)
    return held[:size].reshape(shape)


def wide_squares(wide: Matrix, weights: Vector | None) -> Vector:
    """Sum of squares of each column of a float64 block, rows counting `weights`."""
    if weights is None:
        return np.asarray(np.einsum("ij,ij->j", wide, wide))
    return np.asarray(np.einsum("i,ij,ij->j", weights, wide, wide))


def symmetric(total: Matrix) -> Matrix:
    """Rounding may differ across the diagonal: the mean of both halves is symmetric to the last bit."""
    return 0.5 * (total + total.T)
