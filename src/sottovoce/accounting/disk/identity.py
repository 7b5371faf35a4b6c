"""What tells one ledger file from another: its name, birth, witness, and the files that belong to it."""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
import unicodedata
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from sottovoce.errors import LedgerError, ParameterError

APPLICATION = 0x50D7_70CE


try:
    import fcntl
except ImportError:  # Windows: a torn read is refused as damage
    fcntl = None  # type: ignore[assignment]

FORMAT = "sottovoce-ledger-witness/1"
JOURNAL_FORMAT = "sottovoce-journal/1"
SUFFIX = ".witness"
# Always of one length and overwritten in one call, so that no shorter text leaves an end of the longer one.
_LENGTH = 256


@final
@dataclass(frozen=True)
class Mark:
    """The last entry that was seen: its number, 0 before the first, and its seal."""

    number: int = 0
    seal: str = ""


@final
class Witness:
    """The witness of the ledger at `ledger`. Readers and writers take turns by a lock on it."""

    __slots__ = ("path",)

    def __init__(self, ledger: str) -> None:
        self.path = f"{ledger}{SUFFIX}"

    def read(self) -> Mark | None:
        """What it remembers; None where there is no witness."""
        try:
            with self._locked(os.O_RDONLY) as handle:
                return self._mark(handle)
        except FileNotFoundError:
            return None

    def found(self, mark: Mark) -> None:
        """Make one that remembers `mark`, complete from the first moment it is seen; a rival's is kept."""
        draft = f"{self.path}.{uuid.uuid4().hex}.new"
        try:
            handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            try:
                _write(handle, mark)
            finally:
                os.close(handle)
            with suppress(FileExistsError):
                os.link(draft, self.path)
        finally:
            Path(draft).unlink(missing_ok=True)

    def advance(self, mark: Mark) -> None:
        """Remember a later entry; an earlier one, from a process that was slower, changes nothing."""
        with self._locked(os.O_RDWR) as handle:
            if mark.number > self._mark(handle).number:
                os.lseek(handle, 0, os.SEEK_SET)
                _write(handle, mark)

    @contextmanager
    def _locked(self, access: int) -> Iterator[int]:
        handle = os.open(self.path, access)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_SH if access == os.O_RDONLY else fcntl.LOCK_EX)
            yield handle
        finally:
            os.close(handle)

    def _mark(self, handle: int) -> Mark:
        try:
            raw = json.loads(os.read(handle, 2 * _LENGTH))
            if raw["format"] == FORMAT and raw["number"] >= 0:
                return Mark(int(raw["number"]), str(raw["seal"]))
        except (KeyError, TypeError, ValueError, RecursionError):
            pass
        raise LedgerError(
            f"the ledger's witness at {self.path} cannot be read. Nothing was released. Verify the ledger "
            "against your latest result, remove the witness, and make a new one with "
            "sottovoce.accounting.adopt(path)."
        )


def _write(handle: int, mark: Mark) -> None:
    text = json.dumps({"format": FORMAT, "number": mark.number, "seal": mark.seal})
    os.write(handle, f"{text.ljust(_LENGTH - 1)}\n".encode("ascii"))


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


LONGEST_NAME = 200


def dataset_name(given: object) -> str:
    """The name as it is kept: Unicode NFC, outer blanks removed, inner ones a single space each."""
    printable = isinstance(given, str) and all(map(_is_seen, given))
    name = " ".join(unicodedata.normalize("NFC", str(given)).split()) if printable else ""
    if not 0 < len(name) <= LONGEST_NAME:
        raise ParameterError(
            f"dataset must be a name of 1 to {LONGEST_NAME} printable characters, such as 'claims-2026': "
            "letters, digits, punctuation and single spaces.",
            argument="dataset",
        )
    return name


_IGNORABLE = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F)),
    *((0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A)),
    (0xE0000, 0xE0FFF),
)
"""Unicode's Default_Ignorable_Code_Point, stable since 5.1: shown as nothing by a font that lacks them."""


def _is_seen(character: str) -> bool:
    """Whether a character leaves ink: a letter, mark, digit, sign or the plain space, and none that Unicode
    calls ignorable, a filler or a blank. Pictures, which hold further blanks, are left out as a category."""
    if character == " ":
        return True
    if not character.isprintable() or unicodedata.category(character) == "So":
        return False
    named = unicodedata.name(character, "BLANK").split()
    if not {"BLANK", "FILLER"}.isdisjoint(named):
        return False
    return not any(first <= ord(character) <= last for first, last in _IGNORABLE)


def known_as(name: str, known: Iterable[str]) -> str | None:
    """Which of the known names means the same data set: neither case nor Unicode's compatible forms, such as
    wide letters and ligatures, tell two apart."""
    spelled = list(known)
    if name in spelled:
        return name
    return next((other for other in spelled if _folded(other) == _folded(name)), None)


def _folded(name: str) -> str:
    """By Unicode's caseless matching of compatible forms; a name may be older than the rule for new ones."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFD", name).casefold()).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


SUFFIXES = ("", "-wal", "-shm", "-journal", SUFFIX)
_HEADER = b"SQLite format 3\0"
_APPLICATION_AT = 68


def belongs_to_ledger(path: str | os.PathLike[str]) -> bool:
    """Whether the file there, links followed, is a ledger, a part of one, a journal, or a witness.

    A ledger is told by the application's number in SQLite's header, whatever its name."""
    place = os.path.realpath(os.fspath(path))
    parts = (place.removesuffix(suffix) for suffix in SUFFIXES if place.endswith(suffix))
    beside = any(_start(place).find(kind.encode()) >= 0 for kind in (FORMAT, JOURNAL_FORMAT))
    return beside or any(_is_ledger(_start(part)) for part in parts)


def is_ledger(path: str | os.PathLike[str]) -> bool:
    """Whether a file says of itself that it is a ledger."""
    return _is_ledger(_start(os.path.realpath(os.fspath(path))))


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
