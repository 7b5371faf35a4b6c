"""Whether rows are read and passed over in machine code: the setting, or public sizes."""

from __future__ import annotations

import importlib.util
import os
from functools import cache

from sottovoce.errors import ParameterError

WORTH_COMPILING = 2**22
"""Entries of a table (n times dim, both public) from which loading numba pays for itself."""


def is_compiled(entries: int) -> bool:
    """Whether passes over a table of so many entries take the compiled path."""
    match os.environ.get("SOTTOVOCE_KERNELS", ""):
        case "":
            return entries >= WORTH_COMPILING and _has_numba()
        case "reference":
            return False
        case "compiled":
            if _has_numba():
                return True
            raise ParameterError(
                "SOTTOVOCE_KERNELS=compiled needs numba, which has no wheels for this platform. Build it, or "
                "unset the variable: NumPy gives the same numbers to within the allowance."
            )
        case other:
            raise ParameterError(
                f"SOTTOVOCE_KERNELS={other!r} must be 'reference' or 'compiled', or unset: the size decides."
            )


@cache
def _has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None
