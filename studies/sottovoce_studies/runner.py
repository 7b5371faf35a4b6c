"""Trials over processes, one thread each; the parent alone keeps what is finished."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import Connection

from sottovoce.errors import ClusterError
from sottovoce_studies.settings import Trial
from sottovoce_studies.store import Store
from sottovoce_studies.trial import Run, perform

Perform = Callable[[Trial, str | None, int], Run]

_ONE_THREAD = ("SOTTOVOCE_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_missing(
    trials: Sequence[Trial],
    store: Store,
    *,
    jobs: int,
    data: str | None,
    longest: int,
    kept: Callable[[Run], None] = lambda run: None,
    work: Perform = perform,
) -> None:
    """Run every trial the store lacks, in this order, `jobs` at a time; `kept` hears of each once stored.

    Workers are fresh processes that end with their parent, however it ends."""
    waiting = iter([trial for trial in trials if store.lacks(trial, longest)])
    with _single_threaded(), _workers(jobs) as pool:
        pending: set[Future[Run]] = set()
        while True:
            ready = islice(waiting, jobs + 1 - len(pending))
            pending.update(pool.submit(work, trial, data, longest) for trial in ready)
            if not pending:
                return
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                run = future.result()
                store.keep(run)
                kept(run)


@contextmanager
def _workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """A pool that is gone at once when its user fails or is interrupted, half-done work with it."""
    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent, initargs=(theirs,))
    try:
        yield pool
    except BrokenProcessPool:
        raise ClusterError(
            "a worker process died, perhaps for want of memory. Finished runs are kept: run the same command "
            "again, with fewer --jobs."
        ) from None
    except BaseException:
        ours.close()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        ours.close()
        theirs.close()


def _end_with_parent(link: Connection) -> None:
    """A worker whose parent was killed would wait for work for ever: it ends when their link does.

    An interrupt from the keyboard reaches all of them; the parent alone answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        with suppress(EOFError, OSError):
            link.recv_bytes()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Variables that new processes read when they load their numerical libraries."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
