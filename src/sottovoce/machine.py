"""What this process may still take of its machine, memory and addresses. Nothing here knows data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sottovoce.errors import ResourceError

MEGABYTE = 2**20
ADDRESSES_OF_READERS = 512 * MEGABYTE
"""More than the stacks and arenas of the threads that Arrow starts to read a file."""
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_TAKEN = ("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes")


def address_space_left() -> int | None:
    """Bytes until `ulimit -v`; None where there is no such limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    taken = _kilobytes("/proc/self/status", "VmSize")
    if limit == resource.RLIM_INFINITY or taken is None:
        return None
    return max(0, int(limit) - taken)


def memory_left() -> int | None:
    """Bytes this process may still fill: the least that machine, container and `ulimit -v` leave."""
    container = [
        most - _whole(taken)
        for limit, taken in zip(_GROUPS, _TAKEN, strict=True)
        if (most := _whole(limit)) and most < 2**60
    ]
    known = (address_space_left(), _kilobytes("/proc/meminfo", "MemAvailable"), *container)
    return min((max(0, left) for left in known if left is not None), default=None)


def require_memory(needed: int, purpose: str) -> None:
    """Refuse, before any charge, what cannot end well. `needed` is counted from public numbers."""
    left = memory_left()
    if left is not None and left < needed:
        raise ResourceError(
            f"{purpose} takes about {_megabytes(needed)} MB of memory, {_megabytes(left)} MB are left to "
            "this process. Nothing was charged, nothing released. Raise its limit."
        )


def require_addresses() -> None:
    """Refuse to read under a `ulimit -v` where Arrow's threads cannot start: it waits for them for good."""
    left = address_space_left()
    if left is not None and left < ADDRESSES_OF_READERS:
        raise ResourceError(
            f"`ulimit -v` leaves this process {_megabytes(left)} MB of addresses, and reading takes "
            f"{_megabytes(ADDRESSES_OF_READERS)}. Nothing was charged, nothing released. Raise the limit."
        )


@contextmanager
def memory_told() -> Iterator[None]:
    """Memory that ran out is said to have: it is no fault of the file, or of who wrote it."""
    try:
        yield
    except MemoryError:
        raise ResourceError(
            "memory ran out. Give this process more (ulimit -v, the container's limit), or keep the table in "
            "Parquet, which is read piece by piece."
        ) from None


def _megabytes(count: int) -> str:
    return f"{count / MEGABYTE:,.0f}"


def _kilobytes(path: str, field: str) -> int | None:
    """A field of a file of /proc in bytes; None where there is none."""
    try:
        with open(path, encoding="ascii") as lines:
            return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), None)
    except (OSError, ValueError, IndexError):
        return None


def _whole(path: str) -> int:
    """The number in a file of the kernel; 0 where there is none."""
    try:
        text = Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0
