"""Encoded rows on disk: a file without a name, written once and mapped block by block as passes ask for it.

The file is readable by its owner alone and is unlinked as soon as it is open (Windows: deleted when it is
closed), so nothing is left at the end nor after a crash. Every block is a mapping of its own that goes with
the last view of it: a pass holds a few blocks, the operating system caches as many as it has room for.
"""

from __future__ import annotations

import math
import mmap
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.data.sealed import Sealed
from sottovoce.errors import ParameterError

_LINE = 64
"""Bytes that memory is read by."""


def spool_folder(spool: bool | str | os.PathLike[str]) -> Path | None:
    """Where to spool: the system's temporary folder, the one named, or nowhere."""
    if isinstance(spool, bool):
        return Path(tempfile.gettempdir()) if spool else None
    if not isinstance(spool, str | os.PathLike) or not Path(spool).is_dir():
        raise ParameterError(
            "spool must be True (the system's temporary folder), False or the path of a folder.",
            argument="spool",
        )
    return Path(spool)


class ArrayForm(NamedTuple):
    """An array of every block: its type, and its shape in a full one; a shorter block has less of it."""

    kind: np.dtype[Any]
    shape: tuple[int, ...]

    def bytes_of(self, count: int) -> int:
        """Room for so many rows of it: whole cache lines."""
        size = count * math.prod(self.shape[1:]) * self.kind.itemsize
        return -(-size // _LINE) * _LINE


@final
class Spool(Sealed):
    """Room for `blocks` blocks, each of one array of every form; they are appended in order, read in any."""

    def __init__(self, folder: Path, *, forms: Sequence[ArrayForm], blocks: int) -> None:
        whole = sum(form.bytes_of(form.shape[0]) for form in forms)
        self._forms = tuple(forms)
        self._stride = -(-whole // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        self._counts: list[tuple[int, ...]] = []
        self.size = self._stride * blocks
        self._folder = folder
        free = shutil.disk_usage(folder).free
        if free < self.size:
            raise self._refusal(f"{free / 1e9:.3g} GB are free")
        try:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by the finalizer
        except OSError:
            raise self._refusal("no file can be made") from None
        weakref.finalize(self, self._file.close)

    def append(self, arrays: Sequence[NDArray[Any]]) -> None:
        """The next block."""
        place = self._stride * len(self._counts)
        try:
            for form, array in zip(self._forms, arrays, strict=True):
                self._file.seek(place)
                self._file.write(np.ascontiguousarray(array, form.kind).data)
                place += form.bytes_of(len(array))
            self._file.truncate(place)
            self._file.flush()
        except OSError:
            raise self._refusal("nothing more can be written") from None
        self._counts.append(tuple(map(len, arrays)))

    def block(self, index: int) -> tuple[NDArray[Any], ...]:
        """The arrays of a block as read-only views of the file."""
        pairs = list(zip(self._forms, self._counts[index], strict=True))
        size = sum(form.bytes_of(count) for form, count in pairs)
        start = index * self._stride
        held = mmap.mmap(self._file.fileno(), size, access=mmap.ACCESS_READ, offset=start)
        arrays, place = list[NDArray[Any]](), 0
        for form, count in pairs:
            shape = (count, *form.shape[1:])
            arrays.append(np.frombuffer(held, form.kind, math.prod(shape), place).reshape(shape))
            place += form.bytes_of(count)
        return tuple(arrays)

    def _refusal(self, why: str) -> ParameterError:
        return ParameterError(
            f"encoded rows beyond `memory` find no room in {self._folder}, where {why}. Pass spool= another "
            "folder, more memory, or spool=False to decode the files at every pass."
        )
