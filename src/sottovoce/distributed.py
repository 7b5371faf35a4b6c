"""Records on the workers of a Dask cluster: every pass is one reduction, and only its sum comes back.

Rows are bounded on the workers, partition by partition, and stay there; Dask makes a partition again from its
source when a worker is lost, so the source must give the same rows each time. Noise is drawn and the ledger
kept by the client alone, after the reduction. Workers, scheduler and dashboard see the data and are trusted;
Dask may move or spill a partition among them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import ClusterError, DataError, ParameterError, SottovoceError
from sottovoce.partitions import array_tasks, facts, frame_tasks, passed, taken
from sottovoce.parts import Parts, added
from sottovoce.schema import Schema
from sottovoce.threads import thread_count

T = TypeVar("T")

FAN_IN = 16
"""Answers added by one task of the reduction; the client adds the last ones itself, a hop less."""

PATIENCE = 60.0
"""Seconds without a single worker after which a pass is given up."""

_POLL = 1.0


@final
class DaskParts(Parts):
    """Futures of parts. A pass runs on every part and is summed by a tree of fixed shape."""

    __slots__ = ("_client", "_held", "_sizes")

    def __init__(
        self,
        client: Any,
        held: Sequence[Any],
        sizes: Sequence[int],
        dim: int,
        block_length: int,
        sparse: bool,
    ) -> None:
        super().__init__(sum(sizes), dim, block_length=block_length, count=len(held), sparse=sparse)
        self._client = client
        self._held = tuple(held)
        self._sizes = tuple(sizes)

    def total(self, kernel: Callable[..., T], *arguments: Any, **named: Any) -> T:
        return _translated(lambda: self._total(kernel, arguments, named))

    def _total(self, kernel: Callable[..., T], arguments: Any, named: Any) -> T:
        answers = [self._submit(passed, part, kernel, arguments, named) for part in self._held]
        while len(answers) > FAN_IN:
            groups = [answers[first : first + FAN_IN] for first in range(0, len(answers), FAN_IN)]
            answers = [self._submit(added, group) for group in groups]
        answer: T = added(_awaited(self._client, answers))
        return answer

    def take(self, indices: NDArray[np.int64]) -> DaskParts:
        bounds = np.concatenate(([0], np.cumsum(self._sizes)))
        cuts = np.searchsorted(indices, bounds)
        chosen = np.flatnonzero(np.diff(cuts))
        places = [indices[cuts[number] : cuts[number + 1]] - bounds[number] for number in chosen]

        def submit() -> list[Any]:
            pairs = zip(chosen, places, strict=True)
            return [self._submit(taken, self._held[number], local) for number, local in pairs]

        sizes = [local.size for local in places]
        return DaskParts(self._client, _translated(submit), sizes, self.dim, self.block_length, self.sparse)

    def _submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.submit(task, *arguments, pure=False)


def hold(data: Any, y: Any, *, client: Any, schema: Schema | None, options: dict[str, Any]) -> DaskParts:
    """Bound every partition where it is. `options` are those of Records.from_arrays."""
    client = _client(client)
    tasks = array_tasks(data, y, options) if schema is None else frame_tasks(data, schema, options)

    def make() -> list[tuple[Any, Any]]:
        held = client.compute(tasks)
        asked = [client.submit(facts, part, pure=False) for part in held]
        return list(zip(held, _awaited(client, asked), strict=True))

    kept = [(part, fact) for part, fact in _translated(make) if fact is not None]
    if not kept:
        raise DataError("the data have no rows.")
    sizes, columns, lengths, kinds = zip(*(fact for _, fact in kept), strict=True)
    if len(set(columns)) > 1 or len(set(kinds)) > 1:
        raise DataError("partitions differ in their columns, or some are sparse and others not.")
    return DaskParts(client, [part for part, _ in kept], sizes, columns[0], max(lengths), kinds[0])


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at this address; "local" starts one worker process for each processor."""
    from distributed import Client, LocalCluster

    local = {"threads_per_worker": 1, "n_workers": thread_count(), "dashboard_address": "127.0.0.1:0"}
    client = _translated(lambda: Client(LocalCluster(**local) if address == "local" else address))
    try:
        yield client
    finally:
        with suppress(Exception):
            client.close()
            if client.cluster is not None:
                client.cluster.close()


def _awaited(client: Any, futures: Sequence[Any]) -> list[Any]:
    """The futures' results; gives up when there has been no worker for PATIENCE seconds."""
    gather = partial(client.gather, list(futures), asynchronous=True)
    seen = time.monotonic()
    while True:
        try:
            return list(client.sync(gather, callback_timeout=_POLL))
        except TimeoutError:
            if client.nthreads():
                seen = time.monotonic()
            if time.monotonic() - seen > PATIENCE:
                raise


def _client(client: Any) -> Any:
    from distributed import Client, default_client

    if client is None:
        with suppress(ValueError):
            return default_client()
    if not isinstance(client, Client):
        raise ParameterError(
            "client must be a distributed.Client; start one with distributed.Client(scheduler_address)."
        )
    return client


def _translated(work: Callable[[], T]) -> T:
    """Dask's errors may quote what a task held: only their type is passed on, without them as context."""
    try:
        return work()
    except SottovoceError:
        raise
    except BaseException as error:
        failure = type(error).__name__
        if not isinstance(error, Exception) and failure != "CancelledError":
            raise
    raise ClusterError(
        f"the Dask cluster that holds the records cannot answer ({failure}). Nothing was released; a query "
        "that was charged stays charged. Check the scheduler and workers, then build the records again."
    )
