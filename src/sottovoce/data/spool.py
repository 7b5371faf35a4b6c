"""Encoded rows on disk: a file without a name, written once and mapped block by block as passes ask for it.

The file is readable by its owner alone and is unlinked as soon as it is open (Windows: deleted when it is
closed), so nothing is left at the end nor after a crash. Every block is a mapping of its own that goes with
the last view of it: a pass holds a few blocks, the operating system caches as many as it has room for.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import final

import numpy as np

from sottovoce.data.rows import Stored
from sottovoce.data.sealed import Sealed
from sottovoce.errors import ParameterError


def spool_folder(spool: bool | str | os.PathLike[str]) -> Path | None:
    """Where to spool: the system's temporary folder, the one named, or nowhere."""
    if isinstance(spool, bool):
        return Path(tempfile.gettempdir()) if spool else None
    if not isinstance(spool, str | os.PathLike) or not Path(spool).is_dir():
        raise ParameterError(
            "spool must be True (the system's temporary folder), False or the path of a folder."
        )
    return Path(spool)


@final
class Spool(Sealed):
    """Room for `blocks` blocks of at most `length` rows; they are appended in order, then read in any."""

    def __init__(self, folder: Path, *, length: int, dim: int, blocks: int) -> None:
        whole = 4 * length * dim
        self._dim = dim
        self._stride = -(-whole // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        self._lengths: list[int] = []
        self.size = self._stride * blocks
        self._folder = folder
        free = shutil.disk_usage(folder).free
        if free < self.size:
            raise self._refusal(f"{in_gigabytes(free)} are free")
        try:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by the finalizer
        except OSError:
            raise self._refusal("no file can be made") from None
        weakref.finalize(self, self._file.close)

    def append(self, features: Stored) -> None:
        """The next block."""
        try:
            self._file.seek(self._stride * len(self._lengths))
            self._file.write(np.ascontiguousarray(features).data)
            self._file.flush()
        except OSError:
            raise self._refusal("nothing more can be written") from None
        self._lengths.append(len(features))

    def block(self, index: int) -> Stored:
        """A block as a read-only view of the file."""
        shape = (self._lengths[index], self._dim)
        start = index * self._stride
        held = mmap.mmap(self._file.fileno(), 4 * shape[0] * shape[1], access=mmap.ACCESS_READ, offset=start)
        return np.frombuffer(held, dtype=np.float32).reshape(shape)

    def _refusal(self, why: str) -> ParameterError:
        return ParameterError(
            f"encoded rows beyond `memory` take {in_gigabytes(self.size)} in {self._folder}, where {why}. "
            "Pass spool= another folder, more memory, or spool=False to decode the files at every pass."
        )


def in_gigabytes(size: int) -> str:
    """A number of bytes for people."""
    return f"{size / 1e9:.3g} GB"
