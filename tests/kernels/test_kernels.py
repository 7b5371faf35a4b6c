"""Kernels and their threads: same numbers from any number of threads, and nothing left behind."""

from __future__ import annotations

import math
import multiprocessing
import threading

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from sottovoce.data import blocks, threads
from sottovoce.data.blocks import dense_block_length
from sottovoce.data.records import Records
from sottovoce.errors import ParameterError
from sottovoce.kernels import passes as kernels
from sottovoce.losses import Cauchy, Logistic, Sigmoid

DIM = 5


def rows_of(n, *, dim=DIM, csr=False, regression=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, dim)) * (rng.random((n, dim)) < 0.5)
    y = rng.normal(size=n) if regression else rng.choice([-1, 1], size=n)
    declared = {"target": (-2.0, 2.0)} if regression else {"labels": (-1, 1)}
    return Records.from_arrays(sparse.csr_array(X) if csr else X, y, radius=1.5, **declared)._rows


def clamps(loss, w):
    """The band and both spans that a loss fills over rows of length 2 and targets up to 2."""
    reach = 2.0 * float(np.linalg.norm(w)) + 3.0
    return loss.slope_band(-reach, reach), loss.value_span(-reach, reach), loss.curvature_span(-reach, reach)


def gradient_of(held, loss, w):
    return kernels.gradient(held, loss.law, w, clamps(loss, w)[0])


def every_pass(held, loss, seed=1):
    rng = np.random.default_rng(seed)
    w, p = rng.normal(size=held.dim), rng.normal(size=held.dim)
    (band, span, bends), law = clamps(loss, w), loss.law
    line = kernels.Margins(held, law, w, p, loss.slope)
    value, gradient = kernels.value_and_gradient(held, law, w, band, span)
    return {
        "value": kernels.value(held, law, w, span),
        "gradient": kernels.gradient(held, law, w, band),
        "both value": value,
        "both gradient": gradient,
        "hessian": kernels.hessian(held, law, w, bends),
        "gram": kernels.gram(held),
        "trials": kernels.trials(held, law, w, np.stack([p, 0.1 * p, -p]), loss.slope),
        "here": line.here,
        "moves": line.moves,
        "decrease": line.decrease(0.7),
    }


@pytest.fixture
def short_blocks(monkeypatch):
    """Many blocks from few rows, an uneven last one included."""
    monkeypatch.setattr(blocks, "dense_block_length", lambda dim: 16)
    monkeypatch.setattr(blocks, "SPARSE_BLOCK_LENGTH", 16)


@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.parametrize("loss", [Logistic(), Sigmoid(), Cauchy()])
@pytest.mark.usefixtures("short_blocks")
def test_the_numbers_do_not_depend_on_the_number_of_threads(csr, loss, monkeypatch):
    held = rows_of(16 * 75 + 3, csr=csr, regression=isinstance(loss, Cauchy))
    assert held.blocks == 76
    answers = []
    for count in ("1", "2", "3", "7", "2"):
        monkeypatch.setenv("SOTTOVOCE_THREADS", count)
        answers.append(every_pass(held, loss))
    for name, first in answers[0].items():
        for other in answers[1:]:
            assert np.array_equal(first, other[name]), name


@pytest.mark.parametrize("csr", [False, True])
def test_full_size_blocks_agree_between_threads_too(csr, monkeypatch):
    held = rows_of(5 * 8192 + 11, dim=20, csr=csr)
    answers = []
    for count in ("1", "2"):
        monkeypatch.setenv("SOTTOVOCE_THREADS", count)
        answers.append(every_pass(held, Sigmoid()))
    for name, first in answers[0].items():
        assert np.array_equal(first, answers[1][name]), name


@pytest.mark.parametrize("length", [1, 15, 16, 17, 16 * 32, 16 * 32 + 1, 16 * 33])
@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.usefixtures("short_blocks")
def test_every_row_counts_once_wherever_the_blocks_end(length, csr):
    held = rows_of(length, csr=csr)
    blocks = [held.block(i) for i in range(held.blocks)]
    X = np.vstack([b.features.toarray() if csr else b.features for b in blocks]).astype(np.float64)
    y = np.concatenate([b.targets for b in blocks])
    w = np.random.default_rng(1).normal(size=DIM)
    assert X.shape == (length, DIM)
    t = y * (X @ w)
    value = kernels.value(held, Logistic().law, w, clamps(Logistic(), w)[1])
    assert value == pytest.approx(math.fsum(np.logaddexp(0.0, -t)), rel=1e-13)
    np.testing.assert_allclose(kernels.gram(held), X.T @ X, rtol=0, atol=1e-12 * length)


@pytest.mark.usefixtures("short_blocks")
def test_one_pass_for_value_and_gradient_gives_the_same_numbers_as_two():
    answer = every_pass(rows_of(333), Logistic())
    assert answer["value"] == pytest.approx(answer["both value"], rel=1e-13)
    np.testing.assert_allclose(answer["gradient"], answer["both gradient"], rtol=1e-12, atol=1e-14)


@pytest.mark.usefixtures("short_blocks")
def test_dense_and_sparse_rows_agree():
    for loss in (Logistic(), Sigmoid(), Cauchy()):
        regression = isinstance(loss, Cauchy)
        dense, csr = (every_pass(rows_of(333, csr=csr, regression=regression), loss) for csr in (False, True))
        for name, numbers in dense.items():
            np.testing.assert_allclose(numbers, csr[name], rtol=1e-6, atol=1e-6 * 333, err_msg=name)


