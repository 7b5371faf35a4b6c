"""Threads over consecutive tasks, with every BLAS limited to one thread and results handed out in order."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from sottovoce.errors import ParameterError

T = TypeVar("T")

_here = threading.local()


def thread_count() -> int:
    """SOTTOVOCE_THREADS if set, else the processors this process may use."""
    wanted = os.environ.get("SOTTOVOCE_THREADS", "")
    if wanted:
        if not (wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= 1024):
            raise ParameterError(
                f"SOTTOVOCE_THREADS={wanted!r} must be a whole number from 1 to 1024, or unset."
            )
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(work: Callable[[int], T], count: int, *, in_turn: bool = False) -> Iterator[T]:
    """work(0), ..., work(count - 1) in that order, computed by threads; few results are alive at a time.

    `in_turn`: one after another in the caller's thread, for work that reads from a stream."""
    threads = 1 if in_turn or getattr(_here, "alone", False) else min(thread_count(), count)
    with _blas.limited():
        if threads <= 1:
            yield from map(work, range(count))
            return
        pool = _pool(threads)
        pending: deque[Future[T]] = deque()
        try:
            for index in range(count):
                pending.append(pool.submit(work, index))
                if len(pending) > 2 * threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
            wait(pending)


@contextmanager
def alone() -> Iterator[None]:
    """Passes started by this thread use no other: whoever started it runs many like it at once."""
    _here.alone = True
    try:
        yield
    finally:
        _here.alone = False


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="sottovoce")


@cache
def _controller() -> Any:
    return ThreadpoolController()


class _Blas:
    """Limits BLAS while at least one pass runs: the setting is global, so the last one out restores it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limiter: Any = None

    @contextmanager
    def limited(self) -> Iterator[None]:
        with self._lock:
            if self._users == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._limiter.restore_original_limits()


_blas = _Blas()


def _start_afresh() -> None:
    """A forked child inherits the pool without its threads and perhaps a held lock."""
    global _blas
    _blas = _Blas()
    _pool.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_afresh)
