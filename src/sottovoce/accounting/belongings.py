"""Which files belong to a ledger: whatever else may be overwritten, these never are."""

from __future__ import annotations

import os

from sottovoce.accounting.ledger_file import APPLICATION
from sottovoce.accounting.witness import FORMAT, SUFFIX

SUFFIXES = ("", "-wal", "-shm", "-journal", SUFFIX)
_HEADER = b"SQLite format 3\0"
_APPLICATION_AT = 68


def belongs_to_ledger(path: str | os.PathLike[str]) -> bool:
    """Whether the file there, links followed, is a ledger, a part of one, or the witness of one that is gone.

    A ledger is told by the application's number in SQLite's header, whatever its name."""
    place = os.path.realpath(os.fspath(path))
    parts = (place.removesuffix(suffix) for suffix in SUFFIXES if place.endswith(suffix))
    return _start(place).find(FORMAT.encode()) >= 0 or any(_is_ledger(_start(part)) for part in parts)


def _is_ledger(start: bytes) -> bool:
    number = start[_APPLICATION_AT : _APPLICATION_AT + 4]
    return start.startswith(_HEADER) and number == APPLICATION.to_bytes(4, "big")


def _start(place: str) -> bytes:
    """The first bytes of a plain file; none of what cannot be read or is no file."""
    try:
        if not os.path.isfile(place):
            return b""
        with open(place, "rb") as stream:
            return stream.read(128)
    except OSError:
        return b""
