"""Whether rows are read and passed over in machine code: the setting, or public sizes and the machine."""

from __future__ import annotations

import importlib.util
import os
from functools import cache

from sottovoce.errors import ParameterError, ResourceError
from sottovoce.machine import MEGABYTE, address_space_left, memory_left

WORTH_COMPILING = 2**22
"""Entries of a table (n times dim, both public) from which loading numba pays for itself."""
ADDRESSES_OF_LLVM = 1280 * MEGABYTE
MEMORY_OF_LLVM = 256 * MEGABYTE
"""What a compiler may reserve and fill: where less is left LLVM ends the process, and NumPy does the sums.
A fit that compiled all its passes took 930 MB of addresses from here on, reading included."""
_failed = False


def is_compiled(entries: int) -> bool:
    """Whether passes over a table of so many entries take the compiled path."""
    match os.environ.get("SOTTOVOCE_KERNELS", ""):
        case "":
            return entries >= WORTH_COMPILING and compiles()
        case "reference":
            return False
        case "compiled":
            if _failed:
                raise ResourceError(
                    "SOTTOVOCE_KERNELS=compiled, and the compiler failed on this machine. Unset the "
                    "variable: NumPy gives the same numbers to within the allowance."
                )
            if has_numba():
                return True
            raise ParameterError(
                "SOTTOVOCE_KERNELS=compiled needs numba, which has no wheels for this platform. Build it, or "
                "unset the variable: NumPy gives the same numbers to within the allowance."
            )
        case other:
            raise ParameterError(
                f"SOTTOVOCE_KERNELS={other!r} must be 'reference' or 'compiled', or unset: the size decides."
            )


def compiles() -> bool:
    """Whether there is a compiler, and it has not failed."""
    return not _failed and has_numba() and _can_compile()


def give_up() -> None:
    """The compiler failed: passes that begin from now on are made by NumPy."""
    global _failed
    _failed = True


@cache
def _can_compile() -> bool:
    """Whether the compiler has room and loads; decided once, by the machine alone."""
    addresses, memory = address_space_left(), memory_left()
    if addresses is not None and addresses < ADDRESSES_OF_LLVM:
        return False
    if memory is not None and memory < MEMORY_OF_LLVM:
        return False
    try:
        importlib.import_module("llvmlite.binding")
    except (ImportError, OSError, MemoryError):
        return False
    return True


@cache
def has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None
