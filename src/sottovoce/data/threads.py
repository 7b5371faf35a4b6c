"""Threads over consecutive tasks, with every BLAS limited to one thread and results handed out in order."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any, Generic, TypeVar

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

    The caller's thread works too. `in_turn`: it works alone, for work that reads from a stream."""
    threads = 1 if in_turn or getattr(_here, "alone", False) else min(thread_count(), count)
    with _blas.limited():
        if threads <= 1:
            yield from map(work, range(count))
            return
        queue = _Queue(work, count, ahead=4 * threads)
        helpers = [_pool(threads).submit(queue.help) for _ in range(threads - 1)]
        try:
            yield from queue.results()
        finally:
            queue.stop()
            for helper in helpers:
                helper.cancel()
            wait(helpers)


class _Queue(Generic[T]):
    """Tasks taken one by one by whoever is free, none further than `ahead` of the result handed out last."""

    def __init__(self, work: Callable[[int], T], count: int, ahead: int) -> None:
        self._work = work
        self._count = count
        self._ahead = ahead
        self._taken = 0
        self._handed_out = 0
        self._done: dict[int, T] = {}
        self._failure: BaseException | None = None
        self._stopped = False
        self._changed = threading.Condition()

    def results(self) -> Iterator[T]:
        """Every result in order; between two of them the caller's thread works."""
        while self._handed_out < self._count:
            index = self._take()
            if index is not None:
                self._finish(index)
            else:
                with self._changed:
                    self._changed.wait_for(lambda: self._failure or self._handed_out in self._done)
            if self._failure is not None:
                raise self._failure
            while self._handed_out in self._done:
                yield self._done.pop(self._handed_out)
                with self._changed:
                    self._handed_out += 1
                    self._changed.notify_all()

    def help(self) -> None:
        """Work until nothing is left."""
        while True:
            index = self._take()
            if index is not None:
                self._finish(index)
                continue
            with self._changed:
                self._changed.wait_for(lambda: self._over or self._near)
            if self._over:
                return

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    @property
    def _over(self) -> bool:
        return self._stopped or self._taken >= self._count

    @property
    def _near(self) -> bool:
        return self._taken < self._handed_out + self._ahead

    def _take(self) -> int | None:
        with self._changed:
            if self._over or not self._near:
                return None
            self._taken += 1
            return self._taken - 1

    def _finish(self, index: int) -> None:
        try:
            result = self._work(index)
        except BaseException as failure:
            with self._changed:
                self._failure = failure
                self._stopped = True
                self._changed.notify_all()
            return
        with self._changed:
            self._done[index] = result
            self._changed.notify_all()


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
