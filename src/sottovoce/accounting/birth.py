"""When a file was made, where the file system keeps it: an inode is used again, its birth is not."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from typing import Any

_AT_FDCWD = -100
_BIRTH = 0x800
_RECORD = 256
_MASK = struct.Struct("=I")
_TIME = struct.Struct("=qI")
_TIME_AT = 80
_NANOSECONDS = 10**9


def birth_of(path: str) -> int | None:
    """Nanoseconds since 1970 at which the file at `path` was made, or None where that is not kept.

    Linux tells it by statx alone, which Python does not offer; macOS and Windows tell it by stat."""
    if sys.platform == "linux":
        return _statx(path)
    born = getattr(os.stat(path), "st_birthtime", None)
    return None if born is None else round(born * _NANOSECONDS)


def _statx(path: str) -> int | None:
    call: Any = getattr(ctypes.CDLL(None), "statx", None)
    record = ctypes.create_string_buffer(_RECORD)
    if call is None or call(_AT_FDCWD, os.fsencode(path), 0, _BIRTH, record) != 0:
        return None
    (known,) = _MASK.unpack_from(record.raw, 0)
    seconds, nanoseconds = _TIME.unpack_from(record.raw, _TIME_AT)
    return seconds * _NANOSECONDS + nanoseconds if known & _BIRTH else None
