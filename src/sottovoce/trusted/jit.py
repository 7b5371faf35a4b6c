"""How functions are compiled: without the interpreter's lock, kept on disk, allowed to fuse operations."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache

F = TypeVar("F", bound=Callable[..., Any])

logging.getLogger("numba").setLevel(logging.WARNING)  # at DEBUG it writes down every function it compiles


OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy"}
"""Multiplications fuse with additions. No flag may assume that numbers are finite: of a NaN would come
whatever suits the optimizer."""


def compiled(*, reorder: bool = False) -> Callable[[F], F]:
    """Machine code kept on disk from the first call on; where no folder may be written, in memory alone.

    `reorder` lets sums and products be made in any order."""
    options = {**OPTIONS, "fastmath": {"reassoc", "contract"}} if reorder else OPTIONS

    def compile_(function: F) -> F:
        code: Any = numba.njit(**options)(function)
        try:
            code._cache = Kept(function)
        except RuntimeError:
            return code  # type: ignore[no-any-return]
        return code  # type: ignore[no-any-return]

    return compile_


class Kept(FunctionCache):  # type: ignore[misc]  # numba comes without types
    """Machine code on disk, kept under what it was made from.

    Numba looks at the file of the function alone, while the code holds functions of other files as well:
    without the fingerprint a new formula there would leave the old one in use. `digest` stands for functions
    that the code holds besides, of which numba's own key would be another in every process."""

    def __init__(self, function: Callable[..., Any], digest: str = "") -> None:
        super().__init__(function)
        self._folder = Path(function.__code__.co_filename).parent
        self._digest = digest

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        if self._digest:
            return signature, codegen.magic_tuple(), self._digest, _fingerprint(self._folder)
        return (*super()._index_key(signature, codegen), _fingerprint(self._folder))

    def load_overload(self, signature: Any, context: Any) -> Any:
        """An index that an older release wrote may name types that are no more: it is begun anew."""
        try:
            return super().load_overload(signature, context)
        except Exception:
            self.flush()
            return None


@cache
def _fingerprint(folder: Path) -> str:
    """Digest of every source that is compiled there, and here."""
    digest = hashlib.sha256()
    for source in sorted({*folder.glob("*.py"), *Path(__file__).parent.glob("*.py")}):
        digest.update(source.read_bytes())
    return digest.hexdigest()
