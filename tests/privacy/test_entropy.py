"""No two processes, threads, copies or clones ever share noise or batches."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.privacy.noise import OPENDP_ENTRIES, ExactNoise, calibrate
from sottovoce.privacy.sampling import draw
from tests import problems

BUDGET = sv.Budget(1.0, 1e-5)
SHORT, LONG = calibrate(1.0, 1.0, 4), calibrate(1.0, 1.0, OPENDP_ENTRIES + 1)


def drawn(_: object = None) -> tuple[object, ...]:
    """A few numbers from each source: short and long answers, line searches, batches, whole runs."""
    noise = ExactNoise()
    short = noise.gaussian(np.zeros(4), SHORT)
    long = noise.gaussian(np.zeros(LONG.entries), LONG)[:4]
    run = sv.minimize(problems.logistic(n=60, dim=3), budget=BUDGET).weights
    return (
        tuple(short),
        tuple(long),
        tuple(noise.laplace(2**40, 0.1) for _ in range(3)),
        tuple(draw(10**9, 4).tolist()),
        tuple(run),
    )


def require_all_different(draws: list[tuple[object, ...]]) -> None:
    """Equal tuples of three or more lattice points of 2^30 have probability far below 1e-20."""
    for source in zip(*draws, strict=True):
        assert len(set(source)) == len(draws)


@pytest.mark.long
@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_processes_share_no_noise(way: str) -> None:
    here = drawn()
    with multiprocessing.get_context(way).Pool(2) as pool:
        there = pool.map(drawn, range(3), chunksize=1)
    require_all_different([here, *there])


def test_threads_share_no_noise() -> None:
    found: list[tuple[object, ...]] = []
    threads = [threading.Thread(target=lambda: found.append(drawn())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    require_all_different(found)


def test_seeding_every_generator_in_sight_changes_nothing() -> None:
    import random

    found = []
    for _ in range(3):
        np.random.seed(0)
        random.seed(0)
        found.append(drawn())
    require_all_different(found)


@pytest.mark.parametrize("source", ["noise", "batch"])
def test_a_starved_entropy_source_stops_the_release(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attack: an operating system that fails to give entropy must not be replaced by anything else."""

    def starved(count: int) -> bytes:
        raise OSError("no entropy")

    monkeypatch.setattr(os, "urandom", starved)
    attempts: dict[str, Callable[[], object]] = {
        "noise": lambda: ExactNoise().gaussian(np.zeros(LONG.entries), LONG),
        "batch": lambda: draw(100, 10, os.urandom),
    }
    with pytest.raises(OSError, match="no entropy"):
        attempts[source]()