def test_accumulation_is_in_float64():
    n = 200_000
    held = Records.from_arrays(np.full((n, 1), 0.1), np.ones(n), radius=1.0, labels=(-1, 1))._rows
    entry = float(np.float32(0.1))
    assert kernels.gram(held)[0, 0] == pytest.approx(n * entry**2, rel=1e-13)
    assert gradient_of(held, Logistic(), np.zeros(1))[0] == pytest.approx(-n * entry / 2, rel=1e-13)


def test_a_pass_changes_no_stored_row():
    for csr in (False, True):
        held = rows_of(100, csr=csr)
        before = every_pass(held, Sigmoid())
        every_pass(held, Logistic(), seed=2)
        after = every_pass(held, Sigmoid())
        assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_pass_allocates_nothing_that_grows_with_the_rows(monkeypatch):
    import tracemalloc

    monkeypatch.setenv("SOTTOVOCE_THREADS", "1")  # each has buffers of its own, and need not get a turn
    peaks = []
    for many in (16, 64):
        held = rows_of(many * 8192)
        w = np.ones(DIM)
        for measured in (False, True):
            if measured:
                tracemalloc.start()
            band, span, bends = clamps(Sigmoid(), w)
            kernels.value_and_gradient(held, Sigmoid().law, w, band, span)
            kernels.hessian(held, Sigmoid().law, w, bends)
            kernels.trials(held, Sigmoid().law, w, np.ones((3, DIM)), 0.25)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= 1.5 * peaks[0] + 2**18


def test_a_block_fits_the_cache_or_at_least_the_memory():
    for dim in (1, 32, 54, 500, 1000, 5000, 20_000, 10**6, 10**9):
        length = dense_block_length(dim)
        assert 1 <= length <= 8192
        assert length & (length - 1) == 0
        assert length * dim <= 2**22 or length == 1
        assert length >= 256 or dim > 5000
        assert length * dim <= 2**18 or length <= 256


@pytest.mark.parametrize("count", ["1", "3"])
def test_results_come_in_order_whatever_finishes_first(count, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_THREADS", count)
    gate = threading.Event()

    def work(index):
        if index == 0 and count != "1":
            gate.wait(10)
        elif index == 1:
            gate.set()
        return index

    assert list(threads.in_order(work, 20)) == list(range(20))


def test_few_results_wait_to_be_handed_out(monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_THREADS", "2")
    finished, far = [], threading.Event()

    def work(index):
        if index == 0:
            far.wait(0.2)
        finished.append(index)
        if index > 20:
            far.set()
        return index

    results = threads.in_order(work, 100)
    assert next(results) == 0
    assert not far.is_set()
    assert list(results) == list(range(1, 100))
    assert sorted(finished) == list(range(100))


def test_a_reader_who_leaves_early_leaves_no_work_behind(monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_THREADS", "3")
    begun = []
    results = threads.in_order(lambda index: begun.append(index), 10_000)
    next(results)
    results.close()
    count = len(begun)
    assert count < 100
    assert list(threads.in_order(lambda index: index, 4)) == [0, 1, 2, 3]
    assert len(begun) == count


@pytest.mark.parametrize("count", ["1", "3"])
def test_a_failing_task_is_reported_and_leaves_the_pool_usable(count, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_THREADS", count)

    def work(index):
        if index == 3:
            raise ZeroDivisionError
        return index

    before = blas_threads()
    with pytest.raises(ZeroDivisionError):
        list(threads.in_order(work, 50))
    assert blas_threads() == before
    assert list(threads.in_order(lambda index: index, 5)) == [0, 1, 2, 3, 4]


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_has_one_thread_during_a_pass_and_its_own_number_afterwards(monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_THREADS", "2")
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        assert set(before) == {2}
        assert all(set(seen) == {1} for seen in threads.in_order(lambda _: blas_threads(), 6))
        assert blas_threads() == before


def test_overlapping_passes_restore_blas_when_the_last_one_ends(monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_THREADS", "1")
    with threadpool_limits(2, user_api="blas"):
        first, second = (threads.in_order(lambda _: blas_threads(), 2) for _ in range(2))
        assert set(next(first)) == {1}
        assert set(next(second)) == {1}
        list(first)
        assert set(next(second)) == {1}
        list(second)
        assert set(blas_threads()) == {2}


def test_passes_from_many_threads_at_once_give_the_same_numbers(monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_THREADS", "2")
    held = rows_of(30_000)
    w = np.ones(DIM)
    wanted = gradient_of(held, Sigmoid(), w)
    seen = []
    workers = [
        threading.Thread(target=lambda: seen.append(gradient_of(held, Sigmoid(), w))) for _ in range(6)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(seen) == 6
    assert all(np.array_equal(wanted, other) for other in seen)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_makes_its_own_threads(monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_THREADS", "2")
    held = rows_of(40_000)
    w = np.ones(DIM)
    wanted = gradient_of(held, Logistic(), w)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send_bytes(gradient_of(held, Logistic(), w).tobytes()))
    child.start()
    assert receiver.poll(30)
    assert receiver.recv_bytes() == wanted.tobytes()
    child.join(30)
    assert child.exitcode == 0


@pytest.mark.parametrize("count", ["0", "-1", "two", "1.5", "99999", "²"])
def test_a_thread_count_that_is_not_one_is_refused(count, monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_THREADS", count)
    with pytest.raises(ParameterError, match="SOTTOVOCE_THREADS"):
        kernels.gram(rows_of(3))


def test_threads_follow_the_processors_this_process_may_use(monkeypatch):
    monkeypatch.delenv("SOTTOVOCE_THREADS", raising=False)
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert threads.thread_count() == 3
    monkeypatch.setenv("SOTTOVOCE_THREADS", "4")
    assert threads.thread_count() == 4
