"""The answers of a run, written down beside its ledger as they are released.

A run is a function of its answers and of public facts. Answers that were released are public within the
guarantee already paid for, so whoever holds them may go on where a run stopped: nothing is paid twice, and no
answer is drawn twice. The file is its owner's alone (0600). Its lines are sealed one over another and name
the charges of the ledger that paid for them. While a process runs, it holds a lock on the file: where nobody
does, the run is over, however it ended.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar, final

from sottovoce.accounting.disk.identity import JOURNAL_FORMAT
from sottovoce.errors import LedgerError, ResourceError

try:
    import fcntl
except ImportError:  # Windows: a run is held until its end, or until its owner says otherwise
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")

FOLDER = ".runs"
_IDENTITY = re.compile(r"[0-9a-f]{1,32}")


@final
class Journal:
    """The journal of one run: the answers it holds, and one more at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle: int | None = None
        self._seal = ""
        self.seals: set[str] = set()
        self._answers: dict[tuple[str, int], tuple[str, Any]] = {}
        self.header: dict[str, Any] = {}

    @property
    def exists(self) -> bool:
        return os.path.exists(self.path)

    @property
    def is_blank(self) -> bool:
        """Whether the process died while it made the file, before anything was charged."""
        if not self.exists:
            return False
        with open(self.path, "rb") as stream:
            return not stream.readline().endswith(b"\n")

    @property
    def is_held(self) -> bool:
        """Whether a process is at work on this run. Where locks are unknown: whether there is a journal."""
        try:
            handle = os.open(self.path, os.O_RDONLY)
        except OSError:
            return False
        try:
            return fcntl is None or not _locked(handle, attempts=1)
        finally:
            os.close(handle)

    @property
    def is_open(self) -> bool:
        return self._handle is not None

    def begin(self, header: Mapping[str, Any]) -> None:
        """Make the file, for its owner alone, and hold it."""
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        self._handle = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND, 0o600)
        if not _locked(self._handle):
            raise LedgerError("a new journal is held by another process.")
        self.header = {"format": JOURNAL_FORMAT, **header}
        self._write(self.header)

    def resume(self) -> None:
        """Hold the file and read what is in it.

        A last line without its end was being written when the process died. Its answer had not been handed
        out, and nobody but the owner could read it: it is erased, and the charge still buys one answer."""
        try:
            self._handle = os.open(self.path, os.O_RDWR | os.O_APPEND)
        except OSError:
            raise LedgerError(f"this run cannot go on: its journal {self.path} is gone.") from None
        if not _locked(self._handle):
            self.close()
            raise LedgerError("this run is at work in another process. Wait for it, or end that one.")
        with os.fdopen(os.dup(self._handle), "rb") as stream:
            content = stream.read()
        whole = content.rfind(b"\n") + 1
        os.ftruncate(self._handle, whole)
        self._read(content[:whole].splitlines())

    def _read(self, lines: list[bytes]) -> None:
        for number, line in enumerate(lines):
            try:
                raw = dict(json.loads(line))
                seal = raw.pop("seal")
                if seal != self._next_seal(raw):
                    raise ValueError
                if number:
                    self._answers[str(raw["charge"]), int(raw["part"])] = raw["asked"], _read_answer(raw)
                else:
                    self.header = raw
            except (ValueError, KeyError, TypeError):
                raise LedgerError(
                    f"line {number + 1} of the journal at {self.path} was changed. Nothing was released. Put "
                    "the journal back as it was; without it this run cannot go on."
                ) from None
            self._seal = seal
            self.seals.add(seal)
        if self.header.get("format") != JOURNAL_FORMAT:
            raise LedgerError(f"{self.path} is no journal of a run. Nothing was released.")

    @property
    def charges(self) -> set[str]:
        """The charges whose answers are here."""
        return {charge for charge, _ in self._answers}

    def holds(self, charge: str, part: int = 0) -> bool:
        return (charge, part) in self._answers

    def answer(self, charge: str, part: int, asked: str, draw: Callable[[], T]) -> T:
        """The answer as it was released, else drawn now and on disk before it is handed out."""
        known = self._answers.get((charge, part))
        if known is None:
            value = draw()
            self._write({"charge": charge, "part": part, "asked": asked, **_plain_answer(value)})
            self._answers[charge, part] = asked, value
            return value
        if known[0] != asked:
            raise LedgerError(
                "the run that goes on asks another query than the one it was answered: code, versions or "
                "machine differ. Nothing was released. Go on where it began, or take the model it has "
                "reached with Resume(run, further=False)."
            )
        return known[1]  # type: ignore[no-any-return]

    def _next_seal(self, raw: Mapping[str, Any]) -> str:
        return hashlib.sha256(f"{self._seal}{json.dumps(raw, sort_keys=True)}".encode("ascii")).hexdigest()

    def _write(self, raw: Mapping[str, Any]) -> None:
        assert self._handle is not None
        seal = self._next_seal(raw)
        line = json.dumps({**raw, "seal": seal}).encode("ascii") + b"\n"
        before = os.fstat(self._handle).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._handle, line[written:])
            os.fsync(self._handle)
        except OSError as failure:
            os.ftruncate(self._handle, before)
            raise ResourceError(
                f"the journal at {self.path} cannot be written: {failure.strerror}. The last answer was not "
                "released. Free some disk space and go on with this run."
            ) from None
        self._seal = seal

    @property
    def seal(self) -> str:
        """Seals every line so far."""
        return self._seal

    def remove(self) -> None:
        with suppress(OSError):
            os.unlink(self.path)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def journal_of(ledger: str, run: str) -> Journal:
    """The journal of a run, whether it is there or not."""
    return Journal(os.path.join(f"{ledger}{FOLDER}", f"{run}.jsonl"))


def found(ledger: str, start: str) -> str:
    """The identity of the one run whose identity begins like this."""
    folder = f"{ledger}{FOLDER}"
    names = os.listdir(folder) if os.path.isdir(folder) else []
    known = sorted(name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl"))
    matching = [run for run in known if run.startswith(start)] if _IDENTITY.fullmatch(start) else []
    if len(matching) != 1:
        several = "several runs begin" if matching else "no run begins"
        raise LedgerError(
            f"{several} with this name beside {ledger}. `sottovoce ledger show` lists them; give more of its "
            "letters."
        )
    return matching[0]


def _locked(handle: int, attempts: int = 100) -> bool:
    """Whether this process holds the file from now on. Whoever only looks holds it for a moment."""
    for attempt in range(attempts if fcntl is not None else 0):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if attempt < attempts - 1:
                time.sleep(0.01)
        else:
            return True
    return fcntl is None


def _plain_answer(value: object) -> dict[str, Any]:
    """Vectors bit by bit; a place in a list, or none, as it is."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return {
            "vector": base64.b64encode(np.ascontiguousarray(value, dtype="<f8").tobytes()).decode("ascii")
        }
    if value is None or isinstance(value, int):
        return {"place": value}
    raise LedgerError(f"a {type(value).__name__} cannot be written down. Nothing was released.")


def _read_answer(raw: Mapping[str, Any]) -> Any:
    import numpy as np

    if "vector" in raw:
        return np.frombuffer(base64.b64decode(raw["vector"], validate=True), dtype="<f8").astype(np.float64)
    return None if raw["place"] is None else int(raw["place"])
