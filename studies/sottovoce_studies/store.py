"""Finished runs in a file of JSON lines: each is on the disk before it counts, and none is done twice."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, final

from sottovoce.errors import DataError
from sottovoce_studies.settings import Trial
from sottovoce_studies.trial import Run

try:
    import fcntl
except ImportError:  # Windows has no advisory locks of this kind
    fcntl = None  # type: ignore[assignment]


@final
class Store:
    """Runs by trial, and the sessions that made them.

    A line is written, flushed and synced before `keep` returns. A process killed while writing leaves at most
    one line without its end, which the next one to open the file cuts off: that run had not been kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs: dict[Trial, Run] = {}
        self.sessions: list[dict[str, Any]] = []
        self._load()

    def lacks(self, trial: Trial, longest: int) -> bool:
        """Whether this trial is still to be run: not kept, or cut earlier than is asked for now."""
        run = self.runs.get(trial)
        return run is None or (run.cut and run.longest < longest)

    @contextmanager
    def writing(self, session: dict[str, Any]) -> Iterator[None]:
        """Hold the file alone, mend its end, and note who writes from here on."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab")
        except OSError as failure:
            raise DataError(f"{self.path} cannot be written: {failure.strerror}.") from None
        with self._file:
            _lock(self._file.fileno(), self.path)
            self._load()
            self._file.truncate(self._sound)
            _sync_folder(self.path.parent)
            self._append({"session": session})
            self.sessions.append(session)
            yield

    def keep(self, run: Run) -> None:
        """Make a finished run durable."""
        self._append(run.to_dict())
        self.runs[run.trial] = run

    def _append(self, values: dict[str, Any]) -> None:
        try:
            self._file.write(json.dumps(values, allow_nan=False).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as failure:
            raise DataError(f"{self.path} cannot be written: {failure.strerror}.") from None

    def _load(self) -> None:
        """Read all whole lines; what follows the last line's end was never kept."""
        self.runs, self.sessions, self._sound = {}, [], 0
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as failure:
            raise DataError(f"{self.path} cannot be read: {failure.strerror}.") from None
        self._sound = content.rfind(b"\n") + 1
        for number, line in enumerate(content[: self._sound].splitlines(), start=1):
            try:
                raw = json.loads(line)
                if "session" in raw:
                    self.sessions.append(raw["session"])
                    continue
                run = Run.from_dict(raw)
            except (ValueError, TypeError):
                raise DataError(
                    f"line {number} of {self.path} is no run of this study. Remove it, or use another folder."
                ) from None
            self.runs[run.trial] = run


def _lock(descriptor: int, path: Path) -> None:
    """One process writes at a time; the system lets go when that process ends, however it ends."""
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise DataError(
            f"another process is writing to {path}. Wait for it, or name another folder."
        ) from None


def _sync_folder(folder: Path) -> None:
    """Make the file's name durable, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
