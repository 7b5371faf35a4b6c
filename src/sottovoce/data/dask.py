"""Records on the workers of a Dask cluster: every pass is one reduction, and only its sum comes back.

Rows are bounded on the workers, partition by partition, and stay there. Dask makes a partition again from its
source when a worker is lost, so the source must give the same rows each time: the client keeps a fingerprint
of each partition and every pass is refused where it no longer fits. Noise is drawn and the ledger kept by the
client alone, after the reduction. Workers, scheduler and dashboard see the data and are trusted; Dask may
move or spill a partition among them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import repeat
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from sottovoce.arrays import Vector
from sottovoce.data.dask_partitions import Facts, array_tasks, facts, frame_tasks, passed, taken, weighed
from sottovoce.data.partitioned import FAN_IN, MOST_PARTS, Parts, added
from sottovoce.data.rows import Rows, times
from sottovoce.data.schema import Schema
from sottovoce.data.threads import thread_count
from sottovoce.errors import ClusterError, DataError, ParameterError, SottovoceError

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds without a single worker after which a pass is given up."""

_POLL = 1.0


@final
class DaskParts(Parts):
    """Futures of parts and the facts known of each. A pass runs on every part and is summed by a tree."""

    __slots__ = ("_client", "_facts", "_held", "_weights")

    def __init__(
        self,
        client: Any,
        held: Sequence[Any],
        known: Sequence[Facts],
        weights: Sequence[Any] | None = None,
        *,
        expected: int | None = None,
    ) -> None:
        first = known[0]
        n = sum(fact.rows for fact in known)
        super().__init__(n, first.columns, block_length=first.block_length, sparse=first.sparse)
        self._client = client
        self._held = tuple(held)
        self._facts = tuple(known)
        self._weights = tuple([None] * len(held) if weights is None else weights)
        self.expected = n if expected is None else expected

    def total(self, kernel: Callable[..., T], *arguments: Any, **named: Any) -> T:
        return _translated(lambda: self._total(kernel, arguments, named))

    def _total(self, kernel: Callable[..., T], arguments: Any, named: Any) -> T:
        answers = [self._submit(passed, *part, kernel, arguments, named) for part in self._parts()]
        while len(answers) > FAN_IN:
            groups = [answers[first : first + FAN_IN] for first in range(0, len(answers), FAN_IN)]
            answers = [self._submit(added, group) for group in groups]
        answer: T = added(_awaited(self._client, answers))
        return answer

    def take(self, indices: NDArray[np.int64]) -> DaskParts:
        bounds = np.concatenate(([0], np.cumsum([fact.rows for fact in self._facts])))
        cuts = np.searchsorted(indices, bounds)
        chosen = np.flatnonzero(np.diff(cuts))
        known = [self._facts[number]._replace(rows=int(np.diff(cuts)[number])) for number in chosen]

        def submit() -> list[Any]:
            parts = list(self._parts())
            return [
                self._submit(taken, *parts[number], indices[cuts[number] : cuts[number + 1]] - bounds[number])
                for number in chosen
            ]

        return DaskParts(self._client, _translated(submit), known, expected=self.expected)

    def reweighted(self, rule: Callable[[Rows], Vector]) -> DaskParts:
        """Weights are kept beside the parts, on the workers: no part is held twice."""

        held = _translated(lambda: [self._submit(weighed, *part, rule) for part in self._parts()])
        return DaskParts(self._client, self._held, self._facts, held, expected=self.expected)

    def expecting(self, expected: int | None) -> DaskParts:
        return DaskParts(self._client, self._held, self._facts, self._weights, expected=expected)

    def scaled(self, shares: Vector) -> DaskParts:
        cuts = np.cumsum([fact.rows for fact in self._facts])[:-1]
        pieces = [np.ascontiguousarray(piece) for piece in np.split(shares, cuts)]

        def submit() -> list[Any]:
            parts = zip(self._parts(), pieces, strict=True)
            return [self._submit(weighed, *part, partial(times, shares=piece)) for part, piece in parts]

        return DaskParts(self._client, self._held, self._facts, _translated(submit), expected=self.expected)

    def _parts(self) -> Iterator[tuple[Any, bytes, Any, int]]:
        """Every part with what it must be known by, the weights kept beside it and how many rows are expected
        in all."""
        known = (fact.fingerprint for fact in self._facts)
        return zip(self._held, known, self._weights, repeat(self.expected, len(self._held)), strict=True)

    def _submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.submit(task, *arguments, pure=False)


def hold(
    data: Any,
    y: Any,
    weights: Any = None,
    *,
    client: Any,
    schema: Schema | None,
    options: dict[str, Any],
) -> DaskParts:
    """Bound every partition where it is. `options` are those of Records.from_arrays."""
    client = _client(client)
    if schema is not None and weights is not None:
        raise ParameterError("sample_weight goes with dask arrays X and y, not with a dataframe.")
    tasks = array_tasks(data, y, weights, options) if schema is None else frame_tasks(data, schema, options)
    if len(tasks) > MOST_PARTS:
        raise ParameterError(
            f"the data are in {len(tasks)} partitions; rounding is bounded for up to {MOST_PARTS}. "
            "Call repartition or rechunk first."
        )

    def make() -> list[tuple[Any, Any]]:
        held = client.compute(tasks)
        asked = [client.submit(facts, part, pure=False) for part in held]
        return list(zip(held, _awaited(client, asked), strict=True))

    kept = [(part, fact) for part, fact in _translated(make) if fact is not None]
    if not kept:
        raise DataError("the data have no rows.")
    held, known = zip(*kept, strict=True)
    if len({(fact.columns, fact.block_length, fact.sparse) for fact in known}) > 1:
        raise DataError("partitions differ in their columns, or some are sparse and others not.")
    return DaskParts(client, held, known)


def gathered(groups: Any, client: Any) -> Any:
    """The keys of all rows, in the order of the partitions: who shares rows is found here, on the client."""
    if not hasattr(groups, "compute"):
        raise ParameterError("with Dask, groups must be a dask array or a column of a dask dataframe.")
    return _translated(lambda: _client(client).compute(groups).result())


@contextmanager
def connected(address: str, workers: int | None = None) -> Iterator[Any]:
    """A client of the scheduler at this address; "local" starts worker processes: one for each processor."""
    from distributed import Client, LocalCluster

    count = thread_count() if workers is None else workers
    local = {"threads_per_worker": 1, "n_workers": count, "dashboard_address": "127.0.0.1:0"}
    client = _translated(lambda: Client(LocalCluster(**local) if address == "local" else address))
    try:
        yield client
    finally:
        with suppress(Exception):
            client.close()
            if client.cluster is not None:
                client.cluster.close()


def _awaited(client: Any, futures: Sequence[Any]) -> list[Any]:
    """The futures' results; gives up when there has been no worker for PATIENCE seconds.

    It waits for them to be done before it gathers them: a gathering that is cut short may fail."""
    from distributed import wait

    seen = time.monotonic()
    while True:
        try:
            with client.as_current():
                wait(list(futures), timeout=_POLL)
            break
        except TimeoutError:
            if client.nthreads():
                seen = time.monotonic()
            if time.monotonic() - seen > PATIENCE:
                raise
    gather = partial(client.gather, list(futures), asynchronous=True)
    return list(client.sync(gather, callback_timeout=PATIENCE))


def _client(client: Any) -> Any:
    from distributed import Client, default_client

    if client is None:
        with suppress(ValueError):
            return default_client()
    if not isinstance(client, Client):
        raise ParameterError(
            "client must be a distributed.Client; start one with distributed.Client(scheduler_address).",
            argument="client",
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
