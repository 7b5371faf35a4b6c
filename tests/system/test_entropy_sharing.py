"""Fits side by side, clones, pickles, Dask: no noise and no batch is drawn twice, and workers draw none."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import dask.array as da
import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import sottovoce as sv
from sottovoce.privacy import noise, sampling
from sottovoce.privacy.noise import ExactNoise, SimulatedNoise
from tests import problems
from tests.privacy.test_entropy import require_all_different

BUDGET = sv.Budget(5.0, 1e-3)
X = np.random.default_rng(0).normal(size=(200, 3))
Y = np.where(X[:, 0] > 0, 1, -1)


def classifier() -> sv.PrivateClassifier:
    return sv.PrivateClassifier(epsilon=1.0, delta=1e-5, classes=(-1, 1), method="majorize")


def fitted(estimator: sv.PrivateClassifier) -> tuple[object, ...]:
    """Weights of a private fit, and the records that mini-batches of a run of one's own read."""
    return (tuple(estimator.fit(X, Y).coef_.ravel()), batches())


def batches(_: object = None) -> tuple[object, ...]:
    """Every batch that one run of `opt-b` draws."""
    drawn: list[tuple[int, ...]] = []
    draw = sampling.draw

    def watched(population: int, size: int, entropy: object = os.urandom) -> np.ndarray:
        chosen = draw(population, size, entropy)  # type: ignore[arg-type]
        drawn.append(tuple(chosen.tolist()))
        return chosen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "draw", watched)
        risk = problems.logistic(n=2000, dim=3)
        sv.minimize(risk, budget=BUDGET, method="opt-b", tolerance=sv.Tolerance(gradient=0.3))
    assert drawn
    assert len(set(drawn)) == len(drawn)
    return tuple(drawn)


@pytest.mark.slow
def test_fits_side_by_side_in_worker_processes_share_nothing() -> None:
    """loky pickles one estimator to each worker."""
    estimator = classifier()
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(fitted)(estimator) for _ in range(4))
    require_all_different([fitted(estimator), *found])


@pytest.mark.long
def test_fits_side_by_side_in_forks_share_nothing() -> None:
    """Forked after noise was drawn, so that whatever state there is would be inherited."""
    here = fitted(classifier())
    with multiprocessing.get_context("fork").Pool(3) as pool:
        there = pool.map(fitted, [classifier()] * 3, chunksize=1)
    require_all_different([here, *there, fitted(classifier())])


def test_a_child_and_its_parent_share_nothing_from_the_first_byte() -> None:
    """No pool, no warm-up: one fork, both sides draw at once."""
    reader, writer = os.pipe()
    ExactNoise().laplace(1, 0.1)
    child = os.fork()
    mine = [ExactNoise().laplace(2**40, 0.1) for _ in range(4)]
    if child == 0:
        os.write(writer, pickle.dumps(mine))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        theirs = pickle.loads(stream.read())
    assert os.waitpid(child, 0)[1] == 0
    assert not set(mine) & set(theirs)


@pytest.mark.long
def test_clones_and_pickles_share_nothing() -> None:
    original = classifier().fit(X, Y)
    copies = [clone(original), pickle.loads(pickle.dumps(original)), make_pipeline(clone(original))[0]]
    require_all_different([(tuple(each.fit(X, Y).coef_.ravel()),) for each in (original, *copies)])


@pytest.mark.parametrize("source", [ExactNoise(), SimulatedNoise(1)], ids=["exact", "simulated"])
def test_no_copy_of_a_source_of_noise_can_travel(source: object) -> None:
    with pytest.raises(sv.errors.ParameterError, match="neither copied nor pickled"):
        pickle.dumps(source)
    with pytest.raises(sv.errors.ParameterError, match="neither copied nor pickled"):
        copy.deepcopy(source)


SOURCES = (
    (noise.ExactNoise, "gaussian"),
    (noise.ExactNoise, "laplace"),
    (noise.SimulatedNoise, "gaussian"),
    (noise.SimulatedNoise, "laplace"),
    (sampling, "discrete_gaussian"),
    (sampling, "draw"),
)
"""Everything that draws."""


class Watch:
    """Notes the thread of each draw in this process: workers of a cluster within it have their own."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.threads: set[str] = set()
        for owner, name in SOURCES:
            patch.setattr(owner, name, self._noted(getattr(owner, name)))

    def _noted(self, source: Callable[..., Any]) -> Callable[..., Any]:
        def drawn(*given: Any, **named: Any) -> Any:
            self.threads.add(threading.current_thread().name)
            return source(*given, **named)

        return drawn


@pytest.fixture(scope="module")
def workers() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def spread(client: Client) -> sv.Risk:
    first = len(Y) // 3
    chunks = (first, len(Y) - first)
    lazy = da.from_array(X, chunks=(chunks, (3,))), da.from_array(Y, chunks=(chunks,))
    return sv.Risk(sv.Records.from_dask(*lazy, labels=(-1, 1), client=client), sv.losses.Logistic())


def runs_over(risk: sv.Risk) -> tuple[object, ...]:
    """Noisy gradient norms of full passes, line searches and mini-batches."""
    whole = sv.minimize(risk, budget=BUDGET)
    searched = sv.minimize(risk, budget=BUDGET, method="2opt-ls", tolerance=sv.Tolerance(gradient=0.1))
    batched = sv.minimize(risk, budget=BUDGET, method="opt-b", tolerance=sv.Tolerance(gradient=0.5))
    return tuple(tuple(row.gradient_norm for row in result.trace) for result in (whole, searched, batched))


@pytest.mark.long
def test_the_client_draws_and_its_workers_never(workers: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """And runs over the same workers share nothing."""
    risk, watch = spread(workers), Watch(monkeypatch)
    require_all_different([runs_over(risk) for _ in range(2)])
    assert watch.threads == {threading.current_thread().name}


def drawing(_: object) -> int:
    return ExactNoise().laplace(2**40, 0.1)


def test_the_watch_notices_a_worker_that_draws(workers: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control."""
    watch = Watch(monkeypatch)
    workers.submit(drawing, 1, pure=False).result()
    assert watch.threads
    assert threading.current_thread().name not in watch.threads


def fit_on_a_worker(_: object) -> tuple[object, ...]:
    return fitted(classifier())


@pytest.mark.slow
def test_whole_fits_on_workers_share_nothing() -> None:
    """Several fits mapped over a cluster, each private of its own: two in each process, and the client's."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        there = client.gather(client.map(fit_on_a_worker, range(4), pure=False))
    require_all_different([fitted(classifier()), *there])
