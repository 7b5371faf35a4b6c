"""Blocks of rows: what one holds, and how many rows, which the number of columns alone decides."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from sottovoce.arrays import Vector
from sottovoce.data.sealed import refuse_copies

SPARSE_BLOCK_LENGTH = 8192
_DENSE_BLOCK_ENTRIES = 2**18
_WIDE_BLOCK_ENTRIES = 2**22


class Block(NamedTuple):
    """Consecutive rows: features (float32 array, scipy CSR or Compact), targets, weights unless all are 1."""

    features: Any
    targets: Vector
    weights: Vector | None = None

    def __repr__(self) -> str:
        return "Block(private)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        refuse_copies(self)


def dense_block_length(dim: int) -> int:
    """Rows in a dense block: as many as make 2 MB of float64, so that it stays in cache, but at most 8192.

    Wide tables get up to 256 rows while that is within 32 MB: a dim x dim product then pays for itself."""
    fitting = min(8192, _DENSE_BLOCK_ENTRIES // dim)
    paying = min(256, _WIDE_BLOCK_ENTRIES // dim)
    return 1 << (max(1, fitting, paying).bit_length() - 1)
