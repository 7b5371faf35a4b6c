"""How functions are compiled: without the interpreter's lock, kept on disk, allowed to fuse operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(*, reorder: bool = False) -> Callable[[F], F]:
    """Machine code kept on disk from the first call on; where no folder may be written, in memory alone.

    Multiplications fuse with additions; `reorder` lets sums and products be made in any order. Nothing else
    is allowed: no result depends on whether a number is finite."""
    options = {
        "nogil": True,
        "fastmath": {"reassoc", "contract"} if reorder else {"contract"},
        "error_model": "numpy",
    }

    def compile_(function: F) -> F:
        try:
            code: F = numba.njit(cache=True, **options)(function)
        except RuntimeError:
            code = numba.njit(**options)(function)
        return code

    return compile_
