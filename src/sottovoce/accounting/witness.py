"""The witness beside a ledger file: how far it had come, so that an older state of it is told.

`budget.db.witness` holds the number and the seal of the last entry. It is written after the commit and never
before, so after a crash it lags behind and raises no false alarm. It stays behind when the ledger is deleted
or moved away, so that no fresh cap is granted in its place without a word."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import final

from sottovoce.errors import LedgerError

try:
    import fcntl
except ImportError:  # Windows: a torn read is refused as damage
    fcntl = None  # type: ignore[assignment]

FORMAT = "sottovoce-ledger-witness/1"
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
